"""What the broker costs, beside proxies that do less and gateways that do other things.

Clients and upstream (a TLS server made for this) share one core, what is measured has the other."""
import contextlib
import json
import os
import statistics
import subprocess
import time

import broker_peers
from broker_peers import MEASURED, OTHERS, Peer
from common import ROOT, table

UPLOAD = 200 << 20


def build(folder):
    for name in ("broker_load", "broker_upstream"):
        subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT}", "-o", folder / name, ROOT / f"tests/bench/{name}.cpp",
                        "-lssl", "-lcrypto"], check=True)


class Bench:
    def __init__(self, folder, rounds):
        self.load = folder / "broker_load"
        self.turns = max(1, rounds // 4)
        self.peers = []

    def ask(self, peer, *words, door=None):
        """The JSON lines that one use of broker_load prints."""
        with self.asking(peer, *words, door=door) as client:
            return [json.loads(line) for line in client.stdout]

    @contextlib.contextmanager
    def asking(self, peer, *words, door=None):
        cores = OTHERS if peer.process else MEASURED
        with subprocess.Popen(["timeout", "400", self.load, door or peer.door, *map(str, words)], text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "BENCH_KEY": peer.key},
                              preexec_fn=lambda: os.sched_setaffinity(0, cores)) as client:
            yield client
        if client.returncode != 0:
            raise SystemExit(f"broker_load {words} failed")

    def in_turns(self, *words, peers=None, door=lambda peer: peer.door):
        """Peer → the median of each figure; all of them meet the same machine."""
        found = {peer.name: [] for peer in peers or self.peers}
        for _ in range(self.turns):
            for peer in peers or self.peers:
                before = peer.core_seconds() if peer.process else 0
                answer = self.ask(peer, *words, door=door(peer))[-1]
                answer["core"] = peer.core_seconds() - before if peer.process else 0
                found[peer.name].append(answer)
        return {name: {key: statistics.median(one[key] for one in some) for key in some[0]}
                for name, some in found.items()}

    def named(self, *names):
        return [peer for peer in self.peers if peer.name in names]

    def calls(self):
        found = self.in_turns("calls", 32, 2)
        # The core's time counts the warm-up too, which is a sixth of it all.
        rows = [(name, f"{one['calls'] / one['seconds']:,.0f}",
                 f"{one['core'] * 1e6 / (one['calls'] * 1.2):.0f}" if one["core"] and one["calls"] else None,
                 int(one["failed"])) for name, one in found.items()]
        table("Small calls over 32 kept connections, one core", ["a second", "µs of a core each", "failed"], rows,
              ["Warder's part holds a judgement of each body and an event for each call; nginx writes no log."])

    def latency(self):
        found = self.in_turns("calls", 100, 3, 100_000, peers=self.named("direct", "warder", "nginx"))
        rows = [(name, *[f"{(one[p] - found['direct'][p]) / 1000:.2f}" for p in ("p50", "p99")],
                 f"{one['p50'] / 1000:.2f}", f"{one['p99'] / 1000:.2f}") for name, one in found.items()]
        table("100 calls at a time, each answered after 100 ms: time outside the upstream, ms",
              ["added p50", "added p99", "p50", "p99"], rows)

    def streams(self):
        found = self.in_turns("streams", 500, 60, 50_000, peers=self.named("direct", "warder", "nginx"))
        rows = [(name, *[f"{(one[p] - found['direct'][p]) / 1000:.2f}" for p in ("p50", "p99")],
                 f"{one['p50'] / 1000:.2f}", f"{one['p99'] / 1000:.2f}",
                 f"{100 * one['core'] / one['seconds']:.0f}" if one["core"] else None, int(one["failed"]))
                for name, one in found.items()]
        table("500 event streams with 20 events a second: how late an event is, ms",
              ["added p50", "added p99", "p50", "p99", "% of a core", "failed"], rows)

    def idle(self, count=5000):
        rows = []
        for peer in self.named("warder", "nginx"):
            before = peer.memory_kib()
            with self.asking(peer, "idle", count, 60_000_000) as client:
                opened = json.loads(client.stdout.readline())
                time.sleep(1)
                each = (peer.memory_kib() - before) / count
                over = json.loads(client.stdout.readline())
            rows.append((peer.name, f"{each:.1f}", int(opened["failed"]), int(over["failed"])))
        table(f"{count:,} open and silent streams", ["KiB each", "ended early", "failed"], rows,
              ["Memory of the process: for each stream the client's connection and one to the upstream with TLS."])

    def uploads(self):
        rows = []
        for peer in self.named("warder", "nginx"):
            cells = []
            for framing in ("length", "chunked"):
                peer.forget_peak()
                before = peer.memory_kib()
                answer = self.ask(peer, "upload", 8, UPLOAD, framing)[0]
                more = (peer.memory_kib("VmHWM") - before) / 1024
                cells += [f"{more:.1f}", f"{8 * 200 / answer['seconds']:,.0f}", int(answer["failed"])]
            rows.append((peer.name, *cells))
        table("8 requests of 200 MiB at once", ["MiB over rest", "MiB/s", "failed", "chunked: MiB over rest", "MiB/s",
                                                "failed"], rows)

    def handshakes(self, direct):
        peers = self.named("warder", "mitmproxy")
        times = {}
        for what, name in (("known host", "known.bench.example"), ("new host", "%.bench.example")):
            for _ in range(self.turns):
                for peer, door in [(direct, direct.door), *[(peer, peer.proxy) for peer in peers]]:
                    answer = self.ask(peer, "shake", 40, name, door=door)[0]
                    times.setdefault((peer.name, what), []).append(answer["p50"] / 1000)
        median = {key: statistics.median(some) for key, some in times.items()}
        rows = [(peer.name, *[f"{median[peer.name, what] - median['direct', what]:.2f}"
                              for what in ("known host", "new host")]) for peer in peers]
        table("Connection by CONNECT and TLS handshake, added to TCP and TLS with a server, ms",
              ["known host", "new host"], rows,
              [f"With a server itself: {median['direct', 'known host']:.2f} ms."])


def measure(folder, rounds):
    build(folder)
    subprocess.run([ROOT / "scripts/provider-tls", folder / "tls"], check=True)
    ca = folder / "tls/ca.pem"
    bench = Bench(folder, rounds)
    upstream = subprocess.Popen(
        [folder / "broker_upstream", folder / "tls/server.pem", folder / "tls/server.key"], stdout=subprocess.PIPE,
        text=True, preexec_fn=lambda: os.sched_setaffinity(0, OTHERS))
    try:
        port = int(upstream.stdout.readline())
        direct = Peer("direct", None, f"tls:{port}:/v1/messages")
        started = [broker_peers.Broker(port, ca, bench.load), broker_peers.nginx(folder, port, ca),
                   broker_peers.mitmproxy(folder, port, ca), broker_peers.litellm(folder, port, ca)]
        bench.peers = [direct, *[peer for peer in started if peer and broker_peers.answers(peer)]]
        wanted = os.environ.get("BENCH_ONLY", "calls latency streams idle uploads handshakes").split()
        for what in wanted:
            getattr(bench, what)(*([direct] if what == "handshakes" else []))
        for peer in started:
            if peer:
                peer.end()
    finally:
        upstream.terminate()
        upstream.wait()
