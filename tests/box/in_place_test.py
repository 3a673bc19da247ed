"""`warder init --job` as PID 1 of a pid namespace: what an agent could do to its own run there."""
import json
import os
import pathlib
import shutil
import signal
import socket

import pytest
import world

NEW_PID_SPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
ONE_USER = ["setpriv", f"--reuid={world.ORDINARY}", f"--regid={world.ORDINARY}", "--clear-groups",
            "--bounding-set=-all", "--inh-caps=-all"]
DEGRADED = {"allow_degraded": True}


@pytest.fixture
def place(root):
    """A workspace of the agent's user in a folder that only root writes."""
    os.chown(root.workspace, 1000, 1000)
    return root


def begin(place, job, *words, wrapper=(), spool=None, env=None):
    return place.start(*NEW_PID_SPACE, *wrapper, place.tools.warder, "init", "--job", job, "--spool",
                       spool or place.spool, *words, env={**place.environment(), **(env or {})})


def end(place, process):
    out, err = process.communicate(timeout=120)
    done = world.subprocess.CompletedProcess((), process.returncode, out, err)
    runs = place.runs()
    return world.Ran(place, done, runs[-1] if runs else None)


def shell(place, script, **parts):
    parts.setdefault("policy", DEGRADED)
    return place.job(agent={"command": ["/bin/sh", "-c", script]}, **parts)


def init_of(process):
    """PID 1, as this test's own namespace numbers it."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(world.eventually(lambda: children.read_text().split() or None)[0])


def test_a_job_runs_in_place(place):
    ran = end(place, begin(place, shell(place, "pwd; id -u; touch made", results={"artifacts": ["made"]})))
    assert ran.code == 0, ran.explain()
    assert ran.output.split() == [str(place.workspace), "1000"]
    assert (ran.results / "artifacts/made").exists()
    assert ran.report["run"]["mechanism"] == "netns"


@pytest.mark.parametrize("workspace", ["/proc/1", "/sys/fs", "/dev/shm", "/", "/proc/self/root"])
def test_a_workspace_that_keeps_no_files_is_refused(place, workspace):
    job = place.job(agent={"command": ["/bin/true"], "workspace": workspace}, policy=DEGRADED)
    ran = end(place, begin(place, job))
    assert ran.code == 14, ran.explain()
    assert "job.yaml:" in ran.stderr and f"agent.workspace: {workspace} " in ran.stderr, ran.stderr
    assert not place.runs()


def test_a_spool_below_a_folder_that_the_agent_can_write_is_refused(place):
    """It could put a link to root's files in the place of its own output."""
    folder = place.folder / "agents"
    folder.mkdir()
    os.chown(folder, 1000, 1000)
    ran = end(place, begin(place, shell(place, "true"), spool=folder / "spool"))
    assert ran.code == 14 and "which the agent's uid 1000 can write" in ran.stderr, ran.stderr
    assert not (folder / "spool").exists()
    report, = place.results.glob("*/report.json")
    assert json.loads(report.read_text())["outcome"]["class"] == "setup"


NO_NETWORKS = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-all"]


def test_without_allow_degraded_nothing_is_left_but_the_report(place):
    ran = end(place, begin(place, shell(place, "touch ran", policy={}), wrapper=NO_NETWORKS))
    assert ran.code == 14 and place.runs() == [], ran.stderr
    left, = place.results.iterdir()
    assert sorted(file.name for file in left.iterdir()) == ["report.json", "run.json"]
    outcome = json.loads((left / "report.json").read_text())["outcome"]
    assert (outcome["class"], outcome["reason"]) == ("setup", "setup_failed")
    assert "allow_degraded: true" in outcome["sentence"]
    assert (ran.stdout + ran.stderr).count("allow_degraded: true") == 1, ran.stdout + ran.stderr
    assert not (place.workspace / "ran").exists()


def test_a_refused_job_in_place_is_told_once_and_reported(place, collector):
    home = collector()
    token = place.write("token", home.token, 0o600)
    job = place.job(agent={"command": ["no-such-agent"]}, policy=DEGRADED, results={"to": [home.sink(token)]})
    ran = end(place, begin(place, job))
    assert ran.code == 14 and place.runs() == [], ran.stdout + ran.stderr
    assert (ran.stdout + ran.stderr).count("no-such-agent") == 1, ran.stdout + ran.stderr
    assert "setup (bad_spec): the run was not started" in ran.stdout
    [run] = home.runs()
    assert home.run(run["run_id"])["report"]["run"] == json.loads(
        next(place.results.glob("*/report.json")).read_text())["run"]


def test_a_secret_that_the_broker_refuses_in_place_is_told_once(place):
    key = place.write("key", "sk-ant with blanks \x01 in it", 0o600)
    ran = end(place, begin(place, shell(place, "true", secrets={"anthropic": {"from": {"file": str(key)}}})))
    assert ran.code == 14 and ran.report["outcome"]["class"] == "setup", ran.stderr
    reason = ran.report["outcome"]["sentence"].rsplit(": ", 1)[1]
    assert (ran.stdout + ran.stderr).count(reason) == 1, ran.stdout + ran.stderr


def test_a_spool_in_the_workspace_is_refused(person):
    done = person.warder("run", person.job(agent={"command": ["/bin/true"]}), "--spool", person.workspace / "spool")
    assert done.returncode == 14 and "lies in the workspace" in done.stderr, done.stderr
    assert not (person.workspace / "spool").exists()


def test_variables_with_a_copy_of_the_secret_do_not_reach_the_agent(place):
    secret = "s3cr3t-" + world.new_key()
    job = shell(place, "env", secrets={"anthropic": {"from": {"env": "LENT"}}})
    ran = end(place, begin(place, job, env={"LENT": secret, "COPY": f"x{secret}y", "GIT_TOKEN": "other", "KEPT": "yes"}))
    assert ran.code == 0, ran.explain()
    assert "KEPT=yes" in ran.output and secret not in ran.output
    assert "GIT_TOKEN" not in ran.output and any("GIT_TOKEN" in warning for warning in ran.report["warnings"])


@pytest.mark.parametrize("target", ["run.json", "output/stdout", "journal/00000001.wal"])
def test_an_agent_with_its_supervisors_user_cannot_make_it_wait_for_a_fifo(place, target):
    for path in (place.workspace, place.spool, place.folder):
        os.chown(path, world.ORDINARY, world.ORDINARY)
    job = shell(place, f"cd {place.spool}/$WARDER_RUN_ID && mv {target} {target}.old && mkfifo {target}; exit 3")
    ran = end(place, begin(place, job, wrapper=ONE_USER))
    assert ran.code in (1, 16, 65, 80), ran.explain()


def test_the_agent_cannot_reach_what_its_patch_is_made_against(place):
    job = shell(place, f"ls {place.spool}/$WARDER_RUN_ID/harvest && echo reached; echo new > new.txt",
                results={"patch": True})
    ran = end(place, begin(place, job))
    assert ran.code == 0 and "reached" not in ran.output and "Permission denied" in ran.errors, ran.explain()
    assert "new.txt" in (ran.results / "changes.patch").read_text()


def test_a_flood_of_output_leaves_time_for_the_report(place):
    job = shell(place, "trap '' TERM; touch ready; while :; do head -c 1000000 /dev/zero; done")
    process = begin(place, job, "--stop-within", "10s")
    assert world.eventually((place.workspace / "ready").exists)
    os.kill(init_of(process), signal.SIGTERM)
    ran = end(place, process)
    assert ran.code == 15 and ran.report["outcome"]["class"] == "stopped", ran.code
    assert ran.stderr.count("there is more of it") <= 1
    shutil.rmtree(ran.run_dir)


def test_status_believes_nobody_elses_folder_in_shared_memory(place):
    folder = pathlib.Path("/dev/shm/warder")
    run = folder / "spool/01ffffff-ffff-7fff-bfff-ffffffffffff"
    run.mkdir(parents=True)
    try:
        (run / "run.json").write_text("{}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(run / "control.sock"))
        listener.listen()
        for path in (folder, folder / "spool", run, run / "control.sock"):
            os.chown(path, world.ORDINARY, world.ORDINARY)
        done = place.warder("status")
        assert done.returncode == 3 and "no run goes on here" in done.stderr, (done.stdout, done.stderr)
    finally:
        shutil.rmtree(folder)


def test_status_and_events_do_not_wait_for_a_fifo(place):
    run = place.spool / "01ffffff-ffff-7fff-bfff-ffffffffffff"
    run.mkdir()
    os.mkfifo(run / "run.json")
    for command in ("status", "events"):
        assert place.warder(command, run).returncode != 0


def test_the_proc_of_another_pid_namespace_is_none(place):
    words = ["unshare", "--pid", "--fork", "--kill-child", place.tools.warder, "init"]
    plain = place.start(*words, "--grace", "1s", "--", "/bin/sh", "-c", "sleep 1000 & exit 3")
    out, err = plain.communicate(timeout=60)
    assert plain.returncode == 3 and "left 1 process" in err, err
    job = place.start(*words, "--job", shell(place, "true"), "--spool", place.spool)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 14 and "no /proc of this pid namespace" in err, err
    report, = place.results.glob("*/report.json")
    assert "no /proc of this pid namespace" in json.loads(report.read_text())["outcome"]["sentence"], out


def test_the_unix_socket_of_a_grant_is_out_of_the_agents_hands(place):
    job = shell(place, 'echo "$ANTHROPIC_SOCKET"; rm -f "$ANTHROPIC_SOCKET"; touch "$(dirname "$ANTHROPIC_SOCKET")/x"; '
                       'test -S "$ANTHROPIC_SOCKET" && echo stays', secrets={"anthropic": {"from": {"env": "LENT"}}})
    ran = end(place, begin(place, job, env={"LENT": world.new_key()}))
    path, stays = ran.output.split()
    assert stays == "stays" and path.endswith("/anthropic.sock"), ran.explain()
    assert not pathlib.Path(path).parent.exists(), "left behind"
