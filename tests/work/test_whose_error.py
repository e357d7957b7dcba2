"""Whose error it is: of another database the job's own, of our lost connection nobody's, of a closed one the job's."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from telafi import LedgerError, Run, Transaction, Window
from telafi.cli.exit_status import FAILED, Verdict
from telafi.events import Retried
from tests.crash.hourly import styled
from tests.postgresql_server import free_port
from tests.work.stage import DAY, Stage

LIVE = "PROCESSED 11:00-12:00 live"
STYLES = ["inside", "end", "write", "group", "outside"]


def declare(stage: Stage, function: Any, **options: Any) -> None:
    stage.app.job(**{"name": "hourly", "every": "1h", "since": f"{DAY}T11:00Z", **options})(function)


# ------------------------------------------------------------------------------------------- of another database


def connect_elsewhere(folder: Path) -> object:
    return psycopg.connect(f"postgresql://nobody@127.0.0.1:{free_port()}/nowhere", connect_timeout=5)


def open_elsewhere(folder: Path) -> object:
    return sqlite3.connect(folder / "missing" / "other.db")


def read_elsewhere(folder: Path) -> object:
    (folder / "other.db").write_bytes(b"sales of September\n" * 500)
    with closing(sqlite3.connect(folder / "other.db")) as other:
        return other.execute("SELECT * FROM sales")


def another_ledger(folder: Path) -> object:
    raise LedgerError("the ledger of the job's own application is away")


ELSEWHERE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a server that is down": (connect_elsewhere, "OperationalError"),
    "a file that cannot be opened": (open_elsewhere, "OperationalError"),
    "a file that is no database": (read_elsewhere, "DatabaseError"),
    "another ledger": (another_ledger, "LedgerError"),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("meet", "name"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_another_database_answers_is_the_jobs_own_failure(
    stage: Stage, tmp_path: Path, meet: Callable[[Path], object], name: str, style: str
) -> None:
    def work(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        meet(tmp_path)

    def outside(window: Window) -> None:
        meet(tmp_path)

    verdict = Verdict()
    stage.app.subscribe(verdict)
    body = outside if style == "outside" else styled(style, work)
    declare(stage, body, on_error="park", attempts=2, group=2 if style == "group" else 1)
    assert stage.run() == [f"FAILED 11:00-12:00 {name} 1/2"]
    assert stage.run() == [f"FAILED 11:00-12:00 {name} 2/2 parked"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 parked"])
    assert stage.told(Retried) == []
    assert verdict.status() == FAILED, "not out of reach: the ledger was there all the time"


def test_a_server_that_is_down_is_the_jobs_own_failure_before_its_block_too(stage: Stage, tmp_path: Path) -> None:
    def body(window: Window, run: Run) -> None:
        connect_elsewhere(tmp_path)

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 OperationalError 1"]
    assert stage.told(Retried) == []


def test_a_server_that_is_down_is_told_from_a_lent_connection_too(postgresql_stage: Stage, tmp_path: Path) -> None:
    stage = postgresql_stage

    def body(window: Window, connection: psycopg.Connection[Any]) -> None:
        connection.execute("INSERT INTO effects VALUES ('one', 1)")
        connect_elsewhere(tmp_path)

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 OperationalError 1"]
    assert (stage.effects(), stage.told(Retried)) == ([], [])
