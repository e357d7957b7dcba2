"""Public reports about SQLite's transactions, each repeated with every driver that it can happen to."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from telafi import Window
from telafi.errors import NotJoinable
from tests.ledger.kinds import ON_SQLITE, Effect, Kind, Pen, hourly, only, waited
from tests.work.stage import Stage

RAW = [kind for kind in ON_SQLITE if kind.is_raw]


@pytest.fixture(params=ON_SQLITE, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each class of connection on SQLite."""
    chosen: Kind = request.param
    return chosen


def is_untouched(stage: Stage) -> bool:
    tables = {row[0] for row in stage.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    marks = stage.execute("SELECT COUNT(*) FROM telafi_marks")[0][0]
    return (stage.effects(), stage.rows(), marks, "results" in tables) == ([], ["10:00-11:00 planned"], 0, False)


@only(RAW)
@pytest.mark.parametrize("swallowed", [False, True])
def test_T4_03_executescript_leaves_neither_mark_nor_effect(stage: Stage, kind: Kind, *, swallowed: bool) -> None:
    async def script(pen: Pen, window: Window) -> None:
        await pen.first_time("order:1")
        await pen.write("10:00")
        with suppress(sqlite3.DatabaseError if swallowed else ZeroDivisionError):
            await pen.call("executescript", "SELECT 1;")

    hourly(stage, kind, script, max_windows=1)
    assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 1"]
    assert is_untouched(stage)


def test_T4_05_a_table_that_a_failed_job_created_is_gone(stage: Stage, kind: Kind) -> None:
    async def create(pen: Pen, window: Window) -> None:
        await pen.execute("CREATE TABLE results (place TEXT)")
        await pen.execute("INSERT INTO results VALUES ('10:00')")
        await pen.first_time("order:1")
        raise RuntimeError

    hourly(stage, kind, create, max_windows=1)
    assert stage.run() == ["FAILED 10:00-11:00 RuntimeError 1"]
    assert is_untouched(stage)


@only(RAW[:1])
def test_T4_05_a_classic_connection_is_not_joined_before_its_transaction(stage: Stage, kind: Kind) -> None:
    stage.app.ledger.upgrade()
    connection = sqlite3.connect(stage.url.removeprefix("sqlite:///"))
    connection.execute("CREATE TABLE results (place TEXT)")  # committed already, as the report says
    with pytest.raises(NotJoinable, match="begins one by itself only at INSERT"):
        stage.app.join(connection, scope="billing")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE more_results (place TEXT)")
    assert stage.app.join(connection, scope="billing").first_time("order:1")
    connection.rollback()
    assert stage.execute("SELECT COUNT(*) FROM telafi_marks") == [(0,)]
    assert stage.execute("SELECT name FROM sqlite_master WHERE name LIKE '%results'") == [("results",)]
    connection.close()


def test_T4_06_a_savepoint_as_first_statement_lies_inside_the_unit(stage: Stage, kind: Kind) -> None:
    async def nest(pen: Pen, window: Window) -> None:
        if kind.is_raw:
            await pen.execute("SAVEPOINT first")
            await pen.write("10:00")
            await pen.execute("RELEASE first")
        else:
            nested = await waited(pen.thing.begin_nested())
            await pen.write("10:00")
            await waited(nested.commit())
        assert stage.effects() == []
        raise RuntimeError

    hourly(stage, kind, nest, max_windows=1)
    assert stage.run() == ["FAILED 10:00-11:00 RuntimeError 1"]
    assert is_untouched(stage)


@only(RAW[:1])
def test_T4_06_a_users_own_session_is_joined_outside_of_its_savepoint_only(stage: Stage, kind: Kind) -> None:
    stage.app.ledger.upgrade()
    engine = create_engine(stage.url)
    with Session(engine) as session:
        with session.begin_nested():
            session.add(Effect(place="released"))
            session.flush()
            with pytest.raises(NotJoinable, match="before begin_nested"):
                stage.app.join(session, scope="billing")
        session.rollback()
    assert stage.effects() == ["released"]  # the report: SQLAlchemy's own session, without us
    with Session(engine) as session:
        tx = stage.app.join(session, scope="billing")
        with session.begin_nested():
            session.add(Effect(place="joined"))
            assert tx.first_time("order:1")
        session.rollback()
    engine.dispose()
    assert stage.effects() == ["released"]
    assert stage.execute("SELECT COUNT(*) FROM telafi_marks") == [(0,)]


@only(RAW[1:])
def test_the_async_handle_refuses_a_file_that_was_replaced(stage: Stage, kind: Kind, tmp_path: Path) -> None:
    async def replace(pen: Pen, window: Window) -> None:
        path = tmp_path / "ledger.db"
        copy = path.with_suffix(".copy")
        copy.write_bytes(path.read_bytes())
        await asyncio.to_thread(copy.replace, path)

    hourly(stage, kind, replace)
    told = stage.run()
    assert told[-1] != "PROCESSED 11:00-12:00 live"
    assert "11:00" not in stage.effects()
