"""A connection that the server has ended is nobody's failure; one that the job has closed is the job's."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiosqlite
import psycopg
import pytest

from telafi import AsyncRun, AsyncTransaction, Run, Transaction, Window
from tests.crash.hourly import styled
from tests.postgresql_server import PostgresqlServer
from tests.work.stage import DAY, Stage

LIVE = "PROCESSED 11:00-12:00 live"


def declare(stage: Stage, function: Any, **options: Any) -> None:
    stage.app.job(**{"name": "hourly", "every": "1h", "since": f"{DAY}T11:00Z", **options})(function)


def backend_gone(stage: Stage, pid: int | None = None) -> None:
    """Look until a backend of Telafi's, or all of them, are gone."""
    text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'telafi'"
    text += "" if pid is None else f" AND pid = {pid}"
    with psycopg.connect(stage.url, autocommit=True) as connection:
        for _ in range(50_000):
            found = connection.execute(text.encode()).fetchone()
            if found == (0,):
                return
    raise AssertionError("it is still there")


# --------------------------------------------------------------------------------------- that was ended


def swallow_and_raise(tx: Transaction) -> None:
    try:
        tx.execute("SELECT 1")
    except psycopg.Error:
        raise ValueError("something went wrong") from None


def only_raise(tx: Transaction) -> None:
    raise ValueError("in Python code")


def only_swallow(tx: Transaction) -> None:
    with suppress(psycopg.Error):
        tx.execute("SELECT 1")


@pytest.mark.parametrize("style", ["inside", "end", "write", "group"])
@pytest.mark.parametrize("then", [only_raise, swallow_and_raise, only_swallow])
def test_a_unit_whose_backend_has_ended_is_repeated_whatever_its_body_made_of_it(
    postgresql_stage: Stage, then: Callable[[Transaction], None], style: str
) -> None:
    stage = postgresql_stage
    calls: list[str] = []

    def work(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        calls.append(window.key)
        if len(calls) == 1:
            [(pid,)] = tx.execute("SELECT pg_backend_pid()").fetchall()
            stage.execute(f"SELECT pg_terminate_backend({pid})")
            backend_gone(stage, pid)
            then(tx)

    options = {"group": 2, "since": f"{DAY}T10:00Z"} if style == "group" else {}
    declare(stage, styled(style, work), on_error="park", attempts=1, **options)
    done = [LIVE] if style != "group" else ["PROCESSED 10:00-11:00 catch-up", LIVE]
    assert stage.run() == done
    assert stage.effects() == ["10:00", "11:00"][-len(done) :]
    assert len(calls) == 1 + len(done)


def no_idle_sessions(stage: Stage, server: PostgresqlServer) -> None:
    """Let the server end sessions that say nothing for a while."""
    if int(server.execute("SHOW server_version_num")[0][0]) < 140_000:
        pytest.skip("idle_session_timeout came with PostgreSQL 14")
    with psycopg.connect(stage.url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET idle_session_timeout = 250'.encode())


@pytest.mark.parametrize("style", ["end", "end without block", "write", "outside"])
def test_slow_work_is_not_repeated_for_a_session_that_the_server_ended_meanwhile(
    postgresql_stage: Stage, postgresql_server: PostgresqlServer, style: str
) -> None:
    stage = postgresql_stage
    no_idle_sessions(stage, postgresql_server)
    calls: list[str] = []

    def slow(window: Window) -> None:
        calls.append(window.key)
        backend_gone(stage)
        stage.clock.advance(3_600)  # longer than any repeat may last

    def end(window: Window, run: Run) -> None:
        slow(window)
        if style == "end":
            with run.transaction() as tx:
                stage.note(tx, window)

    def write(window: Window, run: Run) -> None:
        slow(window)
        run.write(lambda tx: stage.note(tx, window))

    declare(stage, {"write": write, "outside": slow}.get(style, end), on_error="park", attempts=1)
    assert stage.run() == [LIVE]
    assert len(calls) == 1
    assert stage.effects() == (["11:00"] if style in ("end", "write") else [])
    assert stage.rows() == ["11:00-12:00 done"]


def test_slow_work_of_an_async_job_is_not_repeated_either(
    postgresql_stage: Stage, postgresql_server: PostgresqlServer
) -> None:
    stage = postgresql_stage
    no_idle_sessions(stage, postgresql_server)
    calls: list[str] = []

    async def body(window: Window, run: AsyncRun) -> None:
        calls.append(window.key)
        backend_gone(stage)
        async with run.transaction() as tx:
            await tx.execute(insert(window))

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert (len(calls), stage.effects()) == (1, ["11:00"])


# ------------------------------------------------------------------------------------- that the job has closed


def is_first(window: Window) -> bool:
    return window.start.hour == 10


def insert(window: Window) -> str:
    return f"INSERT INTO effects VALUES ('{window.start:%H:%M}', 1)"


def close(window: Window, connection: Any) -> None:
    connection.execute(insert(window))
    if is_first(window):
        connection.close()


async def aclose(window: Window, connection: Any) -> None:
    await connection.execute(insert(window))
    if is_first(window):
        await connection.close()


def by_sqlite3(window: Window, connection: sqlite3.Connection) -> None:
    close(window, connection)


async def by_aiosqlite(window: Window, connection: aiosqlite.Connection) -> None:
    await aclose(window, connection)


def by_psycopg(window: Window, connection: psycopg.Connection[Any]) -> None:
    close(window, connection)


async def by_async_psycopg(window: Window, connection: psycopg.AsyncConnection[Any]) -> None:
    await aclose(window, connection)


async def by_async_transaction(window: Window, tx: AsyncTransaction) -> None:
    await aclose(window, tx.connection)


def by_transaction(window: Window, tx: Transaction) -> None:
    close(window, tx.connection)


CLOSING: dict[str, Callable[[bool], Callable[..., Any]]] = {
    "connection": lambda is_server: by_psycopg if is_server else by_sqlite3,
    "async connection": lambda is_server: by_async_psycopg if is_server else by_aiosqlite,
    "async transaction": lambda _: by_async_transaction,
    "inside": lambda _: by_transaction,
    "end": lambda _: styled("end", by_transaction),
    "write": lambda _: styled("write", by_transaction),
}


@pytest.mark.parametrize("body", CLOSING.values(), ids=CLOSING)
def test_a_job_that_closes_its_connection_has_failed_and_the_next_window_has_another(
    stage: Stage, body: Callable[[bool], Callable[..., Any]]
) -> None:
    declare(stage, body(stage.is_server), since=f"{DAY}T10:00Z", on_error="park", attempts=2)
    assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 1/2", LIVE]
    assert stage.effects() == ["11:00"]
    assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 2/2 parked"]
    assert stage.run() == ["IDLE 12:00 next=13:00"]


def test_a_member_of_a_group_that_closes_the_connection_is_charged_for_it_alone(stage: Stage) -> None:
    declare(stage, by_transaction, since=f"{DAY}T09:00Z", group=10, on_error="park", attempts=1)
    assert stage.run() == [
        "PROCESSED 09:00-10:00 catch-up",
        "FAILED 10:00-11:00 TransactionControl 1/1 parked",
        LIVE,
    ]
    assert stage.effects() == ["09:00", "11:00"]
