"""The agent's network: nothing leaves it, everything is answered at once, and its own servers work."""
import json
import socket

import pytest
import world

# Each line is one try; a try that hangs says TIMEOUT, and none may.
TRIES = r"""
import errno, os, socket, sys
def tell(name, call):
    try: print(name, call() or "CONNECTED")
    except socket.timeout: print(name, "TIMEOUT")
    except OSError as error: print(name, errno.errorcode.get(error.errno, error))
def tcp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(60)
        probe.connect((address, port))
def udp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.settimeout(60)
        probe.connect((address, port))
        probe.send(b"x")
        probe.recv(1)
def resolve(name):
    try: socket.getaddrinfo(name, 443)
    except socket.gaierror: return "UNKNOWN"
"""
NOWHERE = TRIES + r"""
for address in ("93.184.216.34", "169.254.169.254", "10.0.0.1", "127.0.0.1"):
    for port in (22, 53, 80, 443, 8443, 65535): tell(f"tcp {address} {port}", lambda: tcp(address, port))
    for port in (53, 123, 443): tell(f"udp {address} {port}", lambda: udp(address, port))
for address in ("2606:4700::1111", "fd00::1", "::1"):
    for port in (53, 443): tell(f"tcp {address} {port}", lambda: tcp(address, port, socket.AF_INET6))
    tell(f"udp {address} 443", lambda: udp(address, 443, socket.AF_INET6))
tell("name", lambda: resolve("example.org"))
"""


def test_nothing_leaves_where_nothing_is_allowed_and_every_try_is_refused_at_once(person):
    ran = person.run_python(NOWHERE)
    assert ran.code == 0, ran.explain()
    lines = dict(line.rsplit(" ", 1) for line in ran.output.splitlines())
    assert len(lines) == 46, ran.output
    assert lines.pop("name") == "UNKNOWN"
    assert set(lines.values()) == {"ECONNREFUSED"}, lines


def test_how_connections_come_to_the_broker_is_said(person):
    """By sk_lookup for root, by ports for an ordinary user."""
    ran = person.run_shell("cat /etc/resolv.conf", policy={"allow": ["example.org:8443"]})
    assert ran.code == 0, ran.explain()
    assert "\nnameserver 127.0.0.1\n" in ran.output
    ready = ran.events("box.ready")[0]["data"]
    assert ready["capture"] == ("sk_lookup" if person.name == "root" else "ports")
    assert ready["ipv6"] == socket.has_ipv6
    if person.name == "ordinary":
        assert sorted(ready["ports"]) == [80, 443, 8443]
        assert "Operation not permitted" in ready["why_not_all"]
    run = ran.report["run"]
    assert (run["mechanism"], run["capture"], run["ipv6"]) == ("netns", ready["capture"], ready["ipv6"])


def test_ports_that_are_too_many_for_an_ordinary_user_are_named(person):
    allow = [f"example.org:{20_000 + i}" for i in range(63)]
    ran = person.run_shell("true", policy={"allow": allow})
    assert ran.code == 0, ran.explain()
    warned = [warning for warning in ran.report["warnings"] if "capture ports" in warning]
    assert bool(warned) == (person.name == "ordinary"), ran.report["warnings"]
    assert all("20062" in warning for warning in warned)


def test_servers_of_the_agents_own_work_on_loopback(person):
    ran = person.run_python(TRIES + r"""
import threading
def serve(address, port, family):
    server = socket.create_server((address, port), family=family)
    threading.Thread(target=lambda: [server.accept() for _ in range(4)], daemon=True).start()
serve("127.0.0.1", 3000, socket.AF_INET)
serve("0.0.0.0", 3001, socket.AF_INET)
serve("::1", 3002, socket.AF_INET6)
for address, port, family in (("127.0.0.1", 3000, socket.AF_INET), ("127.0.0.1", 3001, socket.AF_INET),
                              ("127.0.0.1", 3003, socket.AF_INET), ("::1", 3002, socket.AF_INET6)):
    tell(f"{address} {port}", lambda: tcp(address, port, family))
""", policy={"allow": ["example.org"]})
    assert ran.code == 0, ran.explain()
    assert ran.output.splitlines() == ["127.0.0.1 3000 CONNECTED", "127.0.0.1 3001 CONNECTED",
                                       "127.0.0.1 3003 ECONNREFUSED", "::1 3002 CONNECTED"]


@pytest.fixture
def lent(person, provider):
    upstream = provider("plain")
    key_file = person.write("key", upstream.key, 0o600)
    return {"secrets": upstream.secret(key_file), "policy": upstream.policy()}


def test_the_unix_socket_of_a_grant_cannot_be_replaced(person, lent):
    ran = person.run_shell(r"""
echo "$ANTHROPIC_SOCKET"; test -S "$ANTHROPIC_SOCKET" && echo there
cd "$(dirname "$ANTHROPIC_SOCKET")"
rm -f anthropic.sock; mv anthropic.sock x; touch x; chmod 600 anthropic.sock; chmod 777 .; mv . ../x
test -S anthropic.sock && echo stays
""", **lent)
    assert ran.output.splitlines() == ["/run/warder-doors/anthropic.sock", "there", "stays"], ran.explain()
    door = ran.events("box.ready")[0]["data"]["doors"][0]
    assert door["socket"] == "/run/warder-doors/anthropic.sock", json.dumps(door)


def test_a_grant_is_served_at_its_unix_socket(person, lent):
    ran = person.run_shell(r"""
curl -sS --unix-socket "$ANTHROPIC_SOCKET" -w '\n%{http_code}\n' http://localhost/v1/messages \
    -H "x-api-key: $ANTHROPIC_API_KEY" -H 'content-type: application/json' \
    -d '{"model": "claude-haiku-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}'
""", **lent)
    assert ran.code == 0, ran.explain()
    assert ran.output.splitlines()[-1] == "200", ran.output
    assert len(ran.events("llm.call")) == 1


def test_claude_code_works_over_the_unix_socket(person, lent):
    """Its URL stands beside the socket and names a port where nobody listens: the socket it was."""
    preset = (world.ROOT / "image/agents/claude-code.yaml").read_text()
    for old, new in (("secret: anthropic", "secret: llm"),
                     ("base_url_env: ANTHROPIC_BASE_URL", "unix_socket_env: ANTHROPIC_UNIX_SOCKET"),
                     ("env:\n", "env:\n  ANTHROPIC_BASE_URL: http://127.0.0.1:9\n")):
        assert old in preset
        preset = preset.replace(old, new, 1)
    job = person.job(agent={"preset": str(person.write("socket.yaml", preset)), "prompt": "say hi",
                            "read_only": [str(person.tools.agent_folder)]},
                     secrets={"llm": {**lent["secrets"]["anthropic"], "provider": "anthropic"}},
                     policy=lent["policy"], limits={"wall": "3m"})
    ran = person.run(job)
    assert ran.code == 0, ran.explain()
    calls = ran.events("llm.call")
    assert calls and all(call["data"]["status"] == 200 for call in calls), calls
