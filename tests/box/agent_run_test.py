"""The whole way: a real Claude Code in a box, its key with the broker, its results in a collector."""
import json

import world

PROMPT = "Write hello.txt, then count its bytes into count.txt."


def claude_job(person, provider, key_file, **parts):
    results = parts.pop("results", {})
    return person.job(
        agent={"preset": "claude-code", "prompt": PROMPT, "read_only": [str(person.tools.agent_folder)]},
        secrets=provider.secret(key_file), policy=provider.policy(),
        limits={"wall": "3m"}, results=results, **parts)


def test_claude_code_works_in_the_box_and_its_results_lie_in_the_collector(person, provider, collector):
    upstream = provider("file_and_shell")
    sink = collector()
    key_file = person.write("key", upstream.key + "\n", 0o600)
    job = claude_job(person, upstream, key_file, results={
        "artifacts": ["*.txt"], "patch": True, "to": [sink.sink()]})

    ran = person.run(job)

    assert ran.code == 0, ran.explain()
    # The agent's work, collected.
    assert (ran.results / "artifacts/hello.txt").read_text() == "hello from the agent\n"
    assert (ran.results / "artifacts/count.txt").read_text() == "21 hello.txt\n1000\n"
    assert "+hello from the agent" in (ran.results / "changes.patch").read_text()
    # The provider saw the real key on each call, and nothing but the agent's calls.
    calls = upstream.requests()
    assert len(calls) == 3, calls
    assert all(call["key_ok"] and call["tls"] for call in calls)
    # The report: outcome, usage as the provider counted it, the agent's own words.
    report = ran.report
    assert report["outcome"]["class"] == "ok", report["outcome"]
    assert "All done" in ran.output
    events = ran.events()
    used = [event["data"] for event in events if event["type"] == "llm.call"]
    assert [call["status"] for call in used] == [200, 200, 200]
    assert sum(call["input_tokens"] for call in used) == 12000 + 300 + 400
    assert sum(call["output_tokens"] for call in used) == 80 + 60 + 20
    assert sum(call["cache_read_tokens"] for call in used) == 30000
    assert sum(call["cache_write_tokens"] for call in used) == 3000
    # The same in the collector.
    assert [run["run_id"] for run in sink.runs()] == [ran.run_id]
    delivered = sink.run(ran.run_id)
    assert delivered["report"]["outcome"] == report["outcome"]
    # And what lies in the spool can be proven.
    verified = person.warder("verify", ran.run_dir)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    # The final words name the outcome, the folder and the page.
    assert str(ran.results) in ran.stdout
    assert sink.url in ran.stdout


def test_no_form_of_the_real_key_is_in_what_a_run_leaves(person, provider, collector):
    upstream = provider("file_and_shell")
    sink = collector()
    key_file = person.write("key", upstream.key, 0o600)
    ran = person.run(claude_job(person, upstream, key_file, results={"patch": True, "to": [sink.sink()]}))
    assert ran.code == 0, ran.explain()
    assert upstream.key not in ran.stdout + ran.stderr
    searched = 0
    for folder in (person.spool, person.results, person.workspace, person.folder.parent / "collector"):
        for path in folder.rglob("*"):
            if path.is_file():
                searched += 1
                assert upstream.key.encode() not in path.read_bytes(), path
    assert searched > 5


# Runs as the agent and looks for anything that has the mark of a real key (BC-016). The mark is put
# together here so that the program does not find itself.
SEARCHER = r"""
import glob, json, os, re, sys
mark = re.compile(rb"WARDER" + rb"REALKEY[0-9a-f]{8,}")
started = float(sys.argv[1])
found, looked = [], {"environ": 0, "cmdline": 0, "fd": 0, "mem": 0, "file": 0}
def look(kind, where, data):
    looked[kind] += 1
    for match in mark.finditer(data):
        found.append([where, match.group(0).decode()])
def read(path, limit=64 << 20):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        data = b""
        while len(data) < limit:
            part = os.read(fd, 1 << 20)
            if not part: break
            data += part
        return data
    finally:
        os.close(fd)
look("environ", "own environment", "\0".join(f"{k}={v}" for k, v in os.environ.items()).encode())
pids = sorted(set(p for p in os.listdir("/proc") if p.isdigit()) | set(map(str, range(1, 64))), key=int)
for pid in pids:
    for kind in ("environ", "cmdline"):
        try: look(kind, f"/proc/{pid}/{kind}", read(f"/proc/{pid}/{kind}"))
        except OSError: pass
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try: look("fd", f"/proc/{pid}/fd/{fd}", read(f"/proc/{pid}/fd/{fd}", 1 << 20))
            except OSError: pass
    except OSError: pass
    if int(pid) == os.getpid(): continue
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if "r" not in rights: continue
                begin, end = (int(x, 16) for x in span.split("-"))
                try:
                    memory.seek(begin); look("mem", f"/proc/{pid}/mem {line.strip()}", memory.read(min(end - begin, 256 << 20)))
                except (OSError, OverflowError, ValueError): pass
    except OSError: pass
for folder, folders, files in os.walk("/"):
    if folder in ("/proc", "/sys"): folders[:] = []; continue
    for name in files:
        path = os.path.join(folder, name)
        try:
            status = os.lstat(path)
            # The key is younger than this test; older files cannot hold it.
            if os.path.isfile(path) and max(status.st_mtime, status.st_ctime) > started:
                look("file", path, read(path))
        except OSError: pass
print(json.dumps({"found": found, "looked": looked, "pids": len(pids)}))
"""


def test_bc_016_the_agent_finds_the_real_key_nowhere(person, provider, machine):
    """The search runs as a tool of the real agent, beside it, with the real key in the broker."""
    key = world.new_key()
    started = machine.stat().st_ctime - 1
    person.write("workspace/search.py", SEARCHER)
    person.write("workspace/decoy.txt", "WARDER" + "REALKEY" + "00000000decoy")
    upstream = provider({"turns": [
        {"text": "I look around.", "tools": [
            {"shell": f"python3 /workspace/search.py {started} > /workspace/found.json 2> /workspace/search.err"}]},
        {"text": "Done."}]}, key)
    key_file = person.write("key", key, 0o600)
    ran = person.run(claude_job(person, upstream, key_file, results={"artifacts": ["found.json", "search.err"]}))
    assert ran.code == 0, ran.explain()
    assert (ran.results / "artifacts/search.err").read_text() == ""
    answer = json.loads((ran.results / "artifacts/found.json").read_text())
    # The search works: it saw other processes of the agent and found what was put there to be found.
    assert answer["looked"]["mem"] > 0 and answer["looked"]["environ"] > 1 and answer["looked"]["fd"] > 0
    places = {where for where, _ in answer["found"]}
    assert "/workspace/decoy.txt" in places
    real = [where for where, text in answer["found"] if text in key]
    assert real == [], real
    # And the key was in use all the while.
    assert all(call["key_ok"] for call in upstream.requests())


def test_the_agent_is_told_what_was_refused_and_the_report_says_so(person, provider):
    upstream = provider("plain")
    key_file = person.write("key", upstream.key, 0o600)
    job = person.job(
        agent={"preset": "claude-code", "prompt": PROMPT, "read_only": [str(person.tools.agent_folder)]},
        secrets=upstream.secret(key_file), policy={}, limits={"wall": "3m"})
    ran = person.run(job)
    assert ran.code == 13, ran.explain()
    assert upstream.requests() == []
    assert ran.report["outcome"]["class"] == "policy"
    assert ran.events("broker.denied")


def test_a_key_that_the_provider_refuses_is_the_providers_fault_and_said_so(person, provider):
    upstream = provider("plain")
    key_file = person.write("key", world.new_key(), 0o600)
    job = person.job(
        agent={"preset": "claude-code", "prompt": PROMPT, "read_only": [str(person.tools.agent_folder)],
               "env": {"CLAUDE_CODE_MAX_RETRIES": "1"}},
        secrets=upstream.secret(key_file), policy=upstream.policy(), limits={"wall": "3m"})
    ran = person.run(job)
    assert ran.code == 12, ran.explain()
    assert ran.report["outcome"]["class"] == "provider"


def test_json_prints_the_report_alone(person):
    job = person.job(agent={"command": ["/bin/true"]})
    ran = person.run(job, "--json")
    assert ran.code == 0, ran.explain()
    assert json.loads(ran.stdout) == ran.report
