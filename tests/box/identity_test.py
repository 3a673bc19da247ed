"""Who the agent is and what it can see."""
import json

import pytest


def test_bc_001_the_agent_is_not_root_unless_the_job_says_so(person):
    ran = person.run_shell("id -u; id -g; id -un")
    assert ran.code == 0, ran.explain()
    assert ran.output.split() == ["1000", "1000", "agent"]


def test_bc_001_an_agent_that_refuses_root_is_announced_and_its_own_words_are_in_the_report(person, provider):
    upstream = provider("plain")
    key_file = person.write("key", upstream.key, 0o600)
    job = person.job(agent={"preset": "claude-code", "prompt": "x", "user": "0:0",
                            "read_only": [str(person.tools.agent_folder)]},
                     secrets=upstream.secret(key_file), policy=upstream.policy())
    ran = person.run(job)
    assert "root" in ran.stderr, "said before the run"
    assert ran.code == 1, ran.explain()
    assert "root/sudo" in json.dumps(ran.report)


def test_bc_040_home_is_writable_and_files_in_it_can_be_renamed(person):
    ran = person.run_shell('set -e; cd "$HOME"; echo {} > .claude.json.tmp; mv .claude.json.tmp .claude.json; '
                           'cat .claude.json; echo "$HOME"; touch /tmp/x /dev/shm/y; ls -ld "$HOME" | cut -d" " -f3')
    assert ran.code == 0, ran.explain()
    assert ran.output.split() == ["{}", "/home/agent", "agent"]


def test_bc_041_a_uid_that_nobody_knows_has_a_name_and_a_home(person):
    ran = person.run_shell(
        "set -e; id -u; id -g; python3 -c 'import getpass; print(getpass.getuser())'; "
        "git init -q repo; cd repo; git config user.email a@b; git config user.name n; echo x > f; git add f; "
        "git commit -qm first; git log --format=%s; echo $HOME; "
        "if command -v ssh > /dev/null; then ssh -V 2>&1 | cut -c1-7; else echo OpenSSH; fi",
        agent={"user": "1000680000:0"})
    assert ran.code == 0, ran.explain()
    assert ran.output.split() == ["1000680000", "0", "agent", "first", "/home/agent", "OpenSSH"]
    assert (person.workspace / "repo/f").stat().st_uid == person.uid, "the owner of the workspace owns it"


def test_bc_044_standard_input_is_at_its_end(person):
    ran = person.run_shell("cat; sh -c 'cat <&0'; echo over")
    assert ran.code == 0, ran.explain()
    assert ran.output == "over\n"


def test_the_agent_has_no_privilege_and_can_get_none(person):
    ran = person.run_shell("cat /proc/self/status; ulimit -c; ulimit -Hc")
    status = dict(line.split(":\t", 1) for line in ran.output.splitlines() if ":\t" in line)
    for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[field], 16) == 0, field
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Groups"].split() in ([], ["1000"]) or person.name == "ordinary", status["Groups"]
    assert ran.output.splitlines()[-2:] == ["0", "0"], "no core files"


def test_the_agent_sees_no_process_but_its_own(person):
    ran = person.run_python(r"""
import os
mine = os.getuid()
for pid in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{pid}/cmdline") as words: print(pid, words.read().replace("\0", " "))
for pid in range(1, 64):
    if os.path.exists(f"/proc/{pid}") and pid != os.getpid():
        for name in ("environ", "mem", "maps", "fd", "cwd", "root"):
            path = f"/proc/{pid}/{name}"
            try:
                os.listdir(path) if name == "fd" else os.readlink(path) if name in ("cwd", "root") else open(path, "rb").read(1)
                print("READ", path)
            except OSError: pass
""")
    assert ran.code == 0, ran.explain()
    lines = ran.output.splitlines()
    assert not [line for line in lines if line.startswith("READ")], lines
    assert len(lines) == 1 and "program.py" in lines[0], lines


def test_the_agent_cannot_signal_or_trace_its_supervisor(person):
    ran = person.run_python(r"""
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
for pid in range(1, 32):
    if pid == os.getpid(): continue
    try:
        os.kill(pid, signal.SIGKILL); print("KILLED", pid)
    except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: print("TRACED", pid)
try: os.kill(-1, 0); print("some")
except OSError: print("none")
print("alive")
""")
    assert ran.code == 0, ran.explain()
    assert "KILLED" not in ran.output and "TRACED" not in ran.output, ran.output
    assert ran.output.endswith("alive\n")


def test_nothing_but_the_loopback_is_in_the_network(person):
    ran = person.run_python(r"""
import errno, os, socket
print(sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else sorted(n for _, n in socket.if_nameindex()))
for address in ("192.0.2.1", "169.254.169.254"):
    probe = socket.socket(); probe.settimeout(10)
    try: probe.connect((address, 443)); print("CONNECTED", address)
    except OSError as error: print(address, errno.errorcode.get(error.errno, error))
""")
    assert ran.code == 0, ran.explain()
    lines = ran.output.splitlines()
    assert lines[0] == "['lo']", lines
    assert "CONNECTED" not in ran.output, lines
    assert len(lines) == 3 and "timed out" not in ran.output, "a refusal comes at once"


@pytest.mark.parametrize("path", ["/root", "/etc/shadow", "/etc/ssh", "/var/lib", "/boot", "/mnt", "/srv",
                                  "/var/run/docker.sock", "/run/secrets", "/sys/fs/cgroup"])
def test_nothing_of_the_machine_is_visible(person, path):
    ran = person.run_shell(f"ls -A {path} 2>/dev/null | head -n 3; true")
    assert ran.code == 0, ran.explain()
    assert ran.output == "", f"{path}: {ran.output}"


def test_homes_and_files_of_the_machine_are_not_in_the_box(person):
    ran = person.run_shell(f"ls -A /home; ls {person.folder} 2>&1; ls {person.tools.warder.parent} 2>&1; true")
    assert ran.code == 0, ran.explain()
    assert ran.output.splitlines()[0] == "agent"
    assert ran.output.count("No such file") == 2, ran.output


def test_only_the_workspace_the_home_and_scratch_can_be_written(person):
    ran = person.run_python(r"""
import os
for folder, folders, files in os.walk("/"):
    if folder in ("/proc", "/sys", "/dev", "/workspace", "/home/agent", "/tmp", "/var/tmp"): folders[:] = []
    if folder == "/dev": continue
    if folder in ("/proc", "/workspace", "/home/agent", "/tmp", "/var/tmp"): continue
    if os.access(folder, os.W_OK): print("WRITABLE", folder)
    folders[:] = [f for f in folders if not os.path.islink(os.path.join(folder, f)) and folder.count("/") < 4]
print(os.access("/workspace", os.W_OK), os.access("/tmp", os.W_OK))
""")
    assert ran.code == 0, ran.explain()
    assert ran.output == "True True\n"


def test_the_environment_holds_what_the_job_says_and_nothing_of_the_caller(person):
    environment = {**person.environment(), "CALLER_SECRET": "hunter2", "AWS_SECRET_ACCESS_KEY": "x"}
    job = person.job(agent={"command": ["/usr/bin/env"], "env": {"GREETING": "hello"}})
    ran = person.run(job, env=environment)
    assert ran.code == 0, ran.explain()
    assert "GREETING=hello\n" in ran.output
    assert "CALLER_SECRET" not in ran.output and "AWS_" not in ran.output
    names = {line.split("=")[0] for line in ran.output.splitlines()}
    assert {"HOME", "USER", "LOGNAME", "PATH"} <= names


def test_a_secret_from_the_environment_is_not_in_the_environment_of_any_process(person, provider):
    upstream = provider("plain")
    job = person.job(agent={"command": ["/bin/sh", "-c", "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"]},
                     secrets={"anthropic": {"from": {"env": "THE_KEY"}, "base_url": upstream.url}},
                     policy=upstream.policy())
    ran = person.run(job, env={**person.environment(), "THE_KEY": upstream.key})
    assert ran.code == 0, ran.explain()
    assert upstream.key not in ran.output and "THE_KEY" not in ran.output
