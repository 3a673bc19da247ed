"""Containers for tests: an engine of our own, images, and what one container did."""
import fcntl
import io
import json
import os
import pathlib
import pty
import shutil
import subprocess
import tarfile
import time

import world

ENGINE = world.ROOT / "image/engine"
KEPT = world.ROOT / "build/container-tests"  # images stay there, so that the next time is quick
NEEDED = ("dockerd", "containerd", "runc", "iptables", "tini", "mmdebstrap", "busybox", "podman", "musl-gcc")
SHELL_NAMES = ("sh", "id", "ls", "cat", "ps", "sleep", "kill", "true", "setsid", "nohup", "stty", "env", "dd",
               "mount", "wc", "seq", "timeout", "tr", "wget", "rm", "touch", "nc", "df", "head", "grep", "hostname", "nslookup")
INIT = ["/warder", "init", "--"]
PATIENCE = 60


def reason_to_skip():
    """Why no engine can run here; None where it can."""
    if os.getuid() != 0:
        return "a container engine needs root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"no {', '.join(missing)}: scripts/install-packages container" if missing else None


class Engine:
    """A Docker Engine in namespaces of its own (image/engine)."""

    def __init__(self, folder):
        self.folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.lock = open(f"{folder}.lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # one test session at a time
        self.stop()  # of a session that was killed

    def start(self, network="own"):
        subprocess.run([ENGINE, "start", self.folder, "--network", network], check=True)

    def stop(self):
        subprocess.run([ENGINE, "stop", self.folder], check=True)

    def close(self):
        self.stop()
        self.lock.close()

    def command(self, *words):
        return [str(word) for word in (ENGINE, "docker", self.folder, *words)]

    def docker(self, *words, check=True, **options):
        options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": 180, **options}
        if "input" in options:
            del options["stdin"]
        done = subprocess.run(self.command(*words), **options)
        assert not check or done.returncode == 0, f"docker {words}: {done.stderr or done.stdout}"
        return done

    def control_group(self):
        """The control group of this engine's containers, which goes when it stops."""
        return f"/engine-{self.folder.name}-{(self.folder / 'engine.pid').read_text().split()[2]}"

    def inside(self, *words):
        """The words of a command that runs in the engine's namespaces."""
        return [str(word) for word in (ENGINE, "enter", self.folder, *words)]

    def on_network(self, *words):
        """The words of a command that runs on the machine, but in the engine's network."""
        first = (self.folder / "engine.pid").read_text().split()[0]
        return [str(word) for word in ("nsenter", f"--net=/proc/{first}/ns/net", "--", *words)]

    def run(self, image, *command, options=(), **more):
        """`docker run --rm` to its end: returncode, stdout, stderr."""
        return self.docker("run", "--rm", *options, image, *command, check=False, **more)

    def begin(self, image, *command, options=()):
        """`docker run -d`."""
        done = self.docker("run", "--detach", *options, image, *command)
        return Container(self, done.stdout.strip())

    def has(self, image):
        return self.docker("image", "inspect", image, check=False).returncode == 0

    def import_root(self, name, root, **settings):
        """An image FROM scratch that holds the files of `root`: {path: bytes, path or link text}."""
        changes = [word for key, value in settings.items()
                   for word in ("--change", f"{key.upper()} {json.dumps(value)}")]
        self.docker("import", *changes, "-", name, input=archive(root), text=False)
        return name

    def remove_containers(self):
        listed = self.docker("ps", "--all", "--quiet").stdout.split()
        if listed:
            self.docker("rm", "--force", "--volumes", *listed)


class Link(str):
    """A symbolic link in a root."""


class Locked(bytes):
    """A file that nobody may execute."""


class Folder(int):
    """An empty folder in a root, with its mode."""


def archive(root):
    """A tar of {path: bytes | pathlib.Path | Link | Folder}; files are owned by root, mode 755."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, what in root.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            data = b""
            if isinstance(what, Link):
                member.mode, member.type, member.linkname = 0o777, tarfile.SYMTYPE, str(what)
            elif isinstance(what, Folder):
                member.type, member.mode = tarfile.DIRTYPE, int(what)
            else:
                data = what.read_bytes() if isinstance(what, pathlib.Path) else what
                member.mode = 0o644 if isinstance(what, Locked) else 0o755
                member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def busybox_root():
    """A static shell with its usual names, and nothing else."""
    root = {"/bin/busybox": pathlib.Path(shutil.which("busybox")), "/tmp": Folder(0o1777), "/etc": Folder(0o755)}
    root.update({f"/bin/{name}": Link("busybox") for name in SHELL_NAMES})
    return root


class Container:
    """A container that runs, or ran."""

    def __init__(self, engine, name):
        self.engine, self.name = engine, name

    def inspect(self, path):
        return self.engine.docker("inspect", "--format", "{{json " + path + "}}", self.name).stdout.strip()

    def state(self):
        return json.loads(self.inspect(".State"))

    def logs(self):
        """(standard output, standard error)"""
        done = self.engine.docker("logs", self.name)
        return done.stdout, done.stderr

    def says(self, text):
        """Waits until the log has the text."""
        assert world.eventually(lambda: text in "".join(self.logs())), self.logs()

    def wait(self):
        return int(self.engine.docker("wait", self.name).stdout)

    def stop(self, *words):
        """`docker stop` with the engine's own patience; the exit code."""
        self.engine.docker("stop", *words, self.name)
        return self.state()["ExitCode"]

    def kill(self, signal):
        self.engine.docker("kill", "--signal", signal, self.name)

    def exec(self, *command, options=(), check=True):
        return self.engine.docker("exec", *options, self.name, *command, check=check).stdout

    def processes(self):
        """Command names of what lives in it, by the container's own /proc."""
        return self.exec("/bin/sh", "-c", "for p in /proc/[0-9]*; do cat $p/comm 2>/dev/null; done").split()


class Terminal:
    """A command on a terminal of the test's own."""

    def __init__(self, command, rows=31, columns=117):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.execvp(command[0], command)
        self.seen = b""
        os.set_blocking(self.fd, False)
        self.resize(rows, columns)

    def resize(self, rows, columns):
        import termios
        termios.tcsetwinsize(self.fd, (rows, columns)) if hasattr(termios, "tcsetwinsize") else \
            fcntl.ioctl(self.fd, termios.TIOCSWINSZ, rows.to_bytes(2, "little") + columns.to_bytes(2, "little") + bytes(4))

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self):
        try:
            while True:
                part = os.read(self.fd, 65536)
                if not part:
                    break
                self.seen += part
        except (BlockingIOError, OSError):
            pass
        return self.seen.decode(errors="replace")

    def expect(self, text):
        """Waits until the text was shown, and forgets what came before its end."""
        assert world.eventually(lambda: text in self.read(), PATIENCE), f"no {text!r} in {self.read()!r}"
        self.seen = self.seen.split(text.encode(), 1)[1]

    def end(self):
        """Waits for the command, and returns its exit code."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.child, os.WNOHANG)
            if pid:
                self.child = None
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        raise AssertionError(f"still running: {self.read()!r}")

    def leave(self):
        if self.child:
            os.kill(self.child, 9)
            os.waitpid(self.child, 0)
            os.close(self.fd)
