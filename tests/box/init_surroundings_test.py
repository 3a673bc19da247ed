"""What an init is given and what it keeps: descriptors, folder, words, groups, parents, privileges."""
import os
import pathlib
import shutil
import signal
import subprocess

import pytest
from init_place import PATIENCE, PYTHON, children, descendants, eventually, read_some, stat_of


def held(pid):
    """What its descriptors above the standard ones are."""
    found = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            if int(fd.name) > 2:
                found.append(os.readlink(fd))
        except OSError:
            pass  # closed while we looked
    return found


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# --- descriptors and folder

@pytest.mark.parametrize("first", [True, False])
def test_descriptors_reach_the_command_and_do_not_stay_with_the_init(init, first):
    read, write = os.pipe()
    try:
        running = init.start("/bin/bash", "-c", f"echo through >&{write}; echo ready; exec sleep 1000",
                             pass_fds=[write], first=first)
        os.close(write)
        assert running.line() == "ready"
        assert read_some(read) == b"through\n"
        own = ("anon_inode:[signalfd]", "anon_inode:[eventpoll]", "anon_inode:[timerfd]")
        assert eventually(lambda: set(held(running.pid)) <= set(own)), held(running.pid)
        # Whoever reads the other end sees its end with the command's.
        (command,) = children(running.pid)
        os.kill(command, signal.SIGKILL)
        assert read_some(read) == b""
        assert running.end().code == 137
    finally:
        os.close(read)


def test_the_commands_output_ends_with_the_command_not_with_the_init(init, folder):
    """A reader of a log pipe need not wait for the init that lingers for others."""
    ready = folder / "ready"
    running = init.start("/bin/sh", "-c", "(exec >/dev/null 2>&1; trap '' TERM; touch ready; while :; do sleep 0.01; "
                         "done) & while [ ! -e ready ]; do sleep 0.01; done; echo out", cwd=folder,
                         options={"grace": "1h"})
    assert running.line() == "out"
    assert running.line() == "", "the end of the output"
    assert stat_of(running.pid) and ready.exists(), "and the init is still there"


@pytest.mark.parametrize("first", [True, False])
def test_the_folder_is_the_commands_and_is_not_pinned(init, folder, first):
    running = init.start("/bin/sh", "-c", "pwd; exec sleep 1000", cwd=folder, first=first)
    assert running.line() == str(folder)
    assert eventually(lambda: os.readlink(f"/proc/{running.pid}/cwd") == "/")
    (command,) = children(running.pid)
    assert os.readlink(f"/proc/{command}/cwd") == str(folder)


def test_a_mount_that_the_init_started_in_can_be_taken_away(init, folder):
    if os.getuid() != 0:
        pytest.skip("needs root to mount")
    mount = folder / "mount"
    mount.mkdir()
    ran = init.shell(f"mount -t tmpfs none {mount} && cd {mount} && exec {init.program} "
                     + " ".join(init.command("/bin/sh", "-c", f"'cd / && umount {mount}'")[1:]))
    assert ran.code == 0, ran.explain()


def test_a_folder_that_is_gone_is_no_reason_to_fail(init, folder):
    gone = folder / "gone"
    gone.mkdir()
    ran = init.run("/bin/sh", "-c", "exit 3", cwd=gone, before=lambda: os.rmdir(gone))
    assert ran.code == 3, ran.explain()


# --- words

def test_words_and_environment_arrive_byte_for_byte(init):
    words = ["", " ", "a b", "--", "-x", "new\nline", "quo\"te'", "\\", "$HOME", "*", "ünïcode", "x" * 100_000]
    raw = [word.encode() for word in words] + [b"\xff\xfe not text"]
    environment = {b"A": b"", b"B": b"x=y=z", b"C": b"\xff", b"with space": b"new\nline", b"D": b"y" * 50_000}
    program = ("import os, sys; out = sys.stdout.buffer; "
               "out.write(b'\\0'.join(os.fsencode(w) for w in sys.argv[1:]) + b'\\1'); "
               "out.write(open('/proc/self/environ', 'rb').read())")
    command = init.command(*PYTHON, "-c", program)
    running = init.start_command(command, env=environment)
    plain = running.end()
    assert plain.code == 0
    read, write = os.pipe()
    os.close(read), os.close(write)
    status_out, status_in = os.pipe()
    done = subprocess.run([os.fsencode(init.place), b"%d" % status_in, b"--first", b"--",
                           *[os.fsencode(str(word)) for word in command], *raw],
                          env=environment, pass_fds=[status_in], capture_output=True, timeout=PATIENCE,
                          restore_signals=False)
    os.close(status_in), os.close(status_out)
    got_words, got_environment = done.stdout.split(b"\1", 1)
    assert got_words.split(b"\0") == raw
    assert got_environment == b"".join(name + b"=" + value + b"\0" for name, value in environment.items())


@pytest.mark.parametrize("first", [True, False])
def test_limits_and_other_inherited_things_are_the_same(init, first):
    script = "umask; ulimit -S -a; ulimit -H -a; cat /proc/self/oom_score_adj /proc/self/timerslack_ns; " \
             "nice; grep -E 'Cap|Groups|NoNewPrivs|Seccomp|THP' /proc/self/status"

    def before():
        os.umask(0o026)
        os.nice(3)

    through = init.run("/bin/sh", "-c", script, first=first, before=before)
    direct = init.start_command(["/bin/sh", "-c", script], first=first, before=before).end()
    assert (through.code, through.out) == (0, direct.out), through.explain()


@pytest.mark.parametrize("value,expected", [("own", "command"), ("77777", "77777"), (None, "")])
@pytest.mark.parametrize("first", [True, False])
def test_socket_activation_names_the_command(init, first, value, expected):
    """LISTEN_PID that named the init names the command; another's is left."""
    own = "LISTEN_PID=$$ LISTEN_FDS=1 " if value == "own" else f"LISTEN_PID={value} " if value else ""
    through = " ".join(f"'{word}'" for word in init.command("/bin/sh", "-c", "echo $LISTEN_PID,$LISTEN_FDS,$$"))
    ran = init.start_command(["/bin/sh", "-c", f"export {own or 'X=1'}; exec {through}"], first=first,
                             env={"PATH": os.environ["PATH"]}).end()
    assert ran.code == 0, ran.explain()
    listen, count, command = ran.out.strip().split(",")
    assert listen == (command if expected == "command" else expected)
    assert count == ("1" if value == "own" else "")


# --- groups and sessions

@pytest.mark.parametrize("target", ["0", "group"])
@pytest.mark.parametrize("first", [True, False])
def test_bc_094_killing_a_group_below_does_not_hit_the_init(init, target, first):
    """A grandchild kills its own process group, which is the command's."""
    running = init.start(*PYTHON, "-c", f"""
import os, time
print(os.getpgrp() == os.getpid(), flush=True)
if os.fork() == 0: os.kill({0 if target == "0" else "-os.getpgrp()"}, 9)
time.sleep(1000)
""", first=first)
    assert running.line() == "True", "the command leads a group of its own"
    ran = running.end()
    assert (ran.code, ran.killed_by) == (137, None), ran.explain()


def test_bc_094_a_job_of_the_command_can_be_killed_alone(init):
    ran = init.run("/bin/bash", "-c", "set -m; sleep 1000 & kill -KILL -- -$!; wait $!; echo $?; exit 4")
    assert (ran.code, ran.out) == (4, "137\n"), ran.explain()


def test_killing_everybody_as_the_command_leaves_the_init(init):
    """kill(-1) of a process in the namespace reaches all but PID 1."""
    ran = init.shell("sleep 1000 & kill -KILL -1; exit 7")
    assert ran.code == 7, ran.explain()


# --- not PID 1

def test_orphans_come_to_it_though_it_is_not_pid_1(init):
    running = init.start("/bin/sh", "-c", "(setsid sh -c 'echo orphan; exec sleep 1000' &); exec sleep 1000", first=False)
    assert running.line() == "orphan"
    assert eventually(lambda: len(children(running.pid)) == 2), running.explain()


@pytest.mark.parametrize("first,quiet,warned", [(True, False, False), (False, False, True), (False, True, False)])
def test_it_warns_when_it_is_not_pid_1(init, first, quiet, warned):
    if not init.is_warder:
        pytest.skip("words of Warder's own")
    ran = init.run("/bin/true", first=first, options={"quiet": quiet})
    assert ran.code == 0
    assert ("PID 1" in ran.err) == warned, ran.err


def test_it_works_below_another_init(init):
    peer = shutil.which("tini")
    if not peer:
        pytest.skip("tini is not installed")
    inner = init.command("/bin/sh", "-c", "(setsid sleep 1000 &); exit 3", **({"grace": "100ms"} if init.is_warder else {}))
    ran = init.start_command([peer, "--", *inner]).end()
    assert ran.code == 3, ran.explain()


@pytest.mark.parametrize("number", ["TERM", "USR1", "KILL"])
def test_the_death_of_its_parent_is_told(init, folder, number):
    mark, ready = folder / "mark", folder / "ready"
    through = " ".join(str(word) for word in init.command(
        "/bin/sh", folder / "child", parent_death=number))
    (folder / "child").write_text(f"trap 'touch {mark}; exit 0' TERM USR1; touch {ready}; while :; do sleep 0.01; done")
    parent = init.start_command(["/bin/sh", "-c", f"{through} & wait"], first=False)
    assert eventually(ready.exists)
    (own,) = children(parent.pid)
    below = descendants(own)
    parent.signal(signal.SIGKILL)
    assert parent.wait()
    assert eventually(lambda: stat_of(own) is None or stat_of(own)[0] == "Z")
    if number == "KILL":
        for pid in below:
            end(pid)
    else:
        assert mark.exists(), "it was handed on"


# --- privileges and machines that lack something

@pytest.mark.parametrize("first", [True, False])
def test_it_needs_no_privilege(init, first):
    if os.getuid() != 0:
        pytest.skip("is not root anyway")
    inner = init.command("/bin/sh", "-c", "id -u; (setsid sleep 1000 &) ; exit 3",
                         **({"grace": "100ms"} if init.is_warder else {}))
    ran = init.start_command(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "--bounding-set",
                              "-all", "--inh-caps", "-all", "--no-new-privs", *inner], first=first).end()
    assert (ran.code, ran.out) == (3, "1000\n"), ran.explain()


def test_a_command_of_another_user_is_ended_too(init):
    """Where the init is root its leftovers may be anybody's."""
    if os.getuid() != 0:
        pytest.skip("needs root")
    ran = init.run("/bin/sh", "-c", "setpriv --reuid 1000 --clear-groups setsid sleep 1000 & sleep 0.1; exit 3",
                   options={"grace": "5s"} if init.is_warder else {})
    assert ran.code == 3, ran.explain()


def test_it_needs_no_dev_and_no_proc(init):
    if os.getuid() != 0:
        pytest.skip("needs root to hide /dev")
    inner = " ".join(f"'{word}'" for word in init.command("/bin/sh", "-c", "echo fine; exit 3"))
    ran = init.start_command(["/bin/sh", "-c", f"mount -t tmpfs none /dev && exec {inner}"], no_proc=True).end()
    assert (ran.code, ran.out, ran.err) == (3, "fine\n", ""), ran.explain()
