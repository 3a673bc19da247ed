"""A box of an unpacked image: agent.rootfs, for images with musl, with glibc, and with nothing."""
import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

GLIBC = "/lib64/ld-linux-x86-64.so.2"
MUSL = "/lib/ld-musl-x86_64.so.1"


def put(image, name, content, mode=0o644):
    path = image / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def own(person, image):
    if person.switch:
        subprocess.run(["chown", "-hR", f"{person.uid}:{person.uid}", image], check=True)


def busybox_image(person):
    """As an Alpine root: everything is one static program, and there is no glibc."""
    program = shutil.which("busybox")
    if program is None:
        pytest.skip("busybox is not installed")
    image = person.folder / "image"
    shutil.copy2(program, put(image, "bin/busybox", "", 0o755))
    for name in ("sh", "ls", "cat", "id", "touch", "mkdir", "rm", "env", "sleep", "mount", "hostname", "stat"):
        os.symlink("/bin/busybox", image / "bin" / name)
    put(image, "etc/os-release", "ID=tiny\n")
    put(image, "etc/passwd", "root:x:0:0::/:/bin/sh\nimage:x:1000:1000::/:/bin/sh\n")
    put(image, "etc/apk/world", "busybox\n")
    put(image, "var/lib/data", "kept\n")
    put(image, "home/other/file", "theirs\n")
    put(image, "opt/tools/own", "#!/bin/sh\necho own tool\n", 0o755)
    put(image, "tmp/left-over", "x")
    os.symlink("/etc/shadow", image / "shadow")
    os.symlink("../../../../../etc", image / "up")
    own(person, image)
    return image


def glibc_image(person, *programs):
    """As a Debian root: the named programs of this machine with the libraries they need."""
    image = person.folder / "image"
    for program in programs:
        real = pathlib.Path(program).resolve()
        shutil.copy2(real, put(image, f"usr/bin/{pathlib.Path(program).name}", "", 0o755))
        needs = subprocess.run(["ldd", real], capture_output=True, text=True, check=True).stdout
        for word in needs.split():
            if word.startswith("/"):
                shutil.copy2(pathlib.Path(word).resolve(), put(image, "usr" + word, "", 0o755))
    for name in ("bin", "lib", "lib64"):
        os.symlink("usr/" + name, image / name)
    own(person, image)
    return image


def state(image):
    """Every name, kind, mode, content and time of a change in the image."""
    lines = []
    for path in sorted(image.rglob("*")):
        facts = path.lstat()
        body = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        digest = hashlib.sha256(body if isinstance(body, bytes) else body.encode()).hexdigest()
        lines.append((str(path), facts.st_mode, facts.st_uid, facts.st_mtime_ns, facts.st_ctime_ns, digest))
    return lines


def run_in(person, image, script, **parts):
    agent = {"command": ["/bin/sh", "-c", script], "rootfs": str(image), **parts.pop("agent", {})}
    return person.run(person.job(agent=agent, **parts))


def test_the_agent_sees_the_image_and_not_this_machine(person):
    image = busybox_image(person)
    ran = run_in(person, image, """
        cat /etc/os-release /var/lib/data /home/other/file /etc/apk/world; /opt/tools/own
        for path in /usr/bin/python3 /usr/bin/apt /etc/debian_version /lib64 /boot; do
            ls -d $path 2>/dev/null && echo "sees $path"; done
        cat /shadow /up/shadow 2>/dev/null && echo 'reads shadow'
        ls /tmp; echo end""")
    assert ran.code == 0, ran.explain()
    assert ran.output.splitlines() == ["ID=tiny", "kept", "theirs", "busybox", "own tool", "end"], ran.explain()


def test_the_boxs_own_places_lie_over_the_image(person):
    image = busybox_image(person)
    ran = run_in(person, image, """
        id -un; hostname; cat /etc/passwd | while read line; do case $line in image*) echo image;; esac; done
        cat /etc/resolv.conf /etc/hosts
        for path in /tmp /var/tmp /dev/shm ~ /workspace; do echo x > $path/a && echo "writes $path"; done
        echo x > /dev/null && cat /proc/self/comm && cat /proc/keys /proc/kcore
        ls /run; ls -A /sys 2>/dev/null; cat /proc/sys/kernel/osrelease > /dev/null && echo settings""")
    assert ran.code == 0, ran.explain()
    assert ran.output.splitlines() == [
        "agent", "box", "# Names are not resolved in this box.", "nameserver 127.0.0.1",
        "127.0.0.1 localhost box", "::1 localhost ip6-localhost", "writes /tmp", "writes /var/tmp",
        "writes /dev/shm", "writes /home/agent", "writes /workspace", "cat", "warder", "settings"], ran.explain()


def test_nothing_is_ever_written_into_the_image(person):
    image = busybox_image(person)
    before = state(image)
    ran = run_in(person, image, """
        for path in /new /etc/new /etc/os-release /etc/apk/new /var/new /var/lib/data /home/new /home/other/new \
                    /bin/new /bin/busybox /opt/new /usr/new; do
            echo x 2>/dev/null > $path && echo "wrote $path"
            touch $path 2>/dev/null && echo "touched $path"
            rm $path 2>/dev/null && echo "removed $path"
        done; mkdir /folder 2>/dev/null && echo made; mount -o remount,rw / 2>/dev/null && echo remounted; echo end""")
    assert ran.output == "end\n", ran.explain()
    assert state(image) == before


def test_read_only_folders_of_this_machine_lie_over_the_image(person):
    image = busybox_image(person)
    tools = person.make_folder("tools")
    person.write("tools/mine", "#!/bin/sh\necho my tool\n", 0o755)
    ran = run_in(person, image, f"{tools}/mine; /opt/tools/own; ls /usr/share/doc >/dev/null && echo doc",
                 agent={"read_only": [str(tools), "/usr/share/doc"]})
    assert ran.code == 0, ran.explain()
    assert ran.output.splitlines() == ["my tool", "own tool", "doc"], ran.explain()


def test_programs_with_a_loader_of_their_own_run(person):
    image = glibc_image(person, "/bin/sh", "/bin/cat")
    put(image, "etc/os-release", "ID=small\n")
    ran = run_in(person, image, "cat /etc/os-release; cat /usr/lib/os-release 2>/dev/null; exit 3")
    assert ran.code == 1 and ran.output == "ID=small\n", ran.explain()


def test_a_single_static_program_is_an_image(person):
    image = person.folder / "image"
    shutil.copy2(shutil.which("busybox") or pytest.skip("busybox is not installed"), put(image, "app/busybox", "", 0o755))
    own(person, image)
    ran = person.run(person.job(agent={"command": ["/app/busybox", "echo", "alone"], "rootfs": str(image)}))
    assert ran.code == 0 and ran.output == "alone\n", ran.explain()


def test_results_are_collected_from_an_image_without_git(person):
    image = busybox_image(person)
    ran = run_in(person, image, "echo done > out.txt", results={"artifacts": ["*.txt"], "patch": True})
    assert (ran.results / "artifacts/out.txt").read_text() == "done\n", ran.explain()
    assert ran.report["patch"]["skipped"], ran.report["patch"]


def test_the_start_says_which_image_it_is(person):
    image = busybox_image(person)
    ran = run_in(person, image, "true")
    assert ran.events("run.started")[0]["data"]["agent"]["rootfs"] == str(image)
    checked = person.warder("check", person.folder / "job.yaml")
    assert f"{image} (read-only)" in checked.stdout, checked.stdout + checked.stderr


def test_the_command_line_may_name_the_image(person):
    image = busybox_image(person)
    job = person.job(agent={"command": ["/bin/cat", "/etc/os-release"]})
    ran = person.run(job, "--rootfs", image)
    assert ran.code == 0 and ran.output == "ID=tiny\n", ran.explain()
    ran = person.run(job, "--rootfs", "image")  # relative to the current folder
    assert ran.code == 0 and ran.output == "ID=tiny\n", ran.explain()
    checked = person.warder("check", job, "--rootfs", image)
    assert checked.returncode == 0 and f"{image} (read-only)" in checked.stdout, checked.stdout + checked.stderr
    assert person.warder("check", job, "--rootfs", "/nowhere").returncode == 14


def with_loader(program, old, new):
    content = pathlib.Path(program).resolve().read_bytes()
    assert old.encode() in content
    return content.replace(old.encode(), new.encode().ljust(len(old), b"\0"), 1)


CANNOT_START = {
    "a command that is not there": (["nobody"], ['"nobody"', "is not there", "looked in"]),
    "a file that is not executable": (["/opt/plain"], ["/opt/plain is not executable", "chmod +x"]),
    "a script whose interpreter is missing": (["/opt/script"], ["/opt/script", "/usr/bin/python9"]),
    "a script whose program env cannot find": (["/opt/by-env"], ["/opt/by-env", '"node9"']),
    "a script with Windows line ends": (["/opt/windows"], ["carriage return"]),
    "a program whose loader is missing": (["/opt/musl"], ["/opt/musl", MUSL, "built for musl", "static build"]),
    "a program for another machine": (["/opt/arm"], ["/opt/arm is a program for AArch64"]),
    "an empty file": (["/opt/empty"], ["/opt/empty is empty"]),
    "a folder": (["/opt"], ["is no regular file"]),
}


@pytest.mark.parametrize("fault", CANNOT_START)
def test_bc_095_an_agent_that_cannot_start_is_named_with_what_it_misses(person, fault):
    command, words = CANNOT_START[fault]
    image = busybox_image(person)
    put(image, "opt/plain", "#!/bin/sh\n", 0o644)
    put(image, "opt/script", "#!/usr/bin/python9 -u\n", 0o755)
    put(image, "opt/by-env", "#!/bin/env node9\n", 0o755)
    put(image, "opt/windows", "#!/bin/sh\r\n", 0o755)
    put(image, "opt/musl", with_loader("/bin/true", GLIBC, MUSL), 0o755)
    put(image, "opt/empty", "", 0o755)
    arm = bytearray(pathlib.Path("/bin/true").resolve().read_bytes())
    arm[18] = 0xb7
    put(image, "opt/arm", bytes(arm), 0o755)
    own(person, image)
    ran = person.run(person.job(agent={"command": command, "rootfs": str(image)}))
    assert ran.code == 14, ran.explain()
    for word in words:
        assert word in ran.stderr, ran.stderr
    assert person.runs() == [], "nothing was started"


def test_bc_095_an_empty_path_is_named(person):
    image = busybox_image(person)
    ran = person.run(person.job(agent={"command": ["sh"], "rootfs": str(image), "env": {"PATH": ""}}))
    assert ran.code == 14 and "agent.env.PATH is empty" in ran.stderr, ran.stderr


def test_bc_095_a_glibc_program_in_a_musl_root_and_the_other_way_round(person):
    image = busybox_image(person)
    put(image, MUSL[1:], b"\x7fELF", 0o755)
    put(image, "opt/glibc", pathlib.Path("/bin/true").resolve().read_bytes(), 0o755)
    own(person, image)
    ran = person.run(person.job(agent={"command": ["/opt/glibc"], "rootfs": str(image)}))
    assert ran.code == 14 and "take its build for musl" in ran.stderr, ran.stderr


@pytest.mark.parametrize("path, words", [
    ("/nowhere", "there is no folder /nowhere"), ("/etc/hosts", "unpack the image"),
    ("/", "this machine's own root"), ("/proc", "never shown"), ("", "agent.rootfs")])
def test_a_rootfs_that_is_none_starts_nothing(person, path, words):
    ran = person.run(person.job(agent={"command": ["/bin/true"], "rootfs": path}))
    assert ran.code == 14 and words in ran.stderr, ran.stderr
    assert person.runs() == []
