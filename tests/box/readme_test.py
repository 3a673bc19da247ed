"""What the README shows must be true of the program."""
import re

import world

README = (world.ROOT / "README.md").read_text()


def test_the_job_of_the_readme_is_accepted(person):
    shown = re.search(r"```yaml\n(.*?)```", README, re.S).group(1)
    person.make_folder("repo")
    person.make_folder("out")
    key, token = person.write("key", "sk-ant-api03-x", 0o600), person.write("token", "0" * 32, 0o600)
    for there, here in {"/opt/claude-code/bin": person.tools.agent_folder,
                        "/run/secrets/anthropic_api_key": key,
                        "/run/secrets/collector_token": token}.items():
        assert there in shown
        shown = shown.replace(there, str(here))
    checked = person.warder("check", person.write("job.yaml", shown))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_command_answers_help_and_says_its_exit_codes(root):
    commands = re.findall(r"^  (\w+)  +\S", root.warder("--help").stdout, re.M)
    assert {"run", "check", "verify", "events", "deliver", "schema"} <= set(commands), commands
    for command in commands:
        answer = root.warder(command, "--help")
        assert answer.returncode == 0 and "xit code" in answer.stdout, answer.stdout


def test_the_exit_codes_of_the_readme_are_those_of_run(root):
    text = root.warder("run", "--help").stdout
    for code, name in re.findall(r"^\| (\d+) \| (\w+)", README, re.M):
        assert re.search(rf"\b{code} {name}\b", text), f"{code} {name}"
