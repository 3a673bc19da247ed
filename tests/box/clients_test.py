"""Real clients in a box, that know nothing of Warder, against real hosts: by the transparent door."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import world
from town import Town

BODY = bytes(range(256)) * (5 << 12)  # 5 MiB
ECHO = f"{len(BODY)} {hashlib.sha256(BODY).hexdigest()}"
INSTALLED = world.ROOT / "build/clients"  # scripts/install-clients


@pytest.fixture
def town(person, folder):
    if os.getuid() != 0:
        pytest.skip("needs root for namespaces")
    place = Town(folder / "town")
    person.entry = place.entry
    yield place
    person.leave()
    place.close()


def allow(host, *paths, **more):
    return {"host": host, **({"paths": list(paths)} if paths else {}), **more}


HOSTS = [allow("plain.test", "/hello", "/echo"), allow("tunnel.test", tls="tunnel")]

URLLIB = r"""
import sys, urllib.request
for url in ("https://plain.test", "https://tunnel.test"):
    print(urllib.request.urlopen(url + "/hello").read().decode(), end="")
    print(urllib.request.urlopen(url + "/echo", open("/workspace/body", "rb").read()).read().decode(), end="")
"""
REQUESTS = r"""
import requests
with requests.Session() as session:
    for url in ("https://plain.test", "https://tunnel.test"):
        print(session.get(url + "/hello").text, end="")
        with open("/workspace/body", "rb") as body:
            print(session.post(url + "/echo", data=iter(lambda: body.read(65536), b"")).text, end="")  # chunked
"""
# Node has roots of its own, to which the town's CA does not belong: with the second word it reads the box's.
NODE = r"""
(async () => {
  const url = process.argv[2], body = require('fs').readFileSync('/workspace/body');
  process.stdout.write(await (await fetch(url + '/hello')).text());
  process.stdout.write(await (await fetch(url + '/echo', {method: 'POST', body})).text());
})();
"""
JAVA = r"""
import java.net.URI;
import java.net.http.*;
import java.nio.file.Path;
class Client {
  public static void main(String[] arguments) throws Exception {
    var client = HttpClient.newHttpClient();
    for (var url : new String[] {"https://plain.test", "https://tunnel.test"})
      for (var request : new HttpRequest[] {
          HttpRequest.newBuilder(URI.create(url + "/hello")).build(),
          HttpRequest.newBuilder(URI.create(url + "/echo"))
              .POST(HttpRequest.BodyPublishers.ofFile(Path.of("/workspace/body"))).build()})
        System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}
"""
BOTH = "for u in https://plain.test https://tunnel.test; do %s; done"
CLIENTS = {  # what has to be there, and what is run
    "curl": ("/usr/bin/curl", BOTH % "curl -sS $u/hello; curl -sS --data-binary @body $u/echo"),
    "wget": ("/usr/bin/wget", BOTH % "wget -qO- $u/hello; wget -qO- --post-file=body $u/echo"),
    "urllib": ("/usr/bin/python3", "python3 urllib_client.py"),
    "requests": (INSTALLED / "python", "PYTHONPATH=site python3 requests_client.py"),
    "node": ("/usr/bin/node", "node client.js https://plain.test; node --use-openssl-ca client.js https://tunnel.test"),
    "go": (INSTALLED / "fetch-go", BOTH % "./fetch-go $u/hello"),
    "java": ("/usr/bin/java", "java Client.java"),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reaches_an_intercepted_and_a_tunnelled_host(person, town, client):
    needs, command = CLIENTS[client]
    if not pathlib.Path(needs).exists():
        pytest.skip(f"{needs} is not there")
    (person.workspace / "body").write_bytes(BODY)
    for name, text in (("urllib_client.py", URLLIB), ("requests_client.py", REQUESTS), ("client.js", NODE),
                       ("Client.java", JAVA)):
        person.write(f"workspace/{name}", text)
    if client == "requests":
        shutil.copytree(next((INSTALLED / "python/lib").glob("python3*/site-packages")), person.workspace / "site",
                        ignore=shutil.ignore_patterns("pip", "uv*", "*.dist-info"))
    if client == "go":
        shutil.copy2(needs, person.workspace / "fetch-go")
    ran = person.run_shell(command, policy={"allow": HOSTS}, limits={"wall": "2m"})
    echo = [] if client == "go" else [ECHO]
    assert ran.output.splitlines() == ["hello from plain.test", *echo, "hello from tunnel.test", *echo], ran.explain()
    # Both hosts saw the client as it is.
    agents = {request["headers"].get("user-agent") for request in town.requests()}
    assert len(agents) == 1, agents
    assert ran.report["egress"]["denied"] == 0, ran.report["egress"]
    assert ran.events("dns.denied") == []


def test_tls_is_ended_by_the_run_for_one_host_and_by_the_host_itself_for_a_tunnelled_one(person, town):
    ran = person.run_python(r"""
import socket, ssl
for host in ("plain.test", "tunnel.test"):
    with ssl.create_default_context().wrap_socket(socket.create_connection((host, 443)), server_hostname=host) as line:
        print(host, dict(part[0] for part in line.getpeercert()["issuer"])["commonName"])
""", policy={"allow": HOSTS})
    plain, tunnel = ran.output.splitlines()
    assert plain.startswith("plain.test Warder run CA"), ran.explain()
    assert tunnel == "tunnel.test Warder demo CA"


def test_what_the_policy_does_not_allow_is_answered_403_and_reported(person, town):
    ran = person.run_shell("for i in 1 2; do curl -sS -o body.txt -w '%{http_code} %header{x-warder-error}\n' "
                           "https://plain.test/secret; done; cat body.txt", policy={"allow": HOSTS})
    lines = ran.output.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["403", "403"], ran.explain()
    assert "Do not try again" in ran.output or "allow" in ran.output
    assert town.requests() == []
    egress = ran.report["egress"]
    assert egress["denied"] == 2
    assert [(denial["host"], denial["path"], denial["count"]) for denial in egress["denials"]] \
        == [("plain.test", "/secret", 2)]


WORK_WITH_GIT = r"""
cd /tmp; export GIT_TERMINAL_PROMPT=0
git config --global user.name agent; git config --global user.email agent@box.test
for name in one two; do
  git clone -q https://git.test/team/$name.git && cd $name && head -c 3000000 /dev/urandom > data &&
  git add data && git commit -qm "from the box" && git push -q origin main; echo "$name $?"; cd ..
done
printenv; cat /tmp/*/.git/config
"""


def test_git_clones_and_pushes_with_a_secret_that_it_never_sees(person, town):
    """And not to the repository that the policy lets it only read."""
    one, two = town.repository("team/one.git"), town.repository("team/two.git")
    before = (two / "refs/heads/main").read_text()
    ran = person.run_shell(
        WORK_WITH_GIT,
        secrets={"forge": town.lend(person, provider="generic", base_url="https://git.test",
                                    inject={"kind": "basic", "user": "x-access-token"})},
        policy={"allow": [allow("git.test", "/team/one.git/**", "/team/two.git/info/refs",
                                "/team/two.git/git-upload-pack", methods=["GET", "POST"])]},
        limits={"wall": "2m"})
    assert "one 0\n" in ran.output and "two 1\n" in ran.output, ran.explain()
    assert "403" in ran.errors, ran.errors
    pushed = subprocess.run(["git", "-C", one, "-c", "safe.directory=*", "log", "--format=%an %s", "main"],
                                  capture_output=True, text=True, check=True)
    assert pushed.stdout.splitlines() == ["agent from the box", "town first"]
    assert (two / "refs/heads/main").read_text() == before
    denied = [event["data"] for event in ran.events("broker.denied")]
    assert [(denial["method"], denial["path"]) for denial in denied] == [("POST", "/team/two.git/git-receive-pack")]
    assert town.secret not in ran.output + ran.errors + json.dumps(ran.events())


def test_a_websocket_is_relayed_where_nothing_is_lent(person, town):
    person.write("workspace/socket.js", r"""
const line = new WebSocket('wss://plain.test/echo');
line.onopen = () => line.send('hello socket');
line.onmessage = (said) => { console.log(said.data); process.exit(0); };
line.onerror = (why) => { console.log(why.message); process.exit(1); };
""")
    ran = person.run_shell("node --experimental-websocket socket.js", policy={"allow": HOSTS})
    assert ran.output == "HELLO SOCKET\n", ran.explain()


def test_a_placeholder_on_its_way_to_another_host_is_an_incident(person, town):
    ran = person.run_shell(
        'curl -sS -o /dev/null -w "%{http_code}\\n" -H "Authorization: Bearer $FORGE_API_KEY" https://plain.test/hello',
        secrets={"forge": town.lend(person, provider="generic", base_url="https://git.test",
                                    inject={"kind": "bearer"})},
        policy={"allow": [*HOSTS, allow("git.test")]})
    assert ran.output == "403\n", ran.explain()
    assert town.requests() == []
    incidents = ran.events("broker.incident")
    assert len(incidents) == 1 and "plain.test" in json.dumps(incidents[0]["data"]), incidents


def test_a_name_that_is_not_allowed_is_unknown_at_once_and_told(person, town):
    """silent.test is known outside; the agent's name server does not know it."""
    ran = person.run_shell("curl -sS https://silent.test/; echo $?; curl -sS https://elsewhere.example/; echo $?",
                           policy={"allow": HOSTS})
    assert ran.output == "6\n6\n", ran.explain()
    told = {(event["data"]["name"], event["data"]["type"]) for event in ran.events("dns.denied")}
    assert {("silent.test", "A"), ("elsewhere.example", "A")} <= told, told
    assert town.requests() == []


def test_another_protocol_passes_where_a_rule_says_so(person, town):
    ran = person.run_python(r"""
import socket
with socket.create_connection(("lines.test", 5432)) as line, line.makefile("rwb") as file:
    print(file.readline())
    file.write(b"stressed\n"); file.flush()
    print(file.readline())
""", policy={"allow": [{"host": "lines.test", "port": 5432, "protocol": "tcp"}]})
    assert ran.output.splitlines() == [r"b'\x00ready\n'", r"b'desserts\n'"], ran.explain()


def test_a_call_by_the_transparent_door_is_lent_the_key_and_metered(person, town):
    ran = person.run_shell(
        "curl -sS https://llm.test/v1/messages -H 'content-type: application/json' -H \"x-api-key: $ANTHROPIC_API_KEY\""
        ' -d \'{"model": "claude-haiku-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}\'',
        secrets={"anthropic": town.lend(person, base_url="https://llm.test")},
        policy={"allow": [allow("llm.test", "/v1/messages", methods=["POST"])]})
    assert '"text": "hi"' in ran.output, ran.explain()
    assert [request["headers"]["x-api-key"] for request in town.requests("llm.test")] == [town.secret]
    used = ran.report["usage"]["by_model"]
    assert [(model["model"], model["requests"], model["errors"]) for model in used] == [("claude-haiku-4-5", 1, 0)]
    assert (used[0]["input_tokens"], used[0]["output_tokens"]) == (11, 7)
    assert (used[0]["cache_read_tokens"], used[0]["cache_write_tokens"]) == (5, 3)
    assert used[0]["priced"] and ran.report["usage"]["total_cost_usd"] > 0
