"""Orphans, zombies and daemons below a container's first process (BC-008, BC-038)."""
import container_images

BOX = container_images.BOX

# Each `(true &)` forks twice; the second child is orphaned and has to be reaped by the first process.
STORM = """
burst=0
while [ $burst -lt 100 ]; do
  n=0
  while [ $n -lt 50 ]; do (true &) || exit 9; n=$((n + 1)); done
  burst=$((burst + 1))
done
sleep 0.2
left=$(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l)
echo zombies $left processes $(ls -d /proc/[0-9]* | wc -l)
(exit 41)
echo own child $?
"""


def test_bc_008_orphans_never_fill_a_small_limit_of_processes(docker):
    ran = docker.run(BOX, "/bin/sh", "-c", STORM, options=("--pids-limit", "200"))
    assert ran.returncode == 0, ran.stderr
    words = ran.stdout.split()
    assert words[:2] == ["zombies", "0"] and ran.stdout.endswith("own child 41\n"), ran.stdout
    # The first process (and its like), the shell, and those of the pipe that counts.
    assert int(words[3]) < 10
    assert ran.stderr == ""


DAEMONS = """
setsid sh -c 'trap "" HUP; sleep 600' &
setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; done' &
setsid sh -c 'while :; do sleep 0.01 & wait; done' &
(setsid setsid sh -c 'sleep 600' &)
sleep 0.3
echo done
exit 0
"""


def test_bc_038_escaped_daemons_do_not_keep_the_container_and_change_no_code(docker):
    # They hold standard output open: nobody waits for its end.
    box = docker.begin(BOX, "init", "--grace", "1s", "--", "/bin/sh", "-c", DAEMONS, options=("--entrypoint", "/warder"))
    assert box.wait() == 0
    out, err = box.logs()
    assert out == "done\n"
    assert "killed" in err  # the one that ignores TERM


def test_bc_038_a_process_that_forks_all_the_time_is_ended(docker):
    # Each generation forks the next and exits, so a look at who lives is always too old.
    runner = "f() { sleep 0.01; f & exit; }; f & sleep 0.3; echo done"
    box = docker.begin(BOX, "/bin/sh", "-c", runner)
    assert box.wait() == 0
    assert box.logs()[0] == "done\n"
