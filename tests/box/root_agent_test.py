"""An agent with uid or gid 0 has no capability, but its numbers own things: these walls hold too.

Each try is one that changes nothing of the machine even where a wall is down."""
import pytest


@pytest.mark.parametrize("user", ["0:0", "1000:0"])
def test_an_agent_with_a_root_number_sees_no_process_but_its_own(person, user):
    ran = person.run_shell("echo /proc/[0-9]*", agent={"user": user})
    assert ran.code == 0, ran.explain()
    assert len(ran.output.split()) == 1, ran.output


def test_root_in_the_box_cannot_change_the_kernel_of_the_machine(person):
    ran = person.run_shell(
        "for file in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory "
        "/proc/sys/kernel/hostname /proc/sysrq-trigger; do "
        "test -e $file || continue; "
        "if (: >> $file) 2>/dev/null; then echo CHANGED $file; fi; done; "
        "head -c 64 /proc/kcore /proc/keys /proc/kmsg 2>/dev/null | grep -v '^==>' | grep -v '^$'; "
        "echo end", agent={"user": "0:0"})
    assert ran.output == "end\n", ran.explain()


def test_root_in_the_box_cannot_mount_nor_undo_the_read_only_root(person):
    ran = person.run_shell(
        "(mount -o remount,rw / || mount -t tmpfs none /mnt || umount /usr || umount /proc/sys) "
        "2>/dev/null && echo MOUNTED; "
        "(: >> /etc/passwd || test -w /usr/bin || touch /x) 2>/dev/null && echo WRITTEN; "
        "chown 1234 /workspace 2>/dev/null && echo CHOWNED; "
        "mknod /tmp/disk b 254 0 2>/dev/null && echo DEVICE; echo end", agent={"user": "0:0"})
    assert ran.output == "end\n", ran.explain()


def test_root_in_the_box_cannot_end_its_supervisor(person):
    ran = person.run_shell(
        "for signal in KILL TERM STOP INT HUP; do kill -$signal 1 2>/dev/null && echo SENT $signal; "
        "for pid in 2 3 4 5 6; do test $pid = $$ || kill -$signal $pid 2>/dev/null && "
        "test -e /proc/$pid || true; done; done; echo end", agent={"user": "0:0"})
    assert ran.output == "end\n", ran.explain()
    assert ran.code == 0, ran.explain()
    assert ran.report["stages_lost"] == []
