"""What SQLAlchemy's users are used to, inside a unit: what works, what is refused, and what is never lost."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from telafi import Window
from tests.ledger.kinds import ON_POSTGRESQL, SESSIONS, Effect, Kind, Pen, hourly, only, waited
from tests.work.stage import Stage

FIRST = "PROCESSED 10:00-11:00 catch-up"
REFUSED = ["FAILED 10:00-11:00 TransactionControl 1"]


@pytest.fixture(params=SESSIONS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each class of session, on each engine."""
    chosen: Kind = request.param
    return chosen


def first(stage: Stage) -> list[str]:
    """Run the first window and give back its line."""
    return [line for line in stage.run(max_windows=1) if not line.startswith("DEFERRED")]


def test_a_session_is_flushed_before_the_advance(stage: Stage, kind: Kind) -> None:
    async def add(pen: Pen, window: Window) -> None:
        pen.thing.add_all([Effect(place="one"), Effect(place="two")])

    hourly(stage, kind, add)
    assert first(stage) == [FIRST]
    assert stage.effects() == ["one", "two"]


def test_a_session_sees_what_the_transaction_wrote_and_the_other_way_round(stage: Stage, kind: Kind) -> None:
    async def both(pen: Pen, window: Window) -> None:
        await waited(pen.tx.execute("INSERT INTO effects VALUES ('by tx', 1)"))
        found = (await waited(pen.thing.scalars(select(Effect)))).all()
        found[0].amount = 7
        await pen.call("flush")
        cursor = await waited(pen.tx.execute("SELECT amount FROM effects"))
        assert await waited(cursor.fetchone()) == (7,)

    hourly(stage, kind, both)
    assert first(stage) == [FIRST]
    assert stage.total() == 7


def test_what_a_flush_at_the_end_meets_is_the_failure(stage: Stage, kind: Kind) -> None:
    stage.execute("CREATE UNIQUE INDEX once ON effects (place)")

    async def twice(pen: Pen, window: Window) -> None:
        await pen.execute("INSERT INTO effects VALUES ('one', 1)")
        pen.thing.add(Effect(place="one"))

    hourly(stage, kind, twice)
    assert first(stage) == ["FAILED 10:00-11:00 IntegrityError 1"]
    assert stage.effects() == []


def test_a_failed_flush_that_is_rolled_back_by_hand_leaves_nothing(stage: Stage, kind: Kind) -> None:
    """The usual `except IntegrityError: session.rollback()` would take the mark along: begin_nested() is the way."""
    stage.execute("CREATE UNIQUE INDEX once ON effects (place)")

    async def carry_on(pen: Pen, window: Window) -> None:
        assert await pen.first_time("order:1")
        await pen.execute("INSERT INTO effects VALUES ('one', 1)")
        pen.thing.add(Effect(place="one"))
        with pytest.raises(IntegrityError):
            await pen.call("flush")
        await pen.call("rollback")
        pen.thing.add(Effect(place="two"))

    hourly(stage, kind, carry_on)
    assert first(stage) == REFUSED
    assert stage.effects() == []


def test_a_failed_flush_inside_a_savepoint_costs_only_the_savepoint(stage: Stage, kind: Kind) -> None:
    stage.execute("CREATE UNIQUE INDEX once ON effects (place)")

    async def carry_on(pen: Pen, window: Window) -> None:
        await pen.execute("INSERT INTO effects VALUES ('one', 1)")
        nested = await waited(pen.thing.begin_nested())
        pen.thing.add(Effect(place="one"))
        with pytest.raises(IntegrityError):
            await pen.call("flush")
        await waited(nested.rollback())
        pen.thing.add(Effect(place="two"))

    hourly(stage, kind, carry_on)
    assert first(stage) == [FIRST]
    assert stage.effects() == ["one", "two"]


def test_a_rollback_by_a_session_that_was_not_used_yet_is_noticed(stage: Stage, kind: Kind) -> None:
    async def roll_back(pen: Pen, window: Window) -> None:
        assert await pen.first_time("order:1")
        await pen.call("rollback")

    hourly(stage, kind, roll_back)
    assert first(stage) == REFUSED
    assert stage.execute(f"SELECT COUNT(*) FROM {stage.table('marks')}") == [(0,)]


def test_the_block_of_a_session_works_and_commits_nothing_by_itself(stage: Stage, kind: Kind) -> None:
    async def block(pen: Pen, window: Window) -> None:
        if kind.is_async:
            async with pen.thing.begin():
                pen.thing.add(Effect(place="one"))
        else:
            with pen.thing.begin():
                pen.thing.add(Effect(place="one"))
        assert stage.effects() == []
        await pen.call("close")

    hourly(stage, kind, block)
    assert first(stage) == [FIRST]
    assert stage.effects() == ["one"]


def test_statements_of_the_orm_run_in_the_unit(stage: Stage, kind: Kind) -> None:
    async def statements(pen: Pen, window: Window) -> None:
        await pen.call("execute", insert(Effect), [{"place": "one", "amount": 1}, {"place": "two", "amount": 2}])
        await pen.call("execute", update(Effect).where(Effect.place == "two").values(amount=5))
        assert await pen.call("scalar", select(Effect.amount).where(Effect.place == "two")) == 5
        assert stage.effects() == []

    hourly(stage, kind, statements)
    assert first(stage) == [FIRST]
    assert stage.total() == 6


def test_a_second_connection_from_the_same_engine_is_refused(stage: Stage, kind: Kind) -> None:
    async def second(pen: Pen, window: Window) -> None:
        pen.thing.add(Effect(place="one"))
        engine = pen.thing.get_bind().engine
        if not kind.is_async:
            with engine.connect() as connection:
                connection.exec_driver_sql("INSERT INTO effects VALUES ('two', 1)")
        else:
            await waited(pen.thing.run_sync(lambda session: session.get_bind().engine.connect().begin()))

    hourly(stage, kind, second)
    assert first(stage) == REFUSED
    assert stage.effects() == []


@only([kind for kind in ON_POSTGRESQL if kind.is_session])
def test_a_lost_connection_is_replaced_and_the_unit_repeated(stage: Stage, kind: Kind) -> None:
    attempts: list[int] = []

    async def lose(pen: Pen, window: Window) -> None:
        pen.thing.add(Effect(place="one"))
        if not attempts:
            row = (await pen.execute("SELECT pg_backend_pid()")).one()
            attempts.append(row[0])
            stage.execute("SELECT pg_terminate_backend(?)", (row[0],))
            await pen.call("flush")

    hourly(stage, kind, lose)
    assert first(stage) == [FIRST]
    assert stage.effects() == ["one"]


def test_a_listener_on_every_session_may_speak_to_the_database(stage: Stage, kind: Kind) -> None:
    """Row-level security is often set up so."""
    seen: list[Any] = []

    def listener(session: Session, transaction: object, connection: Connection) -> None:
        seen.append(connection.exec_driver_sql("SELECT 1").scalar())

    async def add(pen: Pen, window: Window) -> None:
        pen.thing.add(Effect(place="one"))
        await pen.call("flush")

    hourly(stage, kind, add)
    event.listen(Session, "after_begin", listener)
    try:
        assert first(stage) == [FIRST]
    finally:
        event.remove(Session, "after_begin", listener)
    assert seen == [1]
