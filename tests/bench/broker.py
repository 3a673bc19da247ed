"""What the broker adds to a call."""
import json
import os
import subprocess
import sys

from common import ROOT, WARDER, table

# The same client runs inside the box (through the broker) and outside (direct): one kept
# connection, small answers.
CLIENT = """
import http.client, json, os, ssl, statistics, sys, time, urllib.parse
url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
ca = os.environ.get("BENCH_CA")
if url.scheme == "https":
    line = http.client.HTTPSConnection(url.hostname, url.port, context=ssl.create_default_context(cafile=ca))
else:
    line = http.client.HTTPConnection(url.hostname, url.port)
body = json.dumps({"model": "claude-haiku-4-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})
times = []
for i in range(int(sys.argv[1])):
    begin = time.perf_counter()
    line.request("POST", "/v1/messages", body, {"x-api-key": os.environ["ANTHROPIC_API_KEY"],
        "anthropic-version": "2023-06-01", "content-type": "application/json"})
    answer = line.getresponse(); answer.read()
    assert answer.status == 200, answer.status
    times.append(time.perf_counter() - begin)
print(json.dumps(statistics.median(times[len(times) // 5:]) * 1000))
"""
PRESET = """version: 1
name: bench
summary: asks the provider again and again
executable: [python3]
arguments: [/workspace/client.py, "ROUNDS"]
prompt: none
secret: anthropic
base_url_env: ANTHROPIC_BASE_URL
key_env: ANTHROPIC_API_KEY
"""


def measure(folder, rounds):
    calls = rounds * 10
    subprocess.run([ROOT / "scripts/provider-tls", folder / "tls"], check=True)
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps({"index": "history", "turns": [{"text": "hello"}]}))
    (folder / "key").write_text("sk-ant-api03-bench-bench-bench-bench")
    os.chmod(folder / "key", 0o600)
    provider = subprocess.Popen(
        ["node", ROOT / "tests/provider/fake_llm.mjs", "--scenario", scenario, "--tls-cert",
         folder / "tls/server.pem", "--tls-key", folder / "tls/server.key"],
        stdout=subprocess.PIPE, text=True)
    try:
        compare(folder, calls, json.loads(provider.stdout.readline())["url"])
    finally:
        provider.terminate()
        provider.communicate()


def compare(folder, calls, url):
    port = int(url.rsplit(":", 1)[1])
    client = folder / "workspace/client.py"
    client.write_text(CLIENT)
    direct = subprocess.run(
        [sys.executable, client, str(calls)], check=True, capture_output=True, text=True,
        env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk", "BENCH_CA": str(folder / "tls/ca.pem")})
    (folder / "preset.yaml").write_text(PRESET.replace("ROUNDS", str(calls)))
    job = folder / "calls.yaml"
    job.write_text(f"""version: 1
agent: {{ preset: {folder}/preset.yaml, workspace: {folder}/workspace }}
secrets:
  anthropic: {{ from: {{ file: {folder}/key }}, base_url: "{url}", ca_file: {folder}/tls/ca.pem }}
policy: {{ allow: [ {{ host: 127.0.0.1, port: {port}, methods: [POST], paths: [/v1/messages] }} ] }}
results: {{ dir: {folder}/results-calls }}
""")
    ran = subprocess.run([WARDER, "run", job, "--spool", folder / "spool", "--quiet"], capture_output=True, text=True)
    outputs = list((folder / "results-calls").glob("*/stdout.log"))
    if ran.returncode != 0 or not outputs:
        print(ran.stdout, ran.stderr, file=sys.stderr)
        raise SystemExit("the run through the broker failed")
    table(f"One small call over the client's kept connection, median of {calls}", ["ms"],
          [("direct, TLS", f"{json.loads(direct.stdout):.2f}"),
           ("through the broker, TLS", f"{json.loads(outputs[0].read_text()):.2f}")],
          ["The broker judges each call and opens, for each, a fresh and verified upstream connection."])
