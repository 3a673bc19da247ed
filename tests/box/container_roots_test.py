"""Roots of other kinds: musl, no shell at all, and roots in which something usual is missing."""
import pathlib
import re
import shutil
import subprocess

import container_images
import containers
import pytest

HELLO = r"""
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("hello from %d\n", (int)getuid()); return 5; }
"""


ORPHANS = pathlib.Path(__file__).resolve().parent / "programs/orphans.c"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "hello.c").write_text(HELLO)
    subprocess.run(["musl-gcc", "-o", folder / "musl", folder / "hello.c"], check=True)
    subprocess.run(["gcc", "-o", folder / "glibc", folder / "hello.c"], check=True)
    subprocess.run(["musl-gcc", "-static", "-o", folder / "orphans", ORPHANS], check=True)
    return folder


def libraries(program):
    """The loader and the libraries that a program needs, at the paths where it looks for them."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return {path: pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}


def test_a_root_like_alpines(docker, programs):
    loader = next(pathlib.Path("/lib").glob("ld-musl-*.so.1"))
    root = {**containers.busybox_root(), "/bin/hello": programs / "musl", "/warder": container_images.warder(),
            str(loader): loader.resolve()}
    image = docker.import_root("like-alpine", root, entrypoint=containers.INIT)
    ran = docker.run(image, "/bin/sh", "-c", "hello; echo then $?", options=("--user", "1000"))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "hello from 1000\nthen 5\n", "")


def test_a_root_without_a_shell(docker, programs):
    root = {"/hello": programs / "glibc", "/warder": container_images.warder(), **libraries(programs / "glibc")}
    image = docker.import_root("without-a-shell", root, entrypoint=containers.INIT)
    for options in ((), ("--user", "65532", "--read-only", "--cap-drop", "all")):
        ran = docker.run(image, "/hello", options=options)
        user = 65532 if options else 0
        assert (ran.returncode, ran.stdout, ran.stderr) == (5, f"hello from {user}\n", "")


@pytest.fixture
def root(folder, programs):
    """A root in a folder, for a container that is made by hand."""
    files = {"/orphans": programs / "orphans", "/warder": container_images.warder(),
             **{path: containers.Folder(0o755) for path in ("/proc", "/dev", "/sys")}}
    path = folder / "root"
    path.mkdir()
    subprocess.run(["tar", "-x", "-C", path], input=containers.archive(files), check=True)
    return path


def by_hand(root, *setup):
    """Leaves 300 orphans and one that has to be asked, as the first process of new namespaces."""
    steps = " && ".join([*setup, f"exec chroot {root} /warder init -- /orphans 300 8"])
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                           "--net", "--ipc", "--uts", "/bin/sh", "-c", steps],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("missing", [["/proc"], ["/dev"], ["/sys"], ["/proc", "/dev", "/sys"]], ids=" ".join)
def test_a_root_without_proc_dev_or_sys_does_all_the_same(engine, root, missing):
    setup = {"/proc": f"mount -t proc proc {root}/proc", "/dev": f"mount --rbind /dev {root}/dev",
             "/sys": f"mount --rbind /sys {root}/sys"}
    ran = by_hand(root, *(step for path, step in setup.items() if path not in missing),
                  *(f"rmdir {root}{path}" for path in missing))
    assert (ran.returncode, ran.stdout) == (8, "up\nasked\n"), ran.stderr
    assert len(ran.stderr.splitlines()) <= 2, ran.stderr  # what is missing, and who was left


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_root_that_cannot_be_written_does_all_the_same(engine, root, kind):
    disk = root.parent / kind
    disk.mkdir()
    steps = [f"mount -t tmpfs -o size=20m none {disk}", f"cp -a {root}/. {disk}", f"mount -t proc proc {disk}/proc"]
    if kind == "full":
        steps.append(f"{{ dd if=/dev/zero of={disk}/full bs=64k 2>/dev/null || true; }}")
    else:
        steps.append(f"mount -o remount,ro {disk}")
    ran = by_hand(disk, *steps)
    assert (ran.returncode, ran.stdout) == (8, "up\nasked\n"), ran.stderr
    assert len(ran.stderr.splitlines()) == 1, ran.stderr  # who was left
