"""Where secrets come from while a run goes on: a file that is replaced, a program that is asked."""
import json
import os
import socket
import ssl
import subprocess
import threading

import pytest
import world

# Calls until an upstream says that it is enough; what each call came to.
CALLER = r"""
import http.client, json, os, urllib.parse
url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
line = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
statuses = []
for number in range(5000):
    line.request("POST", "/v1/messages", json.dumps({"model": "claude-haiku-4-5", "max_tokens": 5, "messages": []}),
                 {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
    answer = line.getresponse()
    body = answer.read().decode()
    statuses.append(answer.status)
    if "enough" in body or answer.status == 403:
        break
print(json.dumps({"statuses": statuses, "last": body}))
"""
PRESET = """version: 1
name: caller
summary: calls again and again
executable: [python3]
arguments: [/workspace/caller.py]
prompt: none
secret: anthropic
base_url_env: ANTHROPIC_BASE_URL
key_env: ANTHROPIC_API_KEY
"""


class Upstream:
    """Takes some keys; says `enough` to the last of them, and to a key that it does not take."""

    def __init__(self, tls, keys):
        self.keys, self.seen, self.wrong = keys, [], 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(tls / "server.pem", tls / "server.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[line], daemon=True).start()

    def serve(self, line):
        try:
            stream = self.context.wrap_socket(line, server_side=True).makefile("rwb")
            while head := self.read_head(stream):
                stream.read(int(head["content-length"]))
                key = head.get("x-api-key", "")
                good = key in self.keys
                self.seen.append(key)
                self.wrong += not good
                body = b'{"enough": true}' if key == self.keys[-1] or not good else b"{}"
                status = b"200 OK" if good else b"401 Unauthorized"
                stream.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
                stream.flush()
        except OSError:
            pass

    @staticmethod
    def read_head(stream):
        head = {}
        while (line := stream.readline().strip()) or not head:
            if not line:
                return head
            name, _, value = line.decode().partition(":")
            head[name.lower()] = value.strip()
        return head


@pytest.fixture
def upstream(tools):
    made = []

    def make(*keys):
        made.append(Upstream(tools.tls, keys))
        return made[-1]
    yield make
    for one in made:
        one.listener.close()


def calling_job(person, port, source, **more):
    person.write("workspace/caller.py", CALLER)
    preset = person.write("caller.yaml", PRESET)
    return person.job(
        agent={"preset": str(preset)},
        secrets={"anthropic": {"from": source, "ca_file": str(person.tools.tls / "ca.pem"),
                               "base_url": f"https://127.0.0.1:{port}", **more}},
        policy={"allow": [{"host": "127.0.0.1", "port": port, "methods": ["POST"], "paths": ["/v1/messages"]}]},
        limits={"wall": "2m"})


def test_a_file_that_is_replaced_in_the_middle_of_a_run_costs_no_request(person, upstream):
    old, new = world.new_key(), world.new_key()
    server = upstream(old, new)
    key_file = person.write("key", old + "\n", 0o600)
    job = calling_job(person, server.port, {"file": str(key_file)})
    process = person.start(person.tools.warder, "run", job, "--spool", person.spool)
    assert world.eventually(lambda: len(server.seen) > 3 or process.poll() is not None)
    os.rename(person.write("key.new", new + "\n", 0o600), key_file)
    out, err = process.communicate(timeout=120)
    ran = world.Ran(person, subprocess.CompletedProcess([], process.returncode, out, err), person.runs()[0])
    assert ran.code == 0, ran.explain()
    told = json.loads(ran.output.splitlines()[-1])
    assert set(told["statuses"]) == {200} and "enough" in told["last"], told
    assert server.wrong == 0 and server.seen[0] == old and server.seen[-1] == new
    renewed = ran.events("broker.secret_renewed")
    assert [event["data"] for event in renewed] == [{"grant": "anthropic", "renewals": 1}]
    revoked = ran.events("broker.revoked")
    assert [event["data"]["grants"] for event in revoked] == [["anthropic"]]
    for path in ran.run_dir.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert old.encode() not in content and new.encode() not in content, path


def test_a_program_is_asked_for_the_secret(person, upstream):
    key = world.new_key()
    server = upstream(key)
    folder = person.make_folder("vault")
    folder.chmod(0o777)  # the program has an id of its own where there is one
    program = person.write("give-key", "#!/bin/sh\n"
                           f"id -u >> {folder}/uids; env > {folder}/env; echo $KEY\n", 0o755)
    job = calling_job(person, server.port, {"exec": {"command": [str(program)], "env": {"KEY": key}}})
    ran = person.run(job, env={**person.environment(), "MY_SECRET_TOKEN": "not-for-programs"})
    assert ran.code == 0, ran.explain()
    assert set(server.seen) == {key}
    uids = (folder / "uids").read_text().split()
    assert uids == (["64200"] if person.uid == 0 else ["0"]), uids
    environment = (folder / "env").read_text()
    assert "not-for-programs" not in environment and "PATH=/usr/local/sbin" in environment
    assert ran.events("agent.leftovers") == []


def test_a_program_that_fails_at_the_start_refuses_the_run_in_one_sentence(person, upstream):
    program = person.write("give-key", "#!/bin/sh\necho not logged in >&2; exit 5\n", 0o755)
    ran = person.run(calling_job(person, 1, {"exec": [str(program)]}))
    assert ran.code == 14, ran.explain()
    failed = ran.events("setup.failed")[0]["data"]
    assert failed["step"] == "secrets", failed
    assert "ended with 5; it said last: not logged in" in failed["sentence"], failed


def test_a_grant_ends_at_its_time_and_the_agent_is_told(person, upstream):
    key = world.new_key()
    server = upstream(key, "never")
    key_file = person.write("key", key, 0o600)
    ran = person.run(calling_job(person, server.port, {"file": str(key_file)}, expires="1s"))
    assert ran.events("broker.grant_expired"), ran.explain()
    statuses = json.loads(ran.output.splitlines()[-1])["statuses"]
    assert statuses[0] == 200 and statuses[-1] == 403
