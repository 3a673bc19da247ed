"""The agent's program at start and end (BC-097), and an agent that waits for nobody (BC-043)."""
import hashlib
import json
import os

import pytest
import world


def sha256(path):
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def agent(person, script, name="agent"):
    return person.write(f"workspace/{name}", f"#!/bin/sh\n{script}\n", 0o755)


def test_bc_097_path_and_digest_are_told_at_start_and_end(person):
    program = agent(person, "echo working")
    digest = sha256(program)
    ran = person.run_command("./agent")
    told = ran.report["agent"]["program"]
    assert told["start"] == {"path": "/workspace/agent", "real_path": "/workspace/agent", "sha256": digest,
                             "bytes": program.stat().st_size}, ran.explain()
    assert told["end"] == {**told["start"], "changed": False}
    assert ran.report["warnings"] == []
    assert [event["data"]["at"] for event in ran.events("agent.program")] == ["start", "end"]


def test_bc_097_the_real_path_behind_links_and_the_packages_version_are_told(person):
    tools = person.make_folder("tools")
    (tools / "node_modules/.bin").mkdir(parents=True)
    (tools / "node_modules/stub").mkdir()
    person.write("tools/node_modules/stub/package.json", json.dumps({"name": "stub", "version": "3.2.1"}))
    program = person.write("tools/node_modules/stub/cli.sh", "#!/bin/sh\necho done\n", 0o755)
    os.symlink("../stub/cli.sh", tools / "node_modules/.bin/stub")
    for path in tools.rglob("*"):
        person.own(path) if not path.is_symlink() else None
    ran = person.run_command("stub", agent={"read_only": [str(tools)]})
    start = ran.report["agent"]["program"]["start"]
    assert (start["real_path"], start["version"], start["sha256"]) == (str(program), "3.2.1", sha256(program))


def test_bc_097_an_agent_that_updates_itself_is_flagged(person):
    old = agent(person, "printf '#!/bin/sh\\necho new\\n' > next; chmod +x next; mv next agent; echo updated")
    digest = sha256(old)
    ran = person.run_command("./agent")
    assert ran.code == 0, ran.explain()
    told = ran.report["agent"]["program"]
    assert told["start"]["sha256"] == digest
    assert told["end"]["changed"] is True and told["end"]["sha256"] == sha256(person.workspace / "agent")
    warning = "the agent's program /workspace/agent changed while it ran: " + digest[:19]
    assert any(line.startswith(warning[:60]) for line in ran.report["warnings"]), ran.report["warnings"]
    assert "agent.program: the agent's program /workspace/agent changed" in ran.stderr
    assert person.warder("verify", ran.run_dir).returncode == 0


def test_bc_097_an_update_that_leaves_a_dangling_link_is_flagged_with_its_reason(person):
    agent(person, "ln -sf v2 current; echo updated", "v1")
    os.symlink("v1", person.workspace / "current")
    ran = person.run_command("./current")
    end = ran.report["agent"]["program"]["end"]
    assert end["changed"] is True and "/workspace/v2 is not there" in end["unread"], ran.explain()
    # And the next run says what is missing before it starts anything.
    ran = person.run_command("./current")
    assert ran.code == 14 and "/workspace/v2 is not there" in ran.stderr


def test_bc_097_update_off_variables_are_set_for_claude_code(person):
    folder = person.make_folder("tools")
    person.write("tools/claude", "#!/bin/sh\ncat > /dev/null; env\n", 0o755)
    person.write("key", "sk-ant-api03-good-enough", 0o600)
    ran = person.run(person.job(agent={"preset": "claude-code", "prompt": "x", "read_only": [str(folder)]},
                                secrets={"anthropic": {"from": {"file": str(person.folder / "key")}}}))
    for variable in ("DISABLE_AUTOUPDATER=1", "DISABLE_UPDATES=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"):
        assert variable in ran.output.splitlines(), ran.explain()


def test_bc_043_an_agent_that_waits_for_nobody_is_reported_with_its_last_line(folder, tools):
    """The stall takes a minute, so both people wait for it at once."""
    names = ["root", "ordinary"] if os.getuid() == 0 else ["ordinary"]
    people = [world.Person(name, folder / name, tools) for name in names]
    script = "printf 'Do you trust this folder? [y/N] '; mkfifo /tmp/terminal; read answer < /tmp/terminal"
    try:
        for person in people:
            job = person.job(agent={"command": ["/bin/sh", "-c", script]}, limits={"grace": "200ms"})
            person.start(person.tools.warder, "run", job, "--spool", person.spool)

        def stalls():
            found = []
            for person in people:
                events = person.warder("events", *person.runs()[:1], "--json").stdout if person.runs() else ""
                found += [json.loads(line)["data"] for line in events.splitlines() if "waiting_for_input" in line]
            return found if len(found) == len(people) else None

        told = world.eventually(stalls, 120)
        assert told, "nobody noticed"
        for stall in told:
            assert stall["last_line"] == "Do you trust this folder? [y/N]"
            assert "may wait for an answer that nobody gives" in stall["sentence"]
        for person in people:
            assert person.warder("status", *person.runs()).returncode == 0, "the run goes on"
            assert person.warder("cancel", *person.runs()).returncode == 0
            person.started[0].communicate(timeout=world.PATIENCE)
            report = json.loads((person.results / person.runs()[0].name / "report.json").read_text())
            assert report["outcome"]["reason"] == "cancelled"
            assert any("Do you trust" in warning for warning in report["warnings"])
    finally:
        for person in people:
            person.leave()
