"""Real machines under QEMU: files to boot from, changed on purpose, and what a boot said."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import tempfile
import threading

import pytest
import world

GIVE_UP = 300  # seconds until a machine is taken for dead; never the thing that is asserted
SCRIPT = "/workspace/script.sh"


def load(name):
    """A script of image/microvm as a module."""
    path = str(world.ROOT / "image/microvm" / name)
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build, run = load("build"), load("run")


def build_files():
    """What a machine boots from, with the binary under test; kept between runs of the tests."""
    made = subprocess.run([str(world.ROOT / "image/microvm/build"), "--warder", str(world.BUILD / "warder")],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return pathlib.Path(made.stdout.strip())


class Booted:
    """One machine that ended."""

    def __init__(self, process, console, outcome):
        self.returncode, self.console = process.returncode, console.replace("\r\n", "\n")
        head, _, report = outcome.partition(b"\n")
        self.told = json.loads(head) if head else None
        self.report = report

    @property
    def code(self):
        return self.told and self.told["exit_code"]

    def says(self, text):
        assert text in self.console, f"no {text!r} on the console:\n{self.console}"

    def ended_in_order(self):
        assert self.returncode == 0, self.console
        assert "Kernel panic" not in self.console, self.console
        assert self.told is not None, self.console


class Machine:
    """A machine before it is booted: settings, disks, and other changes."""

    def __init__(self, files, folder):
        self.files, self.folder = files, folder
        self.initramfs, self.root = files / "initramfs", files / "root.ext4"
        self.words, self.disks, self.devices = [], [], []
        self.end, self.net, self.memory = "reboot", "user,id=net", 512
        self.listens = True  # to the outcome
        self.workspace = None

    def disk(self, file, read_only=True):
        """Adds a disk; returns the name it has in the machine."""
        self.disks.append((file, read_only))
        return f"/dev/vd{chr(ord('a') + len(self.disks))}"

    def script(self, text):
        """The machine's command is this shell script, on a workspace of its own."""
        workspace = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (workspace / "script.sh").write_text(text)
        image = workspace.with_suffix(".ext4")
        run.ext4_of(workspace, image, 8)
        self.workspace = image
        self.words += [f"warder.workspace={self.disk(image, read_only=False)}"]
        self.command = f"-- /bin/bash {SCRIPT}"
        return self

    command = ""

    def archive(self, files, name="job.tar"):
        """A job's archive as a file on this machine."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        target = self.folder / name
        subprocess.run(["tar", "--format=ustar", "-C", str(folder), "-cf", str(target), "."], check=True)
        return target

    def changed_initramfs(self, leave_out=(), replace=None, names=()):
        """The usual one without some modules, with other contents, or with more names on its list."""
        replace = replace or {}
        cpio = build.Cpio()
        for folder in ("dev", "modules"):
            cpio.add(folder, stat.S_IFDIR | 0o755)
        cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        cpio.add("init", stat.S_IFREG | 0o755, (world.BUILD / "warder").read_bytes())
        listed = []
        for path in build.modules(self.files / "kernel"):
            if path.name in leave_out:
                continue
            listed.append(path.name)
            cpio.add(f"modules/{path.name}", stat.S_IFREG | 0o644, replace.get(path.name) or path.read_bytes())
        text = "".join(f"{name}\n" for name in listed + list(names))
        cpio.add("modules/list", stat.S_IFREG | 0o644, text.encode())
        self.initramfs = self.folder / "initramfs"
        self.initramfs.write_bytes(cpio.bytes())
        return self

    def with_keyboard(self):
        """The old kind, which Firecracker has too, and a monitor that can type on it."""
        self.devices += ["-device", "i8042", *self.with_monitor()]
        return self

    def with_monitor(self):
        return ["-monitor", f"unix:{self.folder / 'monitor'},server=on,wait=off"]

    def order(self, words):
        """Tells QEMU's monitor something."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.folder / "monitor"))
            line.sendall(words.encode() + b"\n")
            heard = b""
            while heard.count(b"(qemu)") < 2:  # one before the order and one after it
                piece = line.recv(4096)
                if not piece:
                    return
                heard += piece

    def changed_root(self, change):
        """A copy of the root file system after change(open file)."""
        self.root = self.folder / "root.ext4"
        shutil.copyfile(self.files / "root.ext4", self.root)
        with open(self.root, "r+b") as file:
            change(file)
        return self

    def boot(self, *words, on_line=None):
        """Boots it to its end; on_line(text) is called with each line of the console."""
        outcome = pathlib.Path(tempfile.mktemp(dir=self.folder))
        line = " ".join(["console=ttyS0 quiet panic=-1 reboot=t pci=off", f"warder.end={self.end}",
                         f"tsc_early_khz={run.tsc_khz()}", *self.words, *words, self.command])
        command = ["qemu-system-x86_64", "-M", "microvm", "-accel", "tcg", "-cpu", "max,-cx16",
                   "-m", str(self.memory), "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-serial", "stdio", "-kernel", self.files / "vmlinuz", "-initrd", self.initramfs,
                   "-append", line, "-device", "virtio-rng-device", "-netdev", self.net,
                   "-device", "virtio-net-device,netdev=net", "-device", "virtio-serial-device",
                   "-chardev", f"file,id=outcome,path={outcome}" if self.listens else
                   f"socket,id=outcome,path={outcome}.socket,server=on,wait=off",
                   "-device", "virtserialport,chardev=outcome,name=warder.outcome", *self.devices]
        for i, (file, read_only) in enumerate([(self.root, True), *self.disks]):
            command += ["-drive", f"id=d{i},if=none,format=raw,file={file}" + (",readonly=on" if read_only else ""),
                        "-device", f"virtio-blk-device,drive=d{i},num-queues=1"]
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        watchdog = threading.Timer(GIVE_UP, process.kill)
        watchdog.start()
        console = ""
        with process:
            for line in process.stdout:
                console += line.decode(errors="replace")
                if on_line:
                    on_line(line.decode(errors="replace"))
        watchdog.cancel()
        return Booted(process, console, outcome.read_bytes() if outcome.exists() else b"")


def missing():
    """Why machines cannot be made here, or None."""
    programs = ("qemu-system-x86_64", "mmdebstrap", "/sbin/mke2fs", "/sbin/debugfs", "lz4", "apt-get")
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (scripts/install-packages microvm)"
    if os.uname().machine != "x86_64":
        return "the machines of these tests are x86-64"
    return None


@pytest.fixture(scope="module")
def files():
    reason = missing()
    if reason:
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return build_files()


@pytest.fixture
def vm(files, tmp_path):
    return Machine(files, tmp_path)
