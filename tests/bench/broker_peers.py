"""The processes that stand between a client and the upstream in the broker's benchmark: the broker
itself, started as its launcher starts it, and its peers."""
import fcntl
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from common import WARDER, there

KEY = "sk-ant-api03-" + secrets.token_hex(40)
PLACEHOLDER = "sk-ant-api03-" + secrets.token_hex(40)
# One core for what is measured, the other for clients and upstream.
CORES = sorted(os.sched_getaffinity(0))
MEASURED, OTHERS = {CORES[-1]}, {CORES[0]}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_port(port, process, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


class Peer:
    """One of those processes. `door`: where clients go, as broker_load takes it."""

    def __init__(self, name, process, door, key="none", proxy=None):
        self.name, self.process, self.door, self.key, self.proxy = name, process, door, key, proxy

    def pids(self):
        """It and its children (nginx's worker is one)."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True)
        return [self.process.pid, *map(int, found.stdout.split())]

    def core_seconds(self):
        """Time on a core so far. Source: Documentation/scheduler/sched-stats.rst."""
        files = [file for pid in self.pids() for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(file.read_text().split()[0]) for file in files) / 1e9

    def memory_kib(self, what="VmRSS"):
        total = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith(what + ":"):
                    total += int(line.split()[1])
        return total

    def forget_peak(self):
        for pid in self.pids():
            pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def upstream_of(port, ca):
    return {"tls": True, "host": "localhost", "port": port, "base_path": "", "ca_file": str(ca)}


def config_of(port, ca):
    """As secrets/broker_config.h has it. Descriptors: 5 the secret, 6 a base-URL door, 7 a proxy."""
    nowhere = {"tls": True, "host": "", "port": 443, "base_path": "", "ca_file": ""}
    nothing = {"usd": None, "tokens": None, "requests": None, "concurrency": None, "warn_at": []}
    grant = {
        "name": "anthropic", "provider": "anthropic", "placeholder": PLACEHOLDER, "placeholder_secret": "",
        "upstream": upstream_of(port, ca), "also": [], "inject": None,
        "terms": {"budget": nothing, "models": [], "provider_fetch": False, "allow": [],
                  "expires_after_ms": None, "expires_at": None},
        "source": {"kind": 0, "refresh_ms": None, "vault": nowhere, "path": "", "field": "", "namespace": ""},
        "secret_fd": 5, "listener_fds": [6], "unix_fd": -1}

    def rule(host, at):
        return {"host": host, "port": at, "methods": [], "paths": [], "where": "bench:1", "flow": "intercept"}
    return {"run_id": "bench", "shared_network": False, "grants": [grant],
            "doors": {"transparent": [], "proxy": [7], "dns_udp": [], "dns_tcp": []},
            "policy": {"name": "bench", "allow": [rule("localhost", port), rule("*.bench.example", 443)], "deny": [],
                       "allow_degraded": False}}


def sealed(text):
    fd = os.memfd_create("config", os.MFD_ALLOW_SEALING)
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def listening():
    door = socket.create_server(("127.0.0.1", 0), backlog=4096)
    return door, door.getsockname()[1]


class Broker(Peer):
    """The stage itself. What it tells its launcher is read, as init reads it, by a process of its own."""

    def __init__(self, port, ca, load):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        secret, secret_end = os.pipe()
        base, base_port = listening()
        proxy, proxy_port = listening()
        given = [sealed(json.dumps(config_of(port, ca))), theirs.fileno(), secret, base.fileno(), proxy.fileno()]

        def prepare():
            os.sched_setaffinity(0, MEASURED)
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in given]
            for at, fd in enumerate(high):
                os.dup2(fd, 3 + at)
        process = subprocess.Popen([WARDER, "--stage=broker"], preexec_fn=prepare, pass_fds=range(3, 8))
        os.write(secret_end, KEY.encode())
        for fd in (given[0], secret, secret_end):
            os.close(fd)
        for end in (theirs, base, proxy):
            end.close()
        said = json.loads(self.control.recv(131072) or "{}")
        if "ready" not in said:
            raise SystemExit(f"the broker did not start: {said}")
        self.reader = subprocess.Popen(["taskset", "-c", str(min(OTHERS)), load, "-", "drain"], stdin=self.control)
        super().__init__("warder", process, f"plain:{base_port}:/v1/messages", PLACEHOLDER, f"proxy:{proxy_port}")

    def end(self):
        self.control.shutdown(socket.SHUT_RDWR)
        self.process.wait(10)
        self.control.close()
        self.reader.wait(10)


NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log error;
worker_rlimit_nofile 20000;
events {{ worker_connections 16000; }}
http {{
  access_log off; client_max_body_size 0; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  keepalive_requests 100000000; keepalive_timeout 600s;
  upstream up {{ server 127.0.0.1:{port}; keepalive 512; keepalive_requests 100000000; keepalive_timeout 600s; }}
  server {{
    listen 127.0.0.1:{door} backlog=4096;
    location / {{
      proxy_pass https://up; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host localhost; proxy_set_header x-api-key {key};
      proxy_ssl_verify on; proxy_ssl_trusted_certificate {ca}; proxy_ssl_name localhost;
      proxy_ssl_server_name on; proxy_ssl_protocols TLSv1.2 TLSv1.3;
      proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 600s;
    }}
  }}
}}
"""


def on_measured_core():
    os.sched_setaffinity(0, MEASURED)


def nginx(folder, port, ca):
    if not there("nginx"):
        return None
    door = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, door=door, ca=ca, key=KEY))
    process = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", folder / "nginx.log"],
                               preexec_fn=on_measured_core)
    if not await_port(door, process):
        raise SystemExit((folder / "nginx.log").read_text())
    return Peer("nginx", process, f"plain:{door}:/v1/messages")


def mitmproxy(folder, port, ca):
    """As a reverse proxy for calls, and as a proxy that ends TLS for handshakes."""
    program = os.environ.get("MITMDUMP", "mitmdump")
    if not there(program):
        return None
    door, proxy = free_port(), free_port()
    process = subprocess.Popen(
        [program, "--quiet", "--mode", f"reverse:https://localhost:{port}@127.0.0.1:{door}",
         "--mode", f"regular@127.0.0.1:{proxy}", "--set", f"confdir={folder}/mitm", "--set", "flow_detail=0",
         "--set", f"ssl_verify_upstream_trusted_ca={ca}", "--set", "connection_strategy=lazy",
         "--set", "stream_large_bodies=1", "--set", f"modify_headers=/~q/x-api-key/{KEY}"],
        preexec_fn=on_measured_core, stdout=subprocess.DEVNULL)
    if not await_port(door, process) or not await_port(proxy, process):
        return None
    return Peer("mitmproxy", process, f"plain:{door}:/v1/messages", proxy=f"proxy:{proxy}")


def litellm(folder, port, ca):
    program = os.environ.get("LITELLM", "litellm")
    if not there(program):
        return None
    door = free_port()
    (folder / "litellm.yaml").write_text(
        "model_list:\n  - model_name: claude-haiku-4-5\n    litellm_params:\n"
        "      model: anthropic/claude-haiku-4-5\n"
        f"      api_base: https://localhost:{port}\n      api_key: {KEY}\n")
    process = subprocess.Popen(
        [program, "--config", folder / "litellm.yaml", "--host", "127.0.0.1", "--port", str(door)],
        preexec_fn=on_measured_core, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "SSL_CERT_FILE": str(ca), "ANTHROPIC_API_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True",
             "LITELLM_LOG": "ERROR"})
    if not await_port(door, process):
        return None
    return Peer("LiteLLM", process, f"plain:{door}:/v1/messages")


def answers(peer):
    """Does a call through it come back? A peer that cannot be used is left out, and named."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{peer.door.split(':')[1]}/v1/messages", method="POST",
        data=json.dumps({"model": "claude-haiku-4-5", "max_tokens": 9,
                         "messages": [{"role": "user", "content": "hi"}]}).encode(),
        headers={"x-api-key": peer.key, "content-type": "application/json", "anthropic-version": "2023-06-01"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
