"""What an agent could leave on the machine, or keep doing after its end."""
import json
import os
import signal
import stat
import subprocess

import world

FORKER = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
int main(int count, char** words) {
  (void)count;
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  for (int chain = 0; chain < atoi(words[1]); ++chain)
    if (fork() == 0)
      for (int round = 0;; ++round) {
        if (round % 7 == 0) setsid();
        int file = open("/workspace/alive", O_CREAT | O_TRUNC | O_WRONLY, 0644);
        close(file);
        if (fork()) _exit(0);
      }
  return 0;
}
"""


def test_no_set_id_file_or_folder_is_left_in_the_workspace(person):
    ran = person.run_python(r"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
open("plain", "w").close()
ways = {
    "chmod": lambda: os.chmod("plain", 0o4755),
    "fchmod": lambda: os.fchmod(os.open("plain", os.O_RDONLY), 0o6755),
    "mkdir": lambda: os.mkdir("folder", 0o2777),
    "open": lambda: os.open("made", os.O_CREAT | os.O_WRONLY, 0o4755),
    "tmpfile": lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755),
    "mknod": lambda: os.mknod("node", 0o104755),
}
os.umask(0)
for name, way in ways.items():
    try: way(); print("DONE", name)
    except PermissionError: pass
if libc.syscall(452, -100, b"plain", 0o4755, 0) == 0: print("DONE fchmodat2")
for file in os.listdir("."):
    if os.lstat(file).st_mode & 0o6000: print("LEFT", file)
print("end")
""")
    assert ran.output == "end\n", ran.explain()
    for path in person.workspace.iterdir():
        assert not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID), path


def test_programs_that_fork_to_escape_are_gone_before_the_harvest(person):
    (person.folder / "forker.c").write_text(FORKER)
    subprocess.run(["gcc", "-O1", "-o", person.workspace / "forker", person.folder / "forker.c"], check=True)
    (person.workspace / "forker").chmod(0o755)
    ran = person.run_shell("./forker 8; sleep 0.2", limits={"grace": "500ms", "wall": "60s"},
                           results={"artifacts": ["alive"], "patch": True})
    assert ran.code == 0, ran.explain()
    left = ran.events("agent.leftovers")
    assert left and left[0]["data"]["killed"] > 0, left
    # Written after they were counted, and not by them: nothing changes while it is collected.
    told = [event["data"]["reason"] for event in ran.events("artifact.skipped")]
    assert told == [], told
    assert (ran.results / "artifacts/alive").exists(), ran.explain()


def test_a_link_where_results_go_leads_nowhere(person):
    victim = person.make_folder("victim")
    ran = person.run_shell("mv results moved && ln -s %s results && echo linked" % victim,
                           results={"dir": str(person.workspace / "results")})
    assert ran.code == 0, ran.explain()
    assert list(victim.iterdir()) == []
    assert (person.workspace / "moved" / ran.run_id / "report.json").exists()


def test_a_link_of_an_earlier_agent_refuses_the_run(person):
    victim = person.make_folder("victim")
    (person.workspace / "results").symlink_to(victim)
    done = person.warder("run", person.job(agent={"command": ["/bin/true"]}, results={
        "dir": str(person.workspace / "results")}), "--spool", person.spool)
    assert done.returncode == 14, done.stdout + done.stderr
    assert "results" in done.stderr
    assert list(victim.iterdir()) == []
    [run] = person.runs()  # the report has no other place
    assert json.loads((run / "report.json").read_text())["outcome"]["class"] == "setup"


def test_device_nodes_of_the_machine_stay_as_they_are(person):
    before = {name: os.stat(f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom", "tty")}
    ran = person.run_shell(
        "for name in null zero full random urandom tty; do "
        # To what it is already: where the wall is down, the machine must not pay for the test.
        "chmod $(stat -c %a /dev/$name) /dev/$name 2>/dev/null && echo CHANGED $name; "
        "touch /dev/$name 2>/dev/null && echo TOUCHED $name; done; "
        "echo x > /dev/null && head -c 4 /dev/zero | wc -c", agent={"user": "0:0"})
    for name, old in before.items():
        now = os.stat(f"/dev/{name}")
        assert (now.st_mode, now.st_uid, now.st_gid) == (old.st_mode, old.st_uid, old.st_gid), name
    assert ran.output == "4\n", ran.explain()


def test_a_frozen_scribe_does_not_keep_a_run_from_its_end(root):
    process = root.start(root.tools.warder, "run", root.job(
        agent={"command": ["/bin/sleep", "2"]}), "--spool", root.spool)
    assert world.eventually(lambda: [run for run in root.runs() if (run / "output/stdout").exists()])
    init = int(subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()[0])
    scribe = [int(pid) for pid in subprocess.run(
        ["pgrep", "-P", str(init), "-f", "stage=scribe"], capture_output=True, text=True).stdout.split()]
    os.kill(scribe[0], signal.SIGSTOP)
    out, err = process.communicate(timeout=170)
    # It is continued when the leftovers are ended; were it not, its part would be given up in time.
    assert process.returncode == 0, out + err
    assert "ok (completed)" in out, out + err
