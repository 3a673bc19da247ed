"""Claude Code in the image that the Dockerfile makes, with a scripted provider on the bridge."""
import json
import shutil
import subprocess

import container_images
import container_jobs
import pytest
import world

AGENT = container_images.AGENT
PROMPT = "Write hello.txt, then count its bytes into count.txt."


@pytest.fixture(scope="session")
def bridge_tls(machine):
    """A certificate for the bridge's address."""
    folder = machine / "bridge-tls"
    subprocess.run([world.ROOT / "scripts/provider-tls", folder, f"IP:{container_jobs.GATEWAY}"], check=True)
    return folder


@pytest.fixture
def place(docker, folder):
    return container_jobs.Place(docker, folder)


@pytest.fixture
def provider(docker, folder, bridge_tls):
    started = []

    def start(place, scenario):
        key = world.new_key()
        started.append(container_jobs.Provider(docker, folder / f"provider-{len(started)}", bridge_tls, scenario, key))
        place.secret("key", key)
        shutil.copy(bridge_tls / "ca.pem", place.folder / "job/ca.pem")
        return started[-1]

    yield start
    for server in started:
        server.stop()


def claude_job(place, upstream, key=None):
    place.job(agent={"preset": "claude-code", "prompt": PROMPT}, limits={"wall": "3m"},
              results={"artifacts": ["*.txt"], "patch": True}, **upstream.job_parts(key))


WAYS = {
    "all defaults": ((), "advisory"),
    "an ordinary user and a read-only root":
        (("--user", "1000:1000", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "all"), "advisory"),
    "a network of its own": (("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN"), "netns"),
}


@pytest.mark.parametrize("way", WAYS)
def test_claude_code_works_in_its_image_and_never_holds_the_key(place, provider, way):
    options, mechanism = WAYS[way]
    upstream = provider(place, "file_and_shell")
    if "--user" in options:  # what one user mounts the other could read: the key comes by the environment
        claude_job(place, upstream, key={"env": "PROVIDER_KEY"})
        place.owned_by(1000)
        options += ("--env", f"PROVIDER_KEY={upstream.key}")
    else:
        claude_job(place, upstream)
    ran = place.run(AGENT, options=options)
    assert ran.code == 0 and ran.outcome == ("ok", "completed"), ran
    assert (ran.results / "artifacts/count.txt").read_text() == "21 hello.txt\n1000\n"
    assert "+hello from the agent" in (ran.results / "changes.patch").read_text()
    calls = upstream.requests()
    assert len(calls) == 3 and all(call["key_ok"] and call["tls"] for call in calls), calls
    assert ran.report["run"]["mechanism"] == mechanism
    assert [call["status"] for call in ran.events("llm.call")] == [200, 200, 200]
    assert ran.verify().returncode == 0
    assert upstream.key not in str(ran)
    for path in [*(place.folder / "out").rglob("*"), *(place.folder / "workspace").rglob("*")]:
        assert not path.is_file() or upstream.key.encode() not in path.read_bytes(), path


def health(box):
    return json.loads(box.inspect(".State.Health.Status"))


def test_a_run_is_healthy_and_docker_stop_leaves_its_report(place, provider):
    upstream = provider(place, "long_tool")
    claude_job(place, upstream)
    box = place.begin(AGENT, options=("--health-interval", "1s", "--health-start-period", "0s"))
    assert world.eventually(lambda: health(box) == "healthy"), box.inspect(".State.Health")
    status = json.loads(box.exec("warder", "status", "--json"))
    assert status["phase"] in ("starting", "baseline", "running"), status
    assert world.eventually(lambda: upstream.requests())
    assert box.stop() == 15
    ran = place.ended(box)
    assert ran.outcome == ("stopped", "stopped_by_signal"), ran
    assert ran.verify().returncode == 0


def test_the_run_can_be_followed_and_cancelled_from_outside(place, provider):
    upstream = provider(place, "long_tool")
    claude_job(place, upstream)
    box = place.begin(AGENT)
    assert world.eventually(lambda: upstream.requests()), box.logs()
    assert "agent.started" in box.exec("warder", "events", "--json")
    box.exec("warder", "cancel")
    ran = place.ended(box)
    assert ran.code == 15 and ran.outcome == ("stopped", "cancelled"), ran
