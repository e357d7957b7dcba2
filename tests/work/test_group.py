"""Group commit: many windows share one transaction, and whatever goes wrong, each runs alone instead."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from telafi import Transaction, Window
from telafi.errors import CannotGive, WrongUse
from telafi.ledger.windows import list_windows
from tests.work.stage import Stage, hours, short

CATCH_UP = [f"PROCESSED {hour}:00-{hour + 1}:00 catch-up" for hour in range(10, 19)]


@pytest.fixture
def evening(stage: Stage) -> Stage:
    """Ten windows to do, from ten o'clock to eight in the evening."""
    stage.set("20:00")
    return stage


def attempts(stage: Stage) -> dict[str, int]:
    rows = stage.perform(list_windows("hourly", 100))
    return {short(row.start): row.attempts for row in rows if row.attempts}


def transactions(stage: Stage) -> int:
    """Count the transactions that wrote the effects."""
    if stage.is_server:
        return int(stage.execute("SELECT count(DISTINCT xmin::text) FROM effects")[0][0])
    raise AssertionError("SQLite does not tell")


def test_ten_windows_share_one_transaction(evening: Stage) -> None:
    seen = []

    def body(window: Window, tx: Transaction) -> None:
        seen.append(len(evening.effects()))

    evening.hourly(body, group=10)
    assert evening.run() == [*CATCH_UP, "PROCESSED 19:00-20:00 live"]
    assert seen == [0] * 10, "nothing is committed before the last of them"
    assert evening.watermark() == "20:00"
    assert len(evening.effects()) == len(set(evening.effects())) == 10
    if evening.is_server:
        assert transactions(evening) == 1


def test_more_windows_than_a_group_take_several(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.set("20:00")
    stage.hourly(group=4)
    assert len(stage.run()) == 10
    assert transactions(stage) == 3


def test_one_failing_member_alone_is_charged(evening: Stage) -> None:
    calls: list[int] = []

    def body(window: Window, tx: Transaction) -> None:
        calls.append(window.start.hour)
        if window.start.hour == 13:
            raise ValueError("13 is broken")

    evening.hourly(body, group=10, on_error="park", attempts=5)
    told = evening.run()
    assert told[3] == "FAILED 13:00-14:00 ValueError 1/5"
    assert [text for text in told if text.startswith("PROCESSED")] == [
        *CATCH_UP[:3],
        *CATCH_UP[4:],
        "PROCESSED 19:00-20:00 live",
    ]
    assert attempts(evening) == {"13:00": 1}
    # Together up to the broken one, then each alone.
    assert calls == [10, 11, 12, 13, *range(10, 20)]
    # The next run takes it alone: it has failed before, so it may not harm a group again.
    evening.set("22:00")
    calls.clear()
    assert evening.run()[0] == "FAILED 13:00-14:00 ValueError 2/5"
    assert calls == [13, 20, 21]


def test_a_failing_member_stops_the_job_there(evening: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        if window.start.hour == 12:
            raise ValueError("12 is broken")

    evening.hourly(body, group=10)
    assert evening.run() == [*CATCH_UP[:2], "FAILED 12:00-13:00 ValueError 1"]
    assert evening.rows()[2:4] == ["12:00-13:00 planned", "13:00-14:00 planned"]
    assert evening.effects() == ["10:00", "11:00"]


BAD: dict[str, Callable[[Stage, Transaction], object]] = {
    "exit": lambda *_: sys.exit(0),
    "broken statement": lambda _, tx: tx.execute("INSERT INTO nowhere VALUES (1)"),
    "SET": lambda _, tx: tx.execute("SET statement_timeout = 0"),
    "RESET": lambda _, tx: tx.execute("  reset ALL"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_whatever_goes_wrong_the_others_are_done_and_not_charged(
    evening: Stage, bad: Callable[[Stage, Transaction], object]
) -> None:
    def body(window: Window, tx: Transaction) -> None:
        if window.start.hour == 11:
            bad(evening, tx)

    evening.hourly(body, group=10, on_error="park", attempts=1)
    told = evening.run()
    done = [text for text in told if text.startswith("PROCESSED")]
    # SET is refused only beside others: alone it reaches nobody else.
    alone_is_fine = bad in (BAD["SET"], BAD["RESET"]) and evening.is_server
    assert len(done) == (10 if alone_is_fine else 9)
    assert attempts(evening) == ({} if alone_is_fine else {"11:00": 1})
    assert evening.effects() == sorted(set(evening.effects()))
    assert len(evening.effects()) == len(done)


def test_SET_is_refused_with_its_reason(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.set("20:00")
    refused: list[str] = []

    def body(window: Window, tx: Transaction) -> None:
        try:
            tx.execute("SET LOCAL work_mem = '1MB'")
        except WrongUse as error:
            refused.append(str(error))
            raise

    stage.hourly(body, group=10)
    assert len(stage.run()) == 10
    assert refused == ["SET is refused in a job with group=: it would reach into the other units of the group"]


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_transaction_control_in_a_group_is_no_success_and_nothing_is_doubled(
    postgresql_stage: Stage, ending: str
) -> None:
    stage = postgresql_stage
    stage.set("13:00")

    def body(window: Window, tx: Transaction) -> None:
        if window.start.hour == 11:
            tx.connection.execute(ending)

    stage.hourly(body, group=10)
    for _ in range(3):
        told = stage.run()
        assert not [text for text in told if text.startswith(("FAILED", "SKIPPED"))]
        effects = stage.effects()
        assert len(effects) == len(set(effects)), "done twice"
        assert told[-1].startswith("IN-DOUBT")


def test_what_a_member_wrote_outside_of_its_transaction_is_not_written_again(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.set("13:00")
    calls: list[int] = []

    def body(window: Window, tx: Transaction) -> None:
        calls.append(window.start.hour)
        if window.start.hour == 11:
            tx.connection.execute("ROLLBACK")
            tx.connection.execute("INSERT INTO effects VALUES ('alone', 1)")

    stage.hourly(body, group=10)
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "IN-DOUBT 11:00-12:00 transaction-control"]
    assert calls == [10, 11, 10], "the members before it run again, it does not"
    assert stage.effects() == ["10:00", "alone"]


def test_members_beyond_the_groups_time_are_done_in_the_next(stage: Stage) -> None:
    stage.set("14:00")

    def body(window: Window, tx: Transaction) -> None:
        stage.clock.advance(0.6)

    stage.hourly(body, group=10, group_ms=1_000)
    told = stage.run()
    assert told == [*CATCH_UP[:3], "PROCESSED 13:00-14:00 live"]
    assert stage.effects() == ["10:00", "11:00", "12:00", "13:00"]
    if stage.is_server:
        assert transactions(stage) == 2


def test_record_keys_of_members_that_ran_twice_count_once(evening: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        if tx.first_time(f"day:{window.start:%H}"):
            tx.first_time("shared")
        if window.start.hour == 18:
            raise ValueError("the last one")

    evening.hourly(body, group=10)
    told = evening.run()
    assert told[0] == "PROCESSED 10:00-11:00 catch-up new=2 repeated=0"
    assert told[1:8] == [f"{text} new=1 repeated=1" for text in CATCH_UP[1:8]]
    assert told[8] == "FAILED 18:00-19:00 ValueError 1"


def test_gaps_between_members_leave_the_watermark_to_passing(stage: Stage) -> None:
    stage.plan(hours(11, 12))
    stage.set_watermark("10:00")
    stage.hourly(group=10)
    stage.set("13:00")
    assert stage.run(window="11:00") == ["PROCESSED 11:00-12:00 catch-up"]
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 12:00-13:00 live"]
    assert stage.run() == ["IDLE 13:00 next=14:00"]


def test_an_interrupt_in_a_group_leaves_everything_planned(evening: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        if window.start.hour == 12:
            raise KeyboardInterrupt

    evening.hourly(body, group=10)
    with pytest.raises(KeyboardInterrupt):
        evening.run()
    assert evening.effects() == []
    assert {row.rpartition(" ")[2] for row in evening.rows()} == {"planned"}
    assert attempts(evening) == {}


def test_a_group_needs_a_transaction_of_Telafis_own(sqlite_stage: Stage) -> None:
    import sqlite3

    def outside(window: Window) -> None: ...
    def driver(window: Window, connection: sqlite3.Connection) -> None: ...

    bodies: list[Any] = [outside, driver]
    for body in bodies:
        with pytest.raises((WrongUse, CannotGive), match="group="):
            sqlite_stage.app.job(name="hourly", every="1h", group=2)(body)
