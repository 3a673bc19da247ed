"""A job inside a container: `warder init --job` as its first process, the agent, and what is left."""
import os
import signal

import container_images
import container_jobs
import containers
import pytest
import world

BOX, DEBIAN, AGENT = container_images.BOX, container_images.DEBIAN, container_images.AGENT


@pytest.fixture
def place(docker, folder):
    return container_jobs.Place(docker, folder)


@pytest.fixture
def collector(docker, folder, tools):
    (folder / "collector").mkdir()
    server = container_jobs.Collector(docker, folder / "collector", tools)
    yield server
    server.stop()


RESTRICTED = ("--cap-drop", "all", "--security-opt", "no-new-privileges", "--user", "1000:1000", "--read-only",
              "--tmpfs", "/tmp")
WAYS = {  # options of docker run, the agent's uid, and the mechanism
    "all defaults": ((), "1000", "advisory"),
    "an ordinary user": (("--user", "1000:1000"), "1000", "advisory"),
    "a read-only root": (("--read-only",), "1000", "advisory"),
    "Kubernetes' restricted": (RESTRICTED, "1000", "advisory"),
    "no network": (("--network", "none"), "1000", "advisory"),
    "beneath another init": (("--init",), "1000", "advisory"),
    "the right to make namespaces": (("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN"), "1000", "netns"),
}
LOOK = "id -u; pwd; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; echo made > made.txt; " \
       "echo $HOME; touch $HOME/mine && echo home"


@pytest.mark.parametrize("image", [BOX, DEBIAN])
@pytest.mark.parametrize("way", WAYS)
def test_a_job_runs_in_a_container_and_says_which_walls_are_missing(place, way, image):
    options, uid, mechanism = WAYS[way]
    if "--user" in options:
        place.owned_by(1000)
    place.shell_job(LOOK, results={"artifacts": ["*.txt"]})
    ran = place.run(image, options=options)
    assert ran.code == 0 and ran.outcome == ("ok", "completed"), ran
    lines = ran.output.splitlines()
    assert lines[:2] == [uid, "/workspace"] and lines[-1] == "home", lines
    held = dict(line.split(":\t") for line in lines[2:6])
    assert int(held["CapEff"], 16) == 0 and held["NoNewPrivs"] == "1" and held["Seccomp"] == "2"
    assert (ran.results / "artifacts/made.txt").read_text() == "made\n"
    run = ran.report["run"]
    assert run["mechanism"] == mechanism
    assert any("advisory" in wall for wall in run["walls_missing"]) == (mechanism == "advisory")
    assert any("share one user id" in wall for wall in run["walls_missing"]) == ("--user" in options)
    assert ran.verify().returncode == 0


def test_without_allow_degraded_nothing_starts_where_the_agent_has_no_network_of_its_own(place):
    place.shell_job("touch /workspace/ran", policy={"allow_degraded": False})
    ran = place.run(BOX)
    assert ran.code == 14 and ran.outcome[0] == "setup", ran
    sentence = ran.report["outcome"]["sentence"]
    assert "CAP_SYS_ADMIN and CAP_NET_ADMIN" in sentence and "allow_degraded" in sentence
    assert (ran.stdout + ran.stderr).count(sentence.removeprefix("the run was not started: ")) == 1, ran
    assert list((place.folder / "out/spool").iterdir()) == [], "nothing is left but the report"
    assert not (place.folder / "workspace/ran").exists()


def test_with_a_network_of_its_own_no_word_of_the_policy_is_needed(place):
    place.shell_job("nc -w 2 172.17.0.1 1 </dev/null; ls /sys/class/net; echo ran", policy={"allow_degraded": False})
    ran = place.run(BOX, options=("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN"))
    assert ran.code == 0, ran
    assert "ran" in ran.output and ran.report["run"]["mechanism"] == "netns"


# `docker stop`: the agent, what it left, the harvest and the report share Docker's ten seconds.
STOPS = {
    "the agent ends at once": "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done",
    "the agent ignores it": "trap '' TERM; echo up; while :; do sleep 1; done",
    "the agent's child ignores it":
        "sh -c \"trap '' TERM; while :; do sleep 1; done\" & trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done",
    "both ignore it":
        "sh -c \"trap '' TERM; while :; do sleep 1; done\" & trap '' TERM; echo up; while :; do sleep 1; done",
    "the agent is stopped": "echo up; kill -STOP $$; sleep 600",
}


@pytest.mark.parametrize("agent, user", [(agent, "root") for agent in STOPS] + [("both ignore it", "1000")])
def test_bc_037_docker_stop_ends_the_run_with_its_report(place, agent, user):
    if user == "1000":
        place.owned_by(1000)
    # Where both ignore it there is the default grace twice, which is all that Docker gives.
    limits = {} if agent == "both ignore it" else {"limits": {"grace": "1s"}}
    place.shell_job("echo made > made.txt; " + STOPS[agent], results={"artifacts": ["*.txt"]}, **limits)
    box = place.begin(BOX, options=("--user", f"{user}:{user}") if user == "1000" else ())
    box.says("up")
    code = box.stop()
    ran = place.ended(box)
    assert code == 15, ran  # and not 137
    assert ran.outcome == ("stopped", "stopped_by_signal")
    assert "SIGTERM" in ran.report["outcome"]["sentence"] or any(
        "SIGTERM" in str(fact) for fact in ran.report["outcome"]["evidence"]), ran.report["outcome"]
    assert (ran.results / "artifacts/made.txt").read_text() == "made\n"
    assert ran.verify().returncode == 0
    if "child" in agent or "both" in agent:
        assert ran.report["agent"].get("leftovers"), ran.report["agent"]


def test_bc_037_a_stop_while_the_run_begins_is_an_outcome_too(place):
    place.shell_job("exec sleep 600")
    box = place.begin(BOX)
    code = box.stop()
    ran = place.ended(box)
    assert code == 15 and ran.outcome[0] == "stopped", ran
    assert ran.verify().returncode == 0


# What takes a capability away from root, and Kubernetes' "drop ALL" with a few given back.
PARTS_OF_ROOT = {
    "no KILL": ("--cap-drop", "KILL"), "no DAC_OVERRIDE": ("--cap-drop", "DAC_OVERRIDE"),
    "a few": ("--cap-drop", "all", "--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "CHOWN"),
}


@pytest.mark.parametrize("way", PARTS_OF_ROOT)
def test_bc_037_docker_stop_is_obeyed_where_root_is_only_a_part_of_root(place, way):
    place.owned_by(0)
    place.shell_job("trap '' TERM; echo up; while :; do sleep 1; done", limits={"grace": "1s"})
    box = place.begin(BOX, options=PARTS_OF_ROOT[way])
    box.says("up")
    assert box.stop() == 15, box.logs()
    ran = place.ended(box)
    assert ran.outcome == ("stopped", "stopped_by_signal") and ran.verify().returncode == 0, ran


def test_too_few_descriptors_are_told_before_anything_starts(place):
    place.shell_job("touch /workspace/ran")
    ran = place.run(BOX, options=("--ulimit", "nofile=255:255"))
    assert ran.code == 14 and "--ulimit nofile" in ran.stderr, ran
    assert not (place.folder / "workspace/ran").exists()
    ran = place.run(BOX, options=("--ulimit", "nofile=256:256"))
    assert ran.code == 0 and (place.folder / "workspace/ran").exists(), ran


@pytest.mark.parametrize("user", ["root", "1000"])
def test_what_a_container_did_lies_in_the_collector(place, collector, user):
    place.secret("token", collector.token)
    token, options = {"file": "/run/secrets/token"}, ()
    if user == "1000":
        place.owned_by(1000)
        token, options = {"env": "COLLECTOR_TOKEN"}, ("--user", "1000:1000", "--env", f"COLLECTOR_TOKEN={collector.token}")
    place.shell_job("echo made > made.txt; trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done",
                    results={"artifacts": ["*.txt"], "to": [{"collector": collector.url, "token": token}]})
    box = place.begin(BOX, options=("--network", "host", *options))
    box.says("up")
    assert box.stop() == 15, box.logs()
    ran = place.ended(box)
    [run] = collector.runs()
    delivered = collector.run(run["run_id"])
    assert delivered["report"]["outcome"] == ran.report["outcome"]


def test_bc_037_docker_stop_with_a_collector_that_is_away_leaves_everything_in_the_spool(place, collector, tools):
    collector.stop()
    place.secret("token", collector.token)
    place.shell_job("trap '' TERM; echo up; while :; do sleep 1; done",
                    results={"to": [{"collector": collector.url, "token": {"file": "/run/secrets/token"}}]})
    box = place.begin(BOX, options=("--network", "host"))
    box.says("up")
    assert box.stop() == 64 + 15, box.logs()
    ran = place.ended(box)
    assert ran.outcome == ("stopped", "stopped_by_signal") and ran.verify().returncode == 0


def test_root_that_cannot_give_up_capabilities_for_good_is_told_what_it_lacks(place):
    place.shell_job("touch /workspace/ran")
    ran = place.run(BOX, options=("--cap-drop", "SETPCAP"))
    assert ran.code == 14 and "CAP_SETPCAP" in ran.report["outcome"]["sentence"], ran
    assert not (place.folder / "workspace/ran").exists()


def test_bc_037_a_second_signal_shortens_the_wait(place):
    place.shell_job("trap '' TERM; echo up; while :; do sleep 1; done", limits={"grace": "10m"})
    box = place.begin(BOX, "--stop-within", "30m")
    box.says("up")
    box.kill("TERM")
    assert world.eventually(lambda: '"stopping"' in box.exec("warder", "status", "--json"))
    box.kill("TERM")
    ran = place.ended(box)
    assert ran.code == 15 and ran.outcome == ("stopped", "stopped_by_signal"), ran


def test_a_job_in_a_shared_process_namespace_touches_nobody_else(place, docker):
    witness = "for s in HUP INT QUIT TERM USR1 CONT; do trap \"echo got $s\" $s; done; echo ready; " \
              "while :; do sleep 0.2; done"
    other = docker.begin(BOX, "-c", witness, options=("--entrypoint", "/bin/sh"))
    other.says("ready")
    place.shell_job("sleep 600 & setsid sleep 600 & trap '' TERM; echo up; while :; do sleep 1; done",
                    limits={"grace": "1s"})
    box = place.begin(BOX, options=("--pid", f"container:{other.name}"))
    box.says("up")
    assert box.stop() == 15, box.logs()
    assert other.state()["Running"] and "got" not in other.logs()[0]
    assert set(other.processes()) <= {"sh", "sleep", "cat"}, other.processes()
    assert place.ended(box).outcome == ("stopped", "stopped_by_signal")


def test_a_job_on_a_terminal_runs_and_ctrl_c_stops_it_in_good_order(place, docker):
    place.shell_job("echo up; trap 'exit 0' TERM INT; while :; do sleep 0.1; done", limits={"grace": "1s"})
    words = docker.command("run", "-it", *place.words(()), BOX, "init", "--job", "/job/job.yaml")
    terminal = containers.Terminal(words)
    try:
        terminal.expect("up")
        terminal.type("\x03")
        code = terminal.end()
    finally:
        terminal.leave()
    ran = container_jobs.Ended(place, code, "", "")
    assert code == 15 and ran.outcome == ("stopped", "stopped_by_signal")


def test_bc_037_with_passthrough_the_agents_own_end_is_the_containers(place):
    place.shell_job("echo up; exec sleep 600")
    box = place.begin(BOX, "--passthrough-exit")
    box.says("up")
    assert box.stop() == 128 + signal.SIGTERM
    assert place.ended(box).outcome == ("stopped", "stopped_by_signal")


def test_bc_038_daemons_that_escaped_are_ended_and_named_and_the_run_is_still_ok(place):
    place.shell_job("setsid sh -c 'trap \"\" HUP TERM; while :; do sleep 1; done' & (setsid sleep 600 &); "
                    "sleep 0.3; echo done", limits={"grace": "1s"})
    ran = place.run(BOX)
    assert ran.code == 0 and ran.outcome == ("ok", "completed"), ran
    assert ran.report["agent"]["leftovers"], ran.report["agent"]


def test_bc_008_a_storm_of_orphans_under_a_small_limit_of_processes(place):
    place.shell_job("b=0; while [ $b -lt 20 ]; do n=0; while [ $n -lt 50 ]; do (true &) || exit 9; n=$((n + 1)); done; "
                    "b=$((b + 1)); done; sleep 0.3; cat /proc/[0-9]*/status 2>/dev/null | grep -c '^State:.Z'; echo end")
    ran = place.run(BOX, options=("--pids-limit", "60"))
    assert ran.code == 0, ran
    assert ran.output.split() == ["0", "end"]


def test_bc_046_a_small_tmp_that_is_full_keeps_nothing_from_being_reported(place):
    place.shell_job("dd if=/dev/zero of=/tmp/full bs=1M; echo $?; echo made > made.txt; exit 3",
                    results={"artifacts": ["*.txt"]})
    ran = place.run(BOX, options=("--tmpfs", "/tmp:size=4m,mode=1777"))
    assert ran.code == 1 and ran.outcome == ("agent", "agent_error"), ran
    assert (ran.results / "artifacts/made.txt").exists() and ran.verify().returncode == 0
    assert any("/tmp is full: " in warning for warning in ran.report["warnings"]), ran


@pytest.mark.parametrize("mechanism", ["advisory", "netns"])
@pytest.mark.parametrize("ipv6", [False, True])
def test_bc_082_the_broker_is_reached_however_localhost_resolves(place, ipv6, mechanism):
    place.secret("key", world.new_key())
    place.shell_job("echo $ANTHROPIC_BASE_URL; port=${ANTHROPIC_BASE_URL##*:}; "
                    "for host in 127.0.0.1 localhost '[::1]'; do wget -Y off -O- http://$host:$port/v1/none 2>&1 | tail -n 1; done",
                    secrets={"anthropic": {"from": {"file": "/run/secrets/key"}}})
    options = ["--sysctl", f"net.ipv6.conf.all.disable_ipv6={int(not ipv6)}"]
    if mechanism == "netns":
        options += ["--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN"]
    ran = place.run(BOX, options=options)
    assert ran.code == 0, ran
    url, literal, name, six = ran.output.splitlines()
    assert url.startswith("http://127.0.0.1:"), ran.output
    assert "HTTP/1.1 4" in literal and "HTTP/1.1 4" in name, ran.output
    # The agent's own network always has IPv6 on its loopback.
    assert ("HTTP/1.1 4" in six) == (ipv6 or mechanism == "netns"), ran.output


@pytest.mark.parametrize("size, warned", [(None, True), ("64m", True), ("256m", False), ("1g", False)])
def test_bc_085_a_small_dev_shm_is_warned_of(place, size, warned):
    place.shell_job("true")
    ran = place.run(BOX, options=("--shm-size", size) if size else ())
    warnings = [sentence for sentence in ran.warnings() if "/dev/shm" in sentence]
    assert len(warnings) == warned, ran
    assert not warned or "--shm-size" in warnings[0]


def test_bc_124_an_empty_hosts_file_gets_the_names_that_programs_ask_for(place):
    (place.folder / "hosts").write_text("")
    place.shell_job("cat /etc/hosts")
    ran = place.run(BOX, options=("--hostname", "my-own-name", "--volume", f"{place.folder}/hosts:/etc/hosts"))
    assert ran.code == 0, ran
    assert "127.0.0.1 localhost my-own-name" in ran.output and "::1 localhost" in ran.output


def test_bc_124_a_hosts_file_that_cannot_be_written_is_warned_of(place):
    (place.folder / "hosts").write_text("")
    place.shell_job("true")
    ran = place.run(BOX, options=("--hostname", "my-own-name", "--volume", f"{place.folder}/hosts:/etc/hosts:ro",
                                  "--dns", "192.0.2.1"))
    assert ran.code == 0, ran
    assert any("/etc/hosts" in sentence and "my-own-name" in sentence for sentence in ran.warnings()), ran


@pytest.mark.parametrize("owner, mode, mount, warned", [
    (1000, 0o755, "", False), (1001, 0o755, "", True), (1001, 0o777, "", False), (0, 0o700, "", True),
    (1000, 0o755, ":ro", True)])
def test_a_workspace_that_the_agent_cannot_write_is_warned_of(place, owner, mode, mount, warned):
    workspace = place.folder / "workspace"
    os.chown(workspace, owner, owner)
    workspace.chmod(mode)
    place.mounts = [word + mount if word.endswith(":/workspace") else word for word in place.mounts]
    place.shell_job("(: > /workspace/file) && echo written; true")
    ran = place.run(BOX)
    warnings = [sentence for sentence in ran.warnings() if "workspace" in sentence]
    assert bool(warnings) == warned, ran
    assert ("written" in ran.output) == (not warned)


@pytest.mark.parametrize("limit", ["96m", "512m"])
def test_the_memory_that_binds_is_the_containers_and_not_the_machines(place, limit):
    place.shell_job("true")
    ran = place.run(BOX, options=("--memory", limit))
    assert ran.code == 0, ran
    assert ran.report["memory"]["limit_bytes"] == int(limit[:-1]) << 20, ran.report["memory"]


def test_an_agent_that_the_kernel_kills_for_memory_ends_the_run_as_that(place):
    place.job(agent={"command": ["/usr/bin/perl", "-e", "my $hog = 'x' x 400_000_000; print length $hog"]})
    ran = place.run(DEBIAN, options=("--memory", "128m", "--memory-swap", "128m"))
    assert ran.code == 11, ran
    assert ran.outcome[0] == "memory" and ran.report["memory"]["oom_kills"] >= 1


def test_bc_095_an_agent_that_is_not_there_is_one_sentence_and_nothing_starts(place):
    place.job(agent={"command": ["/bin/no-such-agent"]})
    ran = place.run(BOX)
    assert ran.code == 14, ran
    assert ran.stderr.count("/bin/no-such-agent") == 1 and "nothing was started" in ran.stderr, ran


# Where an agent could look for the key, its supervisors' memory included.
SNOOP = "for f in /run/secrets/* /proc/[0-9]*/environ /proc/[0-9]*/fd/* /out/spool/*/*; do " \
        "timeout 1 cat $f 2>/dev/null; done | grep -c REAL[K]EY; env | grep -c REALKEY; " \
        "for p in /proc/[0-9]*; do grep -q warder $p/comm && (: < $p/mem) 2>/dev/null && echo open $p; done; echo end"


def test_bc_016_the_agent_finds_no_key_where_it_has_a_user_of_its_own(place):
    place.secret("key", world.new_key())
    place.shell_job(SNOOP, secrets={"anthropic": {"from": {"file": "/run/secrets/key"}}})
    ran = place.run(BOX)
    assert ran.code == 0 and ran.output.split() == ["0", "0", "end"], ran


def test_bc_016_the_agent_finds_no_key_where_everything_is_one_users(place):
    place.owned_by(1000)
    place.shell_job(SNOOP, secrets={"anthropic": {"from": {"env": "PROVIDER_KEY"}}})
    ran = place.run(BOX, options=("--user", "1000:1000", "--env", f"PROVIDER_KEY={world.new_key()}"))
    assert ran.code == 0 and ran.output.split() == ["0", "0", "end"], ran


def test_bc_016_a_key_in_a_file_that_the_agent_could_read_is_refused(place):
    place.secret("key", world.new_key())
    place.owned_by(1000)
    place.shell_job("touch /workspace/ran", secrets={"anthropic": {"from": {"file": "/run/secrets/key"}}})
    ran = place.run(BOX, options=("--user", "1000:1000"))
    assert ran.code == 14 and "/run/secrets/key" in ran.stderr and "env" in ran.stderr, ran
    assert not (place.folder / "workspace/ran").exists()


def test_a_job_that_cannot_be_read_or_is_not_there_is_told(place):
    ran = place.run(BOX)
    assert ran.code == 14 and "/job/job.yaml" in ran.stderr, ran
    place.shell_job("true", limits={"wal": "3s"})
    ran = place.run(BOX)
    assert ran.code == 14 and "wal" in ran.stderr and "wall" in ran.stderr, ran
    assert ran.outcome == ("setup", "bad_spec") and "job.yaml:" in ran.report["faults"][0]["where"], ran
