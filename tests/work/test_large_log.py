"""SQLite's log: it stays small by itself, and a reader that keeps it from shrinking is told of."""

import sqlite3
from contextlib import closing

import pytest

from telafi import Transaction, Window
from telafi.events import Warned
from tests.work.stage import Stage


@pytest.mark.parametrize(("readers", "told"), [(1, ["the log ledger.db-wal"]), (0, [])])
def test_T4_10_F04_a_log_that_cannot_shrink_is_told_of(sqlite_stage: Stage, readers: int, told: list[str]) -> None:
    stage = sqlite_stage
    stage.app.ledger.upgrade()

    def writes(window: Window, tx: Transaction) -> None:
        tx.execute("CREATE TABLE IF NOT EXISTS large (content BLOB)")
        tx.execute("DELETE FROM large")
        tx.execute("INSERT INTO large VALUES (zeroblob(40000000))")

    stage.hourly(writes)
    with closing(sqlite3.connect(stage.url.removeprefix("sqlite:///"), isolation_level=None)) as reader:
        if readers:
            reader.execute("BEGIN")
            reader.execute("SELECT COUNT(*) FROM effects").fetchone()
        stage.run()
    warnings = [event.text for event in stage.events if isinstance(event, Warned)]
    assert [text.partition(" has grown")[0] for text in warnings] == told
