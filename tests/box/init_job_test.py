"""The same with a job: what the agent leaves, kills and stops with, and what the report says of it."""
import signal

import pytest
import world

READY = "while [ ! -e /workspace/ready ]; do sleep 0.01; done; "


def begun(person, script, **parts):
    """A run whose agent has said that it is ready."""
    parts["agent"] = {"command": ["/bin/sh", "-c", script]}
    process = person.start(person.tools.warder, "run", person.job(**parts), "--spool", person.spool)
    world.eventually(lambda: (person.workspace / "ready").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def ended(person, process):
    out, err = process.communicate(timeout=120)
    return world.Ran(person, world.subprocess.CompletedProcess((), process.returncode, out, err), person.runs()[-1])


def test_bc_008_orphans_in_bursts_are_collected_and_the_agents_own_statuses_are_its_own(person):
    ran = person.run_python(r"""
import os, sys, time
def zombies():
    count = 0
    for pid in os.listdir("/proc"):
        if not pid.isdigit(): continue
        try: count += open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError: pass
    return count
most = 0
for wave in range(50):
    release, hold = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(hold)
        for _ in range(100):
            if os.fork() == 0:
                os.read(release, 1)
                os._exit(0)
        os._exit(wave)
    assert os.waitstatus_to_exitcode(os.waitpid(middle, 0)[1]) == wave
    os.close(hold); os.close(release)
    for _ in range(2000):
        if zombies() == 0: break
        time.sleep(0.005)
    else: sys.exit("zombies stay")
print("none left")
""")
    assert ran.code == 0 and ran.output == "none left\n", ran.explain()


@pytest.mark.parametrize("agent,told", [
    ("trap '' TERM; touch /workspace/ready; while :; do sleep 0.05; done", "SIGKILL"),
    ("(trap '' TERM; touch /workspace/ready; exec sleep 1000) & " + READY + "exec sleep 1000", "SIGTERM"),
    ("(trap '' TERM; touch /workspace/ready; exec sleep 1000) & trap 'exit 7' TERM; wait", None)],
    ids=["the agent ignores it", "its child ignores it", "it ends at once with a code, its child lives"])
def test_bc_037_a_stop_ends_everything_and_is_told(person, agent, told):
    process = begun(person, agent, limits={"grace": "500ms"})
    process.send_signal(signal.SIGTERM)
    ran = ended(person, process)
    assert ran.code == 15, ran.explain()
    assert ran.report["outcome"]["class"] == "stopped"
    assert ran.events("stop.requested")[0]["data"]["signal"] == "SIGTERM"
    last = ran.events("agent.exited")[0]["data"]
    assert last.get("signal") == told and last.get("code") == (None if told else 7)


def test_bc_037_the_agents_own_code_can_be_passed_through(person):
    process = person.start(person.tools.warder, "run", "--passthrough-exit", person.job(
        agent={"command": ["/bin/sh", "-c", "touch ready; exec sleep 1000"]}), "--spool", person.spool)
    assert world.eventually(lambda: (person.workspace / "ready").exists() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    ran = ended(person, process)
    assert ran.code == 143, ran.explain()


def test_bc_038_escaped_daemons_do_not_keep_the_box(person):
    ran = person.run_shell(
        "setsid nohup sh -c 'trap \"\" TERM; exec sleep 1000' & "
        "setsid sh -c 'trap \"\" TERM HUP; touch /workspace/ready; while :; do setsid sleep 1000 & sleep 0.01; done' & "
        + READY + "echo done; exit 0", limits={"grace": "300ms"})
    assert ran.code == 0, ran.explain()
    assert ran.output.startswith("done")
    left = ran.events("agent.leftovers")[0]["data"]
    assert left["killed"] >= 2, left
    assert ran.events("agent.exited")[0]["data"]["code"] == 0


@pytest.mark.parametrize("kill", ["os.kill(0, 9)", "os.kill(-os.getpgrp(), 9)", "os.kill(-1, 9)"])
def test_bc_094_a_child_that_kills_the_agents_group_hits_nobody_of_ours(person, kill):
    ran = person.run_python(f"""
import os, time
print(os.getsid(0) == os.getpid() or os.getsid(0) == os.getpgrp(), flush=True)
if os.fork() == 0:
    {kill}
    time.sleep(1000)
time.sleep(5 if "-1" in {kill!r} else 1000)
""")
    assert ran.code == 15, ran.explain()
    last = ran.events("agent.exited")[0]["data"]
    assert last["signal"] == "SIGKILL"
    assert ran.report["outcome"]["class"] == "stopped"
    assert ran.events("memory.oom") == [] and ran.events("stage.lost") == []


def test_bc_094_a_job_that_the_agent_kills_is_not_the_agent(person):
    ran = person.run_command("/bin/bash", "-c", "set -m; sleep 1000 & kill -KILL -- -$!; wait $!; echo $?; exit 0")
    assert ran.code == 0, ran.explain()
    assert ran.output == "137\n"
