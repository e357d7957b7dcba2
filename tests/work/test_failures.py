"""A failing window stops its job, or is parked; who is charged, and where it is written down."""

from typing import Any

import pytest

from telafi import Transaction, Window
from telafi.ledger.windows import list_windows
from telafi.work.job import OnError
from tests.work.stage import Stage


class Broken:
    """A body that fails at some hours, as often as it is told."""

    def __init__(self, **times: int) -> None:
        self.times = {int(hour[1:]): count for hour, count in times.items()}

    def __call__(self, window: Window, tx: Transaction) -> None:
        left = self.times.get(window.start.hour, 0)
        if left:
            self.times[window.start.hour] = left - 1
            raise ValueError(f"{window.start.hour} is broken")


def test_stop_is_the_default_and_has_no_limit_of_attempts(stage: Stage) -> None:
    stage.hourly(Broken(h10=5), attempts=2)
    for attempt in range(1, 6):
        assert stage.run() == [f"FAILED 10:00-11:00 ValueError {attempt}"]
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.effects() == ["10:00", "11:00"]


def test_a_failing_window_stops_the_job_there_and_is_retried_first(stage: Stage) -> None:
    stage.hourly(Broken(h11=1))
    stage.set("13:00")
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "FAILED 11:00-12:00 ValueError 1"]
    assert stage.rows() == ["10:00-11:00 done", "11:00-12:00 planned", "12:00-13:00 planned"]
    assert stage.watermark() == "11:00"
    assert stage.run() == ["PROCESSED 11:00-12:00 catch-up", "PROCESSED 12:00-13:00 live"]


def test_park_goes_on_behind_the_window_once_its_attempts_are_spent(stage: Stage) -> None:
    stage.hourly(Broken(h10=9), on_error="park", attempts=3)
    assert stage.run() == ["FAILED 10:00-11:00 ValueError 1/3", "PROCESSED 11:00-12:00 live"]
    # Not parked yet: the watermark waits, and the next run tries the window again.
    assert (stage.rows(), stage.watermark()) == (["10:00-11:00 planned", "11:00-12:00 done"], "10:00")
    assert stage.run() == ["FAILED 10:00-11:00 ValueError 2/3"]
    assert stage.run() == ["FAILED 10:00-11:00 ValueError 3/3 parked"]
    assert stage.rows() == ["10:00-11:00 parked", "11:00-12:00 done"]
    assert stage.run() == ["IDLE 12:00 next=13:00"]
    assert stage.watermark() == "12:00"
    # By name it is tried once more; one that fails again stays parked.
    assert stage.run(window="10:00") == ["FAILED 10:00-11:00 ValueError None"]
    assert stage.rows() == ["10:00-11:00 parked", "11:00-12:00 done"]
    assert stage.effects() == ["11:00"]


def test_the_failure_is_recorded_in_a_transaction_of_its_own(stage: Stage) -> None:
    stage.hourly(Broken(h10=1))
    stage.run()
    row = stage.perform(list_windows("hourly", 10))[-1]
    assert (row.state, row.attempts, row.reason, row.error) == ("planned", 1, "ValueError", "10 is broken")
    stage.run()
    row = stage.perform(list_windows("hourly", 10))[-1]
    assert (row.state, row.attempts, row.reason, row.error) == ("done", 1, None, None)


@pytest.mark.parametrize("on_error", ["stop", "park"])
def test_crash_attempts_hold_a_window_back_until_a_person_asks_for_it(stage: Stage, on_error: OnError) -> None:
    stage.hourly(on_error=on_error, crash_attempts=2)
    for number in range(2):
        died(stage, f"{number}", [("10:00", "11:00"), ("11:00", "12:00")])
    told = ["FAILED 10:00-11:00 crash-loop 2/2"]
    if on_error == "park":
        told = ["FAILED 10:00-11:00 crash-loop 2/2 parked", "PROCESSED 11:00-12:00 live"]
    assert stage.run() == told
    if on_error == "park":
        assert stage.rows() == ["10:00-11:00 parked", "11:00-12:00 done"]
        return
    assert stage.run() == told, "not run again by itself"
    assert stage.run(window="10:00") == ["PROCESSED 10:00-11:00 catch-up"]
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]


def test_asking_by_name_resets_the_count_of_crashes(stage: Stage) -> None:
    stage.hourly(Broken(h10=1), crash_attempts=1)
    died(stage, "first", [("10:00", "11:00")])
    assert stage.run() == ["FAILED 10:00-11:00 crash-loop 1/1"]
    assert stage.run(window="10:00") == ["FAILED 10:00-11:00 ValueError 1"]
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]


def died(stage: Stage, run: str, plan: list[tuple[str, str]]) -> None:
    """Leave the record of a run whose process was killed at the first window of its plan."""
    stage.leave_dead_run(run, plan)


def test_a_failure_that_cannot_be_recorded_does_not_hide_why(sqlite_stage: Stage, monkeypatch: Any) -> None:
    stage = sqlite_stage
    stage.hourly(Broken(h10=1))

    def unwritable(*_: object, **__: object) -> object:
        raise RuntimeError("the ledger is full")

    monkeypatch.setattr("telafi.work.settle.record_failure", unwritable)
    assert stage.run() == ["FAILED 10:00-11:00 ValueError None"]
    error = getattr(stage.events[-1], "error", "")
    assert error.startswith("10 is broken")
    assert "the ledger is full" in error
