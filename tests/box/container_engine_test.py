"""The engine that the container tests use, and the images that it makes."""
import json
import pathlib
import subprocess

import container_images
import containers
import pytest


def left_by(engine_folder):
    """What an engine could leave on the machine."""
    found = [f"mount {line}" for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
             if str(engine_folder) in line]
    found += [f"control group {path}" for path in pathlib.Path("/sys/fs/cgroup").rglob(f"engine-{engine_folder.name}-*")]
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(engine_folder).encode() in (process / "cmdline").read_bytes():
                found.append(f"process {process.name}")
        except OSError:
            continue
    return found


def network():
    """Names of links, and rules of the packet filter, of the machine."""
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
    return ([line.split()[0] for line in links.splitlines()],
            [line for line in rules.splitlines() if line.startswith("-")])


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_an_engine_leaves_nothing_on_the_machine(engine, folder, ending):
    before = network()
    other = containers.Engine(folder / "own")
    other.start()
    other.import_root("tiny", containers.busybox_root())
    box = other.begin("tiny", "/bin/sh", "-c", "trap '' TERM; ip address; while :; do sleep 1; done")
    box.says("eth0")
    assert network() == before and left_by(other.folder)
    if ending == "killed":
        first = (other.folder / "engine.pid").read_text().split()[0]
        subprocess.run(["kill", "-KILL", first], check=True)
    else:
        box.kill("KILL")
    other.close()
    assert left_by(other.folder) == []
    assert network() == before


def test_the_image_of_the_binary_alone_is_its_programs_and_nothing_else(docker):
    made = docker.docker("create", "warder", "x").stdout.strip()
    files = subprocess.run(docker.command("export", made), stdout=subprocess.PIPE, check=True).stdout
    names = subprocess.run(["tar", "-t"], input=files, capture_output=True, check=True).stdout.decode().split()
    made_by_the_engine = (".dockerenv", "dev/", "etc/", "proc/", "sys/")
    assert [name for name in names if not name.startswith(made_by_the_engine)] == ["warder", "warder-collector"]


def test_the_agents_image_starts_warder_and_asks_it_for_its_health(docker):
    config = json.loads(docker.docker("image", "inspect", "--format", "{{json .Config}}", container_images.AGENT).stdout)
    assert config["Entrypoint"] == ["/usr/local/bin/warder", "init"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/local/bin/warder", "status"]
    ran = docker.run(container_images.AGENT, "--version", options=("--entrypoint", "claude", "--user", "1000"))
    assert ran.returncode == 0 and "Claude Code" in ran.stdout, ran.stderr


def test_no_ca_and_no_address_of_the_build_stays_in_the_agents_image(docker):
    script = "cat /etc/apt/apt.conf.d/99extra-ca; env | grep -i -e npm -e ca_cert; ls -A /usr/local/share/ca-certificates"
    ran = docker.run(container_images.AGENT, "-c", script, options=("--entrypoint", "/bin/sh"))
    assert ran.stdout == ""
    history = docker.docker("history", "--no-trunc", container_images.AGENT).stdout
    assert "BEGIN CERTIFICATE" not in history and "registry" not in history.replace("NPM_CONFIG_REGISTRY", "")
