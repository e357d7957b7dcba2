"""The story that Telafi was made for: started late, by hand, twice, and still right."""

import os
from collections.abc import Callable
from functools import partial
from threading import Barrier, Event

import pytest

from telafi import Telafi, Transaction, Window
from telafi.plan.retry import RetryPolicy
from tests.work.stage import DAY, WAIT_SECONDS, InThread, Stage, lines

ORDERS = {"order:1": 25_000, "order:2": 9_000}


def test_down_until_five_past_twelve_and_started_by_hand(stage: Stage) -> None:
    stage.hourly(grace="5m")
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.run() == ["IDLE 12:00 next=13:05"]
    assert stage.run(window="10:00") == ["SKIPPED 10:00-11:00 key-exists"]
    assert stage.effects() == ["10:00", "11:00"]
    assert stage.watermark() == "12:00"


def test_a_minute_before_the_grace_is_over_the_hour_is_not_closed(stage: Stage) -> None:
    stage.hourly(grace="5m")
    stage.set("12:04:59")
    assert stage.run() == ["PROCESSED 10:00-11:00 live"]
    stage.set("12:05")
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]


def test_while_the_first_copy_runs_the_second_finds_the_lock(stage: Stage) -> None:
    inside, go = Event(), Event()

    def stand_still(window: Window, tx: Transaction) -> None:
        inside.set()
        assert go.wait(WAIT_SECONDS)

    stage.hourly(stand_still)
    second = stage.another()
    stage.hourly(app=second)
    first = InThread(stage.run)
    assert inside.wait(WAIT_SECONDS)
    skipped = second.jobs.run("hourly")
    assert lines(skipped) == ["SKIPPED lock"]
    assert str(getattr(skipped[0], "holder", None)).startswith(f"{os.getpid()}@")
    assert stage.run(app=second, window="10:00") == ["SKIPPED lock"]
    go.set()
    assert first.answer() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.run(app=second) == ["IDLE 12:00 next=13:00"]
    assert stage.effects() == ["10:00", "11:00"]


def book(stage: Stage, app: Telafi, name: str, meet: Callable[[], object] = lambda: None) -> None:
    """Declare a job that books the day's orders, in a scope that all such jobs share."""

    def day(window: Window, tx: Transaction) -> None:
        meet()
        for order, cents in ORDERS.items():
            if tx.first_time(order, scope="orders"):
                stage.note(tx, window, cents)

    app.job(name=name, every="1d", since=f"{DAY}T00:00Z")(day)


def test_the_records_of_one_day_given_twice_count_once(stage: Stage) -> None:
    book(stage, stage.app, "by-cron")
    book(stage, stage.app, "by-hand")
    stage.set("2026-09-05T00:00")
    assert stage.run("by-cron") == ["PROCESSED 00:00-2026-09-05T00:00:00Z live new=2 repeated=0"]
    assert stage.total() == 34_000
    assert stage.run("by-hand") == ["PROCESSED 00:00-2026-09-05T00:00:00Z live new=0 repeated=2"]
    assert stage.total() == 34_000


def test_one_job_given_the_same_records_in_two_windows_counts_them_once(stage: Stage) -> None:
    def records(window: Window, tx: Transaction) -> None:
        for order, cents in ORDERS.items():
            if tx.first_time(order):
                stage.note(tx, window, cents)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z")(records)
    assert stage.run() == [
        "PROCESSED 10:00-11:00 catch-up new=2 repeated=0",
        "PROCESSED 11:00-12:00 live new=0 repeated=2",
    ]
    assert stage.total() == 34_000


def test_two_copies_at_once_count_the_records_once(stage: Stage) -> None:
    # On PostgreSQL both are inside their transactions when they ask for the keys; SQLite lets one in at a time.
    both = Barrier(2)
    stage.set("2026-09-05T00:00")
    second = stage.another()

    def meet() -> None:
        if stage.is_server:
            both.wait(WAIT_SECONDS)

    book(stage, stage.app, "by-cron", meet)
    book(stage, second, "by-hand", meet)
    runs = [InThread(lambda: stage.run("by-cron")), InThread(lambda: stage.run("by-hand", app=second))]
    told = sorted(run.answer()[0].removeprefix("PROCESSED 00:00-2026-09-05T00:00:00Z live ") for run in runs)
    assert told == ["new=0 repeated=2", "new=2 repeated=0"]
    assert stage.total() == 34_000


def test_a_copy_that_rolls_back_leaves_its_keys_to_the_one_that_waits(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.set("2026-09-05T00:00")
    marked, go = Event(), Event()

    def fails(window: Window, tx: Transaction) -> None:
        assert tx.first_times(ORDERS, scope="orders") == list(ORDERS)
        marked.set()
        assert go.wait(WAIT_SECONDS)
        raise ValueError("after the marks")

    stage.app.job(name="fails", every="1d", since=f"{DAY}T00:00Z")(fails)
    second = stage.another()
    book(stage, second, "waits")
    first = InThread(lambda: stage.run("fails"))
    assert marked.wait(WAIT_SECONDS)
    waiting = InThread(lambda: stage.run("waits", app=second))
    stage.until_somebody_waits()
    go.set()
    assert first.answer() == ["FAILED 00:00-2026-09-05T00:00:00Z ValueError 1"]
    assert waiting.answer() == ["PROCESSED 00:00-2026-09-05T00:00:00Z live new=2 repeated=0"]
    assert stage.total() == 34_000


@pytest.mark.parametrize("locked", [True, False], ids=["locked", "unlocked"])
def test_many_starts_at_once_process_each_window_once(stage: Stage, locked: bool) -> None:  # noqa: FBT001
    together = Barrier(4)
    apps = [stage.another(locked=locked) for _ in range(4)]
    for app in apps:
        stage.hourly(app=app)

    def start(app: Telafi) -> list[str]:
        together.wait(WAIT_SECONDS)
        return stage.run(app=app)

    runs = [InThread(partial(start, app)) for app in apps]
    told = sorted(told for run in runs for told in run.answer())
    processed = [text for text in told if text.startswith("PROCESSED")]
    assert processed == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert {text.partition(" ")[0] for text in told} <= {"PROCESSED", "SKIPPED", "IDLE"}
    assert stage.effects() == ["10:00", "11:00"]
    assert stage.watermark() == "12:00"


def test_a_copy_without_the_lock_waits_at_its_claim_and_finds_the_key(postgresql_stage: Stage) -> None:
    # The key guards the work, the lock only spares useless tries.
    stage = postgresql_stage
    inside, go = Event(), Event()

    def stand_still(window: Window, tx: Transaction) -> None:
        inside.set()
        assert go.wait(WAIT_SECONDS)

    stage.hourly(stand_still)
    second = stage.another(locked=False)
    stage.hourly(app=second)
    first = InThread(partial(stage.run, window="10:00"))
    assert inside.wait(WAIT_SECONDS)
    waiting = InThread(partial(stage.run, app=second, window="10:00"))
    stage.until_somebody_waits()
    go.set()
    assert first.answer() == ["PROCESSED 10:00-11:00 catch-up"]
    assert waiting.answer() == ["SKIPPED 10:00-11:00 key-exists"]
    assert stage.effects() == ["10:00"]


def test_a_copy_that_waits_too_long_says_lock(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    inside, go = Event(), Event()

    def stand_still(window: Window, tx: Transaction) -> None:
        inside.set()
        assert go.wait(WAIT_SECONDS)

    stage.hourly(stand_still)
    second = stage.another(locked=False, lock_timeout_seconds=0.05, retry=RetryPolicy(attempts=2))
    stage.hourly(app=second)
    first = InThread(stage.run)
    assert inside.wait(WAIT_SECONDS)
    assert stage.run(app=second) == ["SKIPPED 10:00-11:00 lock"]
    go.set()
    assert first.answer() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
