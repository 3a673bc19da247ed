"""Bad input: exit code 14, one sentence for each fault, nothing started, nothing left."""
import json

import pytest

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


def assert_refused(person, ran, words):
    assert ran.code == 14, ran.explain()
    for word in words:
        assert word in ran.stderr, ran.stderr
    assert person.runs() == [], "nothing was started"
    assert not person.results.exists()


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


def test_a_secret_that_the_broker_would_refuse_starts_nothing_and_leaves_nothing(person):
    for content, word in (("sk-ant-admin01-0123456789abcdef", "admin key"), ("sk-ant with blanks \x01 in it", "secret")):
        key = person.write("key", content, 0o600)
        job = person.job(agent={"command": ["/bin/true"]}, secrets={"anthropic": {"from": {"file": str(key)}}})
        for command in (["check", job], ["run", job, "--spool", person.spool]):
            done = person.warder(*command)
            assert done.returncode == 14, done.stdout + done.stderr
            assert "anthropic" in done.stderr and content not in done.stderr, done.stderr
        assert person.runs() == []
        assert not person.results.exists()
