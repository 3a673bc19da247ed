"""Size, single waiter, descriptors, format: the habits of this code as tests."""
import re
import shutil
import subprocess

import pytest
import tree

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 4

# Calls that make descriptors, and the files that may make them by hand.
MAKERS = (r"(?<![\w>])::(open|openat|openat2|creat|socket|socketpair|pipe|pipe2|dup|dup2|dup3|accept|accept4|"
          r"memfd_create|eventfd|signalfd|timerfd_create|epoll_create1?|inotify_init1?)\s*\(")
MAY_MAKE = {
    "supervisor/base/fd.cpp",
    "supervisor/base/local_socket.cpp",     # sockets with a path
    "supervisor/boot/dhcp_client.cpp",      # a socket that is bound to one interface
    "supervisor/boot/network.cpp",          # a socket that only names interfaces to the kernel
    "supervisor/launch/listeners.cpp",      # sockets of another network namespace
    "supervisor/launch/lo_network.cpp",     # sockets that only speak of it to the kernel
    "supervisor/launch/unix_doors.cpp",     # sockets with a path in the box
    "supervisor/launch/stage_exec.cpp",     # standard streams of the agent
    "supervisor/watch/signals.cpp",
    "secrets/source_stage.cpp",             # standard streams of a program that gives a secret
}


def test_no_file_is_too_long():
    faults = []
    for path in tree.cpp():
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MOST_FILE_LINES:
            faults.append(f"{tree.name(path)}: {lines} lines, at most {MOST_FILE_LINES}")
    assert not faults, "\n".join(faults)


def test_no_function_is_too_long():
    faults = []
    for path in tree.cpp():
        for first, last, head in tree.functions(path.read_text(encoding="utf-8")):
            if last - first + 1 > MOST_FUNCTION_LINES:
                faults.append(f"{tree.name(path)}:{first}: {last - first + 1} lines: "
                              f"{' '.join(head.split())[:80]}")
    assert not faults, "\n".join(faults)


def parameters_of(head):
    """The text of the parameter list of a function's head."""
    head = re.split(r"\)\s*(?:const\s*|noexcept\s*|override\s*)*:(?!:)", head)[0] + ")"
    start = re.search(r"[\w~\]]\s*\(", head)
    if not start:
        return ""
    depth, text = 0, ""
    for char in head[start.end() - 1:]:
        depth += char == "("
        depth -= char == ")"
        if depth == 0:
            break
        text += char
    return text[1:]


def test_no_function_takes_too_many_parameters():
    faults = []
    for path in tree.cpp():
        for first, _, head in tree.functions(path.read_text(encoding="utf-8")):
            if re.match(r"TEST(_F|_P)?\b|MATCHER", head):
                continue
            text, previous = parameters_of(head), None
            while previous != text:
                previous, text = text, re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}", "", text)
            count = text.count(",") + 1 if text.strip() else 0
            if count > MOST_PARAMETERS:
                faults.append(f"{tree.name(path)}:{first}: {count} parameters: "
                              f"{' '.join(head.split())[:80]}")
    assert not faults, "\n".join(faults)


def test_only_the_reaper_waits_for_processes():
    faults = []
    for path in tree.cpp(product_only=True):
        if tree.name(path) == "supervisor/watch/reaper.cpp":
            continue
        clean = tree.code(path.read_text(encoding="utf-8"))
        for match in re.finditer(r"\b(waitid|waitpid|wait3|wait4)\s*\(|::wait\s*\(", clean):
            faults.append(f"{tree.name(path)}:{tree.line_of(clean, match.start())}")
    allowed = set(WAITING_ALONE)
    faults = [fault for fault in faults if fault.split(":")[0] not in allowed]
    assert not faults, "\n".join(faults)


# Processes of their own that have exactly one child and no other waiter.
WAITING_ALONE = {
    "supervisor/report/child_process.cpp",  # the harvest stage and its git
    "secrets/source_stage.cpp",             # a program that gives a secret, and what it left
    "supervisor/boot/initramfs.cpp",        # tries the binary before it becomes the first process
    "supervisor/boot/machine_end.cpp",      # nothing else runs any more when a machine ends
}


def test_descriptors_are_made_only_in_listed_files_and_close_on_exec():
    faults = []
    for path in tree.cpp(product_only=True):
        clean = tree.code(path.read_text(encoding="utf-8"))
        for match in re.finditer(MAKERS, clean):
            where = f"{tree.name(path)}:{tree.line_of(clean, match.start())}"
            if tree.name(path) not in MAY_MAKE:
                faults.append(f"{where}: {match.group(1)} outside of the listed files")
            call = clean[match.start():clean.find(";", match.start())]
            if "CLOEXEC" not in call and match.group(1) not in ("dup2", "dup3"):
                faults.append(f"{where}: {match.group(1)} without close-on-exec")
    assert not faults, "\n".join(faults)


def test_no_machine_is_named_in_the_tree():
    forbidden = re.compile(r"/wo" r"rk/(main|shared)|DESIGN" r"\.md|registry\.npm" r"js|pypi\.o" r"rg"
                           r"|deb\.debian\.o" r"rg|/tmp/bui" r"ld-")
    faults = []
    for path in tree.tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for match in forbidden.finditer(text):
            faults.append(f"{tree.name(path)}:{tree.line_of(text, match.start())}: {match.group(0)}")
    assert not faults, "\n".join(faults)


def test_nothing_is_left_undone_in_comments():
    faults = []
    for path in tree.cpp():
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", text):
            faults.append(f"{tree.name(path)}:{tree.line_of(text, match.start())}")
    assert not faults, "\n".join(faults)


def test_code_is_formatted():
    tool = shutil.which("clang-format-14")
    if tool is None:
        pytest.skip("clang-format-14 is not installed")
    files = [str(path) for path in tree.cpp()]
    ran = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True)
    first = [line for line in ran.stderr.splitlines() if "error:" in line]
    assert ran.returncode == 0, "\n".join(first[:40])


def test_shell_scripts_can_be_read_by_their_shell():
    for path in tree.tracked():
        first = path.read_bytes()[:32]
        shell = b"bash" if first.startswith(b"#!/bin/bash") else b"sh" if first.startswith(b"#!/bin/sh") else None
        if shell:
            ran = subprocess.run([shell.decode(), "-n", str(path)], capture_output=True, text=True)
            assert ran.returncode == 0, ran.stderr
