"""First-run dialogs (BC-043): an agent that asks unless its home says it need not."""
import json

import pytest

# Asks as agents do: on standard input, which is at its end, so that it fails at once.
STUB = """#!/bin/sh
state=$HOME/.stub/state.json
grep -q '"accepted":true' "$state" 2>/dev/null && { cat "$state"; exit 0; }
printf 'Do you trust this folder? [y/N] '
read answer || { echo; echo 'no answer'; exit 1; }
"""
PRESET = {"version": 1, "name": "stub", "executable": ["stub"]}
SEED = [{"file": ".stub/state.json", "merge": json.dumps(
    {"accepted": True, "projects": {"${WORKSPACE}": {"trusted": True}}}, separators=(",", ":"))}]


def stub_job(person, **preset):
    tools = person.make_folder("tools")
    person.write("tools/stub", STUB, 0o755)
    person.write("stub.yaml", json.dumps({**PRESET, **preset}))
    return person.job(agent={"preset": "./stub.yaml", "read_only": [str(tools)]})


def test_bc_043_a_dialog_that_nobody_answers_fails_fast_with_its_question(person):
    ran = person.run(stub_job(person))
    assert ran.code == 1, ran.explain()
    assert ran.output == "Do you trust this folder? [y/N] \nno answer\n"


def test_bc_043_a_seeded_home_is_asked_nothing(person):
    ran = person.run(stub_job(person, seed=SEED))
    assert ran.code == 0, ran.explain()
    assert json.loads(ran.output) == {"accepted": True, "projects": {"/workspace": {"trusted": True}}}


@pytest.mark.parametrize("seed, words", [
    ([{"file": "/etc/passwd", "merge": "{}"}], "seed.file"), ([{"file": "../x", "merge": "{}"}], "seed.file"),
    ([{"file": "x", "merge": "[]"}], "seed.merge"), ([{"file": "x"}], "seed.merge is missing")])
def test_a_seed_that_is_none_starts_nothing(person, seed, words):
    ran = person.run(stub_job(person, seed=seed))
    assert ran.code == 14 and words in ran.stderr, ran.stderr


def test_claude_code_finds_its_onboarding_done_and_the_workspace_trusted(person, tools):
    # The preset's own file, with a stand-in that prints what it finds.
    folder = person.make_folder("tools")
    person.write("tools/claude", "#!/bin/sh\ncat > /dev/null; cat ~/.claude.json\n", 0o755)
    person.write("key", "sk-ant-api03-good-enough", 0o600)
    job = person.job(agent={"preset": "claude-code", "prompt": "x", "read_only": [str(folder)]},
                     secrets={"anthropic": {"from": {"file": str(person.folder / "key")}}})
    ran = person.run(job)
    found = json.loads(ran.output)
    assert found["hasCompletedOnboarding"] is True, ran.explain()
    assert found["projects"]["/workspace"]["hasTrustDialogAccepted"] is True
