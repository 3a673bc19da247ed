"""What `warder run` shows: on terminals of many kinds, through pipes, to readers that leave."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
import world


class Terminal:
    """A terminal with a program in it, and what stands on its screen: lines that scroll for ever."""

    def __init__(self, person, *words, columns=100, **environment):
        self.columns, self.raw = columns, b""
        self.lines, self.row, self.column = [""], 0, 0
        self.master, slave = pty.openpty()
        self.resize(columns)
        options = {"user": person.uid, "group": person.uid, "extra_groups": []} if person.switch else {}
        if person.switch:
            os.chown(os.ttyname(slave), person.uid, -1)
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=slave, stdout=slave, stderr=slave, cwd=person.folder,
            start_new_session=True, env={**person.environment(), "TERM": "xterm", **environment}, **options)
        person.started.append(self.process)
        os.close(slave)

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def read(self, patience=0.2):
        """Takes what was written; False at the end."""
        if not select.select([self.master], [], [], patience)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += data
        self.draw(data.decode("utf-8", "replace"))
        return bool(data)

    def draw(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+|\x1b", text):
            if part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append("")
            elif part == "\x1b[A":
                self.row = max(0, self.row - 1)
            elif part == "\x1b[J":
                self.lines[self.row] = self.lines[self.row][:self.column]
                del self.lines[self.row + 1:]
            elif part.startswith("\x1b["):
                assert part.endswith("m"), f"an unknown sequence {part!r}"
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + part + line[self.column + len(part):]
                self.column += len(part)

    def until(self, question, patience=world.PATIENCE):
        end = time.monotonic() + patience
        while not question():
            assert self.read() and time.monotonic() < end, "\n".join(self.lines)

    def finish(self):
        while self.read(world.PATIENCE):
            pass
        os.close(self.master)
        return self.process.wait(world.PATIENCE)


def waiting_job(person, script="echo working; while [ ! -e go ]; do sleep 0.05; done", **parts):
    return person.job(agent={"command": ["/bin/sh", "-c", script]}, **parts)


def go(person):
    (person.workspace / "go").write_text("")


def start(person, job, *words, **options):
    return Terminal(person, person.tools.warder, "run", job, "--spool", person.spool, *words, **options)


def view_of(terminal):
    """The lines at the foot of the screen that are no plain lines."""
    return [line for line in terminal.lines[-3:] if not re.match(r" *\d+\.\ds  ", line)]


def test_a_terminal_shows_how_the_run_stands_under_its_lines(person):
    terminal = start(person, waiting_job(person))
    terminal.until(lambda: len(view_of(terminal)) == 3 and view_of(terminal)[0].startswith("running "))
    head, memory, last = view_of(terminal)
    assert re.match(r"running [\d.]+s  sh \(pid \d+\)  llm 0 calls, 0 in, 0 out, \$0\.0000  denied 0", head)
    assert re.match(r"memory \[#*-*\|?-*\] .* of .* \(\d+%\)", memory) or "no limit" in memory
    assert last == "> working"
    go(person)
    assert terminal.finish() == 0
    # Nothing of it is left, and the lines are whole.
    assert not [line for line in terminal.lines if line.startswith(("running ", "memory [", "> "))], terminal.lines
    shown = [re.sub(r"^ *[\d.]+s  ", "", line) for line in terminal.lines]
    assert "agent | working" in shown and "the agent ended (exit code 0)" in shown
    assert shown[-1] == "" and terminal.column == 0, "the cursor is at the beginning of a fresh line"
    assert not terminal.raw.count(b"\x1b[?"), "nothing that would have to be taken back"


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}], ids=["dumb", "none"])
def test_a_terminal_that_can_do_nothing_gets_plain_lines(person, environment):
    terminal = start(person, waiting_job(person), **environment)
    terminal.until(lambda: any("agent | working" in line for line in terminal.lines))
    go(person)
    assert terminal.finish() == 0
    assert b"\x1b" not in terminal.raw


def test_colours_are_left_out_when_nobody_wants_them(person):
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
        (person.workspace / "go").unlink(missing_ok=True)
        terminal = start(person, waiting_job(person), **environment)
        terminal.until(lambda: any("memory [" in line for line in terminal.lines))
        go(person)
        terminal.finish()
        assert (b"\x1b[1m" in terminal.raw) == coloured, environment


def test_no_line_of_the_view_is_wider_than_the_terminal_and_a_new_width_counts_at_once(person):
    terminal = start(person, waiting_job(person), columns=40)
    terminal.until(lambda: any(line.startswith("> working") for line in terminal.lines))
    assert all(len(line) < 40 for line in view_of(terminal)), view_of(terminal)
    terminal.resize(120)
    terminal.until(lambda: any("denied 0" in line for line in terminal.lines))
    terminal.resize(10)  # too narrow for a view
    go(person)
    assert terminal.finish() == 0


def test_what_the_agent_writes_cannot_steer_the_terminal(person):
    script = r"printf '\033[2J\033]0;title\007\r\x9b31mfake\n    9.9s  the agent ended (exit code 0)\n'; while [ ! -e go ]; do sleep 0.05; done"
    terminal = start(person, waiting_job(person, script), NO_COLOR="1")
    terminal.until(lambda: any(line.startswith("> ") for line in terminal.lines))
    go(person)
    assert terminal.finish() == 0
    assert b"\x1b[2J" not in terminal.raw and b"\x1b]" not in terminal.raw and b"\x07" not in terminal.raw
    forged = [line for line in terminal.lines if "9.9s" in line]
    assert forged and all("agent | " in line for line in forged), "its lines are framed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_view_is_taken_away_on_every_ending(person, number):
    terminal = start(person, waiting_job(person, limits={"grace": "200ms"}))
    terminal.until(lambda: any(line.startswith("> working") for line in terminal.lines))
    terminal.process.send_signal(number)
    assert terminal.finish() == 15
    assert not [line for line in terminal.lines if line.startswith(("running ", "memory [", "> "))]
    assert terminal.column == 0


def test_quiet_shows_the_ending_alone(person):
    terminal = start(person, person.job(agent={"command": ["/bin/echo", "hello"]}), "--quiet")
    assert terminal.finish() == 0
    assert b"\x1b" not in terminal.raw
    assert [line.split(":")[0] for line in terminal.lines[:-1]] == ["ok (completed)", "results"]


def test_pipes_get_plain_lines(person):
    ran = person.run(waiting_job(person, "echo out; echo err >&2"), env={**person.environment(), "TERM": "xterm"})
    assert ran.code == 0 and "\x1b" not in ran.stdout + ran.stderr
    assert "agent | out" in ran.stderr and "agent | err" in ran.stderr


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_leaves_does_not_end_the_run(person, stream):
    process = person.start(person.tools.warder, "run", waiting_job(person), "--spool", person.spool)
    getattr(process, stream).close()
    setattr(process, stream, None)
    world.eventually(lambda: [path for path in person.spool.glob("*/output/stdout") if path.read_text()])
    go(person)
    process.communicate(timeout=world.PATIENCE)
    assert process.returncode == 0
    assert "ok" in (person.results / person.runs()[0].name / "report.json").read_text()


def test_a_reader_that_does_not_read_keeps_nobody_from_ending_the_run(person):
    # More than a pipe holds, then a long wait.
    script = "i=0; while [ $i -lt 5000 ]; do echo line $i of a flood that nobody reads; i=$((i+1)); done; sleep 1000"
    process = person.start(person.tools.warder, "run", waiting_job(person, script, limits={"grace": "200ms"}),
                           "--spool", person.spool)
    world.eventually(lambda: [path for path in person.spool.glob("*/output/stdout") if b"line 4999" in path.read_bytes()])
    process.send_signal(signal.SIGTERM)
    finished = world.eventually(lambda: list(person.spool.glob("*/report.json")))
    assert finished, "the run ended although its lines were not read"
    process.send_signal(signal.SIGTERM)  # and whoever watches may leave too
    process.stderr.close()
    process.stderr = None
    process.communicate(timeout=world.PATIENCE)
    assert process.returncode == 15


def test_a_slow_reader_gets_every_line(person):
    script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"
    process = person.start(person.tools.warder, "run", waiting_job(person, script), "--spool", person.spool)
    world.eventually(lambda: list(person.spool.glob("*/report.json")))
    out, err = process.communicate(timeout=world.PATIENCE)
    assert process.returncode == 0
    shown = [line.split("agent | ")[1] for line in err.splitlines() if "agent | " in line]
    assert shown == [f"line {i}" for i in range(20000)]


def test_json_is_one_document_whatever_happens(person):
    ran = person.run(person.job(agent={"command": ["/bin/sh", "-c", "echo out; exit 3"]}), "--json")
    assert ran.code == 1 and json.loads(ran.stdout) == ran.report and "agent | out" in ran.stderr
    for job in (person.job(agent={"command": ["nobody"]}), person.folder / "no.yaml"):
        ran = person.run(job, "--json")
        answer = json.loads(ran.stdout)
        assert ran.code == 14 and answer["started"] is False and answer["exit_code"] == 14
        assert answer["faults"] and all(fault["sentence"] in ran.stderr for fault in answer["faults"])
