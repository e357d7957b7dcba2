"""Windows per second against a hand-written loop of the same statements."""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median
from typing import Any

import psycopg

from bench.servers import START, STEP, application, ledgers
from bench.table import print_table, spread
from telafi import Telafi, Transaction, Window
from telafi.ledger.handles.psycopg import columns
from telafi.ledger.texts import Texts, percent_style

WINDOWS = {1: 1_000, 100: 4_000}
ROUNDS = 10
_NAMES = count()


def main() -> None:
    rows = []
    with ledgers() as urls, tempfile.TemporaryDirectory() as place:
        for engine, url in urls.items():
            ours: dict[int, float] = {}
            for group, windows in WINDOWS.items():
                figures = [
                    one_round(engine, url, place, windows, group, first=number % 2 == 0) for number in range(ROUNDS)
                ]
                telafi, by_hand = [pair[0] for pair in figures], [pair[1] for pair in figures]
                ratios = [pair[0] / pair[1] for pair in figures]
                ours[group] = median(telafi)
                rows.append([engine, group, spread(telafi), spread(by_hand), f"{median(ratios):.2f}"])
            rows.append([engine, "100 : 1", f"{ours[100] / ours[1]:.1f} ×", "", ""])
    heads = ["engine", "group", "Telafi windows/s", "by hand windows/s", "Telafi : by hand"]
    print_table("Windows per second (SQLite synchronous=FULL, PostgreSQL fsync and synchronous_commit on)", heads, rows)


def one_round(engine: str, url: str, place: str, windows: int, group: int, *, first: bool) -> tuple[float, float]:
    """Measure both, Telafi first or second: whoever comes later finds a larger file."""
    app = application(url, place, windows)
    make_effects(engine, url)
    by_telafi, hand_written = telafi_run(app, windows, group), by_hand(engine, url, windows, group)
    if first:
        return measured(by_telafi, windows), measured(hand_written, windows)
    other = measured(hand_written, windows)
    return measured(by_telafi, windows), other


def measured(run: Callable[[], int], windows: int) -> float:
    begun = time.perf_counter()
    done = run()
    seconds = time.perf_counter() - begun
    assert done == windows, f"{done} of {windows}"
    return windows / seconds


def telafi_run(app: Telafi, windows: int, group: int) -> Callable[[], int]:
    insert = f"INSERT INTO effects (at, job) VALUES ({marker(app.ledger.url)}, 1)"

    def effect(window: Window, tx: Transaction) -> None:
        tx.execute(insert, (int(window.start.timestamp()),))

    name = f"job-{next(_NAMES)}"
    app.jobs.declare(effect, name=name, every="1m", since="2026-01-01T00:00Z", group=group, max_windows=windows)
    return lambda: sum(type(outcome).__name__ == "Processed" for outcome in app.jobs.run(name))


def by_hand(engine: str, url: str, windows: int, group: int) -> Callable[[], int]:
    """Plan all windows in one transaction, then claim, write, finish and advance, `group` windows a commit."""
    name = f"hand-{next(_NAMES)}"
    spans = [(START + number * STEP, START + (number + 1) * STEP) for number in range(windows)]

    def run() -> int:
        with connected(engine, url) as (connection, texts):
            plan(connection, texts, engine, name, spans)
            done = 0
            for first in range(0, windows, group):
                done += one_commit(connection, texts, engine, name, spans[first : first + group])
        return done

    return run


def plan(connection: Any, texts: Texts, engine: str, name: str, spans: list[tuple[int, int]]) -> None:
    connection.execute("BEGIN IMMEDIATE" if engine == "sqlite" else "BEGIN")
    connection.execute(texts["insert_job"], {"job": name})
    connection.execute(texts["set_watermark"], {"job": name, "watermark": spans[0][0]})
    shared = {"job": name, "state": "planned", "schedule": "every 1m", "zone": None, "tzdata": None, "reason": None}
    rows = [{**shared, "start": start, "end": end, "planned_at": 0} for start, end in spans]
    many(connection, engine, texts["insert_windows"], rows)
    connection.execute("COMMIT")


def one_commit(connection: Any, texts: Texts, engine: str, name: str, spans: list[tuple[int, int]]) -> int:
    insert = f"INSERT INTO effects (at, job) VALUES ({marker(engine)}, 1)"
    shared = {"job": name, "run": f"{spans[0][0]:032x}", "kind": "catch-up", "outside": False, "parked": False}
    claims = [{**shared, "start": start, "end": end, "claim": f"{start:032x}"} for start, end in spans]
    result = {"new": None, "repeated": None, "effects": 1, "milliseconds": 0, "finished_at": 0}
    many_rows = len(spans) > 1
    connection.execute("BEGIN IMMEDIATE" if engine == "sqlite" else "BEGIN; SET LOCAL lock_timeout = 10000")
    if many_rows:
        claimed = many(connection, engine, texts["claim_windows"], claims)
    else:
        claimed = connection.execute(texts["claim_window"], claims[0])
    transaction = claimed.fetchone()[0] if engine == "postgresql" else None
    for start, _ in spans:
        connection.execute(insert, (start // 1_000_000,))
    rows = [{**claim, **result, "transaction": transaction} for claim in claims]
    if many_rows:
        finished = many(connection, engine, texts["finish_windows"], rows)
    else:
        finished = connection.execute(texts["finish_window"], rows[0])
    connection.execute(texts["advance_watermark"], {"job": name, "start": spans[0][0], "end": spans[-1][1]})
    connection.execute("COMMIT")
    done: int = finished.rowcount
    return done


def many(connection: Any, engine: str, text: str, rows: list[dict[str, Any]]) -> Any:
    if engine == "sqlite":
        return connection.executemany(text, rows)
    return connection.execute(text, columns(rows))


@contextmanager
def connected(engine: str, url: str) -> Iterator[tuple[Any, Texts]]:
    if engine == "sqlite":
        connection: Any = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        texts = Texts("sqlite")
    else:
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        texts = Texts("postgresql", percent_style)
    try:
        yield connection, texts
    finally:
        connection.close()


def make_effects(engine: str, url: str) -> None:
    with connected(engine, url) as (connection, _):
        connection.execute("CREATE TABLE IF NOT EXISTS effects (at bigint NOT NULL, job bigint NOT NULL)")


def marker(engine: str) -> str:
    return "?" if engine.startswith("sqlite") else "%s"
