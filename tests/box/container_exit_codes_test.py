"""How a container ends: the agent's code, and what is said when there was nothing to start (BC-095)."""
import pathlib
import platform
import signal
import subprocess

import container_images
import containers
import pytest

BOX, DEBIAN = container_images.BOX, container_images.DEBIAN

SIGNALS = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL, signal.SIGUSR1,
           signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM]


def test_the_agents_exit_code_is_the_containers(docker):
    box = docker.begin(BOX, "/bin/sleep", "600")
    for code in (0, 1, 2, 10, 42, 125, 126, 127, 128, 137, 143, 255):
        ran = docker.docker("exec", box.name, "/warder", "init", "--quiet", "--", "/bin/sh", "-c", f"exit {code}",
                            check=False)
        assert ran.returncode == code
    for code in (0, 3, 255):
        ran = docker.run(BOX, "/bin/sh", "-c", f"exit {code}")
        assert (ran.returncode, ran.stderr) == (code, "")


def test_an_agent_that_died_of_a_signal_ends_the_container_with_128_and_its_number(docker):
    box = docker.begin(DEBIAN, "/bin/sleep", "600")
    for number in SIGNALS:
        ran = docker.docker("exec", box.name, "warder", "init", "--quiet", "--", "/bin/sh", "-c",
                            f"kill -{int(number)} $$", check=False)
        assert ran.returncode == 128 + number
    assert docker.run(BOX, "/bin/sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


OTHER_MACHINE = 183 if platform.machine() == "x86_64" else 62  # AArch64, or x86-64


def foreign(file):
    """The same program, said to be for another kind of machine."""
    data = bytearray(pathlib.Path(file).read_bytes())
    data[18:20] = OTHER_MACHINE.to_bytes(2, "little")
    return bytes(data)


@pytest.fixture(scope="module")
def broken_programs(engine, tmp_path_factory):
    """An image of programs that cannot be started, each for another reason."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    subprocess.run(["musl-gcc", "-o", folder / "musl", folder / "hello.c"], check=True)
    subprocess.run(["gcc", "-o", folder / "glibc", folder / "hello.c"], check=True)
    busybox = containers.busybox_root()["/bin/busybox"]
    root = {**containers.busybox_root(), "/warder": container_images.warder(),
            "/bin/musl": folder / "musl", "/bin/glibc": folder / "glibc", "/bin/foreign": foreign(busybox),
            "/bin/script": b"#!/usr/bin/python9\nprint()\n", "/bin/dos": b"#!/bin/sh\r\necho\r\n",
            "/bin/empty": b"", "/bin/text": b"echo no interpreter line\n",
            "/bin/half": pathlib.Path(busybox).read_bytes()[:40],
            "/bin/folder": containers.Folder(0o755), "/bin/locked": containers.Locked(b"#!/bin/sh\n"),
            "/bin/dangling": containers.Link("/bin/nowhere")}
    return engine.import_root("broken", root, entrypoint=containers.INIT)


NOT_STARTED = {  # what is started: the exit code, and what the sentence names
    "/bin/no-such": (127, ["/bin/no-such"]),
    "no-such-in-path": (127, ["no-such-in-path", "PATH"]),
    "/bin/dangling": (127, ["/bin/dangling"]),
    "/bin/folder": (126, ["/bin/folder"]),
    "/bin/locked": (126, ["/bin/locked"]),
    "/bin/musl": (127, ["/bin/musl", "/lib/ld-musl-"]),
    "/bin/glibc": (127, ["/bin/glibc", "/ld-linux"]),
    "/bin/foreign": (126, ["/bin/foreign"]),
    "/bin/script": (127, ["/bin/script", "/usr/bin/python9"]),
    "/bin/dos": (127, ["/bin/dos", "carriage return"]),
    "/bin/half": (126, ["/bin/half"]),
    "": (127, []),
}


@pytest.mark.parametrize("command", NOT_STARTED)
def test_bc_095_a_command_that_cannot_be_started_is_one_sentence_and_126_or_127(docker, broken_programs, command):
    code, named = NOT_STARTED[command]
    ran = docker.run(broken_programs, command)
    assert ran.returncode == code, ran.stderr
    lines = ran.stderr.splitlines()
    assert len(lines) == 1 and all(word in lines[0] for word in named), ran.stderr
    assert ran.stdout == ""


def test_a_script_without_an_interpreter_line_is_the_shells_as_everywhere(docker, broken_programs):
    # execvp(3) does so, and with it every shell and every other init.
    ran = docker.run(broken_programs, "/bin/text")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "no interpreter line\n", "")


@pytest.mark.parametrize("path", ["", "/nowhere"])
def test_bc_095_an_empty_path_is_told(docker, path):
    ran = docker.run(BOX, "sh", "-c", "echo never", options=("--env", f"PATH={path}"))
    assert ran.returncode == 127 and "sh" in ran.stderr and "PATH" in ran.stderr, ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_no_command_at_all_is_told(docker):
    ran = docker.run(BOX)
    assert ran.returncode not in (0, 126, 127)
    assert len(ran.stderr.splitlines()) >= 1
