"""The world around a box: people who start it, a provider, a collector, and what a run left."""
import hashlib
import http.client
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WARDER_BIN", ROOT / "build/release-static"))
ORDINARY = 4242  # a user id that nobody has
PATIENCE = 60    # seconds until a test gives up waiting; never the thing that is asserted


def eventually(question, patience=PATIENCE):
    """Asks until the answer is true, and returns it; the last answer when patience ends."""
    end = time.monotonic() + patience
    while True:
        answer = question()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.05)


def new_key():
    """A key that no machine has ever seen, with a mark that a search can look for."""
    return "sk-ant-api03-WARDER" + "REALKEY" + secrets.token_hex(24)


class Person:
    """Somebody who runs Warder: root, or an ordinary user without any privilege."""

    def __init__(self, name, folder, tools):
        self.name, self.folder, self.tools = name, folder, tools
        self.uid = 0 if name == "root" else ORDINARY if os.getuid() == 0 else os.getuid()
        self.switch = name != "root" and os.getuid() == 0
        folder.mkdir(mode=0o755)
        self.own(folder)
        self.home = self.make_folder("home")
        self.workspace = self.make_folder("workspace")
        self.spool = self.make_folder("spool")
        self.results = folder / "results"
        self.started = []
        self.entry = []  # the words that lead into namespaces of its own, if it has any

    def own(self, path):
        if self.switch:
            os.chown(path, self.uid, self.uid)

    def make_folder(self, name):
        path = self.folder / name
        path.mkdir(mode=0o755)
        self.own(path)
        return path

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        self.own(path)
        return path

    def environment(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    def start(self, *command, **options):
        if self.entry:
            switch = ["setpriv", "--reuid", self.uid, "--regid", self.uid, "--clear-groups"] if self.switch else []
            command = [*self.entry, "env", "-C", self.folder, *switch, *command]
        elif self.switch:
            options.update(user=self.uid, group=self.uid, extra_groups=[])
        options.setdefault("env", self.environment())
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                   cwd=self.folder, **options)
        self.started.append(process)
        return process

    def leave(self):
        """Ends what a test that failed did not."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def warder(self, *words, **options):
        """Runs `warder WORDS` to its end."""
        process = self.start(self.tools.warder, *words, **options)
        out, err = process.communicate(timeout=180)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def job(self, name="job.yaml", **parts):
        """A job file: `agent` and other parts over a smallest job. JSON is YAML too."""
        job = {"version": 1, "policy": {}, "results": {}}
        for key, value in parts.items():
            if value is None:
                job.pop(key, None)
            else:
                job[key] = value
        job["agent"] = {"workspace": str(self.workspace), "user": "1000:1000", **job.get("agent", {})}
        job["results"] = {"dir": str(self.results), **job["results"]}
        return self.write(name, json.dumps(job, indent=1))

    def run(self, job, *words, **options):
        """`warder run`, and what it left."""
        before = set(self.runs())
        done = self.warder("run", job, "--spool", self.spool, *words, **options)
        new = [run for run in self.runs() if run not in before]
        return Ran(self, done, new[0] if new else None)

    def run_command(self, *command, **parts):
        parts["agent"] = {"command": list(command), **parts.get("agent", {})}
        return self.run(self.job(**parts))

    def run_shell(self, script, **parts):
        return self.run_command("/bin/sh", "-c", script, **parts)

    def run_python(self, program, **parts):
        self.write("workspace/program.py", program)
        return self.run_command("/usr/bin/python3", "/workspace/program.py", **parts)

    def runs(self):
        return sorted(path for path in self.spool.iterdir() if path.is_dir())


class Ran:
    """One run that ended."""

    def __init__(self, person, done, run_dir):
        self.person, self.run_dir = person, run_dir
        self.code, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr

    @property
    def run_id(self):
        return self.run_dir.name

    @property
    def results(self):
        return self.person.results / self.run_id

    @property
    def report(self):
        return json.loads((self.results / "report.json").read_text())

    @property
    def output(self):
        return (self.results / "stdout.log").read_text()

    @property
    def errors(self):
        return (self.results / "stderr.log").read_text()

    def events(self, kind=None):
        done = self.person.warder("events", self.run_dir, "--json")
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line for line in lines if kind is None or line["type"] == kind]

    def explain(self):
        """For the message of an assertion that fails."""
        parts = [f"exit code {self.code}", self.stdout, self.stderr]
        for name in ("stdout.log", "stderr.log"):
            file = self.results / name if self.run_dir else None
            if file and file.exists():
                parts.append(f"--- {name}\n{file.read_text(errors='replace')[-2000:]}")
        return "\n".join(line[:300] for line in "\n".join(parts).splitlines())


class Server:
    """A process of the test's own, ended by its own pid."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, **options)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


class Provider(Server):
    """The scripted provider, over TLS unless told otherwise."""

    def __init__(self, folder, tls, scenario, key):
        folder.mkdir()
        self.key, self.log_file, self.tls = key, folder / "log.jsonl", tls
        if isinstance(scenario, str):
            scenario = json.loads((ROOT / f"tests/provider/scenarios/{scenario}.json").read_text())
        scenario = {**scenario, "keys": [key]}
        (folder / "scenario.json").write_text(json.dumps(scenario))
        super().__init__(self.command(
            ["node", ROOT / "tests/provider/fake_llm.mjs", "--scenario", folder / "scenario.json",
             "--log", self.log_file, "--var", "CWD=/workspace", "--tls-cert", tls / "server.pem",
             "--tls-key", tls / "server.key"]), stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.rsplit(":", 1)[1])

    def command(self, words):
        """Where it runs: here."""
        return words

    def log(self):
        if not self.log_file.exists():
            return []
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def requests(self):
        return [entry for entry in self.log() if entry["event"] == "request"]

    def secret(self, key_file, **more):
        return {"anthropic": {"from": {"file": str(key_file)}, "base_url": self.url,
                              "ca_file": str(self.tls / "ca.pem"), **more}}

    def policy(self):
        return {"allow": [{"host": "127.0.0.1", "port": self.port, "methods": ["POST"],
                           "paths": ["/v1/messages", "/v1/messages/count_tokens"]}]}


class Collector(Server):
    """A warder-collector, and a client of its reading side."""

    def __init__(self, folder, tools, *words, listen="127.0.0.1:0"):
        folder.mkdir(exist_ok=True)
        self.token = secrets.token_hex(16)
        self.token_file = folder / "token"
        if self.token_file.exists():
            self.token = self.token_file.read_text()
        self.token_file.write_text(self.token)
        self.token_file.chmod(0o644)  # people of the tests with another uid read it too
        address_file = folder / "address"
        address_file.unlink(missing_ok=True)
        self.log = open(folder / "log", "a")
        super().__init__(self.command(
            [tools.collector, "serve", "--listen", listen, "--data", folder / "data",
             "--token-file", self.token_file, "--address-file", address_file, *words]),
            stdout=self.log, stderr=self.log)
        eventually(lambda: address_file.exists() and address_file.read_text().strip()
                   or self.process.poll() is not None)
        assert self.process.poll() is None, (folder / "log").read_text()
        self.address = address_file.read_text().strip()
        self.url = f"http://{self.address}"

    def command(self, words):
        """Where it runs: here."""
        return words

    def stop(self):
        code = super().stop()
        self.log.close()
        return code

    def get(self, path):
        line = http.client.HTTPConnection(self.address, timeout=20)
        try:
            line.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    def runs(self):
        status, body = self.get("/v1/runs")
        assert status == 200, body
        answer = json.loads(body)
        return answer["runs"] if isinstance(answer, dict) else answer

    def run(self, run_id):
        status, body = self.get(f"/v1/runs/{run_id}")
        assert status == 200, body
        return json.loads(body)

    def sink(self, token_file=None):
        return {"collector": self.url, "token": {"file": str(token_file or self.token_file)}}


def free_port():
    """A port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()
