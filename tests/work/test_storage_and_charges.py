"""What is nobody's failure charges nobody: a full disk, a file that was replaced, a record that could not be closed."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from telafi import Telafi, Transaction, Window
from telafi.events import Deferred, Event, Failed, Planned, Processed
from telafi.plan.retry import RetryPolicy
from tests.crash.hourly import styled
from tests.work.stage import DAY, InThread, Stage

STYLES = ["inside", "end", "write", "group"]
BOTH = ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]


def declare(stage: Stage, function: Any, app: Telafi | None = None, **options: Any) -> None:
    (app or stage.app).job(**{"name": "hourly", "every": "1h", "since": f"{DAY}T10:00Z", **options})(function)


def runs(stage: Stage) -> int:
    """Count the records of runs that are open or charged."""
    return int(stage.execute(f"SELECT count(*) FROM {stage.table('runs')}")[0][0])


def charged(stage: Stage) -> list[int]:
    """Give the attempts of every window."""
    return [row[0] for row in stage.execute(f"SELECT attempts FROM {stage.table('windows')} ORDER BY start_at")]


def only_failure(stage: Stage) -> Failed | Deferred:
    [happened] = [event for event in stage.events if isinstance(event, Failed | Deferred)]
    return happened


# ---------------------------------------------------------------------------------------------------- a full disk


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("swallowed", [False, True], ids=["raised", "swallowed"])
def test_a_full_disk_is_charged_to_nobody_and_ends_the_run(sqlite_stage: Stage, style: str, *, swallowed: bool) -> None:
    stage = sqlite_stage
    disk = ["full"]

    def work(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        if disk == ["full"]:
            [(pages,)] = tx.execute("PRAGMA page_count").fetchall()
            tx.execute(f"PRAGMA max_page_count = {pages}")
            with suppress(*[sqlite3.OperationalError] * swallowed):
                tx.execute("INSERT INTO effects VALUES (hex(zeroblob(200000)), 1)")

    declare(stage, styled(style, work), on_error="park", attempts=1, group=2 if style == "group" else 1)
    for _ in range(3):
        stage.events.clear()
        name = "TransactionAborted" if swallowed else "OperationalError"
        assert stage.run() == [f"FAILED 10:00-11:00 {name} None"]
        assert only_failure(stage).out_of_reach
    assert charged(stage) == [0, 0]
    assert stage.rows() == ["10:00-11:00 planned", "11:00-12:00 planned"]
    assert (stage.effects(), runs(stage)) == ([], 0)
    disk.clear()
    assert stage.run() == BOTH
    assert stage.effects() == ["10:00", "11:00"]


# --------------------------------------------------------------------------------------------- another file instead


@pytest.mark.parametrize("style", [*STYLES, "outside"])
@pytest.mark.parametrize("how", ["replaced", "gone"])
def test_a_file_that_is_not_the_same_any_more_puts_the_window_off(
    sqlite_stage: Stage, tmp_path: Path, how: str, style: str
) -> None:
    stage = sqlite_stage
    file, kept = tmp_path / "ledger.db", tmp_path / "kept.db"
    away = [True]

    def meanwhile(happened: Event) -> None:
        if isinstance(happened, Planned) and away:
            shutil.copy(file, kept)
            kept.replace(file) if how == "replaced" else file.rename(kept)

    def work(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)

    def outside(window: Window) -> None:
        assert not away

    stage.app.subscribe(meanwhile)
    body = outside if style == "outside" else styled(style, work)
    declare(stage, body, on_error="park", attempts=1, group=2 if style == "group" else 1)
    assert stage.run() == ["DEFERRED 10:00-11:00 retry"]
    assert only_failure(stage).out_of_reach
    if how == "gone":
        assert not file.exists()
        kept.rename(file)
    away.clear()
    assert (charged(stage), stage.effects()) == ([0, 0], [])
    assert stage.run() == BOTH
    assert (charged(stage), runs(stage)) == ([0, 0], 0)


# ----------------------------------------------------------------------------------- a record that cannot be closed


class Hold:
    """A ledger that another connection holds for as long as it likes."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._connection: Any = None

    def take(self) -> None:
        if self._stage.is_server:
            self._connection = psycopg.connect(self._stage.url)
            self._connection.execute("LOCK TABLE telafi.jobs, telafi.windows, telafi.runs IN EXCLUSIVE MODE")
        else:
            self._connection = sqlite3.connect(
                self._stage.url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False
            )
            self._connection.execute("BEGIN IMMEDIATE")

    def give_back(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@pytest.fixture
def hold(stage: Stage) -> Iterator[Hold]:
    made = Hold(stage)
    yield made
    made.give_back()


@pytest.fixture
def impatient(stage: Stage) -> Telafi:
    """An application that soon gives up on a ledger that another holds."""
    return stage.another(lock_timeout_seconds=0.01, retry=RetryPolicy(attempts=1))


def while_another_job_runs(app: Telafi, step: Callable[[], None]) -> None:
    """Do something in the middle of another job of the same application, so that its process lives on."""

    def other(window: Window) -> None:
        step()

    app.job(name="other", every="1h", since=f"{DAY}T11:00Z")(other)
    # In a thread, as nothing may wait for the one who holds the ledger without a limit.
    [outcome] = InThread(lambda: app.jobs.run("other")).answer()
    assert isinstance(outcome, Processed), outcome


@pytest.mark.parametrize("policy", ["rerun", "hold"])
def test_what_a_run_left_open_is_settled_by_the_next_one_in_the_same_process(
    stage: Stage, impatient: Telafi, hold: Hold, policy: str
) -> None:
    calls: list[str] = []

    def body(window: Window) -> None:
        calls.append(window.key)
        if len(calls) == 1:
            hold.take()

    def twice() -> None:
        assert stage.run(app=impatient) == ["DEFERRED 11:00-12:00 retry"]
        hold.give_back()
        assert stage.rows() == ["11:00-12:00 open"]
        told = "IN-DOUBT 11:00-12:00 no-end" if policy == "hold" else BOTH[1]
        assert stage.run(app=impatient) == [told]
        assert runs(stage) == 1, "that of the other job"

    declare(stage, body, impatient, since=f"{DAY}T11:00Z", if_in_doubt=policy, crash_attempts=1)
    while_another_job_runs(impatient, twice)
    assert len(calls) == (1 if policy == "hold" else 2)


def test_a_record_that_could_not_be_closed_is_closed_by_the_next_run(
    stage: Stage, impatient: Telafi, hold: Hold
) -> None:
    def work(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)

    def meanwhile(happened: Event) -> None:
        if isinstance(happened, Processed) and happened.job == "hourly" and not stage.told(Processed):
            stage.events.append(happened)
            hold.take()

    def twice() -> None:
        assert stage.run(app=impatient) == BOTH[1:]
        hold.give_back()
        assert runs(stage) == 2
        stage.set("13:00")
        assert stage.run(app=impatient) == ["PROCESSED 12:00-13:00 live"]
        assert runs(stage) == 1, "that of the other job"

    impatient.subscribe(meanwhile)
    declare(stage, work, impatient, since=f"{DAY}T11:00Z", crash_attempts=1)
    while_another_job_runs(impatient, twice)
    assert stage.effects() == ["11:00", "12:00"]


# --------------------------------------------------------------------------------------------------------- groups


def test_where_a_run_has_died_before_nobody_shares_a_transaction(stage: Stage) -> None:
    stage.leave_dead_run("dead", [("10:00", "11:00"), ("11:00", "12:00"), ("12:00", "13:00")])
    stage.set("13:00")
    seen: list[int] = []

    def work(window: Window, tx: Transaction) -> None:
        seen.append(len(stage.effects()))
        stage.note(tx, window)

    declare(stage, work, group=10)
    assert stage.run() == [*BOTH[:1], "PROCESSED 11:00-12:00 catch-up", "PROCESSED 12:00-13:00 live"]
    assert seen == [0, 1, 2], "each was committed before the next began"
    assert runs(stage) == 0


@pytest.mark.parametrize("hour", [10, 11, 12])
def test_a_COMMIT_in_a_group_puts_those_behind_it_back(postgresql_stage: Stage, hour: int) -> None:
    stage = postgresql_stage
    stage.set("13:00")

    def work(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        if window.start.hour == hour:
            tx.connection.execute("COMMIT")

    declare(stage, work, group=10)
    assert stage.run() == ["IN-DOUBT 10:00-11:00 transaction-control"]
    states = [row.rpartition(" ")[2] for row in stage.rows()]
    doubtful = hour - 9
    assert states == ["in-doubt"] * doubtful + ["planned"] * (3 - doubtful)
    assert stage.effects() == ["10:00", "11:00", "12:00"][:doubtful]
    # A person looks into the doubtful ones; the next run does the others.
    for start in ("10:00", "11:00", "12:00")[:doubtful]:
        stage.force(start, "done")
    assert len([told for told in stage.run() if told.startswith("PROCESSED")]) == 3 - doubtful
    assert stage.effects() == ["10:00", "11:00", "12:00"]
    assert stage.watermark() == "13:00"
