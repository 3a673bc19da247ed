"""A kernel's first process: real boots under QEMU, from the first module to the end of the power."""
import concurrent.futures
import json
import os
import subprocess

import jsonschema
import pytest

import microvm_world
import world
from microvm_world import files, vm  # noqa: F401 (fixtures)


FACTS = r"""
fact() { echo "FACT $1=$(eval "$2" 2>&1 | tr '\n' ' ')"; }
fact own_group 'cat /proc/self/cgroup'
fact first_group 'cat /proc/1/cgroup'
fact groups 'cd /sys/fs/cgroup; ls -d supervisor broker workload/agent workload/tools'
fact handed 'cat /sys/fs/cgroup/workload/cgroup.subtree_control'
fact bound 'echo 8388608 > /sys/fs/cgroup/workload/agent/memory.max && cat /sys/fs/cgroup/workload/agent/memory.max'
fact v4 'exec 3<>/dev/tcp/127.0.0.1/9'
fact v6 'exec 3<>/dev/tcp/::1/9'
fact localhost 'getent ahosts localhost'
fact own_name 'getent hosts $(cat /proc/sys/kernel/hostname)'
fact resolv 'cat /etc/resolv.conf'
fact shm 'df -B1 --output=size /dev/shm | tail -1'
fact pts 'grep " /dev/pts " /proc/mounts'
fact fd 'cat <(echo through)'
fact route 'grep "^eth0.00000000" /proc/net/route'
fact root 'grep " / " /proc/mounts; touch /written && echo writable'
fact drivers 'cut -d" " -f1 /proc/modules'
fact hurry 'cat /sys/kernel/rcu_expedited'
fact ports 'ls /dev/virtio-ports'
fact cad 'cat /proc/sys/kernel/ctrl-alt-del'
fact signals 'grep -E "Sig(Blk|Ign)" /proc/self/status'
exit 9
"""


def facts_of(booted):
    found = {}
    for line in booted.console.splitlines():
        if line.startswith("FACT "):
            name, _, value = line[5:].partition("=")
            found[name] = value.strip()
    return found


def test_a_machine_is_prepared_runs_its_command_and_tells_its_outcome(vm):
    """BC-083, BC-086, BC-124."""
    booted = vm.script(FACTS).boot("warder.host=vm-1", "warder.ip=10.0.2.15/24,10.0.2.2",
                                        "warder.dns=10.0.2.3,::1", "warder.shm=300Mi")
    booted.ended_in_order()
    assert booted.told == {"exit_code": 9, "sentence": "/bin/bash ended with exit code 9", "report_bytes": 0}
    booted.says("warder[boot] exit code 9: /bin/bash ended with exit code 9")
    booted.says("reboot: Restarting system")
    assert "warning" not in booted.console, booted.console
    facts = facts_of(booted)
    assert facts["own_group"] == facts["first_group"] == "0::/supervisor"
    assert facts["groups"] == "broker supervisor workload/agent workload/tools"
    assert sorted(facts["handed"].split()) == ["cpu", "memory", "pids"]
    assert facts["bound"] == "8388608"
    assert "refused" in facts["v4"] and "refused" in facts["v6"], facts  # and not "unreachable"
    assert "127.0.0.1" in facts["localhost"] or "::1" in facts["localhost"]
    assert facts["own_name"].split() == ["127.0.1.1", "vm-1"]
    assert facts["resolv"] == "nameserver 10.0.2.3 nameserver ::1"
    assert facts["shm"] == str(300 << 20)
    assert "gid=5,mode=620,ptmxmode=666" in facts["pts"]
    assert facts["fd"] == "through"
    assert facts["route"]
    assert facts["root"].startswith("overlay / overlay rw") and facts["root"].endswith("writable")
    drivers = facts["drivers"].split()
    assert "virtio_net" in drivers and "virtio_console" in drivers, drivers
    assert "virtio_pci" not in drivers, drivers  # the machine has no PCI
    assert facts["hurry"] == "0"  # a boot's alone
    assert facts["ports"] == "warder.outcome"
    assert facts["cad"] == "0"  # a SIGINT to the first process, not a reset
    assert facts["signals"].split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]


def test_a_machine_can_end_by_power_off_with_a_read_only_root(vm):
    vm.end = "poweroff"
    booted = vm.script("grep ' / ' /proc/mounts; touch /x; cat /etc/hosts /etc/resolv.conf; "
                       "echo kept > /workspace/kept").boot(
        "warder.overlay=none", "warder.ip=dhcp")
    booted.ended_in_order()
    booted.says("reboot: Power down")
    booted.says("/dev/root / ext4 ro" if "/dev/root" in booted.console else "/ ext4 ro")
    booted.says("Read-only file system")
    booted.says("127.0.1.1 warder")
    booted.says("nameserver 10.0.2.3")
    booted.says("/etc/hosts is kept in memory")
    booted.says("the lease is not renewed")
    # What was written is on the disk, whose file system is whole.
    look = ["/sbin/debugfs", "-R", "cat kept", str(vm.workspace)]
    assert subprocess.run(look, capture_output=True, text=True).stdout == "kept\n"
    state = subprocess.run(["/sbin/dumpe2fs", "-h", str(vm.workspace)], capture_output=True, text=True).stdout
    assert "needs_recovery" not in state and "Filesystem state:         clean" in state, state


def test_a_machine_can_halt(vm):
    """It stays then, with its power on."""
    vm.end = "halt"
    vm.devices = vm.with_monitor()
    halted = []

    def on_line(line):
        if "reboot: System halted" in line:
            halted.append(line)
            vm.order("quit")

    booted = vm.script("exit 0").boot(on_line=on_line)
    assert halted and booted.code == 0, booted.console


def test_an_outcome_that_nobody_takes_does_not_keep_the_machine(vm):
    vm.listens = False
    booted = vm.script("exit 3").boot()
    assert booted.returncode == 0, booted.console
    booted.says("warder[boot] exit code 3: ")
    booted.says("the outcome did not reach the port warder.outcome: nobody took the outcome within 10 s")
    booted.says("reboot: Restarting system")


def test_what_is_small_or_missing_is_warned_of(vm):
    """BC-085: the size of /dev/shm; BC-086: no resolver."""
    booted = vm.script("exit 0").boot("warder.shm=64Mi")
    booted.ended_in_order()
    assert booted.code == 0
    booted.says("/dev/shm has 67108864 bytes (64 MiB); browsers")
    booted.says("dns: none; no name can be resolved")
    booted.says("network: eth0 stays down, because warder.ip does not say")


def test_a_full_root_is_told_and_the_machine_goes_on(vm):
    """BC-046: what the supervisor needs lies elsewhere."""
    booted = vm.script("head -c 1000000 /dev/zero > /big || echo full; head -c 1000000 /dev/zero > /tmp/x "
                            "|| echo no room in /tmp; exit 3").boot("warder.overlay_size=64Ki", "warder.tmp=64Ki")
    booted.ended_in_order()
    assert booted.code == 3
    booted.says("No space left on device")
    booted.says("no room in /tmp")


def zero_superblock(file):
    file.seek(1024)
    file.write(b"\0" * 1024)


def break_checksum(file):
    file.seek(1024 + 100)
    file.write(b"\xff" * 16)


def cut_short(file):
    file.truncate(1 << 20)


def break_binary(file):
    """Random bytes all over the warder binary: its ELF head stays, its code does not."""
    content = file.read()
    head = (world.BUILD / "warder").read_bytes()[:4096]
    at = content.index(head)
    file.seek(at + 8192)
    file.write(os.urandom(1 << 20))


FAILURES = {
    "unknown setting": (lambda m: m.words.append("warder.rot=/dev/vda"),
                        'warder.rot: is no setting; did you mean "warder.root"?'),
    "no root device": (lambda m: m.words.append("warder.root=/dev/vdz"),
                       "there is no root device /dev/vdz (disks: /dev/vda)"),
    "no file system": (lambda m: m.changed_root(zero_superblock),
                       "the root file system on /dev/vda cannot be mounted (tried ext4); it is damaged"),
    "damaged file system": (lambda m: m.changed_root(break_checksum),
                            "the root file system on /dev/vda cannot be mounted"),
    "cut file system": (lambda m: m.changed_root(cut_short),
                        "the root file system on /dev/vda cannot be mounted"),
    "no warder in the root": (lambda m: m.words.append("warder.init=/usr/bin/nothing"),
                              "cannot execute /usr/bin/nothing of the root file system"),
    "no program in its place": (lambda m: m.words.append("warder.init=/etc/passwd"),
                                "cannot execute /etc/passwd of the root file system"),
    "damaged binary": (lambda m: m.changed_root(break_binary),
                       "/usr/local/bin/warder of the root file system dies of signal"),
    "no job disk": (lambda m: m.words.append("warder.job=/dev/vdz"),
                    "warder.job=/dev/vdz: the machine has no such disk"),
    "no job port": (lambda m: m.words.append("warder.job=virtio:jobs"),
                    'there is no virtio-serial port "jobs" (ports: warder.outcome)'),
    "nothing to run": (lambda m: None, "nothing to run: set warder.job"),
    "overlay module missing": (lambda m: m.changed_initramfs(leave_out=["overlay.ko"]),
                               "warder.overlay=none does without"),
    "listed module missing": (lambda m: m.changed_initramfs(names=["nothing.ko"]),
                              "the module nothing.ko is on the initramfs's list"),
    "foreign module": (lambda m: m.changed_initramfs(replace={"overlay.ko": b"no module"}),
                       "the kernel does not take the module overlay.ko"),
}


@pytest.fixture(scope="module")
def broken(files, tmp_path_factory):
    """Boots every case of a table at once, as many machines at a time as there are processors."""
    pools = []

    def boot_all(table, prepare):
        pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        pools.append(pool)

        def boot(case):
            machine = microvm_world.Machine(files, tmp_path_factory.mktemp("machine"))
            prepare(machine, table[case])
            return machine.boot()
        return {case: pool.submit(boot, case) for case in table}

    yield boot_all
    for pool in pools:
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def failures(broken):
    return broken(FAILURES, lambda machine, case: case[0](machine))


@pytest.mark.parametrize("case", FAILURES)
def test_a_boot_that_fails_says_one_sentence_and_ends_in_order(failures, case):
    sentence = FAILURES[case][1]
    booted = failures[case].result()
    assert booted.returncode == 0, booted.console
    assert "Kernel panic" not in booted.console, booted.console
    booted.says(sentence)
    booted.says("warder[boot] exit code 14: ")
    booted.says("reboot: Restarting system")
    lines = [line for line in booted.console.splitlines() if "warder[boot] exit code" in line]
    assert len(lines) == 1 and sentence.split(";")[0] in lines[0], booted.console
    if booted.told:  # the port's own module may not be there yet
        assert booted.code == 14 and sentence in booted.told["sentence"]


def test_a_first_process_that_crashes_says_so_and_ends_the_machine(vm):
    booted = vm.script("kill -SEGV 1; sleep 60").boot()
    assert booted.returncode == 0 and "Kernel panic" not in booted.console, booted.console
    booted.says("warder[boot] exit code 16: the first process crashed (signal 11)")
    booted.says("reboot: Restarting system")


def test_only_a_first_process_makes_a_machine():
    done = subprocess.run([world.BUILD / "warder", "init", "--microvm"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--microvm is for the first process of a kernel, which this is not" in done.stderr


def test_a_network_without_dhcp_is_told(vm):
    vm.net = "hubport,id=net,hubid=0"
    booted = vm.boot("warder.ip=dhcp")
    booted.ended_in_order()
    assert booted.code == 14
    booted.says("no DHCP server answered on eth0; start one, or set warder.ip to an address")


JOBS = {
    "an empty disk": (b"\0" * 4096, "warder.job=/dev/vdb: is empty"),
    "no archive": (b"version: 1\n" + b"x" * 1013, "is no tar archive, or is damaged"),
    "no end": (None, "ends before the archive does"),
    "no job.yaml": ({"other.yaml": "x"}, "the job's archive holds no job.yaml at its top"),
}


def with_disk(machine, case):
    content = case[0]
    disk = machine.folder / "job.tar"
    if isinstance(content, dict):
        disk = machine.archive(content)
    elif content is None:
        disk.write_bytes(machine.archive({"job.yaml": "x" * 2000}).read_bytes()[:1536])
    else:
        disk.write_bytes(content)
    machine.words.append(f"warder.job={machine.disk(disk)}")


@pytest.fixture(scope="module")
def jobs(broken):
    return broken(JOBS, with_disk)


@pytest.mark.parametrize("case", JOBS)
def test_a_disk_without_a_job_is_told(jobs, case):
    booted = jobs[case].result()
    booted.ended_in_order()
    assert booted.code == 14
    booted.says(JOBS[case][1])
    report = json.loads(booted.report)
    assert report["outcome"]["class"] == "setup" and JOBS[case][1] in report["outcome"]["sentence"], report


@pytest.mark.parametrize("vmm", ["firecracker", "cloud-hypervisor"])
@pytest.mark.parametrize("everything", [False, True])
def test_configurations_of_other_vmms_follow_their_schemas(tmp_path, vmm, everything):
    folder = world.ROOT / "image/microvm"
    words = ["--files", "/var/lib/warder", "--to", tmp_path]
    if everything:
        words += ["--job", tmp_path / "job.tar", "--workspace", tmp_path / "w.ext4", "--tap", "tap0", "--ip",
                  "10.0.0.2/24,10.0.0.1", "--dns", "10.0.0.1", "--cpus", "2", "--memory", "2048", "warder.host=a"]
    subprocess.run([str(word) for word in [folder / "configure", *words]], check=True)
    made = json.loads((tmp_path / f"{vmm}.json").read_text())
    schema = json.loads((folder / f"schema/{vmm}.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(made, schema)
    line = made["boot-source"]["boot_args"] if vmm == "firecracker" else made["payload"]["cmdline"]
    # Firecracker ends only on a reboot; Cloud Hypervisor would start again on one.
    assert ("warder.end=reboot" in line) == (vmm == "firecracker")
    assert ("warder.job=/dev/vdb warder.workspace=/dev/vdc" in line) == everything
    disks = made.get("drives") or made["disks"]
    assert [disk.get("is_read_only", disk.get("readonly")) for disk in disks] == [True, True, False][:len(disks)]
