"""Jobs in real machines: every way a job gets in, and the outcome out."""
import base64
import json
import os
import re
import signal
import socket
import subprocess
import threading

import pytest

import microvm_world
import world
from microvm_world import files, vm  # noqa: F401 (fixtures)

# Talks to the model as an agent does, writes what it said, and looks for the key it does not have.
AGENT = """
const fs = require("fs");
const url = process.env.ANTHROPIC_BASE_URL + "/v1/messages";
const body = JSON.stringify({model: "claude-haiku-4-5", max_tokens: 50,
                             messages: [{role: "user", content: "hi"}]});
require("http").request(url, {method: "POST", headers: {"content-type": "application/json",
    "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01"}}, (answer) => {
  let text = "";
  answer.on("data", (piece) => text += piece);
  answer.on("end", () => {
    fs.writeFileSync("answer.txt", text);
    console.log(answer.statusCode, JSON.parse(text).content[0].text);
    for (const file of ["/run/warder/job/job.yaml", "/run/warder/job/secrets/anthropic", "/dev/vdb"])
      try { fs.readFileSync(file); console.log("READ", file); } catch (error) { console.log(error.code, file); }
  });
}).on("error", (error) => { console.error(error.message); process.exit(1); }).end(body);
"""


@pytest.fixture
def run_job(files, tmp_path):
    """image/microvm/run as a person calls it: what it said, and the report it left."""
    def run(job, *words, workspace=None):
        folder = tmp_path / "workspace"
        folder.mkdir(exist_ok=True)
        for name, text in (workspace or {}).items():
            (folder / name).write_text(text)
        agent = {"workspace": "workspace", **job.pop("agent")}
        file = tmp_path / "job.yaml"
        file.write_text(json.dumps({"version": 1, "agent": agent, "policy": {}, **job}, indent=1))
        done = subprocess.run([str(word) for word in [world.ROOT / "image/microvm/run", file, "--files", files, *words]],
                              capture_output=True, text=True, timeout=microvm_world.GIVE_UP)
        done.console = done.stdout.replace("\r\n", "\n") + done.stderr
        reports = list((tmp_path / "warder-results").glob("*/report.json"))
        done.report = json.loads(reports[0].read_text()) if reports else None
        assert "Kernel panic" not in done.console, done.console
        return done
    return run


def job_text(script, **agent):
    return json.dumps({"version": 1, "policy": {}, "results": {"dir": "/run/warder/results"},
                       "agent": {"command": ["sh", "-c", script], "workspace": "/workspace", **agent}})


def test_node_reaches_the_provider_through_the_broker_and_never_sees_the_key(run_job, tmp_path):
    tls = tmp_path / "tls"
    subprocess.run([world.ROOT / "scripts/provider-tls", tls, "IP:10.0.2.2"], check=True)
    key = world.new_key()
    upstream = world.Provider(tmp_path / "provider", tls, "plain", key)
    try:
        (tmp_path / "key").write_text(key + "\n")
        (tmp_path / "key").chmod(0o600)
        done = run_job(
            {"agent": {"command": ["node", "agent.js"]},
             "secrets": {"anthropic": {"from": {"file": "key"}, "base_url": f"https://10.0.2.2:{upstream.port}",
                                       "ca_file": "tls/ca.pem"}},
             "policy": {"allow": [{"host": "10.0.2.2", "port": upstream.port, "methods": ["POST"],
                                   "paths": ["/v1/messages"]}]}}, workspace={"agent.js": AGENT})
        calls = upstream.requests()
    finally:
        upstream.stop()
    assert done.returncode == 0, done.console
    assert "agent | 200 ok" in done.console, done.console
    assert "READ" not in done.console and done.console.count("EACCES") == 3, done.console
    assert len(calls) == 1 and calls[0]["key_ok"] and calls[0]["tls"], calls
    assert done.report["outcome"]["class"] == "ok"
    assert done.report["run"]["mechanism"] == "netns"
    assert [used["model"] for used in done.report["usage"]["by_model"]], done.report["usage"]
    assert key not in done.console and key not in json.dumps(done.report)


def test_the_agents_exit_code_becomes_the_outcome_of_the_command(run_job):
    done = run_job({"agent": {"command": ["sh", "-c", "cat /proc/self/cgroup; id -u; touch made; exit 7"]}})
    assert done.returncode == 1, done.console
    assert done.report["agent"]["code"] == 7
    assert "0::/workload/agent" in done.console
    assert "agent | 1000" in done.console
    assert re.search(r"warder\[boot\] exit code 1: agent \(agent_error\)", done.console), done.console


def test_a_command_behind_dashes_runs_instead_of_the_agent(run_job):
    done = run_job({"agent": {"command": ["false"]}}, "--", "sh", "-c", "echo other command")
    assert done.returncode == 0, done.console
    assert "agent | other command" in done.console


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["INT", "TERM", "HUP"])
def test_a_machine_that_is_asked_to_stop_ends_its_run_in_order(files, tmp_path, asked):
    (tmp_path / "workspace").mkdir()
    script = "trap 'echo got TERM; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    (tmp_path / "job.yaml").write_text(json.dumps({
        "version": 1, "policy": {}, "agent": {"command": ["sh", "-c", script], "workspace": "workspace"}}))
    command = [world.ROOT / "image/microvm/run", tmp_path / "job.yaml", "--files", files]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        console = ""
        for line in process.stdout:
            console += line
            if "agent | up" in line:
                process.send_signal(asked)
    assert process.returncode == 15, console
    assert "agent | got TERM" in console, console
    report, = (tmp_path / "warder-results").glob("*/report.json")
    assert json.loads(report.read_text())["outcome"]["class"] == "stopped"


def test_a_machine_that_is_asked_twice_does_not_wait_for_the_agents_grace(files, tmp_path):
    (tmp_path / "workspace").mkdir()
    script = "trap 'echo got TERM' TERM; echo up; while :; do sleep 0.1; done"
    (tmp_path / "job.yaml").write_text(json.dumps({
        "version": 1, "policy": {}, "limits": {"grace": "1h"},
        "agent": {"command": ["sh", "-c", script], "workspace": "workspace"}}))
    command = [world.ROOT / "image/microvm/run", tmp_path / "job.yaml", "--files", files]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        watchdog = threading.Timer(microvm_world.GIVE_UP, process.kill)
        watchdog.start()
        console = ""
        for line in process.stdout:
            console += line
            if "agent | up" in line or "agent | got TERM" in line:
                process.send_signal(signal.SIGTERM)
        watchdog.cancel()
    assert process.returncode == 15, console
    assert "once more ends it without a report" in console, console
    report, = (tmp_path / "warder-results").glob("*/report.json")
    assert json.loads(report.read_text())["outcome"]["class"] == "stopped"


def test_ctrl_alt_del_stops_a_run_in_order(vm):
    disk = vm.archive({"job.yaml": job_text("trap 'echo got TERM; exit 0' TERM; echo up; while :; do sleep 0.1; done")})
    booted = vm.with_keyboard().boot(
        f"warder.job={vm.disk(disk)}",
        on_line=lambda line: vm.order("sendkey ctrl-alt-delete") if "agent | up" in line else None)
    booted.ended_in_order()
    assert booted.code == 15, booted.console
    booted.says("agent | got TERM")
    assert "SIGINT" in json.loads(booted.report)["outcome"]["sentence"]


def test_a_job_with_faults_says_where_and_starts_nothing(run_job):
    done = run_job({"agent": {"command": ["true"], "comand": ["true"]}})
    assert done.returncode == 14, done.console
    assert re.search(r"job.yaml:\d+:\d+: .*comand", done.console), done.console
    assert 'did you mean "command"' in done.console
    assert done.report["outcome"]["reason"] == "bad_spec", done.report
    sentence = done.report["faults"][0]["sentence"]
    assert "comand" in sentence and done.console.count(sentence) == 1, done.console


@pytest.mark.parametrize("wrong, sentence", [
    ({"agent": {"workspace": "nowhere", "command": ["true"]}}, "agent.workspace"),
    ({"agent": {"command": ["true"]}, "secrets": {"anthropic": {"from": {"file": "nothing"}}}}, "nothing: No such file"),
    ({"agent": {"command": ["true"]}, "secrets": {"anthropic": {"from": {"fd": 5}}}}, "descriptor"),
    ({"agent": {"command": ["true"]}, "secrets": {"anthropic": {"from": {"env": "NOT_SET_HERE"}}}}, "NOT_SET_HERE is not set"),
])
def test_what_cannot_be_packed_is_told_before_anything_starts(run_job, wrong, sentence):
    done = run_job(wrong)
    assert done.returncode == 14
    assert sentence in done.stderr and "nothing was started" in done.stderr, done.stderr


def test_bc046_a_small_tmp_fills_and_the_run_still_reports(vm):
    script = "head -c 10000000 /dev/zero > /tmp/x || echo tmp is full; echo still here; exit 4"
    disk = vm.archive({"job.yaml": job_text(script)})
    booted = vm.boot(f"warder.job={vm.disk(disk)}", "warder.tmp=1Mi")
    booted.ended_in_order()
    booted.says("still here")
    booted.says("tmp is full")
    assert booted.code == 1
    assert json.loads(booted.report)["agent"]["code"] == 4


class Sender:
    """The other end of a virtio-serial port: sends, and stays until the machine is gone."""

    def __init__(self, folder, content, close=False):
        self.path = folder / "port"
        self.content, self.close = content, close
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(1)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        line, _ = self.listener.accept()
        with line:
            line.sendall(self.content)
            while not self.close and line.recv(4096):
                pass

    def devices(self):
        return ["-chardev", f"socket,id=job,path={self.path}",
                "-device", "virtserialport,chardev=job,name=warder.job"]


def test_a_job_comes_through_a_port(vm):
    archive = vm.archive({"job.yaml": job_text("cat /workspace/none; exit 5"), "big": "x" * 300000})
    vm.devices = Sender(vm.folder, archive.read_bytes()).devices()
    booted = vm.boot("warder.job=virtio:warder.job")
    booted.ended_in_order()
    assert json.loads(booted.report)["agent"]["code"] == 5


def test_a_job_comes_by_the_kernel_command_line(vm):
    text = base64.b64encode(job_text("exit 6").encode()).decode()
    booted = vm.boot(f"warder.job64={text}")
    booted.ended_in_order()
    assert json.loads(booted.report)["agent"]["code"] == 6
    assert booted.told["exit_code"] == 1 and booted.told["report_bytes"] == len(booted.report)


def test_a_wrong_clock_is_set_from_outside_and_a_seed_is_credited_and_gone(vm):
    vm.devices = ["-rtc", "base=2001-01-01"]
    script = "date +now=%Y; ls /run/warder/job 2>&1; exit 0"
    disk = vm.archive({"job.yaml": job_text(script), "seed": "s" * 64})
    booted = vm.boot(f"warder.job={vm.disk(disk)}", "warder.seed_file=seed", "warder.clock=1893456000")
    booted.ended_in_order()
    assert booted.code == 0, booted.console
    booted.says("now=2030")
    assert "clock:" not in booted.console and "entropy:" not in booted.console, booted.console


def test_a_wrong_clock_is_warned_of_and_a_short_seed_refused(vm):
    vm.devices = ["-rtc", "base=2001-01-01"]
    disk = vm.archive({"job.yaml": job_text("exit 0"), "seed": "s" * 31})
    booted = vm.boot(f"warder.job={vm.disk(disk)}", "warder.seed_file=seed")
    booted.ended_in_order()
    assert booted.code == 14
    booted.says("has 31 bytes; a seed has 32 to 512")
    job = vm.boot("warder.job=/dev/vdb")
    job.ended_in_order()
    assert job.code == 0, job.console
    assert any("clock: it says 2001-01-01" in warning for warning in json.loads(job.report)["warnings"]), job.report


def test_what_the_boot_warned_of_stands_in_the_report(vm):
    """BC-085, BC-086: also for whoever sees only the report."""
    disk = vm.archive({"job.yaml": job_text("exit 0")})
    booted = vm.boot(f"warder.job={vm.disk(disk)}", "warder.shm=64Mi")
    booted.ended_in_order()
    assert booted.code == 0, booted.console
    warnings = json.dumps(json.loads(booted.report)["warnings"])
    assert "/dev/shm has 67108864 bytes" in warnings and "dns: none" in warnings, warnings
    assert "eth0 stays down" in warnings
