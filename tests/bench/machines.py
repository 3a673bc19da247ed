"""What a microVM's first process costs, beside busybox init with the same kernel."""
import json
import subprocess

from common import ROOT, table


def measure(_folder, rounds):
    if not (ROOT / "build/microvm/vmlinuz").exists():
        print("\nA machine's boot: image/microvm/build has not been run, so there is nothing to boot.")
        return
    done = subprocess.run([ROOT / "image/microvm/boot-time", "--rounds", str(max(rounds // 4, 3))],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print("\nA machine's boot:", done.stderr.strip())
        return
    times = json.loads(done.stdout)
    table("The kernel's hand-over to the agent in a microVM (emulated, TCG)", ["median ms", "least ms"],
          [("warder init --microvm", times["warder"]["median_ms"], times["warder"]["least_ms"]),
           ("busybox init", times["busybox"]["median_ms"], times["busybox"]["least_ms"])])
