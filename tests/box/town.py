"""A town: namespaces of a test's own, with hosts in it that real clients can call by their names.

Its network has nothing but loopback and one more address; /etc/hosts names the hosts, and the
machine's roots include the town's CA, for who looks at them from within.
"""
import json
import pathlib
import subprocess

import world

ADDRESS = "203.0.113.7"
HOSTS = ("plain.test", "tunnel.test", "git.test", "llm.test", "lines.test", "silent.test")
BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
MAKE = """set -e
ip link set lo up
ip address add $1/32 dev lo
mount --bind "$2/hosts" /etc/hosts
mount --bind "$2/roots.pem" $3
echo ready
exec cat"""


class Town:
    def __init__(self, folder):
        self.folder, self.secret = folder, "town-" + world.new_key()[-40:]
        subprocess.run([world.ROOT / "scripts/provider-tls", folder, *(f"DNS:{name}" for name in HOSTS)], check=True)
        self.ca = folder / "ca.pem"
        folder.chmod(0o755)
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {' '.join(HOSTS)}\n")
        (folder / "roots.pem").write_text(BUNDLE.read_text() + self.ca.read_text())
        (folder / "secret").write_text(self.secret)
        for name in ("hosts", "roots.pem"):
            (folder / name).chmod(0o644)
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", MAKE, "sh", ADDRESS, folder,
             BUNDLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"
        self.entry = ["nsenter", "--target", self.holder.pid, "--net", "--mount", "--"]
        words = map(str, [*self.entry, "/usr/bin/python3", world.ROOT / "tests/box/programs/upstream.py", folder,
                          ADDRESS])
        self.upstream = world.Server(words, stdout=subprocess.PIPE, text=True)
        assert self.upstream.process.stdout.readline() == "ready\n"

    def close(self):
        self.upstream.stop()
        self.holder.communicate("", timeout=20)

    def requests(self, host=None):
        log = self.folder / "log.jsonl"
        told = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [request for request in told if host in (None, request["host"])]

    def repository(self, name):
        """A repository that can be cloned and pushed to, with one commit."""
        bare, work = self.folder / "git" / name, self.folder / "work"
        git = ["git", "-c", "user.name=town", "-c", "user.email=town@git.test", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q", "--bare", bare], ["init", "-q", work],
                      ["-C", work, "commit", "-q", "--allow-empty", "-m", "first"],
                      ["-C", work, "push", "-q", bare, "main"]):
            subprocess.run([*git, *words], check=True)
        subprocess.run(["rm", "-r", work], check=True)
        return bare

    def lend(self, person, **more):
        """A secret of the job that only the town's hosts know."""
        key_file = person.write("town-key", self.secret, 0o600)
        return {"from": {"file": str(key_file)}, "ca_file": str(self.ca), **more}
