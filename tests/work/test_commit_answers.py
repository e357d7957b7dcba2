"""An error while COMMIT is under way, or after it: what the ledger says decides, never what was raised."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import TextClause, event, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

from telafi import Transaction, Window
from telafi.events import Event, RaisedAfter, Retried
from tests.crash.hourly import styled
from tests.work.pending import PendingCommit, alarm_in
from tests.work.stage import DAY, InThread, Stage

LIVE = "PROCESSED 11:00-12:00 live"
STYLES = ["inside", "end", "write", "group"]


def declare(stage: Stage, function: Any, **options: Any) -> None:
    stage.app.job(**{"name": "hourly", "every": "1h", "since": f"{DAY}T11:00Z", **options})(function)


def as_asked(style: str) -> tuple[dict[str, Any], list[str]]:
    """Give the options of a style, and the lines of a run of its windows: a group has two of them."""
    if style != "group":
        return {}, [LIVE]
    return {"group": 2, "since": f"{DAY}T10:00Z"}, ["PROCESSED 10:00-11:00 catch-up", LIVE]


@pytest.fixture
def pending(postgresql_stage: Stage) -> Iterator[PendingCommit]:
    made = PendingCommit(postgresql_stage)
    yield made
    made.let_go()


# ------------------------------------------------------------------------------------------- while it is under way

needs_alarms = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGALRM")


@needs_alarms
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("committed", [True, False], ids=["committed", "rolled back"])
def test_an_alarm_in_COMMIT_is_never_called_a_failure(
    postgresql_stage: Stage, pending: PendingCommit, style: str, *, committed: bool
) -> None:
    stage = postgresql_stage
    calls: list[str] = []

    def work(window: Window, tx: Transaction) -> None:
        calls.append(window.key)
        stage.note(tx, window)

    def meanwhile(happened: Event) -> None:
        if isinstance(happened, Retried):
            # The first attempt is over, its COMMIT is not.
            pending.let_go() if committed else pending.end()

    stage.app.subscribe(meanwhile)
    options, told = as_asked(style)
    declare(stage, styled(style, work), on_error="park", attempts=1, **options)
    with alarm_in(pending):
        assert stage.run() == told
    assert len(calls) == len(told) if committed else len(calls) == 2 * len(told)
    assert stage.effects() == ["10:00", "11:00"][-len(told) :]
    assert [row.rpartition(" ")[2] for row in stage.rows()] == ["done"] * len(told)
    assert stage.run() == ["IDLE 12:00 next=13:00"]


@pytest.mark.parametrize("style", STYLES)
def test_the_failure_after_a_COMMIT_that_was_rolled_back_is_a_failure(
    postgresql_stage: Stage, pending: PendingCommit, style: str
) -> None:
    stage = postgresql_stage
    calls: list[str] = []
    options, told = as_asked(style)

    def work(window: Window, tx: Transaction) -> None:
        calls.append(window.key)
        stage.note(tx, window)
        if len(calls) > len(told):
            raise ValueError("the second time")

    declare(stage, styled(style, work), **options)
    end = InThread(pending.end)
    # The claim could be had again, so the COMMIT before did not happen: nothing is left to be told later.
    first = told[0].split()[1]
    assert stage.run() == [f"FAILED {first} ValueError 1"]
    end.answer()
    assert stage.effects() == []
    assert {row.rpartition(" ")[2] for row in stage.rows()} == {"planned"}


# ------------------------------------------------------------------------------------------------------- after it


class Boom(Exception):
    """What a listener raises."""


def insert(window: Window) -> TextClause:
    return text(f"INSERT INTO effects VALUES ('{window.start:%H:%M}', 1)")


def listen(session: Session) -> None:
    def ended(_: Session, transaction: SessionTransaction) -> None:
        if transaction.parent is None:
            raise Boom("the cache is away")

    event.listen(session, "after_transaction_end", ended)


@pytest.mark.parametrize("is_async", [False, True], ids=["Session", "AsyncSession"])
def test_what_a_listener_raises_after_the_COMMIT_is_shown_and_the_effect_stands(
    stage: Stage, *, is_async: bool
) -> None:
    def blocking(window: Window, session: Session) -> None:
        session.execute(insert(window))
        listen(session)

    async def waiting(window: Window, session: AsyncSession) -> None:
        await session.execute(insert(window))
        listen(session.sync_session)

    declare(stage, waiting if is_async else blocking, since=f"{DAY}T10:00Z", on_error="park", attempts=1)
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", LIVE]
    assert stage.told(RaisedAfter)[:1] == ["RAISED-AFTER 10:00-11:00 the cache is away"]
    shown = [type(happened.exception) for happened in stage.events if isinstance(happened, RaisedAfter)]
    assert shown == [Boom, Boom]
    assert stage.effects() == ["10:00", "11:00"]
    assert stage.rows() == ["10:00-11:00 done", "11:00-12:00 done"]
