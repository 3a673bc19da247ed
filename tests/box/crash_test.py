"""BC-101: a supervisor that vanishes leaves a trace that is found, told and closed."""
import os
import signal

import world


def vanished(person, sink):
    """A run whose `warder run` was killed with SIGKILL while its agent worked."""
    process = person.start(
        person.tools.warder, "run",
        person.job(agent={"command": ["/bin/sh", "-c", "echo partial; touch ready; sleep 1000"]},
                   results={"to": [sink.sink()]}),
        "--spool", person.spool)
    assert world.eventually(lambda: (person.workspace / "ready").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    run_dir = person.runs()[-1]
    assert world.eventually(lambda: any(run["run_id"] == run_dir.name for run in sink.runs())), \
        "the start record leaves at once"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return run_dir


def test_bc_101_a_killed_supervisor_is_reported_lost_and_can_be_closed(person, collector):
    sink = collector("--lease", "2")
    run_dir = vanished(person, sink)

    def state():
        return sink.run(run_dir.name).get("state")

    assert world.eventually(lambda: state() == "lost"), sink.run(run_dir.name)
    assert not (run_dir / "report.json").exists()

    closed = person.warder("deliver", run_dir, "--token-file", sink.token_file)
    assert closed.returncode == 0, closed.stdout + closed.stderr
    outcome = sink.run(run_dir.name)["report"]["outcome"]
    assert outcome["class"] == "internal" and outcome["reason"] == "supervisor_lost", outcome
    assert state() != "lost"
    assert person.warder("verify", run_dir).returncode == 0


def test_bc_101_the_next_run_does_not_mix_with_the_dead_one(person, collector):
    sink = collector("--lease", "60")
    dead = vanished(person, sink)
    (person.workspace / "ready").unlink()
    ran = person.run_shell("echo fresh", results={"to": [sink.sink()]})
    assert ran.code == 0, ran.explain()
    assert ran.run_id != dead.name
    assert ran.output == "fresh\n"
    assert [path.name for path in person.results.iterdir()] == [ran.run_id]
    assert ran.report["run"]["run_id"] == ran.run_id
    assert sink.run(ran.run_id)["report"]["outcome"]["class"] == "ok"


def test_nothing_of_the_box_outlives_a_killed_supervisor(person, collector):
    """The fixture that looks for leftovers is the assertion."""
    vanished(person, collector("--lease", "60"))
