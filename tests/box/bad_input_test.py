"""Bad input: exit code 14, one sentence for each fault, nothing started, and nothing left but the report."""
import json
import os
import shutil
import signal

import pytest
import world

GOOD_SECRET = {"anthropic": {"from": {"file": "@KEY@"}}}


def change(person, **parts):
    """A job that would be good but for `parts`; @FOLDER@ and @KEY@ are this person's."""
    person.write("key", "sk-ant-api03-good-enough", 0o600)
    text = json.dumps(parts).replace("@FOLDER@", str(person.folder)).replace("@KEY@", str(person.folder / "key"))
    return person.job(**json.loads(text))


FAULTS = {
    "a key that does not exist": (dict(agent={"command": ["/bin/true"]}, limit={"wall": "4h"}), ["limit", "limits"]),
    "a policy that is not shipped": (dict(agent={"command": ["/bin/true"]}, policy="claude-cod"), ["claude-code"]),
    "a policy file that is not there": (dict(agent={"command": ["/bin/true"]}, policy="./no.yaml"), ["no.yaml"]),
    "a policy with an unknown key": (dict(agent={"command": ["/bin/true"]}, policy={"alow": []}), ["alow", "allow"]),
    "a secret that is not there": (
        dict(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"file": "@FOLDER@/no-key"}}}), ["no-key"]),
    "a secret that is a folder": (
        dict(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"file": "@FOLDER@/home"}}}), ["home"]),
    "a secret without a source": (
        dict(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {}}}), ["from"]),
    "a variable that is not set": (
        dict(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"env": "NO_SUCH_KEY"}}}), ["NO_SUCH_KEY"]),
    "a preset that is not shipped": (dict(agent={"preset": "claude-kode", "prompt": "x"}), ["claude-code"]),
    "a workspace that is not there": (
        dict(agent={"command": ["/bin/true"], "workspace": "@FOLDER@/nowhere"}), ["nowhere"]),
    "a workspace that is a file": (dict(agent={"command": ["/bin/true"], "workspace": "@FOLDER@/key"}), ["key"]),
    "an agent that is not there": (dict(agent={"command": ["no-such-agent"]}), ["no-such-agent"]),
    "an agent that the box does not show": (
        dict(agent={"command": ["@FOLDER@/home/agent"]}), ["read_only"]),
    "a preset and a command": (dict(agent={"command": ["/bin/true"], "preset": "claude-code"}), ["command"]),
    "a preset without its prompt": (dict(agent={"preset": "claude-code"}, secrets=GOOD_SECRET), ["prompt"]),
    "a limit without a unit": (dict(agent={"command": ["/bin/true"]}, limits={"wall": 4}), ["wall"]),
    "the whole machine as read_only": (dict(agent={"command": ["/bin/true"], "read_only": ["/"]}), ["read_only"]),
    "an artifact outside of the workspace": (
        dict(agent={"command": ["/bin/true"]}, results={"artifacts": ["../x"]}), [".."]),
}


def the_report(*folders):
    """What a refused run left: one folder with a report, in one of these."""
    left = [path for folder in folders if folder.exists() for path in folder.iterdir()]
    assert len(left) == 1, left
    assert sorted(file.name for file in left[0].iterdir()) == ["report.json", "run.json"]
    report = json.loads((left[0] / "report.json").read_text())
    assert report["run"]["run_id"] == left[0].name
    return report


def assert_reported(report, ran, reason="bad_spec"):
    """The report says what the lines said, each of which is told once."""
    outcome = report["outcome"]
    assert (outcome["class"], outcome["reason"], outcome["exit_code"]) == ("setup", reason, 14), outcome
    assert outcome["advice"], outcome
    assert report["faults_total"] == len(report["faults"])
    first = report["faults"][0]
    assert first["where"] in outcome["sentence"] and first["sentence"] in outcome["sentence"]
    lines = ran.stderr.splitlines()
    for fault in report["faults"]:
        line = ": ".join(part for part in (fault["where"], fault["sentence"]) if part)
        assert lines.count(line) == 1 and line not in ran.stdout, (line, ran.stderr, ran.stdout)
    assert ran.stdout.startswith(f"setup ({reason}): the run was not started\nnext: {outcome['advice']}\n")


def assert_refused(person, ran, words, reason="bad_spec"):
    assert ran.code == 14, ran.explain()
    for word in words:
        assert word in ran.stderr, ran.stderr
    assert person.runs() == [], "nothing was started"
    assert_reported(the_report(person.results, person.folder / "warder-results"), ran, reason)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_with(person, fault):
    parts, words = FAULTS[fault]
    agent = person.folder / "home/agent"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    person.own(agent)
    assert_refused(person, person.run(change(person, **parts)), words)


def test_a_job_file_that_is_not_there(person):
    assert_refused(person, person.run(person.folder / "no.yaml"), ["no.yaml"])


def test_a_job_that_is_no_yaml_says_where(person):
    job = person.write("broken.yaml", "version: 1\nagent: {command: [/bin/true\n")
    assert_refused(person, person.run(job), ["broken.yaml:"])


def test_every_fault_is_told_at_once_with_its_line(person):
    job = person.write("bad.yaml", "version: 1\nagent:\n  comand: [/bin/true]\n  user: nobody\n"
                                   "policy: {}\nlimits:\n  wall: 4\n")
    ran = person.run(job)
    assert_refused(person, ran, ["bad.yaml:3:", "bad.yaml:4:", "bad.yaml:7:"])


def test_a_key_in_an_empty_file(person):
    key = person.write("empty", "", 0o600)
    job = person.job(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"file": str(key)}}})
    assert_refused(person, person.run(job), ["empty"])


def test_root_is_refused_a_job_that_the_agent_could_rewrite(root):
    job = root.job(agent={"command": ["/bin/true"]})
    job.chmod(0o666)
    assert_refused(root, root.run(job), ["job.yaml"])


def test_check_says_the_same_as_run(person):
    job = change(person, agent={"command": ["no-such-agent"]}, policy="claude-cod")
    checked = person.warder("check", job)
    assert checked.returncode == 14
    assert "no-such-agent" in checked.stdout + checked.stderr
    assert "claude-code" in checked.stdout + checked.stderr


def test_check_of_a_good_job_starts_nothing(person):
    job = person.job(agent={"command": ["/bin/true"]})
    checked = person.warder("check", job)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert person.runs() == []


def test_a_secret_that_the_broker_would_refuse_starts_nothing_and_leaves_a_report(person):
    for content, word in (("sk-ant-admin01-0123456789abcdef", "admin key"), ("sk-ant with blanks \x01 in it", "secret")):
        key = person.write("key", content, 0o600)
        job = person.job(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"file": str(key)}}})
        checked = person.warder("check", job)
        assert checked.returncode == 14 and "anthropic" in checked.stderr, checked.stdout + checked.stderr
        ran = person.run(job)
        assert_refused(person, ran, ["anthropic"], "broker_failed")
        report, = person.results.glob("*/report.json")
        for text in (checked.stderr, ran.stdout, ran.stderr, report.read_text()):
            assert content not in text, text
        shutil.rmtree(person.results)


def test_the_report_lies_where_the_job_or_the_command_line_says(person):
    job = person.write("bad.yaml", f"version: 1\nagent: {{}}\nresults: {{dir: {person.folder}/named}}\n")
    nothing = person.folder / "no.yaml"
    for words, folder in (([job], "named"), ([job, "--results", "told"], "told"),
                          ([nothing, "--results", "also"], "also"), ([nothing], "warder-results")):
        ran = person.run(*words)
        assert ran.code == 14, ran.explain()
        assert_reported(the_report(person.folder / folder), ran)
    assert person.runs() == []


def test_a_fault_in_results_sends_the_report_beside_the_job(person):
    job = person.write("bad.yaml", f"version: 1\nagent: {{command: [/bin/true], workspace: {person.workspace}}}\n"
                                   f"policy: {{}}\nresults: {{dir: {person.results}, pach: true}}\n")
    ran = person.run(job)
    assert_reported(the_report(person.folder / "warder-results"), ran)
    assert "the job's word on results is not taken" in ran.stderr and not person.results.exists()


def test_where_no_results_can_be_left_the_spool_has_the_report_and_its_proof(person):
    ran = person.run(person.folder / "nowhere/job.yaml")
    assert ran.code == 14 and str(ran.run_dir) in ran.stdout, ran.explain()
    assert json.loads((ran.run_dir / "report.json").read_text())["outcome"]["reason"] == "bad_spec"
    assert person.warder("verify", ran.run_dir).returncode == 0
    assert [event["type"] for event in ran.events() if event["type"] != "journal.seal"] == [
        "run.started", "setup.failed", "run.finished"]
    assert "outcome   setup (bad_spec)" in person.warder("status", ran.run_dir).stdout


def test_a_spool_that_cannot_be_made_is_a_fault_with_a_report(person):
    (person.folder / "file").write_text("")
    job = person.job(agent={"command": ["/bin/true"]})
    done = person.warder("run", job, "--spool", person.folder / "file/spool")
    ran = world.Ran(person, done, None)
    assert ran.code == 14 and "cannot make the spool folder" in ran.stderr, ran.explain()
    assert_reported(the_report(person.results), ran, "setup_failed")


def test_many_faults_are_counted_in_the_report(person):
    job = person.write("bad.yaml", "version: 1\nagent: {command: [/bin/true]}\n"
                       + "".join(f"key{number}: 1\n" for number in range(40)))
    ran = person.run(job)
    report = json.loads(next((person.folder / "warder-results").glob("*/report.json")).read_text())
    assert len(report["faults"]) == 32 and report["faults_total"] > 40, report["faults_total"]
    assert ran.stderr.count("unknown key") == 40
    assert len(json.dumps(report)) < 96 * 1024


def refused_job(person, sink, **parts):
    return person.job(agent={"command": ["no-such-agent"]}, results={"to": [sink], "deliver_within": "2s"}, **parts)


def test_a_refused_run_is_told_to_its_collector(person, collector):
    home = collector()
    ran = person.run(refused_job(person, home.sink(person.write("token", home.token, 0o600))))
    assert_refused(person, ran, ["no-such-agent"])
    [run] = home.runs()
    told = home.run(run["run_id"])
    assert told["state"] == "finished" and told["complete"] and told["attempts"]
    assert told["report"] == the_report(person.results)
    assert f"page: {home.url}/runs/{run['run_id']}" in ran.stdout


def test_a_token_from_the_environment_reaches_the_collector_too(person, collector):
    home = collector()
    job = refused_job(person, {"collector": home.url, "token": {"env": "TOKEN"}})
    ran = person.run(job, env={**person.environment(), "TOKEN": home.token})
    assert_refused(person, ran, ["no-such-agent"])
    assert len(home.runs()) == 1
    # A fault that is found only after the secrets left the environment.
    key = person.write("key", "sk-ant with blanks \x01 in it", 0o600)
    job = person.job(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"file": str(key)}}},
                     results={"to": [{"collector": home.url, "token": {"env": "TOKEN"}}]})
    ran = person.run(job, env={**person.environment(), "TOKEN": home.token})
    assert ran.code == 14 and len(home.runs()) == 2, ran.explain()


def test_what_a_collector_did_not_acknowledge_waits_in_the_spool(person, collector):
    port = world.free_port()
    token = person.write("token", "0" * 32, 0o600)
    ran = person.run(refused_job(person, {"collector": f"http://127.0.0.1:{port}", "token": {"file": str(token)}}))
    assert ran.code == 64 + 14 and f"later: warder deliver {ran.run_dir}" in ran.stdout, ran.explain()
    assert ran.report["outcome"]["class"] == "setup"
    home = collector(listen=f"127.0.0.1:{port}")
    sent = person.warder("deliver", ran.run_dir, "--token-file", home.token_file)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    assert home.run(ran.run_id)["report"] == ran.report


def test_a_signal_ends_the_wait_for_a_collector(person):
    token = person.write("token", "0" * 32, 0o600)
    job = person.job(agent={"command": ["no-such-agent"]}, results={"to": [
        {"collector": f"http://127.0.0.1:{world.free_port()}", "token": {"file": str(token)}}]})
    process = person.start(person.tools.warder, "run", job, "--spool", person.spool)
    assert world.eventually(lambda: list(person.results.glob("*/report.json")) or process.poll() is not None)
    world.eventually(lambda: "courier" in processes_of(process.pid) or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=world.PATIENCE)
    assert process.returncode == 64 + 14 and "stopped by SIGTERM" in out, out + err


def processes_of(pid):
    """The command lines of a process's children."""
    lines = ""
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        lines += open(f"/proc/{child}/cmdline").read()
    return lines


def test_a_token_that_is_not_there_is_a_fault_and_the_results_folder_still_holds(person, collector):
    home = collector()
    ran = person.run(refused_job(person, home.sink(person.folder / "no-token")))
    assert ran.code == 64 + 14 and "no-token" in ran.stderr and "not delivered" in ran.stdout, ran.explain()
    assert ran.report["outcome"]["reason"] == "bad_spec" and home.runs() == []


def test_a_job_that_others_than_root_can_write_sends_no_token_anywhere(root, collector):
    """Whoever wrote it could name any file of root's as a token, and any collector."""
    home = collector()
    for mode, owner in ((0o666, 0), (0o644, 1000)):
        job = refused_job(root, home.sink())
        os.chown(job, owner, 0)
        job.chmod(mode)
        ran = root.run(job)
        assert ran.code == 14 and "others than root can change the job file" in ran.stderr, ran.explain()
        assert home.runs() == [] and not root.results.exists()
        the_report(root.folder / "warder-results")
        shutil.rmtree(root.folder / "warder-results")


def test_a_link_beside_a_job_of_others_leads_no_report_elsewhere(root):
    job = root.job(agent={"command": ["/bin/true"]})
    job.chmod(0o666)
    victim = root.make_folder("victim")
    (root.folder / "warder-results").symlink_to(victim)
    ran = root.run(job)
    assert ran.code == 14 and "could not be left" in ran.stdout, ran.explain()
    assert list(victim.iterdir()) == []


def test_a_setup_that_fails_later_is_told_once(person):
    """Only the kernel knows: a program that somebody writes to is not executed (ETXTBSY)."""
    program = person.workspace / "agent"
    shutil.copy("/bin/true", program)
    person.own(program)
    with open(program, "r+b"):
        ran = person.run_command("/workspace/agent")
    assert ran.code == 14, ran.explain()
    sentence = ran.report["outcome"]["sentence"].removeprefix("the run was not started: ")
    assert "/workspace/agent" in sentence and "busy" in sentence, sentence
    assert (ran.stdout + ran.stderr).count(sentence) == 1, ran.stdout + ran.stderr
