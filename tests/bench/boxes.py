"""What a box costs: its start and end beside other boxes, and what its supervisors hold at rest."""
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import time

from common import ROOT, WARDER, median_time, private_kib, table, there
from inits import build

ENGINE = ROOT / "image/engine"
ENGINE_NEEDS = ("dockerd", "containerd", "runc", "iptables", "busybox")


def write_job(folder, name, command, **parts):
    """JSON is YAML too."""
    job = folder / f"{name}.yaml"
    job.write_text(json.dumps({"version": 1, "agent": {"command": [str(word) for word in command],
                                                       "workspace": str(folder / "workspace")},
                               "policy": {}, "results": {"dir": str(folder / "results")}, **parts}))
    return job


def run_words(folder, job):
    return [WARDER, "run", job, "--spool", folder / "spool", "--quiet"]


def with_a_key(folder):
    """Parts of a job for which the broker must listen."""
    key = folder / "key"
    key.write_text("sk-ant-api03-bench-bench-bench-bench")
    key.chmod(0o600)
    return {"secrets": {"anthropic": {"from": {"file": str(key)}}},
            "policy": {"allow": [{"host": "api.anthropic.com", "port": 443, "methods": ["POST"],
                                  "paths": ["/v1/messages"]}]}}


def docker_time(folder, rounds):
    """Milliseconds of `docker run` of true, with and without an init of Docker's own; None without
    an engine."""
    if os.getuid() != 0 or not all(there(program) for program in ENGINE_NEEDS):
        return None, None
    engine = folder / "engine"
    image = folder / "image.tar"
    with tarfile.open(image, "w") as tar:
        tar.add(os.path.realpath(there("busybox")), "bin/true")
    docker = [ENGINE, "docker", engine]
    subprocess.run([ENGINE, "start", engine], check=True)
    try:
        subprocess.run([*docker, "import", image, "warder-bench"], check=True, capture_output=True)
        return tuple(median_time([*docker, "run", "--rm", "--network", "none", *init, "warder-bench", "/bin/true"], rounds)
                     for init in ([], ["--init"]))
    except subprocess.CalledProcessError:
        return None, None
    finally:
        subprocess.run([ENGINE, "stop", engine, "--remove"], check=True)


def start_and_end(folder, rounds):
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    boxes = {
        "warder run": run_words(folder, write_job(folder, "true", ["/bin/true"])),
        "warder run, with a key and the broker": run_words(
            folder, write_job(folder, "keyed", ["/bin/true"], **with_a_key(folder))),
        "unshare (util-linux)": ["unshare", *user, "--pid", "--mount", "--ipc", "--uts", "--net", "--fork",
                                 "--mount-proc", "/bin/true"],
        "bubblewrap": ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
                       "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
                       "--unshare-all", "/bin/true"],
        "no box": ["/bin/true"],
    }
    rows = [(name, f"{median_time(command, rounds):.1f}" if there(command[0]) else None)
            for name, command in boxes.items()]
    for name, took in zip(("docker run", "docker run --init"), docker_time(folder, max(rounds // 2, 3))):
        rows.append((name, took and f"{took:.1f}"))
    table(f"A box around `true`, start to end, median of {rounds}", ["ms"], rows,
          ["Warder also keeps a journal on disk (synced), a root of its own and a report; its peers do not."])


def to_the_agent(folder, rounds):
    """From the exec of the first process of Warder to the first instruction of the agent."""
    workspace = folder / "workspace"
    workspace.chmod(0o777)  # the agent is another user
    folder.chmod(0o755)
    timing = build(workspace)
    boxed = write_job(folder, "stamp", ["/workspace/init_timing", "under-stamp", "/workspace/boxed"],
                      **with_a_key(folder))
    here = write_job(folder, "stamp-here", [timing, "under-stamp", workspace / "here"],
                     **{**with_a_key(folder), "policy": {**with_a_key(folder)["policy"], "allow_degraded": True}})
    ways = {"warder run": ("boxed", run_words(folder, boxed)),
            "warder init --job, as in a container":
                ("here", [WARDER, "init", "--job", here, "--spool", folder / "spool"])}
    rows = []
    for name, (stamp, words) in ways.items():
        done = subprocess.run([str(word) for word in (timing, "reach", rounds, workspace / stamp, *words)],
                              capture_output=True, text=True)
        answer = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 and done.stdout else None
        rows.append((name, answer and f"{answer['p50'] / 1000:.1f}"))
    table(f"Exec of Warder to the agent's first instruction, with a key, a policy and the broker, median of {rounds}",
          ["ms"], rows)


def supervisors():
    """(what it is, pid) of each of Warder's processes now."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "exe") == str(WARDER.resolve()):
                words = (process / "cmdline").read_bytes().split(b"\0")
                found.append((b" ".join(words[1:2]).decode(), int(process.name)))
        except OSError:
            continue
    return sorted(found)


def memory_at_rest(folder):
    job = write_job(folder, "rest", ["/bin/sleep", "1000"], **with_a_key(folder))
    running = subprocess.Popen([str(word) for word in run_words(folder, job)], stdout=subprocess.DEVNULL)
    try:
        before = None
        for _ in range(100):  # at rest: the same processes for a while
            now = supervisors()
            if now == before and len(now) > 3:
                break
            before = now
            time.sleep(0.3)
        rows = [(name.removeprefix("--stage="), *private_kib(pid)) for name, pid in supervisors()]
        rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
        table("Private memory of Warder's processes at rest, with a key, a policy and the broker, KiB",
              ["its own", "pages of its file that nobody else maps"], rows)
    finally:
        running.terminate()
        running.wait()


def measure(folder, rounds):
    start_and_end(folder, rounds)
    to_the_agent(folder, rounds)
    memory_at_rest(folder)
    shutil.rmtree(folder / "results", ignore_errors=True)
