"""Warder as the entry point of containers, in the ways in which people run them."""
import pathlib
import signal
import subprocess

import container_images
import container_jobs
import containers
import pytest

BOX, DEBIAN = container_images.BOX, container_images.DEBIAN

WAYS = {
    "all defaults": (),
    "an ordinary user": ("--user", "1000"),
    "a read-only root": ("--read-only",),
    "no network": ("--network", "none"),
    "no capabilities and no new privileges": ("--cap-drop", "all", "--security-opt", "no-new-privileges"),
    "Kubernetes' restricted": ("--cap-drop", "all", "--security-opt", "no-new-privileges", "--user", "1000:1000",
                               "--read-only"),
    "the right to make namespaces": ("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN",
                                     "--security-opt", "seccomp=unconfined"),
    "beneath another init": ("--init",),
    "the engine's processes": ("--pid", "host"),
    "an input that stays open": ("--interactive",),
}
NOT_FIRST = ("beneath another init", "the engine's processes")


@pytest.mark.parametrize("image", [BOX, DEBIAN])
@pytest.mark.parametrize("way", WAYS)
def test_a_command_runs_and_its_output_and_exit_code_are_the_containers(docker, way, image):
    ran = docker.run(image, "/bin/sh", "-c", "echo out; echo err >&2; exit 7", options=WAYS[way])
    assert (ran.returncode, ran.stdout) == (7, "out\n"), ran.stderr
    lines = [line for line in ran.stderr.splitlines() if line != "err"]
    assert "err" in ran.stderr.splitlines()
    if way in NOT_FIRST:
        assert len(lines) == 1 and "PID 1" in lines[0], ran.stderr
    else:
        assert lines == []


@pytest.mark.parametrize("way", NOT_FIRST)
def test_where_it_is_not_the_first_process_it_still_adopts_orphans_and_ends_them(docker, way):
    # The orphan's parent becomes the supervisor, which is the agent's own parent.
    script = "(sleep 100 & echo $! > /tmp/orphan); sleep 0.1; " \
             "echo $PPID $(cut -d' ' -f4 /proc/$(cat /tmp/orphan)/stat)"
    ran = docker.run(DEBIAN, "/bin/sh", "-c", script, options=WAYS[way])
    own, orphans = ran.stdout.split()
    assert ran.returncode == 0 and own == orphans
    # Whatever the agent left behind in a shared process namespace is gone with the container.
    left = subprocess.run(docker.inside("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"),
                          capture_output=True, text=True, check=True)
    assert "sleep 100" not in left.stdout


# A process that writes down every signal that reaches it.
WITNESS = "for s in HUP INT QUIT TERM USR1 USR2 CONT TSTP WINCH; do trap \"echo got $s\" $s; done; " \
          "echo ready; while :; do sleep 0.2; done"


@pytest.mark.parametrize("ending", ["the agent exits", "docker stop", "docker kill with USR1"])
def test_in_a_shared_process_namespace_it_never_touches_processes_of_others(docker, ending):
    other = docker.begin(BOX, "-c", WITNESS, options=("--entrypoint", "/bin/sh"))
    other.says("ready")
    agent = "sleep 300 & trap 'exit 5' TERM USR1; echo up; " + ("exit 5" if ending == "the agent exits" else "while :; do sleep 0.1; done")
    box = docker.begin(BOX, "/bin/sh", "-c", agent, options=("--pid", f"container:{other.name}"))
    box.says("up")
    if ending == "docker stop":
        box.stop()
    elif ending == "docker kill with USR1":
        box.kill("USR1")
    assert box.wait() == 5
    assert other.state()["Running"]
    processes = other.processes()
    assert "warder" not in processes and processes.count("sleep") == 1, processes
    assert "got" not in other.logs()[0]


@pytest.fixture
def podman_groups():
    """podman keeps the control group of its own process: taken away where it was not there before."""
    groups = [kind / "libpod_parent" for kind in pathlib.Path("/sys/fs/cgroup").iterdir() if kind.is_dir()]
    new = [group for group in groups if not group.exists()]
    yield
    for group in new:
        if group.exists():
            subprocess.run(["find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], check=True)


@pytest.fixture
def podman(docker, folder, podman_groups):
    """Runs a command in a container of podman: podman(COMMAND..., options=(...))."""
    root = folder / "root"
    root.mkdir()
    subprocess.run(["tar", "-x", "-C", root], check=True, input=containers.archive(
        {**containers.busybox_root(), "/warder": container_images.warder()}))
    # The limits and the network of this command line are what an engine without CAP_SYS_RESOURCE can give.
    words = ["podman", "--root", folder / "store", "--runroot", folder / "run", "--runtime", "runc",
             "--cgroup-manager", "cgroupfs", "--events-backend", "none", "run", "--rm",
             "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none",
             "--cgroup-parent", docker.control_group()]

    def run(*command, options=()):
        return subprocess.run(docker.inside(*words, *options, "--rootfs", root, *command),
                              capture_output=True, text=True, timeout=60)

    return run


def test_under_podman(podman):
    ran = podman("/warder", "init", "--", "/bin/sh", "-c", "echo out; exit 7")
    assert (ran.returncode, ran.stdout) == (7, "out\n"), ran.stderr
    assert podman("/warder", "init", "--", "/bin/no-such").returncode == 127
    killed = podman("/warder", "init", "--", "/bin/sh", "-c", "kill -TERM $$", options=("--user", "1000"))
    assert killed.returncode == 128 + signal.SIGTERM


def test_a_job_under_podman(podman, docker, folder):
    place = container_jobs.Place(docker, folder)
    place.shell_job("id -u; echo made > made.txt", results={"artifacts": ["*.txt"]})
    done = podman("/warder", "init", "--job", "/job/job.yaml", "--spool", "/out/spool", options=place.mounts)
    ran = container_jobs.Ended(place, done.returncode, done.stdout, done.stderr)
    assert ran.code == 0 and ran.outcome == ("ok", "completed"), ran
    assert ran.output == "1000\n" and (ran.results / "artifacts/made.txt").exists()
