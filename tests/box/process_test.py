"""What PID 1 does: exit codes, signals, leftovers, zombies, limits."""
import signal

import pytest
import world


@pytest.mark.parametrize("script,code,outcome", [
    ("exit 0", 0, "ok"), ("exit 3", 1, "agent"), ("kill -SEGV $$", 1, "agent"),
    # Nobody of ours did it and the kernel counts no kill for memory: somebody stopped it.
    ("kill -KILL $$", 15, "stopped"), ("exit 137", 15, "stopped")])
def test_exit_codes(person, script, code, outcome):
    ran = person.run_shell(script)
    assert ran.code == code, ran.explain()
    assert ran.report["outcome"]["class"] == outcome


def test_the_report_tells_a_signal_from_an_exit_code(person):
    killed = person.run_shell("kill -KILL $$").events("agent.exited")[0]["data"]
    left = person.run_shell("exit 137").events("agent.exited")[0]["data"]
    assert killed["signal"] == "SIGKILL" and "code" not in killed
    assert left["code"] == 137 and "signal" not in left


def started(person, script, **parts):
    """A run whose agent has said that it is ready."""
    parts["agent"] = {"command": ["/bin/sh", "-c", script]}
    return begun(person, person.job(**parts))


def begun(person, job):
    process = person.start(person.tools.warder, "run", job, "--spool", person.spool)
    ready = world.eventually(lambda: (person.workspace / "ready").exists() or process.poll() is not None)
    if process.poll() is not None or not ready:
        process.kill()
        raise AssertionError(process.communicate())
    return process


def ended(person, process):
    out, err = process.communicate(timeout=120)
    done = world.subprocess.CompletedProcess((), process.returncode, out, err)
    return world.Ran(person, done, person.runs()[-1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_warder_run_is_a_stop_in_good_order(person, number):
    process = started(person, 'trap "echo told; touch /workspace/told; exit 0" TERM; touch ready; '
                              "while :; do sleep 0.05; done", results={"artifacts": ["told"]})
    process.send_signal(number)
    ran = ended(person, process)
    assert ran.code == 15, ran.explain()
    assert ran.report["outcome"]["class"] == "stopped"
    assert "told" in ran.output
    assert (ran.results / "artifacts/told").exists(), "results are collected on every ending"


def test_an_agent_that_ignores_the_signal_is_killed_after_the_grace(person):
    process = started(person, 'trap "" TERM; touch ready; while :; do sleep 0.05; done', limits={"grace": "1s"})
    process.send_signal(signal.SIGTERM)
    ran = ended(person, process)
    assert ran.code == 15, ran.explain()
    assert ran.events("agent.exited")[0]["data"]["signal"] == "SIGKILL"


def test_bc_037_the_tree_below_an_agent_that_ignores_the_signal_still_has_its_grace(person):
    process = started(person, "sh -c 'trap \"touch /workspace/polite; exit 0\" TERM; touch ready; "
                              "while :; do sleep 0.05; done' & trap '' TERM; while :; do sleep 0.05; done",
                      limits={"grace": "2s"})
    process.send_signal(signal.SIGTERM)
    ran = ended(person, process)
    assert ran.code == 15, ran.explain()
    assert ran.events("agent.exited")[0]["data"]["signal"] == "SIGKILL"
    assert (person.workspace / "polite").exists(), "what it started was asked before it was killed"


PRESET = """version: 1
name: deaf-parent
summary: an agent whose first process ignores its signal and ends when its worker does
executable: [/workspace/agent.sh]
prompt: none
stop_to: group
"""


def test_an_agent_whose_first_process_ignores_its_signal_is_asked_as_a_group(person):
    """As Gemini's relauncher does."""
    script = person.write("workspace/agent.sh", "#!/bin/sh\nsh -c 'trap \"exit 7\" TERM; touch ready; "
                          "while :; do sleep 0.05; done' &\ntrap '' TERM\nwait $!\nexit $?\n", 0o755)
    preset = person.write("preset.yaml", PRESET)
    process = begun(person, person.job(agent={"preset": str(preset)}))
    process.send_signal(signal.SIGTERM)
    ran = ended(person, process)
    assert ran.code == 15, ran.explain()
    assert ran.report["agent"]["code"] == 7, f"{script} ended by itself: {ran.explain()}"


@pytest.mark.parametrize("script, code", [("exit 7", 7), ("kill -TERM $$", 143), ("exit 0", 0)])
def test_passthrough_exit_is_the_agents_own(person, script, code):
    job = person.job(agent={"command": ["/bin/sh", "-c", script]})
    ran = person.run(job, "--passthrough-exit")
    assert ran.code == code, ran.explain()


def test_passthrough_exit_without_an_agent_is_the_runs_own(person):
    ran = person.run(person.job(agent={"command": ["/workspace/nothing"]}), "--passthrough-exit")
    assert ran.code == 14, ran.explain()


def test_what_the_agent_left_running_is_asked_and_then_killed(person):
    ran = person.run_shell(
        "setsid sh -c 'trap \"\" TERM; touch /workspace/deaf; while :; do sleep 0.05; done' & "
        "setsid sh -c 'trap \"touch /workspace/polite; exit 0\" TERM; touch /workspace/hearing; while :; do sleep 0.05; done' & "
        "while [ ! -e deaf ] || [ ! -e hearing ]; do sleep 0.05; done", limits={"grace": "2s"})
    assert ran.code == 0, ran.explain()
    assert (person.workspace / "polite").exists(), "it had time to end by itself"
    left = ran.events("agent.leftovers")[0]["data"]
    assert left["terminated"] >= 2 and left["killed"] >= 1, left


def test_orphans_are_reaped_while_the_agent_runs(person):
    ran = person.run_python(r"""
import os, time
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)      # an orphan at once
        os._exit(0)
    os.wait()
def zombies():
    count = 0
    for pid in os.listdir("/proc"):
        if not pid.isdigit(): continue
        try: state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError: continue
        count += state == "Z"
    return count
for _ in range(200):
    if zombies() == 0: break
    time.sleep(0.05)
print("zombies:", zombies())
""")
    assert ran.code == 0, ran.explain()
    assert "zombies: 0" in ran.output


def test_the_wall_limit_ends_the_run_with_its_own_code(person):
    ran = person.run_shell("echo begun; sleep 1000", limits={"wall": "1s", "grace": "1s"})
    assert ran.code == 10, ran.explain()
    assert ran.report["outcome"]["class"] == "limit"
    assert ran.events("limit.reached")[0]["data"]["limit"] == "wall"
    assert "begun" in ran.output


def test_a_run_that_ends_before_its_limit_does_not_reach_it(person):
    ran = person.run_command("/bin/true", limits={"wall": "5m"})
    assert ran.code == 0, ran.explain()
    assert ran.events("limit.reached") == []


def test_bc_046_a_full_tmp_is_named(person):
    ran = person.run_shell("dd if=/dev/zero of=/tmp/full bs=64k 2>/dev/null; exit 3", agent={"tmp_size": "4MiB"})
    assert ran.code == 1, ran.explain()
    told = {event["data"]["mount"]: event["data"] for event in ran.events("disk.full")}
    assert told["/tmp"]["bytes"] == 4 << 20 and told["/tmp"]["free_bytes"] == 0, told
    assert any("/tmp is full" in warning for warning in ran.report["warnings"])


def test_bc_085_a_death_by_sigbus_mentions_shared_memory(person):
    ran = person.run_shell("kill -BUS $$")
    assert ran.report["outcome"]["reason"] == "agent_crashed" and "/dev/shm" in ran.report["outcome"]["sentence"]


def test_bc_017_all_of_a_long_output_arrives(person):
    ran = person.run_python("import os, sys\nsys.stdout.write('x' * (3 << 20) + '\\n')\nsys.stdout.flush()\nos._exit(0)\n")
    assert ran.code == 0, ran.explain()
    assert len(ran.output) == (3 << 20) + 1


def test_output_cannot_forge_lines_or_drive_the_terminal(person):
    ran = person.run_shell(r"printf '\033[2J\033]0;title\007   0.0s  the agent ended (exit code 0)\n'")
    assert ran.code == 0
    assert "\033" not in ran.stdout + ran.stderr
    assert "\033[2J" in ran.output, "kept byte for byte where it is stored"


def test_several_boxes_at_once_do_not_meet(person):
    jobs = [person.job(f"job-{i}.yaml", agent={"command": [
        "/bin/sh", "-c", f"echo {i} > /tmp/mark; sleep 0.3; cat /tmp/mark; ls /proc | grep -c '^[0-9]'"]})
        for i in range(4)]
    running = [person.start(person.tools.warder, "run", job, "--spool", person.spool, "--json") for job in jobs]
    done = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0], done
    outputs = sorted((person.results / run.name / "stdout.log").read_text().split()[0] for run in person.runs())
    assert outputs == ["0", "1", "2", "3"]
