"""What Telafi adds to a process: importing it, and running a job that has nothing to do."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.table import print_table, spread

RUNS = 15
APPLICATION = """
from telafi import Telafi, Transaction, Window

app = Telafi("sqlite:///{directory}/ledger.db")


@app.job(every="100d")
def idle(window: Window, tx: Transaction) -> None:
    pass
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "idle_application.py").write_text(APPLICATION.format(directory=directory))
        commands = {
            "bare interpreter": ["-c", "pass"],
            "import telafi": ["-c", "import telafi"],
            "telafi run, idle": ["-m", "telafi", "-A", "idle_application:app", "run", "idle"],
        }
        figures = {name: [] for name in commands} | {}
        for number in range(RUNS + 1):
            for name, arguments in commands.items():
                milliseconds = timed(arguments, directory)
                if number:
                    figures[name].append(milliseconds)
    bare = figures["bare interpreter"]
    rows = []
    for name, values in figures.items():
        more = [value - other for value, other in zip(values, bare, strict=True)]
        rows.append([name, spread(values, 1), f"{median(more):+.1f}"])
    print_table("Whole processes", ["command", "ms", "over the bare interpreter, ms"], rows)


def timed(arguments: list[str], directory: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1_000
