"""One behaviour on every driver and ORM object: mark, effect and watermark commit together, or none of them does."""

from __future__ import annotations

import gc
import warnings
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from telafi import Window
from telafi.errors import WrongUse
from tests.ledger.kinds import KINDS, Effect, Kind, Pen, hourly, waited
from tests.work.stage import Stage

HOURS = ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
NOTHING: list[str] = []


async def write(pen: Pen, window: Window) -> None:
    await pen.write(place_of(window))


def place_of(window: Window) -> str:
    return f"{window.start:%H:%M}"


def untouched(stage: Stage) -> bool:
    """Say that no effect, no mark and no key is there, and that the watermark stands where it was."""
    keys = stage.execute(f"SELECT COUNT(*) FROM {stage.table('marks')}")[0][0]
    done = [row for row in stage.rows() if row.endswith(" done")]
    return (stage.effects(), done, keys, stage.watermark()) == ([], [], 0, "10:00")


def test_what_a_job_writes_commits_with_its_window_for_several_windows_of_one_run(stage: Stage, kind: Kind) -> None:
    hourly(stage, kind, write)
    assert stage.run() == HOURS
    assert stage.effects() == ["10:00", "11:00"]
    assert stage.rows() == ["10:00-11:00 done", "11:00-12:00 done"]
    assert stage.watermark() == "12:00"
    assert stage.run() == ["IDLE 12:00 next=13:00"]
    assert stage.effects() == ["10:00", "11:00"]


def test_a_body_that_raises_leaves_nothing_and_the_next_run_does_it(stage: Stage, kind: Kind) -> None:
    broken = [True]

    async def fail(pen: Pen, window: Window) -> None:
        await pen.write(place_of(window))
        await pen.first_time("order:1")
        if broken:
            raise RuntimeError(broken.pop())

    hourly(stage, kind, fail)
    assert stage.run() == ["FAILED 10:00-11:00 RuntimeError 1"]
    assert untouched(stage)
    assert stage.run() == [
        "PROCESSED 10:00-11:00 catch-up new=1 repeated=0",
        "PROCESSED 11:00-12:00 live new=0 repeated=1",
    ]
    assert stage.effects() == ["10:00", "11:00"]


def test_a_parked_window_does_not_harm_the_next_one_on_the_same_connection(stage: Stage, kind: Kind) -> None:
    async def fail(pen: Pen, window: Window) -> None:
        await pen.write(place_of(window))
        if place_of(window) == "10:00":
            raise RuntimeError

    hourly(stage, kind, fail, on_error="park", attempts=1)
    assert stage.run() == ["FAILED 10:00-11:00 RuntimeError 1/1 parked", HOURS[1]]
    assert stage.effects() == ["11:00"]


def test_record_keys_are_counted_and_join_the_unit(stage: Stage, kind: Kind) -> None:
    async def keys(pen: Pen, window: Window) -> None:
        assert await pen.first_time(f"order:{place_of(window)}")
        assert not await pen.first_time(f"order:{place_of(window)}")
        await pen.write(place_of(window))
        assert await pen.first_times(["b", "a", "b", place_of(window)]) in (["b", "a", "10:00"], ["11:00"])

    hourly(stage, kind, keys)
    assert stage.run() == [
        "PROCESSED 10:00-11:00 catch-up new=4 repeated=2",
        "PROCESSED 11:00-12:00 live new=2 repeated=4",
    ]
    assert stage.effects() == ["10:00", "11:00"]


@pytest.mark.parametrize("verb", ["commit", "rollback"])
def test_the_end_of_the_transaction_is_refused_to_the_job(stage: Stage, kind: Kind, verb: str) -> None:
    async def end(pen: Pen, window: Window) -> None:
        await pen.first_time("order:1")
        await pen.write(place_of(window))
        await pen.call(verb)
        await pen.write(f"after {verb}")

    hourly(stage, kind, end)
    if kind.is_session and verb == "commit":
        # A session only takes part in the transaction: its commit() is a flush.
        assert stage.run(max_windows=1)[0] == f"{HOURS[0]} new=1 repeated=0"
        assert stage.effects() == ["10:00", "after commit"]
    else:
        assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 1"]
        assert untouched(stage)


ENDS = [
    (kind, verb) for kind in KINDS for verb in ("commit", "rollback") if (kind.is_session, verb) != (True, "commit")
]


@pytest.mark.parametrize(("kind", "verb"), ENDS, ids=lambda part: getattr(part, "name", part))
def test_a_refusal_that_the_job_swallows_still_leaves_nothing(stage: Stage, kind: Kind, verb: str) -> None:
    async def swallow(pen: Pen, window: Window) -> None:
        await pen.first_time("order:1")
        await pen.write(place_of(window))
        with suppress(Exception):
            await pen.call(verb)

    hourly(stage, kind, swallow)
    assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 1"]
    assert untouched(stage)
    assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 2"]


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK"])
def test_the_statement_itself_never_splits_mark_and_effect(stage: Stage, kind: Kind, statement: str) -> None:
    async def end(pen: Pen, window: Window) -> None:
        await pen.first_time("order:1")
        await pen.execute("INSERT INTO effects VALUES ('before', 1)")
        await pen.execute(statement)
        await pen.execute("INSERT INTO effects VALUES ('after', 1)")

    hourly(stage, kind, end)
    if kind.engine == "sqlite":
        assert stage.run() == ["FAILED 10:00-11:00 TransactionControl 1"]
        assert untouched(stage)
    else:
        # A server cannot be kept from it, but it is noticed: nobody is told that this window is done.
        assert stage.run() == ["IN-DOUBT 10:00-11:00 transaction-control"]
        assert stage.watermark() == "10:00"


def test_an_aborted_transaction_is_a_failure(stage: Stage, kind: Kind) -> None:
    async def swallow(pen: Pen, window: Window) -> None:
        await pen.write(place_of(window))
        with pytest.raises(Exception, match="no_such_table"):
            await pen.execute("SELECT 1 FROM no_such_table")

    hourly(stage, kind, swallow)
    if kind.engine == "sqlite":  # there a statement that fails undoes itself only
        assert stage.run() == HOURS
    else:
        assert stage.run() == ["FAILED 10:00-11:00 TransactionAborted 1"]
        assert untouched(stage)


def test_a_group_takes_no_connection_of_the_drivers(stage: Stage, kind: Kind) -> None:
    with pytest.raises(WrongUse, match="group="):
        hourly(stage, kind, write, group=10)


def test_the_thing_is_gone_after_the_unit(stage: Stage, kind: Kind) -> None:
    """What a job has kept can write nothing afterwards, and its objects are detached."""
    kept: list[Any] = []

    async def keep(pen: Pen, window: Window) -> None:
        await pen.write(place_of(window))
        if kind.is_session:
            effect = (await waited(pen.thing.scalars(select(Effect).where(Effect.place == place_of(window))))).one()
            kept.append(effect)
        kept.append(pen.thing)

    hourly(stage, kind, keep)
    assert stage.run() == HOURS
    if kind.is_session:
        assert kept[0].place == "10:00"
        assert Session.object_session(kept[0]) is None
    assert len({id(thing) for thing in kept}) == len(kept) or kind.is_raw


def test_nothing_is_left_to_the_garbage_collector(stage: Stage, kind: Kind) -> None:
    hourly(stage, kind, write)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        stage.run()
        gc.collect()
    assert [str(warning.message) for warning in seen] == NOTHING


def test_two_parameters_of_one_kind_are_the_same_thing(stage: Stage, kind: Kind) -> None:
    seen: list[bool] = []

    def blocking(first: Any, second: Any) -> None:
        seen.append(first is second)

    async def waiting(first: Any, second: Any) -> None:
        seen.append(first is second)

    function = waiting if kind.is_async else blocking
    function.__annotations__.update(first=kind.annotation, second=kind.annotation)
    stage.app.job(name="hourly", every="1h", since="2026-09-04T10:00Z")(function)
    assert stage.run() == HOURS
    assert seen == [True, True]
