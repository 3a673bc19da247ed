"""What an init costs and loses: Warder beside tini, dumb-init and catatonit, as PID 1."""
import json
import os
import statistics
import subprocess
import time

from common import ROOT, WARDER, private_kib, table, there

DELAYS = (250, 500, 1000, 5000)  # microseconds
BURST, BURSTS = 5000, 10


def inits():
    """Name → the command line in front of what the init runs."""
    peers = {"tini": ["tini", "--"], "tini, static": ["tini-static", "--"], "dumb-init": ["dumb-init", "--"],
             "catatonit": ["catatonit", "--"]}
    return {"warder init": [WARDER, "init", "--"], **{name: words for name, words in peers.items() if there(words[0])}}


def build(folder):
    program = folder / "init_timing"
    subprocess.run(["cc", "-O2", "-static", "-o", program, ROOT / "tests/bench/init_timing.c"], check=True)
    return program


def ask(program, *words, real_time=False):
    """One measurement. The processes that it starts inherit a real-time class if that is asked for
    and allowed, so that what runs beside them does not count."""
    prefix = ["chrt", "--rr", "1"] if real_time else []
    command = [*prefix, program, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0 and real_time:
        return ask(program, *words)
    return json.loads(done.stdout) if done.returncode == 0 else None


def early_signals(program, rounds):
    def lost(words, delay):
        answer = ask(program, "early", rounds, delay, *words, real_time=True)
        return answer and answer["lost"]
    rows = [(name, *[lost(words, delay) for delay in DELAYS]) for name, words in inits().items()]
    table(f"TERM lost, of {rounds}, sent that long after the exec of PID 1", [f"{d / 1000:g} ms" for d in DELAYS], rows,
          ["Everybody with real-time priority where that is allowed: what counts is the program's own time."])


def in_turns(commands, turns=5):
    """Name → command line: each is asked several times, in turns, so that all of them meet the same
    machine. Name → the median of each figure, or None."""
    answers = {name: [] for name in commands}
    for _ in range(turns):
        for name, words in commands.items():
            answers[name].append(ask(*words))
    return {name: None if None in some else {key: statistics.median(one[key] for one in some) for key in some[0]}
            for name, some in answers.items()}


def starts(program, rounds):
    commands = {"bare exec": [], **inits()}
    found = in_turns({name: [program, "start", rounds // 5, *words, "/bin/true"] for name, words in commands.items()})
    bare = found["bare exec"]["p10"]
    rows = [(name, *((None,) * 4 if one is None else (
        f"{one['p50'] / 1000:.2f}", f"{one['p10'] / 1000:.2f}", f"{(one['p10'] - bare) / 1000:+.2f}",
        f"{one['faults']:.0f}"))) for name, one in found.items()]
    table(f"`true` as a pid namespace of its own, start to end, {rounds} times, ms",
          ["median", "fastest tenth", "over bare exec", "page faults"], rows,
          ["Over bare exec: by the fastest tenth, which a busy machine disturbs least."])


def forwards(program, rounds):
    found = in_turns({name: [program, "forward", rounds // 5, *words] for name, words in inits().items()})
    rows = [(name, *((None, None) if one is None else (f"{one['p50']:.0f}", f"{one['p99']:.0f}")))
            for name, one in found.items()]
    table(f"A signal from its sender through PID 1 to the program, of {rounds}", ["p50 µs", "p99 µs"], rows)


def bursts(program):
    rows = []
    for name, words in inits().items():
        one = ask(program, "burst", BURST, BURSTS, *words)
        rows.append((name, *((None, None) if one is None else (f"{one['rate']:.0f}", one["left"]))))
    table(f"Orphans that end at once: {BURSTS} bursts of {BURST}", ["collected a second", "left over"], rows)


def memory_at_rest(program):
    rows = []
    for name, words in inits().items():
        # Its own pid namespace, so that it is PID 1, and killed as a whole.
        running = subprocess.Popen(["unshare", *([] if os.getuid() == 0 else ["--map-root-user"]), "--pid", "--fork",
                                    "--kill-child", *[str(word) for word in words], "/bin/sleep", "1000"])
        time.sleep(0.3)
        try:
            children = open(f"/proc/{running.pid}/task/{running.pid}/children").read().split()
            dirty, clean = private_kib(children[0])
            rows.append((name, dirty, clean))
        finally:
            running.kill()
            running.wait()
    table("Private memory of PID 1 at rest, KiB", ["its own", "pages of its file that nobody else maps"], rows)


def size():
    rows = [(name, f"{os.stat(there(words[0])).st_size / 1024:.0f}") for name, words in inits().items()]
    table("Size of the program, KiB", ["KiB"], rows, ["tini and dumb-init need a C library beside them."])


def measure(folder, rounds):
    program = build(folder)
    early_signals(program, 10 * rounds)
    starts(program, 10 * rounds)
    forwards(program, 50 * rounds)
    bursts(program)
    memory_at_rest(program)
    size()
