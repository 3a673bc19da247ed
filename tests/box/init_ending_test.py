"""After the command has ended: what it left is asked, has time, and is then killed."""
import os
import pathlib
import signal

import pytest
from init_place import PYTHON, children, descendants, eventually, state

# A process that outlives the command, in a session of its own. It takes 300 ms for its end, as one
# that writes its state to disk does.
SLOW_END = """setsid sh -c 'trap "sleep 0.3; touch {mark}; exit 0" TERM; touch {ready}; while :; do sleep 0.01; done' &"""
# One that cannot be asked.
DEAF = """setsid sh -c 'trap "" TERM INT HUP; touch {ready}; while :; do sleep 0.01; done' &"""
UNTIL = "while [ ! -e {ready} ]; do sleep 0.01; done; "


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def lines(text, **names):
    return text.format(**{name: str(path) for name, path in names.items()})


@pytest.mark.parametrize("first", [True, False])
def test_what_outlives_the_command_can_end_in_order(init, folder, first):
    mark, ready = folder / "mark", folder / "ready"
    ran = init.shell(lines(SLOW_END + UNTIL + "exit 5", mark=mark, ready=ready), first=first,
                     options={"grace": "60s"} if init.is_warder else {})
    assert ran.code == 5, ran.explain()
    assert mark.exists(), "it was cut"


@pytest.mark.parametrize("first", [True, False])
def test_daemons_get_their_term_when_the_command_was_told_to_end(init, folder, first):
    """`docker stop`: the command ends by TERM; a daemon, adopted by the init, is asked as well."""
    mark, ready = folder / "mark", folder / "ready"
    running = init.start("/bin/sh", "-c", lines("(" + SLOW_END + ") & " + UNTIL + "echo ready; exec sleep 1000",
                                                mark=mark, ready=ready), first=first,
                         options={"grace": "60s"} if init.is_warder else {})
    assert running.line() == "ready"
    running.signal(signal.SIGTERM)
    assert running.end().code == 143, running.explain()
    assert mark.exists()


@pytest.mark.parametrize("first", [True, False])
def test_bc_038_escaped_daemons_that_hold_the_output_open_do_not_keep_it(init, folder, first):
    """setsid and nohup, the output held open, one that forks again and again; all deaf."""
    ready = folder / "ready"
    script = lines("setsid nohup sh -c 'trap \"\" TERM; while :; do sleep 1000; done' & "
                   "setsid sh -c 'trap \"\" TERM; touch {ready}; while :; do setsid sleep 1000 & sleep 0.01; done' & "
                   + UNTIL + "exit 0", ready=ready)
    running = init.start("/bin/sh", "-c", script, first=first, options={"grace": "200ms"})
    assert running.wait(), running.explain()
    assert running.code == 0
    running.end()  # the end of its output: nobody is left who has it
    assert "killed" in running.err, running.err


@pytest.mark.parametrize("first", [True, False])
def test_bc_037_a_child_that_ignores_the_stop_is_killed_after_the_grace(init, folder, first):
    """The command ends by the signal at once, its child ignores it. The grace is the child's: what
    it does within the grace is done."""
    ready, did = folder / "ready", folder / "did"
    script = lines("setsid sh -c 'trap \"\" TERM; touch {ready}; sleep 0.3; touch {did}; sleep 1000' & "
                   + UNTIL + "echo ready; exec sleep 1000", ready=ready, did=did)
    running = init.start("/bin/sh", "-c", script, first=first, options={"grace": "2s"})
    assert running.line() == "ready"
    running.signal(signal.SIGTERM)
    assert running.end().code == 143, running.explain()
    assert did.exists()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_another_stop_shortens_the_grace(init, folder, first, number):
    ready = folder / "ready"
    running = init.start("/bin/sh", "-c", lines(DEAF + UNTIL + "echo ready; exec sleep 1000", ready=ready),
                         first=first, options={"grace": "1h"})
    assert running.line() == "ready"
    (command,) = children(running.pid)
    running.signal(number)
    assert eventually(lambda: state(command) is None), "the first one is the command's"
    assert state(running.pid), "the grace is long"
    running.signal(number)
    assert running.end().code == 128 + number, running.explain()


def test_without_leftovers_there_is_no_grace(init):
    for _ in range(5):
        running = init.start("/bin/sh", "-c", "(sleep 0 &) ; exit 2", options={"grace": "1h"})
        assert running.end().code == 2


@pytest.mark.parametrize("first", [True, False])
def test_a_stopped_process_is_woken_for_its_end(init, folder, first):
    mark, ready = folder / "mark", folder / "ready"
    script = lines("setsid sh -c 'trap \"touch {mark}; exit 0\" TERM; touch {ready}; kill -STOP $$' & "
                   + UNTIL + "sleep 0.05; exit 0", mark=mark, ready=ready)
    ran = init.shell(script, first=first, options={"grace": "30s"})
    assert ran.code == 0, ran.explain()
    assert mark.exists()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("way", ["fork", "vfork", "threads"])
def test_storms_end(init, folder, way, first):
    """Processes that replace themselves faster than a list of them can be read."""
    ready = folder / "ready"
    storm = {
        "fork": "signal.signal(15, signal.SIG_IGN)\nwhile True:\n"
                "    if os.fork(): os._exit(0)\n    time.sleep(0.0005)",
        "vfork": "signal.signal(15, signal.SIG_IGN)\nwhile True:\n"
                 "    os.posix_spawn('/bin/true', ['true'], {}, setsid=True)\n"
                 "    os.posix_spawn('/bin/sleep', ['sleep', '1000'], {}, setsid=True)\n    time.sleep(0.002)",
        "threads": "import threading\nsignal.signal(15, signal.SIG_IGN)\n"
                   "[threading.Thread(target=time.sleep, args=(1000,)).start() for _ in range(50)]\n"
                   "while True:\n    t = threading.Thread(target=time.sleep, args=(0.001,)); t.start(); t.join()"}[way]
    program = (f"import os, signal, sys, time\nsignal.signal(17, signal.SIG_IGN)\n"
               f"if os.fork() == 0:\n    os.setsid()\n    open({str(ready)!r}, 'w')\n"
               + "\n".join("    " + line for line in storm.split("\n"))
               + f"\nwhile not os.path.exists({str(ready)!r}): time.sleep(0.01)\nos._exit(3)\n")
    ran = init.run(*PYTHON, "-c", program, first=first, options={"grace": "100ms"})
    assert ran.code == 3, ran.explain()
    assert descendants(ran.pid) == []


def test_processes_of_a_pid_namespace_below_end_too(init, folder):
    if os.getuid() != 0:
        pytest.skip("needs root to make a pid namespace below one")
    mark, ready = folder / "mark", folder / "ready"
    script = lines("unshare --pid --fork --kill-child sh -c 'trap \"sleep 0.1; touch {mark}; exit 0\" TERM; "
                   "touch {ready}; while :; do sleep 0.01; done' & " + UNTIL + "exit 0", mark=mark, ready=ready)
    ran = init.shell(script, options={"grace": "1s"})
    assert ran.code == 0, ran.explain()
    assert descendants(ran.pid) == []


@pytest.mark.parametrize("no_proc", [True, False])
def test_the_ending_needs_no_proc(init, folder, no_proc):
    mark, ready = folder / "mark", folder / "ready"
    other = folder / "other"
    script = lines(SLOW_END, mark=mark, ready=ready) + lines(DEAF, ready=other) \
        + lines(UNTIL, ready=ready) + lines(UNTIL, ready=other) + "exit 4"
    ran = init.shell(script, options={"grace": "1500ms"}, no_proc=no_proc)
    assert ran.code == 4, ran.explain()
    assert mark.exists()


@pytest.mark.parametrize("quiet", [True, False])
def test_leftovers_are_told(init, folder, quiet):
    ready = folder / "ready"
    ran = init.shell(lines(DEAF + UNTIL + "exit 0", ready=ready), options={"grace": "10ms", "quiet": quiet})
    assert ran.code == 0
    assert ("SIGTERM" in ran.err and "killed" in ran.err) == (not quiet), ran.err


def test_a_grace_of_nothing_kills_at_once(init, folder):
    ready = folder / "ready"
    ran = init.shell(lines(DEAF + UNTIL + "exit 0", ready=ready), options={"grace": "0s"})
    assert ran.code == 0, ran.explain()


@pytest.mark.parametrize("first", [True, False])
def test_signals_during_the_grace_are_not_lost_on_the_init(init, folder, first):
    """A signal that has nobody to go to any more does not end the init early, nor wake it for good."""
    mark, ready = folder / "mark", folder / "ready"
    running = init.start("/bin/sh", "-c", lines(SLOW_END + UNTIL + "exit 6", mark=mark, ready=ready), first=first,
                         options={"grace": "60s"})
    assert eventually(ready.exists)
    assert eventually(lambda: all(b"exit 6" not in command_line(pid) for pid in descendants(running.pid)))
    for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGWINCH, 40, signal.SIGTSTP, signal.SIGCONT):
        running.signal(number)
    assert running.end().code == 6, running.explain()
    assert mark.exists()


@pytest.mark.parametrize("first", [True, False])
def test_a_second_end_of_the_run_does_not_change_the_code(init, first):
    """Leftovers end with other codes than the command."""
    ran = init.shell("(sleep 0.05; exit 9) & (trap 'exit 12' TERM; sleep 0.2) & exit 5", first=first)
    assert ran.code == 5, ran.explain()
