"""An init and a terminal: who is in front, Ctrl-C, Ctrl-Z and `fg`, a window that changes, none at all."""
import os
import pathlib
import pty
import shlex
import signal

import pytest
from init_place import LAST, PYTHON, WITNESS, children, descendants, eventually, stat_of, state


def group(pid):
    return int(stat_of(pid)[2])


def runs(pid, name):
    """Has it been executed? Before that a shell's child still handles signals as the shell does."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text() == name + "\n"
    except OSError:
        return False


def only_child(running):
    return eventually(lambda: children(running.pid))[0]


def test_a_program_reads_and_writes_its_terminal(init, terminal):
    running = init.start("/usr/bin/tac", terminal=terminal.inner)
    terminal.type("1\n2\n3\n\x04")
    terminal.until("3\n2\n1\n")
    assert running.end().code == 0


@pytest.mark.parametrize("group_too", [True, False])
def test_a_shell_has_job_control(init, terminal, group_too):
    running = init.start("/bin/bash", "--norc", "--noprofile", "-i", terminal=terminal.inner,
                         options={"group": group_too}, env={"PS1": "> ", "PATH": os.environ["PATH"], "TERM": "dumb"})
    terminal.until("> ")
    terminal.type("echo flags:$-:\n")
    assert "m" in terminal.until(":\n").split("flags:")[1]
    terminal.type("sleep 1000\n")
    shell = only_child(running)
    (job,) = eventually(lambda: children(shell))
    assert eventually(lambda: runs(job, "sleep") and terminal.foreground() == group(job) != group(shell))
    terminal.type("\x1a")
    terminal.until("Stopped")
    terminal.type("bg; fg\n")
    assert eventually(lambda: terminal.foreground() == group(job) and state(job) == "S")
    terminal.type("\x03")
    assert eventually(lambda: terminal.foreground() == group(shell))
    terminal.type("exit 5\n")
    assert running.end().code == 5


def test_the_command_is_in_front_in_a_group_of_its_own(init, terminal):
    running = init.start(*PYTHON, "-c", "import os; print('in front:', os.tcgetpgrp(0) == os.getpgrp(), "
                         "os.getpgrp() == os.getpid(), os.getppid(), flush=True); input()", terminal=terminal.inner)
    assert terminal.until("\n") == "in front: True True 1"
    assert group(only_child(running)) != group(running.pid), "no signal to the one reaches the other"
    terminal.type("\n")
    assert running.end().code == 0


@pytest.mark.parametrize("key,number", [("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)])
def test_keys_end_the_command_and_are_told(init, terminal, key, number):
    running = init.start("/bin/sh", "-c", "ulimit -c 0; echo ready; sleep 1000; echo no", terminal=terminal.inner)
    terminal.until("ready\n")
    assert eventually(lambda: any(runs(pid, "sleep") for pid in descendants(running.pid)))
    terminal.type(key)
    assert running.end().code == 128 + number
    assert b"no" not in terminal.seen


def test_a_key_is_one_signal(init, terminal):
    running = init.start(*PYTHON, "-c", WITNESS, terminal=terminal.inner, options={"group": True})
    terminal.until("ready")
    terminal.until("\n")
    terminal.type("\x03")
    terminal.until("2\n")
    running.signal(LAST)
    assert terminal.until(f"{LAST}\n") == "", "neither a second one nor a hang-up by the terminal"
    assert running.end().code == 0


def test_nothing_comes_from_taking_over_a_terminal(init, terminal):
    """An init that gives its terminal away may get SIGHUP and SIGCONT for it; the command must not."""
    for _ in range(20):
        running = init.start(*PYTHON, "-c", WITNESS, terminal=terminal.inner)
        terminal.until("ready")
        terminal.until("\n")
        running.signal(LAST)
        assert terminal.until(f"{LAST}\n") == ""
        assert running.end().code == 0


def test_a_hang_up_that_is_meant_reaches_the_command(init, terminal):
    running = init.start(*PYTHON, "-c", WITNESS, terminal=terminal.inner)
    terminal.until("ready")
    terminal.until("\n")
    for number in (signal.SIGHUP, signal.SIGCONT, signal.SIGHUP):
        running.signal(number)
        terminal.until(f"{int(number)}\n")


def test_ctrl_z_stops_the_command_of_pid_1_and_cont_lets_it_go_on(init, terminal):
    running = init.start("/bin/cat", terminal=terminal.inner)
    terminal.type("one\n")
    terminal.until("one\n")
    command = only_child(running)
    terminal.type("\x1a")
    assert eventually(lambda: state(command) == "T")
    running.signal(signal.SIGCONT)
    terminal.type("two\n")
    terminal.until("two\n")
    terminal.type("\x04")
    assert running.end().code == 0


def test_a_changed_window_is_seen_by_the_command(init, terminal):
    script = ("import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [28])\n"
              "print('ready', flush=True)\nsignal.sigwait([28])\nprint(tuple(os.get_terminal_size(0)), flush=True)")
    running = init.start(*PYTHON, "-c", script, terminal=terminal.inner)
    terminal.until("ready\n")
    terminal.resize(33, 77)
    terminal.until("(77, 33)\n")
    assert running.end().code == 0


def test_a_terminal_that_goes_away_ends_the_command(init, terminal):
    running = init.start("/bin/sleep", "1000", terminal=terminal.inner)
    only_child(running)
    os.close(terminal.inner)
    terminal.inner = -1
    terminal.hang_up()
    assert running.end().code == 128 + signal.SIGHUP


# --- under a shell, not PID 1

class Shell:
    """A person's shell on a terminal, with the init as one of its jobs."""

    def __init__(self, init, terminal):
        self.init, self.terminal = init, terminal
        self.running = init.start_command(
            ["/bin/bash", "--norc", "--noprofile", "-i"], first=False, terminal=terminal.inner,
            env={"PS1": "> ", "PATH": os.environ["PATH"], "TERM": "dumb"})
        self.prompt()

    def prompt(self):
        return self.terminal.until("> ")

    def job(self, *words, **options):
        quiet = {"quiet": True} if self.init.is_warder else {}
        return shlex.join(str(word) for word in self.init.command(*words, **quiet, subreaper=True, **options))

    def say(self, line):
        self.terminal.type(line + "\n")

    def job_pids(self):
        """The init and its command."""
        def both():
            pids = descendants(self.running.pid)
            return pids if len(pids) > 1 else None
        return eventually(both)[:2]


@pytest.fixture
def shell(init, terminal):
    return Shell(init, terminal)


def test_under_a_shell_ctrl_z_and_fg_work(shell, terminal):
    shell.say(shell.job("/bin/cat"))
    terminal.type("one\n")
    terminal.until("one\n")
    own, command = shell.job_pids()
    for word in ("two\n", "three\n"):
        terminal.type("\x1a")
        terminal.until("Stopped")
        shell.prompt()
        assert (state(own), state(command)) == ("T", "T")
        shell.say("fg")
        terminal.type(word)
        terminal.until(word)
    terminal.type("\x04")
    shell.prompt()
    shell.say("echo code $?")
    terminal.until("code 0\n")


def test_under_a_shell_ctrl_c_ends_the_command(shell, terminal):
    shell.say(shell.job("/bin/sh", "-c", "echo ready; sleep 1000"))
    terminal.until("ready\n")
    assert eventually(lambda: any(runs(pid, "sleep") for pid in descendants(shell.running.pid)))
    terminal.type("\x03")
    shell.prompt()
    shell.say("echo code $?")
    terminal.until("code 130\n")


def test_under_a_shell_a_stopped_job_goes_on_in_the_background(shell, terminal):
    shell.say(shell.job("/bin/sleep", "1000"))
    own, command = shell.job_pids()
    assert eventually(lambda: runs(command, "sleep") and terminal.foreground() == group(command))
    terminal.type("\x1a")
    terminal.until("Stopped")
    shell.say("bg")
    assert eventually(lambda: state(own) == state(command) == "S")
    shell.say("kill %1; wait %1; echo code $?")
    terminal.until("code 143\n")


def test_under_a_shell_a_background_job_leaves_the_terminal_alone(shell, terminal):
    shell.say(shell.job("/bin/sh", "-c", "echo it ran") + " & wait; echo done")
    terminal.until("it ran\n")
    terminal.until("done\n")
    shell.prompt()
    assert terminal.foreground() == group(shell.running.pid)
    shell.say("echo still here")
    terminal.until("still here\n")


def test_under_a_shell_the_terminal_is_given_back(shell, terminal):
    for code in (0, 3):
        shell.say(shell.job("/bin/sh", "-c", f"exit {code}") + "; echo code $?")
        terminal.until(f"code {code}\n")
        shell.prompt()
    shell.say("cat")
    terminal.type("read by another\n")
    terminal.until("read by another\n")
    terminal.type("\x04")
    shell.prompt()


def test_under_a_shell_a_missing_command_gives_the_terminal_back(shell, terminal):
    shell.say(shell.job("/no/such/program") + "; echo code $?")
    terminal.until("code 127\n")
    shell.prompt()
    shell.say("echo still here")
    terminal.until("still here\n")


# --- no terminal, or another's

@pytest.mark.parametrize("first", [True, False])
def test_a_terminal_that_is_not_its_own_is_no_reason_to_fail(init, terminal, first):
    """Standard input is a terminal of another session: tcsetpgrp fails with ENOTTY."""
    ran = init.run("/bin/sh", "-c", "exit 3", stdin=terminal.inner, first=first)
    assert ran.code == 3, ran.explain()


def test_a_terminal_whose_other_side_is_gone_is_no_reason_to_fail(init):
    outer, inner = pty.openpty()
    os.close(outer)
    try:
        ran = init.run("/bin/sh", "-c", "exit 3", stdin=inner)
        assert ran.code == 3, ran.explain()
    finally:
        os.close(inner)


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [0, 1, 2]])
@pytest.mark.parametrize("first", [True, False])
def test_closed_standard_descriptors_stay_closed(init, folder, closed, first):
    told = folder / "told"
    script = f"for n in 0 1 2; do [ -e /proc/self/fd/$n ] && echo $n; done > {told}.open; mv {told}.open {told}; exit 4"
    # The redirection itself opens 1 for the loop, so what is asked is 0 and 2.
    ran = init.run("/bin/sh", "-c", script, closed=closed, first=first)
    assert ran.code == 4, ran.explain()
    open_there = {int(n) for n in told.read_text().split()} - {1}
    assert open_there == {0, 2} - set(closed)


def test_a_session_without_any_terminal(init):
    ran = init.run("/bin/sh", "-c", "(: < /dev/tty) 2>/dev/null && exit 1; exit 0", start_new_session=True)
    assert ran.code == 0, ran.explain()
