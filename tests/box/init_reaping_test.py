"""Zombies: every orphan is collected, nobody else's child is, and the command's end is never missed."""
import signal

import pytest
from init_place import PYTHON, children, descendants, eventually, stat_of, state

# kill(-1) as seen from the command: everybody but PID 1 and itself, zombies too.
ALONE = """
import os, sys, time, signal
def alone():
    try: os.kill(-1, 0)
    except ProcessLookupError: return True
    return False
def until_alone():
    for _ in range(6000):
        if alone(): return
        time.sleep(0.01)
    sys.exit("others are left: " + " ".join(open(f"/proc/{p}/stat").read() for p in os.listdir("/proc") if p.isdigit()))
"""


def test_bc_008_five_thousand_orphans_in_bursts_leave_no_zombie(init):
    """Their deaths are told by few signals; and the statuses of children that somebody waits for
    are not taken away by the init."""
    ran = init.run(*PYTHON, "-c", ALONE + """
import gc
gc.disable()
waves, wave = 50, 100
for number in range(waves):
    release, hold = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(hold)
        for _ in range(wave):
            if os.fork() == 0:
                os.read(release, 1)   # all of a wave end at once
                os._exit(0)
        os._exit(number)
    mine = os.fork()
    if mine == 0: os._exit(100 + number)
    assert os.waitstatus_to_exitcode(os.waitpid(middle, 0)[1]) == number
    os.close(hold); os.close(release)
    until_alone_but = os.waitstatus_to_exitcode(os.waitpid(mine, 0)[1])
    assert until_alone_but == 100 + number
    until_alone()
print("none left")
""")
    assert (ran.code, ran.out) == (0, "none left\n"), ran.explain()


@pytest.mark.parametrize("first", [True, False])
def test_orphans_of_orphans_are_collected(init, first):
    running = init.start(*PYTHON, "-c", """
import os, sys, time
def chain(depth):
    if os.fork() == 0:
        if depth: chain(depth - 1)
        os._exit(0)
for _ in range(20):
    if os.fork() == 0:
        chain(5)
        os._exit(0)
    os.wait()
print("made", flush=True)
sys.stdin.read()
""", first=first, stdin=-1)
    assert running.line() == "made"
    assert eventually(lambda: len(descendants(running.pid)) == 1), running.explain()
    running.place.stdin.close()
    running.place.stdin = None
    assert running.end().code == 0, running.explain()


def test_orphans_are_adopted_by_the_init(init):
    ran = init.run(*PYTHON, "-c", """
import os, time
read, write = os.pipe()
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle: time.sleep(0.005)
        os.write(write, b"%d" % os.getppid())
    os._exit(0)
os.wait(); os.close(write)
print(os.read(read, 10).decode())
""")
    assert (ran.code, ran.out) == (0, "1\n"), ran.explain()


def test_a_zombie_that_its_living_parent_keeps_is_left_alone(init):
    running = init.start(*PYTHON, "-c", """
import os, sys
pid = os.fork()
if pid == 0: os._exit(9)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print("kept", flush=True)
sys.stdin.read()
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
""", stdin=-1)
    assert running.line() == "kept"
    (command,) = children(running.pid)
    (zombie,) = children(command)
    running.signal(signal.SIGCHLD)  # not even when it is told to look
    running.signal(signal.SIGCONT)
    assert state(zombie) == "Z"
    running.place.stdin.close()
    running.place.stdin = None
    ran = running.end()
    assert (ran.code, ran.out) == (0, "status 9\n"), ran.explain()


def test_a_zombie_of_a_parent_that_dies_is_collected(init):
    ran = init.run(*PYTHON, "-c", ALONE + """
if os.fork() == 0:
    if os.fork() == 0: os._exit(0)
    time.sleep(0.05)   # the zombie's parent; it never waits
    os._exit(0)
os.wait()
until_alone()
""")
    assert ran.code == 0, ran.explain()


def test_a_child_without_an_exit_signal_is_collected(init):
    """clone(2) without SIGCHLD: only a wait with __WALL sees such a child of ours."""
    ran = init.run(*PYTHON, "-c", ALONE + """
import ctypes
libc = ctypes.CDLL(None)
if os.fork() == 0:
    if libc.syscall(56, 0, 0, 0, 0, 0) == 0: os._exit(0)
    os._exit(0)
os.wait()
until_alone()
""")
    assert ran.code == 0, ran.explain()


@pytest.mark.parametrize("first", [True, False])
def test_the_commands_end_is_seen_among_many(init, first):
    """The command ends at the same moment as a hundred others: one signal for all."""
    for code in range(1, 11):
        ran = init.run(*PYTHON, "-c", f"""
import os
read, write = os.pipe()
for _ in range(100):
    if os.fork() == 0:
        os.close(write); os.read(read, 1); os._exit(77)
os._exit({code})
""", first=first)
        assert ran.code == code, ran.explain()


def test_what_ended_before_the_command_is_not_taken_for_it(init):
    ran = init.shell("for i in 1 2 3 4 5; do (sh -c 'exit 66' &) ; done; sleep 0.1; exit 8")
    assert ran.code == 8, ran.explain()


def test_the_init_waits_without_a_clock(init):
    """It must wake up for signals only, not look around ten times a second."""
    running = init.start("/bin/sleep", "1000")
    assert eventually(lambda: children(running.pid) and state(running.pid) == "S")

    def switches():
        lines = open(f"/proc/{running.pid}/status").read().splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith("voluntary")][0]
    eventually(lambda: not stat_of(running.pid), 0.2)
    before = switches()
    eventually(lambda: switches() != before, 1)
    assert switches() == before
