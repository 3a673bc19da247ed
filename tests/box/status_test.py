"""`warder status`, `events` and `cancel`: runs that ended, doors that behave oddly, pipes that close."""
import contextlib
import json
import os
import socket
import threading
import uuid

import pytest
import world


def status(person, *words, **options):
    return person.warder("status", *words, **options)


def in_spool(person):
    return {**person.environment(), "WARDER_SPOOL": str(person.spool)}


@contextlib.contextmanager
def door(person, answer, name=None):
    """A run's folder with somebody behind its control socket; `answer` gets each message."""
    run_dir = person.spool / (name or str(uuid.uuid4()))
    run_dir.mkdir(exist_ok=True)
    (run_dir / "run.json").write_text('{"run_id": "stand-in"}')
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(run_dir, os.O_PATH)
    listener.bind(f"/proc/self/fd/{folder}/control.sock")
    os.close(folder)
    listener.listen()
    os.chmod(run_dir / "control.sock", 0o600)
    person.own(run_dir)
    person.own(run_dir / "control.sock")

    def serve():
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client:
                while True:
                    question = client.recv(1 << 17)
                    reply = answer(question) if question else None
                    if reply is None:
                        break
                    client.send(reply)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    yield run_dir
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    server.join(10)


def standing(**changes):
    answer = {"run_id": "r-1", "phase": "running", "elapsed_ms": 1500, "agent": {"pid": 5, "program": "/bin/x"},
              "memory": {"used_bytes": 1, "limit_bytes": 4, "source": "v2", "next_mark_percent": 70},
              "llm": {"calls": 1, "errors": 0, "input_tokens": 2, "output_tokens": 3, "cost_usd": 0.5},
              "egress": {"denied": 0}, "warnings": 0, "outcome": None}
    return json.dumps({"status": {**answer, **changes}}).encode()


def test_the_status_of_a_run_that_ended_is_its_outcome(person):
    good, bad = person.run_shell("true"), person.run_shell("exit 3")
    done = status(person, good.run_dir)
    assert done.returncode == 0 and "ok (completed)" in done.stdout, done.stdout + done.stderr
    assert f"run       {good.run_id}\nphase     done, for " in done.stdout
    done = status(person, bad.run_dir)
    assert done.returncode == 1 and "agent (agent_error)" in done.stdout, done.stdout + done.stderr
    shown = json.loads(status(person, bad.run_dir, "--json").stdout)
    assert shown["outcome"] == {key: bad.report["outcome"][key] for key in ("class", "reason", "sentence")}
    assert shown["phase"] == "done" and shown["run_id"] == bad.run_id and shown["agent"]["pid"] is None


def test_without_a_run_the_status_is_three(person):
    done = status(person, env=in_spool(person))
    assert done.returncode == 3 and "no run goes on here" in done.stderr and str(person.spool) in done.stderr
    assert done.stdout == ""
    ended = person.run_shell("true")
    assert status(person, env=in_spool(person)).returncode == 3, "one that ended does not go on"
    assert status(person, person.folder).returncode == 3
    assert status(person, person.folder / "nowhere").returncode == 3
    assert ended.run_dir.exists() and not (ended.run_dir / "control.sock").exists()


def test_a_run_that_goes_on_is_found_and_told(person):
    with door(person, lambda question: standing()) as run_dir:
        for words in ([], [run_dir]):
            done = status(person, *words, env=in_spool(person))
            assert done.returncode == 0 and "running, for 1.5s" in done.stdout, done.stdout + done.stderr
        assert json.loads(status(person, run_dir, "--json").stdout) == json.loads(standing())["status"]


def test_the_newest_run_that_goes_on_is_taken(person):
    with door(person, lambda question: standing(run_id="old"), "01a00000-0000-7000-8000-000000000000"):
        with door(person, lambda question: standing(run_id="new"), "01b00000-0000-7000-8000-000000000000"):
            assert "new" in status(person, env=in_spool(person)).stdout
        assert "old" in status(person, env=in_spool(person)).stdout


def test_a_run_whose_outcome_is_bad_is_unhealthy_while_it_delivers(person):
    outcome = {"class": "memory", "reason": "oom_killed_agent", "sentence": "it died"}
    with door(person, lambda question: standing(phase="delivering", outcome=outcome)) as run_dir:
        assert status(person, run_dir).returncode == 1
    with door(person, lambda question: standing(outcome={**outcome, "class": "ok"})) as run_dir:
        assert status(person, run_dir).returncode == 0


@pytest.mark.parametrize("answer, words", [
    (lambda question: None, "does not answer this user"),
    (lambda question: b'{"refused":{"sentence":"no"}}', "refused"),
    (lambda question: b"rubbish", "no JSON object"),
    (lambda question: b'{"status":{"phase":1}}', "no status"),
    (lambda question: b'{"other":1}', "no status")], ids=["cut off", "refused", "rubbish", "no status", "other"])
def test_a_run_that_does_not_answer_is_unhealthy_and_named(person, answer, words):
    with door(person, answer) as run_dir:
        done = status(person, run_dir)
        assert done.returncode == 1 and words in done.stderr and done.stdout == "", done.stdout + done.stderr


def test_cancel_asks_the_run_by_name(person):
    asked = []

    def answer(question):
        asked.append(json.loads(question))
        return b'{"cancelling":true}'

    with door(person, answer) as run_dir:
        done = person.warder("cancel", run_dir)
        assert done.returncode == 0 and run_dir.name in done.stdout, done.stdout + done.stderr
        done = person.warder("cancel", "--json", env=in_spool(person))
        assert json.loads(done.stdout) == {"run_id": run_dir.name, "cancelling": True}
    assert asked == [{"cancel": {"by": f"uid {person.uid}"}}] * 2


@pytest.mark.parametrize("answer, words", [
    (b'{"refused":{"sentence":"not now"}}', "the run refused: not now"),
    (b'{"refused":{"other":1}}', "the run refused without saying why"),
    (b'{"cancelling":"yes"}', "does not say that it ends"),
    (b'{"status":{}}', "does not say that it ends")], ids=["refused", "odd refusal", "odd answer", "other"])
def test_cancel_believes_one_answer_alone(person, answer, words):
    with door(person, lambda question: answer) as run_dir:
        done = person.warder("cancel", run_dir)
        assert done.returncode == 1 and words in done.stderr, done.stderr
        assert done.stdout == "" and "{" not in done.stderr, done.stdout + done.stderr


def test_cancel_without_a_run_is_three(person):
    ended = person.run_shell("true")
    for words in ([], [ended.run_dir], [person.folder / "nowhere"]):
        done = person.warder("cancel", *words, env=in_spool(person))
        assert done.returncode == 3 and done.stdout == "", done.stdout + done.stderr


def test_events_without_a_folder_are_those_of_the_newest_run(person):
    assert person.warder("events", env=in_spool(person)).returncode == 2
    person.run_shell("true")
    second = person.run_shell("exit 1")
    done = person.warder("events", "--json", env=in_spool(person))
    assert json.loads(done.stdout.splitlines()[0])["data"]["run_id"] == second.run_id


def test_events_that_are_followed_come_line_by_line_and_end_with_the_run(person):
    person.write("workspace/go", "")
    (person.workspace / "go").unlink()
    job = person.job(agent={"command": ["/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"]})
    running = person.start(person.tools.warder, "run", job, "--spool", person.spool)
    run_dir = world.eventually(lambda: [run for run in person.runs() if (run / "run.json").exists()])[0]
    following = person.start(person.tools.warder, "events", run_dir, "-f", "--json")
    kinds = []
    for line in following.stdout:  # through a pipe
        kinds.append(json.loads(line)["type"])
        if kinds[-1] == "agent.started":
            break
    assert running.poll() is None, "the lines came while the run went on"
    (person.workspace / "go").write_text("")
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    assert json.loads([line for line in out.splitlines() if "run.finished" in line][0])
    running.communicate(timeout=60)


def test_a_reader_of_events_that_leaves_is_no_error(person):
    ran = person.run_shell("true")
    for words in (["events", ran.run_dir], ["events", ran.run_dir, "--json", "-f"]):
        process = person.start(person.tools.warder, *words)
        process.stdout.close()
        process.stdout = None
        err = process.communicate(timeout=60)[1]
        assert process.returncode == 0 and err == "", (process.returncode, err)


def test_somebody_who_follows_and_leaves_while_nothing_happens_is_noticed(person):
    with door(person, lambda question: standing()) as run_dir:
        (run_dir / "journal").mkdir()
        process = person.start(person.tools.warder, "events", run_dir, "-f")
        process.stdout.close()
        process.stdout = None
        assert process.wait(60) == 0


@pytest.fixture
def running(person):
    """A run that goes on until its workspace has a file called go."""
    job = person.job(agent={"command": ["/bin/sh", "-c", "echo here; while [ ! -e go ]; do sleep 0.05; done"]},
                     limits={"grace": "200ms"})
    process = person.start(person.tools.warder, "run", job, "--spool", person.spool)
    assert world.eventually(lambda: "running" in status(person, env=in_spool(person)).stdout)
    yield process
    (person.workspace / "go").write_text("")
    process.communicate(timeout=world.PATIENCE)


def test_a_real_run_tells_how_it_stands_and_that_it_ended(person, running):
    run_dir = person.runs()[0]
    shown = json.loads(status(person, "--json", env=in_spool(person)).stdout)
    assert shown["run_id"] == run_dir.name and shown["phase"] == "running" and shown["outcome"] is None
    assert shown["agent"]["program"] == "/bin/sh" and shown["agent"]["pid"] > 1
    assert shown["memory"]["used_bytes"] > 0
    assert (run_dir / "control.sock").stat().st_mode & 0o777 == 0o600
    (person.workspace / "go").write_text("")
    running.wait(world.PATIENCE)
    assert "done, for" in status(person, run_dir).stdout
    assert not (run_dir / "control.sock").exists()


def test_a_real_run_ends_in_good_order_when_it_is_cancelled(person, running):
    assert person.warder("cancel", env=in_spool(person)).returncode == 0
    running.wait(world.PATIENCE)
    assert running.returncode == 15
    report = json.loads((person.results / person.runs()[0].name / "report.json").read_text())
    assert report["outcome"]["reason"] == "cancelled", report["outcome"]


def test_another_user_may_not_ask(folder, tools, root):
    other = world.Person("ordinary", folder / "other", tools)
    with door(root, lambda question: standing()) as run_dir:
        done = other.warder("status", run_dir)
        assert done.returncode == 1 and "Permission denied" in done.stderr and done.stdout == ""
        assert other.warder("cancel", run_dir).returncode == 1
