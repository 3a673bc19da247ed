"""An init where a test wants it: as PID 1 of a new pid namespace, as an ordinary process, on a
terminal, below another init. The same tests can be pointed at its peers, to see that the tests are
right: WARDER_INIT=tini (or dumb-init, catatonit, tini-static)."""
import fcntl
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import termios

import pytest
import world

NAME = os.environ.get("WARDER_INIT", "warder")
PATIENCE = int(os.environ.get("WARDER_PATIENCE", 0)) or (world.PATIENCE if NAME == "warder" else 5)
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP,
           signal.SIGSYS}
KEPT = {signal.SIGKILL, signal.SIGSTOP}
JOB_CONTROL = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
FIRST_REAL_TIME, LAST = 34, 64
FORWARDED = sorted(({int(n) for n in range(1, 32)} - CRASHES - KEPT - {signal.SIGCHLD})
                   | set(range(FIRST_REAL_TIME, LAST + 1)))
PYTHON = ["/usr/bin/python3", "-S", "-E", "-s"]

# Prints each signal that it gets, one number a line; ends on the last real-time one.
WITNESS = """
import os, signal, sys
every = set(range(1, 65)) - {9, 19, 32, 33} - {4, 5, 6, 7, 8, 11, 31}
signal.pthread_sigmask(signal.SIG_SETMASK, every)
print("ready", os.getpid(), flush=True)
while True:
    number = signal.sigwaitinfo(every).si_signo
    if number == 17: continue
    print(number, flush=True)
    if number == 64: sys.exit(0)
"""


def eventually(question, patience=PATIENCE):
    return world.eventually(question, patience)


def read_some(fd):
    """What comes next through a pipe, b"" at its end; None when nothing comes."""
    return os.read(fd, 4096) if select.select([fd], [], [], PATIENCE)[0] else None


class Init:
    """Which init, and how it is told what."""

    def __init__(self, program, place, folder):
        self.name, self.program, self.place, self.folder = NAME, program, place, folder
        self.is_warder = NAME == "warder"
        self.started = []

    def lacks(self, what):
        pytest.skip(f"{self.name} has no {what}")

    def command(self, *words, rewrite=(), group=False, parent_death=None, exit_ok=(), grace=None,
                quiet=False, subreaper=False):
        """The command line: `INIT OPTIONS -- WORDS`. rewrite: pairs of numbers, 0 for none."""
        tini, dumb = self.name.startswith("tini"), self.name == "dumb-init"
        if self.is_warder:
            options = [word for pair in rewrite for word in
                       ("--rewrite", f"{int(pair[0])}={int(pair[1]) or 'none'}")]
            options += ["--group"] if group else []
            options += ["--parent-death", parent_death] if parent_death else []
            options += [word for code in exit_ok for word in ("--exit-ok", str(code))]
            options += ["--grace", grace] if grace else []
            options += ["--quiet"] if quiet else []
            return [self.program, "init", *options, "--", *words]
        if rewrite and not dumb:
            self.lacks("rewriting of signals")
        if (parent_death or exit_ok) and not tini:
            self.lacks("parent-death signal or exit codes that count as success")
        if grace:
            self.lacks("grace for what outlives the command")
        options = [word for pair in rewrite for word in ("-r", f"{int(pair[0])}:{int(pair[1])}")]
        options += ["-g"] if group and not dumb else ["-c"] if dumb and not group else []
        options += ["-p", "SIG" + parent_death] if parent_death else []
        options += [word for code in exit_ok for word in ("-e", str(code))]
        options += ["-s"] if tini and subreaper else []
        return [self.program, *options, "--", *words]

    def start(self, *words, first=True, options=None, **more):
        """Starts `INIT OPTIONS -- WORDS`."""
        command = self.command(*words, **(options or {}), **({} if first else {"subreaper": True}))
        return self.start_command(command, first=first, **more)

    def start_command(self, command, first=True, terminal=None, trace=(), no_proc=False, **more):
        running = Running(self.place, [str(word) for word in command], first=first, terminal=terminal,
                          trace=trace, no_proc=no_proc, folder=self.folder, **more)
        self.started.append(running)
        return running

    def run(self, *words, **more):
        """Starts it and waits for its end."""
        return self.start(*words, **more).end()

    def shell(self, script, **more):
        return self.run("/bin/sh", "-c", script, **more)

    def witness(self, **more):
        """It with a program below that tells every signal that it gets."""
        running = self.start(*PYTHON, "-c", WITNESS, **more)
        assert running.line().startswith("ready"), running.explain()
        return running

    def leave(self):
        for running in self.started:
            running.leave()


class Running:
    """One init that was started."""

    def __init__(self, place, command, first, terminal, trace, no_proc, folder, ignored=(), blocked=(),
                 closed=(), before=None, **more):
        self.code = self.killed_by = self.traced = None
        self.out = self.err = ""
        status_out, status_in = os.pipe()
        words = [place, str(status_in), *(["--first"] if first else []),
                 *(["--no-proc"] if no_proc else []), *(["--terminal"] if terminal is not None else []),
                 *trace, "--", *command]

        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            for fd in closed:
                os.close(fd)
            if before:
                before()

        if terminal is not None:
            more = {"stdin": terminal, "stdout": terminal, "stderr": terminal, **more}
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("cwd", folder)
        more["pass_fds"] = (status_in, *more.get("pass_fds", ()))
        self.place = subprocess.Popen(
            [str(word) for word in words], preexec_fn=prepare, restore_signals=False,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
        os.close(status_in)
        self.status, self.status_text = status_out, b""
        self.pid = self.read_status(("pid",))

    def read_status(self, wanted, patience=PATIENCE):
        """Reads what the helper tells until one of these words; None when it does not come."""
        while True:
            while b"\n" in self.status_text:
                line, self.status_text = self.status_text.split(b"\n", 1)
                word, number = line.decode().split()
                if word in ("exited", "signaled"):
                    self.code, self.killed_by = (int(number), None) if word == "exited" else (None, int(number))
                if word in ("blocked", "reached"):
                    self.traced = int(number)
                if word in wanted:
                    return int(number)
            if not select.select([self.status], [], [], patience)[0]:
                return None
            text = os.read(self.status, 4096)
            if not text:
                return None
            self.status_text += text

    def signal(self, number):
        os.kill(self.pid, number)

    def line(self, patience=PATIENCE):
        """The next line of its output; the text so far when none comes."""
        text = b""
        descriptor = self.place.stdout.fileno()
        while not text.endswith(b"\n"):
            if not select.select([descriptor], [], [], patience)[0]:
                break
            byte = os.read(descriptor, 1)
            if not byte:
                break
            text += byte
        return text.decode(errors="replace").strip()

    def end(self, patience=PATIENCE):
        """Waits until the init has ended; what it wrote is read to its end."""
        if not self.wait(patience):
            state = process_table(self.pid)
            self.leave()
            raise AssertionError(f"the init did not end; left: {state}")
        out, err = self.place.communicate(timeout=world.PATIENCE)
        self.out, self.err = (text.decode(errors="replace") if text else "" for text in (out, err))
        return self

    def wait(self, patience=PATIENCE):
        """Has the init ended? The output is not awaited: others may hold it open."""
        if self.code is None and self.killed_by is None:
            self.read_status(("exited", "signaled"), patience)
        return self.code is not None or self.killed_by is not None

    def explain(self):
        if self.place.poll() is None:
            return f"runs: {process_table(self.pid)}"
        return f"exit {self.code}, signal {self.killed_by}\n{self.out[-2000:]}\n{self.err[-2000:]}"

    def leave(self):
        """Ends it and everything below it."""
        if self.place.poll() is None:
            for pid in [*descendants(self.pid), self.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.place.wait(world.PATIENCE)
        for stream in (self.place.stdout, self.place.stderr, self.place.stdin):
            if stream:
                stream.close()
        if self.status >= 0:
            os.close(self.status)
        self.status = -1


def stat_of(pid):
    """Fields of /proc/PID/stat from the state on: state, parent, group, session, …; None when gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def children(pid):
    """Its children, zombies too, by their numbers outside."""
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def state(pid):
    """R, S, T, Z, …; None when it is gone."""
    fields = stat_of(pid)
    return fields[0] if fields else None


def process_table(pid):
    return {one: stat_of(one)[:4] for one in (pid, *descendants(pid)) if stat_of(one)}


def status_of(pid, *keys):
    """Values of /proc/PID/status, such as SigBlk."""
    lines = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                 if ":\t" in line)
    return tuple(lines[key].strip() for key in keys)


class Terminal:
    """A pseudo terminal: `inner` is what programs get, `outer` is the person."""

    def __init__(self):
        self.outer, self.inner = os.openpty()
        self.seen = b""
        flags = termios.tcgetattr(self.inner)
        flags[1] &= ~termios.OPOST
        flags[3] &= ~termios.ECHO
        termios.tcsetattr(self.inner, termios.TCSANOW, flags)

    def type(self, text):
        os.write(self.outer, text.encode())

    def until(self, text, patience=PATIENCE):
        """Reads until that has been seen, and forgets what was read up to it."""
        wanted = text.encode()
        while wanted not in self.seen:
            if not select.select([self.outer], [], [], patience)[0]:
                raise AssertionError(f"{text!r} never came; seen: {self.seen!r}")
            try:
                self.seen += os.read(self.outer, 4096)
            except OSError:  # nobody has the other side any more
                raise AssertionError(f"{text!r} never came; seen: {self.seen!r}") from None
        before, self.seen = self.seen.split(wanted, 1)
        return before.decode(errors="replace")

    def foreground(self):
        """The foreground process group, by its number in the pid namespace of the reader."""
        return os.tcgetpgrp(self.outer)

    def resize(self, rows, columns):
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, rows.to_bytes(2, sys.byteorder)
                    + columns.to_bytes(2, sys.byteorder) + bytes(4))

    def hang_up(self):
        os.close(self.outer)
        self.outer = -1

    def close(self):
        for fd in (self.outer, self.inner):
            if fd >= 0:
                os.close(fd)
        self.outer = self.inner = -1


@pytest.fixture(scope="session")
def init_programs(machine):
    """The init and the helper that places it, where every user may walk to."""
    folder = machine / "init"
    folder.mkdir()
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-o", folder / "init_place",
                    world.ROOT / "tests/support/init_place.c"], check=True)
    program = world.BUILD / "warder" if NAME == "warder" else shutil.which(NAME)
    if not program or not os.path.exists(program):
        pytest.fail(f"{program or NAME} is not there")
    shutil.copy2(os.path.realpath(program), folder / NAME)
    return folder / NAME, folder / "init_place"


@pytest.fixture
def init(init_programs, folder):
    one = Init(*init_programs, folder)
    yield one
    one.leave()


@pytest.fixture
def terminal():
    one = Terminal()
    yield one
    one.close()
