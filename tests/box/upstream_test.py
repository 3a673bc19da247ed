"""What the agent, and whoever reads the report, is told when the upstream is not as it should be."""
import json
import socket
import subprocess
import threading

import pytest
import world

# A smallest agent with a door: one call, and what came back.
PROBE = r"""
import http.client, json, os, urllib.parse
url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
line = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
body = json.dumps({"model": "claude-haiku-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}]})
line.request("POST", "/v1/messages", body, {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
answer = line.getresponse()
print(json.dumps({"status": answer.status, "body": answer.read().decode(errors="replace")}))
"""
PRESET = """version: 1
name: probe
summary: asks once
executable: [python3]
arguments: [/workspace/probe.py]
prompt: none
secret: anthropic
base_url_env: ANTHROPIC_BASE_URL
key_env: ANTHROPIC_API_KEY
"""


def probe(person, port, ca_file, key="sk-ant-api03-some-key-or-other"):
    person.write("workspace/probe.py", PROBE)
    preset = person.write("probe.yaml", PRESET)
    key_file = person.write("key", key, 0o600)
    job = person.job(
        agent={"preset": str(preset)},
        secrets={"anthropic": {"from": {"file": str(key_file)}, "ca_file": str(ca_file),
                               "base_url": f"https://127.0.0.1:{port}"}},
        policy={"allow": [{"host": "127.0.0.1", "port": port, "methods": ["POST"], "paths": ["/v1/messages"]}]},
        limits={"wall": "2m"})
    ran = person.run(job)
    assert ran.code in (0, 12), ran.explain()
    answer = json.loads(ran.output.splitlines()[-1])
    return ran, answer


def failure(answer):
    """The error in the form of the agent's own provider."""
    body = json.loads(answer["body"])
    assert body["type"] == "error", body
    return body["error"]


def assert_upstream_failed(ran, answer, why):
    assert answer["status"] == 502, answer
    error = failure(answer)
    assert error["type"] == "api_error" and error["message"], error
    told = ran.events("broker.upstream_failed")
    assert [event["data"]["why"] for event in told] == [why], told
    assert told[0]["data"]["sentence"]


def test_an_upstream_that_is_down(person, tools):
    ran, answer = probe(person, world.free_port(), tools.tls / "ca.pem")
    assert_upstream_failed(ran, answer, "refused")


@pytest.fixture
def rubbish(tools):
    """A server that speaks TLS and then nothing that is HTTP."""
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tools.tls / "server.pem", tools.tls / "server.key")
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve():
        listener.settimeout(0.1)
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            try:
                connection.settimeout(20)
                with context.wrap_socket(connection, server_side=True) as line:
                    line.recv(65536)
                    line.sendall(b"\x00\x01 this is no HTTP at all\r\n\r\n" * 10)
                    while line.recv(65536):  # the other end decides when it has seen enough
                        pass
            except OSError:
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    stop.set()
    thread.join()
    listener.close()


def test_an_upstream_that_talks_rubbish(person, tools, rubbish):
    ran, answer = probe(person, rubbish, tools.tls / "ca.pem")
    assert_upstream_failed(ran, answer, "protocol")


def test_an_upstream_with_a_certificate_that_nobody_vouches_for(person, provider, folder):
    upstream = provider("plain")
    subprocess.run([world.ROOT / "scripts/provider-tls", folder / "other"], check=True)
    (folder / "other").chmod(0o755)
    ran, answer = probe(person, upstream.port, folder / "other/ca.pem", upstream.key)
    assert_upstream_failed(ran, answer, "tls")
    assert upstream.requests() == [], "the key was not sent to a stranger"


def test_a_good_upstream_for_comparison(person, provider, tools):
    upstream = provider("plain")
    ran, answer = probe(person, upstream.port, tools.tls / "ca.pem", upstream.key)
    assert ran.code == 0, ran.explain()
    assert answer["status"] == 200
    assert "Plain answer." in answer["body"]
    assert upstream.requests()[0]["key_ok"]


def test_a_ca_file_that_only_the_caller_can_read(person, provider, tools):
    """The broker has another user; it is lent the file, not its path."""
    upstream = provider("plain")
    private = person.make_folder("private")
    ca_file = person.write("private/ca.pem", (tools.tls / "ca.pem").read_text(), 0o600)
    private.chmod(0o700)
    ran, answer = probe(person, upstream.port, ca_file, upstream.key)
    assert ran.code == 0, ran.explain()
    assert answer["status"] == 200


def test_bc_002_what_an_upstream_has_sent_arrives_before_it_sends_more(person, provider):
    """The provider stops after three events and keeps the line open: they must arrive all the same."""
    upstream = provider({"turns": [{"text": "a text that stalls", "stall": 3, "times": -1}]})
    program = PROBE.replace('"max_tokens"', '"stream": True, "max_tokens"')
    program = program[:program.index("print(json.dumps(")] + """
seen = b""
while seen.count(b"\\n\\n") < 3: seen += answer.read1(65536)
print(json.dumps({"status": answer.status, "events": seen.count(b"event: ")}))
"""
    person.write("workspace/probe.py", program)
    preset = person.write("probe.yaml", PRESET)
    key_file = person.write("key", upstream.key, 0o600)
    ran = person.run(person.job(agent={"preset": str(preset)}, secrets=upstream.secret(key_file),
                                policy=upstream.policy(), limits={"wall": "1m"}))
    assert json.loads(ran.output) == {"status": 200, "events": 3}, ran.explain()
