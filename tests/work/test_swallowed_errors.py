"""What a body swallows or forgets never passes for a window that wrote: a busy file, a ROLLBACK, a missing await."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from telafi import AsyncRun, AsyncTransaction, Run, Telafi, Transaction, Window
from telafi.plan.retry import RetryPolicy
from tests.work.stage import DAY, Stage

LIVE = "PROCESSED 11:00-12:00 live"
DOUBT = "IN-DOUBT 11:00-12:00 transaction-control"


def declare(stage: Stage, function: Any, app: Telafi | None = None, **options: Any) -> None:
    (app or stage.app).job(**{"name": "hourly", "every": "1h", "since": f"{DAY}T11:00Z", **options})(function)


# ------------------------------------------------------------------------------------------------------ a busy file


@pytest.fixture
def writer(sqlite_stage: Stage) -> Iterator[sqlite3.Connection]:
    """Another writer of the same file."""
    path = sqlite_stage.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def in_block(stage: Stage, window: Window, run: Run) -> None:
    with suppress(Exception), run.transaction() as tx:
        stage.note(tx, window)


def in_write(stage: Stage, window: Window, run: Run) -> None:
    with suppress(Exception):
        run.write(lambda tx: stage.note(tx, window))


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("wrote", [in_block, in_write])
def test_a_busy_file_that_the_body_swallows_is_no_window_without_effect(
    sqlite_stage: Stage, writer: sqlite3.Connection, wrote: Callable[[Stage, Window, Run], None], attempts: int
) -> None:
    stage = sqlite_stage
    impatient = stage.another(lock_timeout_seconds=0.01, retry=RetryPolicy(attempts=attempts))
    calls: list[str] = []

    def body(window: Window, run: Run) -> None:
        calls.append(window.key)
        if len(calls) == 1:
            writer.execute("BEGIN IMMEDIATE")
        wrote(stage, window, run)
        if writer.in_transaction:
            writer.execute("ROLLBACK")

    declare(stage, body, impatient)
    # Written by itself, the function has spent the attempts while the file was busy.
    told = stage.run(app=impatient)
    if attempts == 1 or wrote is in_write:
        assert told == ["DEFERRED 11:00-12:00 retry"]
        assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])
        told = stage.run(app=impatient)
    assert told == [LIVE]
    assert (stage.effects(), stage.rows()) == (["11:00"], ["11:00-12:00 done"])
    assert len(calls) == 2


# ------------------------------------------------------------------------------------------------ SQLite's ROLLBACK


@pytest.mark.parametrize("how", ["raise", "return"])
def test_what_is_written_after_a_swallowed_INSERT_OR_ROLLBACK_is_in_doubt(sqlite_stage: Stage, how: str) -> None:
    stage = sqlite_stage
    stage.execute("CREATE UNIQUE INDEX once ON effects (place)")

    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        with suppress(sqlite3.IntegrityError):
            tx.connection.execute("INSERT OR ROLLBACK INTO effects VALUES ('11:00', 1)")
        tx.connection.execute("INSERT INTO effects VALUES ('alone', 1)")
        if how == "raise":
            raise ValueError("and then")

    declare(stage, body, on_error="park", attempts=1)
    assert stage.run() == [DOUBT]
    assert (stage.effects(), stage.rows()) == (["alone"], ["11:00-12:00 in-doubt"])
    # Never again by itself, or the row would be written twice.
    assert stage.run() == [DOUBT]
    assert stage.effects() == ["alone"]


def test_an_INSERT_OR_ROLLBACK_through_the_transaction_is_only_a_failure(sqlite_stage: Stage) -> None:
    stage = sqlite_stage
    stage.execute("CREATE UNIQUE INDEX once ON effects (place)")

    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        with suppress(sqlite3.IntegrityError):
            tx.execute("INSERT OR ROLLBACK INTO effects VALUES ('11:00', 1)")
        stage.note(tx, window)  # refused: it would stand alone

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 TransactionControl 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])


@pytest.mark.parametrize(
    "factory", [bytes, bytearray, lambda text: text.decode().upper()], ids=["bytes", "bytearray", "own"]
)
def test_the_text_factory_of_a_connection_does_not_reach_into_the_keys(
    sqlite_stage: Stage, factory: Callable[[bytes], Any]
) -> None:
    stage = sqlite_stage
    new: list[list[str]] = []

    def body(window: Window, tx: Transaction) -> None:
        tx.connection.text_factory = factory
        new.append(tx.first_times(["a", "b"] if window.start.hour == 10 else ["c", "b", "d", "a"]))
        [(place,)] = tx.execute("SELECT 'x'").fetchall()
        assert place == factory(b"x")

    declare(stage, body, since=f"{DAY}T10:00Z")
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up new=2 repeated=0", f"{LIVE} new=2 repeated=2"]
    assert new == [["a", "b"], ["c", "d"]]


# ---------------------------------------------------------------------------------------------------- a missing await

Call = Callable[[AsyncTransaction], object]
FORGOTTEN: dict[str, Call] = {
    "execute": lambda tx: tx.execute("INSERT INTO effects VALUES ('two', 1)"),
    "executemany": lambda tx: tx.executemany("INSERT INTO effects VALUES ('two', 1)", [()]),
    "first_time": lambda tx: tx.first_time("two"),
    "first_times": lambda tx: tx.first_times(["two"]),
}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("style", ["inside", "end", "write", "group"])
@pytest.mark.parametrize("call", FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_call_of_the_transaction_that_nobody_awaits_is_no_success(stage: Stage, call: Call, style: str) -> None:
    calls: list[str] = []

    async def inside(window: Window, tx: AsyncTransaction) -> None:
        calls.append(window.key)
        await tx.execute(f"INSERT INTO effects VALUES ('{window.start:%H:%M}', 1)")
        if window.start.hour == 10:
            call(tx)

    async def end(window: Window, run: AsyncRun) -> None:
        async with run.transaction() as tx:
            await inside(window, tx)

    async def write(window: Window, run: AsyncRun) -> None:
        await run.write(lambda tx: inside(window, tx))

    body = {"end": end, "write": write}.get(style, inside)
    declare(stage, body, since=f"{DAY}T10:00Z", on_error="park", attempts=1, group=2 if style == "group" else 1)
    assert stage.run() == ["FAILED 10:00-11:00 CoroutineNotAwaited 1/1 parked", LIVE]
    assert stage.effects() == ["11:00"]
    assert stage.execute(f"SELECT count(*) FROM {stage.table('marks')}") == [(0,)]


def test_a_call_that_is_awaited_later_counts(stage: Stage) -> None:
    async def body(window: Window, tx: AsyncTransaction) -> None:
        later = [asyncio.ensure_future(tx.execute("INSERT INTO effects VALUES ('a', 1)")), tx.first_time("b")]
        await asyncio.gather(*later)

    declare(stage, body)
    assert stage.run() == [f"{LIVE} new=1 repeated=0"]
    assert stage.effects() == ["a"]
