"""What the parts of the benchmark share: where the programs are, medians, tables."""
import os
import pathlib
import shutil
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARDER = pathlib.Path(os.environ.get("WARDER_BIN", ROOT / "build/release-static")) / "warder"


def median_time(command, rounds):
    """Milliseconds from start to end of a command that must succeed."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def there(program):
    """The program's path, or None."""
    return shutil.which(str(program))


def table(title, columns, rows, notes=()):
    """rows: (name, cell, cell, …); a cell that is None was not to be had."""
    lines = [("", *columns), *[tuple("–" if cell is None else str(cell) for cell in row) for row in rows]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns) + 1)]
    print(f"\n{title}")
    for line in lines:
        print("  " + line[0].ljust(widths[0]) + "".join("  " + cell.rjust(width)
                                                       for cell, width in zip(line[1:], widths[1:])))
    for note in notes:
        print(f"  {note}")


def private_kib(pid):
    """(dirty, clean): memory that only this process has; and pages of files that only it maps and
    that the kernel may drop. Source: proc_pid_smaps(5)."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    values = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines() if line.endswith("kB")}
    return values["Private_Dirty"], values["Private_Clean"]
