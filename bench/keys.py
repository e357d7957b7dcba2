"""Record keys: a thousand at once against one by one."""

import tempfile
import time
from collections.abc import Callable
from statistics import median

from bench.servers import application, ledgers
from bench.table import print_table, spread
from telafi import Telafi, Transaction, Window

KEYS = 1_000
ROUNDS = 7


def main() -> None:
    rows = []
    with ledgers() as urls, tempfile.TemporaryDirectory() as place:
        for engine, url in urls.items():
            app = application(url, place, ROUNDS)
            at_once, one_by_one = figures(app)
            ratio = median(b / a for a, b in zip(at_once, one_by_one, strict=True))
            rows.append([engine, spread(at_once, 2), spread(one_by_one, 2), f"{ratio:.1f} ×"])
    heads = ["engine", "first_times, ms", "first_time in a loop, ms", "faster by"]
    print_table(f"{KEYS:,} record keys, all new, in one unit", heads, rows)


def figures(app: Telafi) -> tuple[list[float], list[float]]:
    at_once: list[float] = []
    one_by_one: list[float] = []

    def job(window: Window, tx: Transaction) -> None:
        set_based, looped = (
            [f"{letter}:{window.start.minute}:{number}" for number in range(KEYS)] for letter in ("order", "line")
        )
        at_once.append(timed(lambda: tx.first_times(set_based)))
        one_by_one.append(timed(lambda: [tx.first_time(key) for key in looped]))

    app.jobs.declare(job, name="keys", every="1m", since="2026-01-01T00:00Z")
    app.jobs.run("keys")
    return at_once, one_by_one


def timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1_000
