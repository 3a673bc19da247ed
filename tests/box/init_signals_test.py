"""Signals through an init: which reach whom, none too early to count, none to anybody else."""
import os
import signal

import pytest
from init_place import (CRASHES, FIRST_REAL_TIME, FORWARDED, JOB_CONTROL, LAST, PATIENCE, PYTHON, WITNESS,
                        children, eventually, state, status_of)

IGNORABLE = sorted(set(range(1, LAST + 1)) - {9, 19, 32, 33})

# A program and one more of its group, both witnesses; lines of the second begin with "+".
TWO = f"""
import os, subprocess, sys
lower = subprocess.Popen(sys.orig_argv[:-1] + [{WITNESS!r}], stdout=subprocess.PIPE, text=True)
assert lower.stdout.readline().startswith("ready")
def relay():
    for line in lower.stdout: print("+" + line.strip(), flush=True)
import threading
import signal
signal.pthread_sigmask(signal.SIG_SETMASK, range(1, 65))
threading.Thread(target=relay, daemon=True).start()
exec({WITNESS!r})
"""


@pytest.mark.parametrize("first", [True, False])
def test_every_signal_is_handed_on(init, first):
    running = init.witness(first=first)
    # Job control would stop an init that is no PID 1 together with its command: see the terminal's tests.
    wanted = [n for n in FORWARDED if first or n not in JOB_CONTROL]
    got = []
    for number in wanted:
        running.signal(number)
        got.append(int(running.line()))
    assert got == wanted
    assert running.end().code == 0, running.explain()


def test_signals_below_another_init_are_handed_on_once(init):
    running = init.start(*init.command(*PYTHON, "-c", WITNESS, **({} if init.is_warder else {"subreaper": True})))
    assert running.line().startswith("ready")
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        running.signal(number)
        assert running.line() == str(int(number))
    running.signal(LAST)
    assert running.line() == str(LAST)
    ran = running.end()
    assert (ran.code, ran.out) == (0, ""), ran.explain()


def test_an_end_of_a_child_that_is_only_said_is_not_handed_on(init):
    running = init.witness()
    running.signal(signal.SIGCHLD)
    running.signal(signal.SIGUSR1)
    assert running.line() == "10"


@pytest.mark.parametrize("number", sorted(CRASHES))
def test_a_crash_of_the_init_itself_is_its_crash(init, number):
    """Signals that report a fault of the init are not the command's."""
    running = init.witness(first=False)
    lower = children(running.pid)
    running.signal(number)
    assert running.wait(), running.explain()
    assert running.killed_by == number
    for pid in lower:
        os.kill(pid, signal.SIGKILL)


def test_queued_signals_are_all_handed_on(init):
    """Real-time signals queue; a standard one that comes many times at once is one."""
    running = init.witness()
    os.kill(running.pid, signal.SIGSTOP)
    if state(running.pid) in "RS":
        eventually(lambda: state(running.pid) == "T")
    for _ in range(50):
        running.signal(40)
        running.signal(signal.SIGUSR2)
    os.kill(running.pid, signal.SIGCONT)
    running.signal(LAST)
    lines = running.end().out.split()
    assert lines.count("40") == 50 and lines.count("12") >= 1, lines


@pytest.mark.parametrize("group", [True, False])
def test_a_signal_goes_to_the_command_or_to_its_group(init, group):
    running = init.start(*PYTHON, "-c", TWO, options={"group": group})
    assert running.line().startswith("ready")
    for number in (signal.SIGTERM, signal.SIGHUP, FIRST_REAL_TIME):
        running.signal(number)
        lines = {running.line(), running.line()} if group else {running.line()}
        assert lines == ({str(int(number)), f"+{int(number)}"} if group else {str(int(number))})
    running.signal(LAST)
    assert running.end().code == 0, running.explain()


def test_a_group_ends_where_the_command_itself_ignores_the_signal(init):
    """The command waits for a child and ignores the signal; the child does not."""
    script = "import os,signal,subprocess; signal.signal(10, signal.SIG_IGN); " \
             "p = subprocess.Popen(['sleep', '1000'], preexec_fn=lambda: signal.signal(10, signal.SIG_DFL)); " \
             "print('ready', flush=True); raise SystemExit(-p.wait())"
    running = init.start(*PYTHON, "-c", script, options={"group": True})
    assert running.line() == "ready"
    running.signal(signal.SIGUSR1)
    assert running.end().code == 10, running.explain()


def test_without_a_group_a_shell_that_waits_ends_by_the_signal(init):
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        running = init.start("/bin/sh", "-c", "echo ready; sleep 1000; true")
        assert running.line() == "ready"
        running.signal(number)
        # What the shell leaves behind ends too, and with it the output.
        assert running.end().code == 128 + number, running.explain()


@pytest.mark.parametrize("pairs,sent,seen", [
    ([], [15, 3, 18, 2], [15, 3, 18, 2]),
    ([(15, 2)], [15, 3, 18, 2], [2, 3, 18, 2]),
    ([(15, 2), (2, 15), (3, 3)], [15, 3, 18, 2], [2, 3, 18, 15]),
    ([(1, 63), (63, 1)], [1, 63], [63, 1]),
    ([(15, 3), (2, 0), (28, 0)], [15, 2, 28, 1], [3, 1]),
    ([(20, 1), (21, 15), (22, 2)], [20, 21, 22], [1, 15, 2]),
], ids=["none", "one", "swapped, not chained", "lowest and highest", "to nothing", "job control"])
def test_signals_are_rewritten(init, pairs, sent, seen):
    if init.name == "dumb-init" and (1, 63) in pairs:
        init.lacks("rewriting of real-time signals")
    running = init.witness(options={"rewrite": pairs})
    got = []
    for number in sent:
        running.signal(number)
        target = dict(pairs).get(number, number)
        if target:
            got.append(int(running.line()))
    assert got == seen
    running.signal(LAST)
    assert running.end().out.split() == [str(LAST)]


def test_a_rewritten_signal_goes_to_the_group_too(init):
    running = init.start(*PYTHON, "-c", TWO, options={"rewrite": [(15, 2)], "group": True})
    assert running.line().startswith("ready")
    running.signal(signal.SIGTERM)
    assert {running.line(), running.line()} == {"2", "+2"}


@pytest.mark.parametrize("names", [("TERM", "INT"), ("SIGTERM", "SIGINT"), ("15", "2"),
                                   ("RTMIN+3", "INT"), ("SIGRTMIN+3", "2"), ("RTMAX", "INT"), ("RTMAX-2", "INT")])
def test_names_of_signals_are_read_as_people_write_them(init, names):
    if not init.is_warder:
        pytest.skip("names of Warder's own")
    number = {"RTMIN+3": 37, "SIGRTMIN+3": 37, "RTMAX": 64, "RTMAX-2": 62}.get(names[0], 15)
    running = init.start_command([init.program, "init", "--rewrite", "=".join(names), "--", *PYTHON, "-c", WITNESS])
    assert running.line().startswith("ready"), running.end().err
    running.signal(number)
    assert running.line() == "2"


# --- the beginning

def test_signals_are_blocked_within_five_system_calls(init):
    running = init.start("/bin/true", trace=["--until-blocked"])
    ran = running.end()
    assert ran.code == 0
    assert ran.traced is not None and ran.traced <= 5, f"blocked after {ran.traced} system calls"


@pytest.mark.parametrize("group", [False, True])
def test_a_term_is_not_lost_whenever_it_comes(init, group):
    """TERM after each single system call of the init and of what it starts, from the one that
    blocks signals on, until the command runs and waits."""
    blocked = init.start("/bin/true", trace=["--until-blocked"]).end().traced
    lost, call = [], blocked
    # The whole run of `true` is about as long as the way of `sleep` to its sleep, and a little longer.
    while init.start("/bin/true", trace=["--signal-at", str(call), str(int(signal.SIGURG))]).end().traced:
        running = init.start("/bin/sleep", "1000", options={"group": group}, trace=["--signal-at", str(call), "15"])
        if not running.wait(1 if not init.is_warder else PATIENCE):
            lost.append(call)
            running.leave()
        elif running.code != 143:
            lost.append((call, running.code))
        call += 1
    assert lost == [], f"of {call} places"
    assert call > blocked + 20


# --- what the command inherits

def inherited(init, through, **more):
    """What a command sees: blocked, ignored, caught."""
    if through:
        running = init.run("/bin/cat", "/proc/self/status", **more)
    else:
        running = init.start_command(["/bin/cat", "/proc/self/status"], **more).end()
    lines = dict(line.split(":\t", 1) for line in running.out.splitlines() if ":\t" in line)
    return {key: lines[key] for key in ("SigBlk", "SigIgn", "SigCgt")}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("more", [
    {}, {"blocked": [21, 4, 15]}, {"ignored": [22, 11, 2]},
    {"blocked": [21, 4, 15], "ignored": [22, 11, 2]},
    {"blocked": [20, 21, 22, 17, 35]}, {"ignored": [1]}, {"ignored": [13]}, {"ignored": [17]},
    {"ignored": IGNORABLE}, {"blocked": IGNORABLE}, {"blocked": [32, 33]}],
    ids=lambda value: str(value) if len(str(value)) < 50 else "all " + next(iter(value)))
def test_mask_and_dispositions_are_those_the_init_was_given(init, more, first):
    assert inherited(init, True, first=first, **more) == inherited(init, False, first=first, **more)


def test_with_child_signals_ignored_at_its_start_the_code_is_still_known(init):
    for first in (True, False):
        ran = init.shell("sleep 0 & exit 6", ignored=[signal.SIGCHLD], first=first)
        assert ran.code == 6, ran.explain()


def test_signals_that_were_blocked_at_its_start_are_handed_on(init):
    running = init.witness(blocked=[signal.SIGTERM, signal.SIGUSR1])
    for number in (signal.SIGTERM, signal.SIGUSR1):
        running.signal(number)
        assert running.line() == str(int(number))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR2, signal.SIGTERM])
def test_what_was_ignored_at_its_start_does_not_kill(init, number):
    """An init must not turn a signal that was ignored into one that kills: it reaches a command
    that ignores it as well."""
    running = init.start("/bin/sh", "-c", "echo ready; sleep 1000; true", ignored=[number],
                         options={"grace": "100ms"} if init.is_warder else {})
    assert running.line() == "ready"
    running.signal(number)
    running.signal(signal.SIGUSR1)
    assert running.end().code == 128 + signal.SIGUSR1, running.explain()


# --- nobody else

def test_a_bystander_of_its_group_gets_nothing(init):
    """Not PID 1, in one group and session with others who are not its descendants."""
    bystander = init.start_command([*PYTHON, "-c", WITNESS], first=False)
    assert bystander.line().startswith("ready")
    group = os.getpgid(bystander.pid)
    running = init.start("/bin/sh", "-c", "(trap '' TERM; echo ready; sleep 0.2) & read line", first=False,
                         options={"group": True, **({"grace": "1ms"} if init.is_warder else {})},
                         before=lambda: os.setpgid(0, group), stdin=-1)
    assert running.line() == "ready"
    assert os.getpgid(running.pid) == group
    running.signal(signal.SIGHUP)
    assert running.end().code == 128 + signal.SIGHUP
    bystander.signal(LAST)
    assert bystander.line() == str(LAST), "nothing came before"


def test_a_stopped_command_gets_its_term(init):
    running = init.start("/bin/sh", "-c", "echo ready; kill -STOP $$; exit 3")
    assert running.line() == "ready"
    (command,) = children(running.pid)
    assert eventually(lambda: state(command) == "T")
    running.signal(signal.SIGTERM)
    if not init.is_warder:
        running.signal(signal.SIGCONT)
    assert running.end().code == 143, running.explain()


def test_stopping_and_going_on_reach_the_command_of_pid_1(init):
    running = init.start("/bin/sleep", "1000")
    (command,) = eventually(lambda: children(running.pid))
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        running.signal(number)
        assert eventually(lambda: state(command) == "T"), number
        assert state(running.pid) != "T", "PID 1 goes on collecting"
        running.signal(signal.SIGCONT)
        assert eventually(lambda: state(command) == "S"), number
    assert status_of(command, "SigBlk") == ("0000000000000000",)
    running.signal(signal.SIGTERM)
    assert running.end().code == 143
