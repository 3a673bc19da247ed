"""Jobs inside containers: what a person mounts, and what a run left in the volume."""
import json
import os
import subprocess

import containers
import world

GATEWAY = "172.17.0.1"  # the engine's default bridge, in the engine's own network
AGENT_USER = 1000


class Place:
    """The folders that a container gets: /job (read-only), /workspace (the agent's), /out, /secrets."""

    def __init__(self, engine, folder):
        self.engine, self.folder = engine, folder
        for name in ("job", "workspace", "out", "secrets"):
            (folder / name).mkdir()
        os.chown(folder / "workspace", AGENT_USER, AGENT_USER)
        self.mounts = ["--volume", f"{folder}/job:/job:ro", "--volume", f"{folder}/workspace:/workspace",
                       "--volume", f"{folder}/out:/out", "--volume", f"{folder}/secrets:/run/secrets:ro"]

    def owned_by(self, uid):
        """Everything is this user's, as volumes of Kubernetes are with fsGroup."""
        subprocess.run(["chown", "-R", f"{uid}:{uid}", self.folder], check=True)
        return self

    def job(self, policy=None, **parts):
        job = {"version": 1, "policy": {"allow_degraded": True, **(policy or {})}, **parts}
        job["agent"] = {"workspace": "/workspace", **job["agent"]}
        job["results"] = {"dir": "/out/results", **job.get("results", {})}
        path = self.folder / "job/job.yaml"
        path.write_text(json.dumps(job, indent=1))
        path.chmod(0o644)

    def shell_job(self, script, **parts):
        parts["agent"] = {"command": ["/bin/sh", "-c", script], **parts.get("agent", {})}
        self.job(**parts)

    def secret(self, name, text, mode=0o600):
        path = self.folder / "secrets" / name
        path.write_text(text)
        path.chmod(mode)

    def words(self, options):
        return [*self.mounts, "--env", "WARDER_SPOOL=/out/spool", "--entrypoint", "warder", *options]

    def run(self, image, *words, options=()):
        """`warder init --job` in a container, to its end."""
        done = self.engine.run(image, "init", "--job", "/job/job.yaml", *words,
                               options=self.words(options))
        return Ended(self, done.returncode, done.stdout, done.stderr)

    def begin(self, image, *words, options=()):
        return self.engine.begin(image, "init", "--job", "/job/job.yaml", *words,
                                 options=self.words(options))

    def ended(self, box):
        """What a container that was begun left, once it has ended."""
        code = box.wait()
        return Ended(self, code, *box.logs())


class Ended:
    """A container of a job that ended."""

    def __init__(self, place, code, stdout, stderr):
        self.place, self.code, self.stdout, self.stderr = place, code, stdout, stderr

    def __str__(self):
        return f"exit code {self.code}\n{self.stdout}\n{self.stderr}"

    __repr__ = __str__

    def one(self, folder):
        found = sorted(path for path in (self.place.folder / "out" / folder).iterdir() if path.is_dir())
        assert len(found) == 1, (found, str(self))
        return found[0]

    @property
    def results(self):
        return self.one("results")

    @property
    def report(self):
        return json.loads((self.results / "report.json").read_text())

    @property
    def outcome(self):
        outcome = self.report["outcome"]
        return outcome["class"], outcome["reason"]

    @property
    def output(self):
        return (self.results / "stdout.log").read_text()

    def events(self, kind=None):
        done = subprocess.run([world.BUILD / "warder", "events", self.one("spool"), "--json"],
                              capture_output=True, text=True, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line["data"] for line in lines if line["type"] == kind] if kind else lines

    def warnings(self):
        return [data["sentence"] for data in self.events("preflight.warning")]

    def verify(self):
        return subprocess.run([world.BUILD / "warder", "verify", self.one("spool")], capture_output=True, text=True)


class Provider(world.Provider):
    """The scripted provider at the bridge's gateway, where containers reach it."""

    def __init__(self, engine, folder, tls, scenario, key):
        self.engine = engine
        super().__init__(folder, tls, scenario, key)

    def command(self, words):
        return self.engine.on_network(*words, "--host", GATEWAY)

    def job_parts(self, key=None):
        return {"secrets": {"anthropic": {"from": key or {"file": "/run/secrets/key"}, "base_url": self.url,
                                          "ca_file": "/job/ca.pem"}},
                "policy": {"allow": [{"host": GATEWAY, "port": self.port, "methods": ["POST"],
                                      "paths": ["/v1/messages", "/v1/messages/count_tokens"]}]}}


class Collector(world.Collector):
    """A collector on the loopback of the engine's network, which containers share with --network host."""

    def __init__(self, engine, folder, tools):
        self.engine = engine
        super().__init__(folder, tools)

    def command(self, words):
        return self.engine.on_network(*words)

    def get(self, path):
        asked = subprocess.run(
            self.engine.on_network("curl", "--silent", "--write-out", "%{http_code}", "--header",
                                   f"Authorization: Bearer {self.token}", self.url + path),
            capture_output=True, check=True)
        return int(asked.stdout[-3:]), asked.stdout[:-3]
