"""How the statements of every run are executed where there is a lot of history: by an index, and by few rows."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from telafi import Telafi
from telafi.ledger.engines.postgresql import PostgresqlEngine
from telafi.ledger.texts import Texts
from tests.postgresql_server import PostgresqlServer

HOUR = 3_600_000_000
ROWS = 100_000
JOB = "busy"
END = ROWS * HOUR
SHARED = {"job": JOB, "claim": "mine", "run": "run 7", "kind": "live", "outside": False}
NEWEST = {**SHARED, "start": END - HOUR, "end": END}

# Statements with the parameters of a job whose history is long and whose newest window is due.
STATEMENTS: dict[str, dict[str, Any]] = {
    "claim_window": {**NEWEST, "parked": False},
    "finish_window": {
        **NEWEST, "transaction": None, "new": 1, "repeated": 0, "effects": 1, "milliseconds": 1, "finished_at": 1,
    },
    "fail_window": {**NEWEST, "state": "planned", "reason": "x", "error": "x"},
    "read_window": NEWEST,
    "read_windows_ahead": {"job": JOB, "position": END - HOUR},
    "read_ranges_ahead": {"job": JOB, "position": END - HOUR},
    "read_first_start": {"job": JOB},
    "read_last_effects": {"job": JOB, "rows_max": 3},
    # Nothing is old enough to be compacted: that must not be found out by looking at all of it.
    "read_compactable": {"job": JOB, "horizon": HOUR // 2, "rows_max": 1_000},
    "advance_watermark": NEWEST,
    "lock_job": {"job": JOB},
    "insert_mark": {"scope": JOB, "key": "order:new", "fingerprint": None, "parent": "busy", "created_at": 1},
    "read_mark": {"scope": JOB, "key": "order:77"},
    "read_runs": {"job": JOB, "run": "run 7"},
    "read_charges": {"job": JOB},
    "forget_settled_charges": {"job": JOB},
    "delete_run": {"run": "run 7"},
}  # fmt: skip
MOST_PAGES = 60


def filling(dialect: str) -> list[str]:
    """Write the statements that fill a ledger: 100,000 windows of one job, 100,000 marks, and many other jobs."""
    if dialect == "sqlite":
        numbers = (
            "(WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last}) SELECT i FROM n) AS n"
        )
        prefix = "telafi_"
    else:
        numbers, prefix = "generate_series(0, {last}) AS n (i)", "telafi."
    many, some = numbers.format(last=ROWS - 1), numbers.format(last=4_999)
    newest = f"CASE WHEN i < {ROWS - 1} THEN 'done' ELSE 'planned' END"
    rows = {
        "jobs (job, watermark)": f"'job ' || i, 0 FROM {some}",
        "jobs (watermark, job)": f"{END - HOUR}, '{JOB}'",
        "windows (job, start_at, end_at, state, schedule, run, effects, planned_at)": (
            f"'{JOB}', i * {HOUR}, (i + 1) * {HOUR}, {newest}, 'every 1h', 'run ' || (i % 5000), 1, 0 FROM {many}"
        ),
        "windows (job, start_at, end_at, state, schedule, planned_at)": (
            f"'job ' || i, 0, {HOUR}, 'done', 'every 1h', 0 FROM {some}"
        ),
        "ranges (job, start_at, end_at, windows)": (
            f"'{JOB}', (i - 5000) * {HOUR}, (i - 4999) * {HOUR}, 1 FROM {some}"
        ),
        "runs (id, job, plan, owner, opened_at)": f"'run ' || i, 'job ' || i, '[]', 'x', 0 FROM {some}",
        "marks (scope, mark_key, created_at)": f"'{JOB}', 'order:' || i, 0 FROM {many}",
    }
    return [*(f"INSERT INTO {prefix}{table} SELECT {values}" for table, values in rows.items()), "ANALYZE"]


@pytest.fixture(scope="module")
def sqlite_connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("plans")
    Telafi(f"sqlite:///{folder}/ledger.db", place=folder / "locks").ledger.upgrade()
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for statement in filling("sqlite"):
            connection.execute(statement)
        connection.execute("COMMIT")
        yield connection


@pytest.fixture(scope="module")
def postgresql_connection(
    postgresql_server: PostgresqlServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[psycopg.Connection[Any]]:
    url = postgresql_server.create_database()
    Telafi(url, place=tmp_path_factory.mktemp("locks")).ledger.upgrade()
    with psycopg.connect(url) as connection:
        for statement in filling("postgresql"):
            connection.execute(statement.encode())
        connection.commit()
        yield connection
    postgresql_server.drop_database(url)


@pytest.mark.parametrize("name", STATEMENTS)
def test_sqlite_searches_and_never_scans(sqlite_connection: sqlite3.Connection, name: str) -> None:
    text = Texts("sqlite")[name]
    plan = [row[3] for row in sqlite_connection.execute(f"EXPLAIN QUERY PLAN {text}", STATEMENTS[name])]
    assert not [step for step in plan if step.startswith("SCAN") and "CONSTANT ROW" not in step], plan
    if name == "read_compactable":
        assert any("job=? AND start_at<?" in step for step in plan), plan
    if name in ("read_windows_ahead", "read_ranges_ahead"):
        assert any("job=? AND start_at>?" in step for step in plan), plan
    if name == "insert_mark":
        opcodes = {row[1] for row in sqlite_connection.execute(f"EXPLAIN {text}", STATEMENTS[name])}
        assert "NoConflict" in opcodes, "told by the key's own index"
        assert not opcodes & {"Rewind", "Last", "Next"}, opcodes


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


@pytest.mark.parametrize("name", STATEMENTS)
def test_postgresql_reads_few_rows_and_by_an_index(postgresql_connection: psycopg.Connection[Any], name: str) -> None:
    text = PostgresqlEngine("postgresql://unused").texts[name]
    with postgresql_connection.transaction(force_rollback=True):
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON, TIMING OFF) {text}".encode()
        answer = postgresql_connection.execute(explain, STATEMENTS[name]).fetchone()
    assert answer is not None
    found = list(nodes(answer[0][0]["Plan"]))
    shown = json.dumps(answer[0][0]["Plan"], indent=1)
    assert not [node for node in found if node["Node Type"] == "Seq Scan"], shown
    pages = found[0]["Shared Hit Blocks"] + found[0]["Shared Read Blocks"]
    assert pages <= MOST_PAGES, shown
    if name == "insert_mark":
        assert found[0]["Conflict Arbiter Indexes"] == ["marks_pkey"], shown
    else:
        assert [node for node in found if node["Node Type"].startswith("Index")], shown
