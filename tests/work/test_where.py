"""Where a unit's transaction lies: around the whole body, at its end, or outside of the database."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from telafi import AlreadyDone, LedgerError, Run, Telafi, Transaction, Window
from telafi.errors import SecondTransaction
from telafi.ledger.runners import Stopped
from telafi.plan.retry import RetryPolicy
from telafi.work.job import Job
from telafi.work.run import JobRun
from tests.work.stage import DAY, Stage

LIVE = "PROCESSED 11:00-12:00 live"


def declare(stage: Stage, function: Any, app: Telafi | None = None, **options: Any) -> Job[..., Any]:
    """Declare a function as the job `hourly` with one window to do: eleven o'clock."""
    declared = {"name": "hourly", "every": "1h", "since": f"{DAY}T11:00Z", **options}
    return (app or stage.app).job(**declared)(function)


# ------------------------------------------------------------------------------------------------------- inside


def test_inside_the_body_and_the_mark_commit_together(stage: Stage) -> None:
    seen = []

    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        seen.append((stage.effects(), stage.rows()))

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert seen == [([], ["11:00-12:00 planned"])]
    assert (stage.effects(), stage.rows()) == (["11:00"], ["11:00-12:00 done"])


def test_inside_an_error_leaves_nothing_but_its_record(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        raise ValueError("after the effect")

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 ValueError 1"]
    assert (stage.effects(), stage.rows(), stage.watermark()) == ([], ["11:00-12:00 planned"], "11:00")


def test_inside_an_error_of_the_database_that_was_swallowed_is_no_success(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        with pytest.raises(Exception, match="nowhere"):
            tx.execute("INSERT INTO nowhere VALUES (1)")

    declare(stage, body)
    # PostgreSQL has aborted the transaction and would answer COMMIT with ROLLBACK; SQLite has only lost the statement.
    told = "FAILED 11:00-12:00 TransactionAborted 1" if stage.is_server else LIVE
    assert stage.run() == [told]
    assert stage.effects() == ([] if stage.is_server else ["11:00"])


# ---------------------------------------------------------------------------------------------------- at the end


def test_at_the_end_nothing_is_open_before_the_block(stage: Stage) -> None:
    seen = []

    def body(window: Window, run: Run) -> None:
        seen.append(stage.rows())
        stage.execute("INSERT INTO effects VALUES ('slow work', 1)")  # would wait for an open unit on SQLite
        with run.transaction() as tx:
            stage.note(tx, window)
        seen.append(stage.rows())
        assert run.key == f"{DAY}T11:00:00Z/{DAY}T12:00:00Z"

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert seen == [["11:00-12:00 planned"], ["11:00-12:00 done"]]
    assert stage.effects() == ["11:00", "slow work"]


def test_at_the_end_a_second_block_is_refused(stage: Stage) -> None:
    def body(window: Window, run: Run) -> None:
        with run.transaction() as tx:
            stage.note(tx, window)
        with pytest.raises(SecondTransaction), run.transaction():
            raise AssertionError("never inside")
        with pytest.raises(SecondTransaction):
            run.write(lambda tx: stage.note(tx, window))

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert stage.effects() == ["11:00"]


def test_at_the_end_an_error_before_the_block_fails_and_writes_nothing(stage: Stage) -> None:
    def body(window: Window, run: Run) -> None:
        raise ValueError("the rates service is away")

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 ValueError 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])


def test_at_the_end_an_error_inside_the_block_fails_even_if_it_is_swallowed(stage: Stage) -> None:
    def body(window: Window, run: Run) -> None:
        with pytest.raises(ValueError), run.transaction() as tx:  # noqa: PT012 - the effect comes first
            stage.note(tx, window)
            raise ValueError("inside")

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 ValueError 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])


def test_at_the_end_an_error_after_the_block_is_shown_and_the_effect_stands(stage: Stage) -> None:
    def body(window: Window, run: Run) -> None:
        with run.transaction() as tx:
            stage.note(tx, window)
        raise ValueError("the mail about it")

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert "RAISED-AFTER 11:00-12:00 the mail about it" in stage.told(object)
    assert (stage.effects(), stage.rows()) == (["11:00"], ["11:00-12:00 done"])
    assert stage.run() == ["IDLE 12:00 next=13:00"]


def test_at_the_end_a_body_without_its_block_is_processed_without_effect(stage: Stage) -> None:
    def body(window: Window, run: Run) -> None:
        pass

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert (stage.effects(), stage.rows(), stage.watermark()) == ([], ["11:00-12:00 done"], "12:00")


@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("written", [False, True], ids=["block", "write"])
def test_at_the_end_who_comes_second_is_told_even_if_he_does_not_listen(
    stage: Stage,
    swallowed: bool,  # noqa: FBT001
    written: bool,  # noqa: FBT001
) -> None:
    # Another copy, without the lock, does the window while this one is busy with its slow work.
    other = stage.another(locked=False)
    stage.hourly(app=other, since=f"{DAY}T11:00Z")

    def write(window: Window, run: Run) -> None:
        if written:
            run.write(lambda tx: stage.note(tx, window, 100))
        else:
            with run.transaction() as tx:
                stage.note(tx, window, 100)

    def body(window: Window, run: Run) -> None:
        assert stage.run(app=other, window="11:00") == [LIVE]
        if not swallowed:
            write(window, run)
            raise AssertionError("not reached")
        with pytest.raises(AlreadyDone):
            write(window, run)

    declare(stage, body)
    assert stage.run() == ["SKIPPED 11:00-12:00 key-exists"]
    assert stage.total() == 1


def test_at_the_end_write_repeats_only_its_function(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    calls = {"slow": 0, "write": 0}

    def body(window: Window, run: Run) -> None:
        calls["slow"] += 1

        def write(tx: Transaction) -> str:
            calls["write"] += 1
            stage.note(tx, window)
            if calls["write"] < 3:
                tx.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")
            return "written"

        assert run.write(write) == "written"

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert calls == {"slow": 1, "write": 3}
    assert stage.effects() == ["11:00"]


def test_at_the_end_a_conflict_in_the_block_repeats_the_whole_body(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    calls = {"slow": 0}

    def body(window: Window, run: Run) -> None:
        calls["slow"] += 1
        with run.transaction() as tx:
            stage.note(tx, window)
            if calls["slow"] < 3:
                tx.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$")

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert calls == {"slow": 3}
    assert stage.effects() == ["11:00"]


def test_inside_a_conflict_repeats_the_whole_body_until_the_attempts_are_spent(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    calls = []

    def body(window: Window, tx: Transaction) -> None:
        calls.append(window.key)
        stage.note(tx, window)
        tx.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 SerializationFailure 1"]
    assert len(calls) == 8
    assert stage.effects() == []


# ------------------------------------------------------------------------------------------------------- outside


def test_outside_the_window_is_marked_started_before_and_done_after(stage: Stage) -> None:
    seen = []

    def body(window: Window) -> None:
        seen.append((stage.rows(), stage.watermark()))

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert seen == [(["11:00-12:00 open"], "11:00")]
    assert (stage.rows(), stage.watermark()) == (["11:00-12:00 done"], "12:00")


@pytest.mark.parametrize("policy", ["rerun", "hold"])
def test_outside_an_error_is_a_failure_and_comes_again(stage: Stage, policy: str) -> None:
    calls = []

    def body(window: Window) -> None:
        calls.append(window.key)
        if len(calls) == 1:
            raise ValueError("refused")

    declare(stage, body, if_in_doubt=policy)
    assert stage.run() == ["FAILED 11:00-12:00 ValueError 1"]
    assert stage.rows() == ["11:00-12:00 planned"]
    assert stage.run() == [LIVE]


def die(stage: Stage, **options: Any) -> None:
    """Leave what a killed process leaves: the window started, its run's record open, its owner gone."""

    def body(window: Window) -> None:
        raise Stopped

    dying = stage.another(locked=False)
    declare(stage, body, app=dying, **options)
    with pytest.MonkeyPatch.context() as patched:
        # What ends a process does not close its run's record.
        patched.setattr(JobRun, "_close", lambda *_: iter(()))
        with pytest.raises(Stopped):
            stage.run(app=dying)
    stage.bury()


def test_outside_started_and_its_owner_gone_is_rerun(stage: Stage) -> None:
    calls: list[str] = []

    def body(window: Window) -> None:
        calls.append(window.key)

    die(stage)
    assert stage.rows() == ["11:00-12:00 open"]
    declare(stage, body)
    assert stage.run() == [LIVE]
    assert len(calls) == 1


def test_outside_started_and_its_owner_gone_is_held_where_the_job_says_so(stage: Stage) -> None:
    calls: list[str] = []

    def body(window: Window) -> None:
        calls.append(window.key)

    die(stage, if_in_doubt="hold")
    declare(stage, body, if_in_doubt="hold")
    assert stage.run() == ["IN-DOUBT 11:00-12:00 no-end"]
    assert stage.rows() == ["11:00-12:00 in-doubt"]
    # It stays so: nothing is run again by itself, and nothing behind it.
    stage.set("13:00")
    assert stage.run() == ["IN-DOUBT 11:00-12:00 no-end"]
    assert (calls, stage.watermark()) == ([], "11:00")


def test_outside_while_its_owner_lives_it_is_left_alone(stage: Stage) -> None:
    other = stage.another(locked=False)
    told = []

    def body(window: Window) -> None:
        told.extend(stage.run(app=other))

    declare(stage, body)
    declare(stage, lambda: None, app=other)
    assert stage.run() == [LIVE]
    assert told == ["SKIPPED 11:00-12:00 lock"]


def test_T2_16_outside_a_zombie_whose_window_was_taken_over_writes_nothing(stage: Stage, monkeypatch: Any) -> None:
    other = stage.another(locked=False)
    # The other copy thinks, wrongly, that the first one is gone.
    monkeypatch.setattr(other.jobs._moment, "is_gone", lambda _: True)
    told: list[str] = []

    def body(window: Window) -> None:
        if not told:
            told.append("first")
            told.extend(stage.run(app=other))

    declare(stage, body)
    declare(stage, body, app=other)
    assert stage.run() == ["SKIPPED 11:00-12:00 lease-lost"]
    assert told == ["first", LIVE]
    assert stage.rows() == ["11:00-12:00 done"]


@pytest.mark.parametrize("policy", ["rerun", "hold"])
def test_outside_a_done_mark_that_cannot_be_written_is_never_called_a_failure(sqlite_stage: Stage, policy: str) -> None:
    # The effect has happened. Another writer holds the file beyond the budget.
    stage = sqlite_stage
    impatient = stage.another(lock_timeout_seconds=0.01, retry=RetryPolicy(attempts=1))
    calls: list[str] = []
    writer = sqlite3.connect(stage.url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)

    def body(window: Window) -> None:
        calls.append(window.key)
        writer.execute("BEGIN IMMEDIATE")

    declare(stage, body, app=impatient, if_in_doubt=policy)
    told = stage.run(app=impatient)
    if writer.in_transaction:
        writer.execute("ROLLBACK")
    assert not [text for text in told if text.startswith(("FAILED", "PROCESSED"))], told
    assert stage.rows() == ["11:00-12:00 open"]
    declare(stage, lambda: calls.append("again"), if_in_doubt=policy)
    told = stage.run()
    if policy == "hold":
        assert told == ["IN-DOUBT 11:00-12:00 no-end"]
        assert len(calls) == 1
    else:
        assert told == [LIVE]
        assert len(calls) == 2
    writer.close()


def test_a_ledger_that_another_writer_holds_beyond_the_budget_is_out_of_reach(sqlite_stage: Stage) -> None:
    stage = sqlite_stage
    impatient = stage.another(lock_timeout_seconds=0.01, retry=RetryPolicy(attempts=1))
    stage.hourly(app=impatient)
    stage.run(app=impatient)
    stage.set("13:00")
    with closing(sqlite3.connect(stage.url.removeprefix("sqlite:///"), isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError):
            stage.run(app=impatient)
        writer.execute("ROLLBACK")
    assert stage.run(app=impatient) == ["PROCESSED 12:00-13:00 live"]
