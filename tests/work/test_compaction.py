"""History is made small and never forgotten: done windows that follow each other become one range."""

from telafi import Transaction, Window
from telafi.events import Warned
from tests.work.stage import DAY, Stage, hours


def test_contiguous_done_rows_become_one_range(stage: Stage) -> None:
    stage.hourly(remember="2h")
    stage.set("15:00")
    assert len(stage.run()) == 5
    # Its own rows stay: the run's record is open while it looks after what it has done.
    assert stage.ranges() in ([], ["10:00-13:00 3"])
    stage.set("16:00")
    assert stage.run() == ["PROCESSED 15:00-16:00 live"]
    assert stage.ranges() == ["10:00-14:00 4"]
    assert stage.rows() == ["14:00-15:00 done", "15:00-16:00 done"]
    stage.set("18:00")
    stage.run()
    assert stage.ranges() == ["10:00-16:00 6"]


def test_a_range_still_says_that_its_windows_are_done(stage: Stage) -> None:
    stage.hourly(remember="1h")
    for now in ("13:00", "14:00", "15:00"):
        stage.set(now)
        stage.run()
    assert stage.ranges() == ["10:00-14:00 4"]
    for window in ("10:00", "12:00", "13:00"):
        assert stage.run(window=window)[0].endswith("key-exists")
    # Put back by hand, the watermark passes over the range; nothing is done again.
    stage.set_watermark("10:00")
    assert stage.run() == ["IDLE 15:00 next=16:00"]
    assert stage.effects() == ["10:00", "11:00", "12:00", "13:00", "14:00"]


def test_put_back_into_the_middle_of_a_range_nothing_is_done_again(stage: Stage) -> None:
    stage.hourly(remember="1h")
    for now in ("13:00", "14:00", "15:00"):
        stage.set(now)
        stage.run()
    stage.set_watermark("11:30")
    assert stage.run() == ["IDLE 15:00 next=16:00"]
    assert len(stage.effects()) == 5


def test_parked_and_in_doubt_rows_are_never_crossed(stage: Stage) -> None:
    stage.hourly()
    stage.set("16:00")
    assert len(stage.run()) == 6
    for hour, state in (("11:00", "parked"), ("13:00", "in-doubt")):
        stage.force(hour, state)
    stage.compact("16:00")
    assert stage.ranges() == ["10:00-11:00 1", "12:00-13:00 1", "14:00-16:00 2"]
    assert stage.rows() == ["11:00-12:00 parked", "13:00-14:00 in-doubt"]
    stage.force("11:00", "done")
    stage.compact("16:00")
    assert stage.ranges() == ["10:00-13:00 3", "14:00-16:00 2"]


def test_a_gap_in_time_is_never_crossed(stage: Stage) -> None:
    stage.plan([*hours(10, 12), *hours(13, 14)])
    for hour in ("10:00", "11:00", "13:00"):
        stage.force(hour, "done")
    stage.compact("16:00")
    assert stage.ranges() == ["10:00-12:00 2", "13:00-14:00 1"]


def test_only_what_ended_by_the_horizon_is_compacted(stage: Stage) -> None:
    stage.plan(hours(10, 13))
    for hour in ("10:00", "11:00", "12:00"):
        stage.force(hour, "done")
    stage.compact("12:00")
    assert stage.ranges() == ["10:00-12:00 2"]
    assert stage.rows() == ["12:00-13:00 done"]


def test_rows_whose_run_is_still_open_stay(stage: Stage) -> None:
    # Their run may still ask for them by claim id, after a COMMIT whose answer was lost.
    stage.plan(hours(10, 13))
    for hour in ("10:00", "11:00", "12:00"):
        stage.force(hour, "done")
    stage.execute(f"UPDATE {stage.table('windows')} SET run = 'still open' WHERE end_at > ?", (hours(11, 12)[0].start,))
    stage.leave_dead_run("still open", [("11:00", "12:00")])
    stage.compact("16:00")
    assert stage.ranges() == ["10:00-11:00 1"]
    assert stage.rows() == ["11:00-12:00 done", "12:00-13:00 done"]
    stage.execute(f"DELETE FROM {stage.table('runs')}")
    stage.compact("16:00")
    assert stage.ranges() == ["10:00-13:00 3"]


def test_compacting_twice_changes_nothing(stage: Stage) -> None:
    stage.plan(hours(10, 12))
    stage.force("10:00", "done")
    stage.force("11:00", "done")
    assert [stage.compact("16:00"), stage.compact("16:00")] == [2, 0]
    assert stage.ranges() == ["10:00-12:00 2"]


def test_N02_before_the_first_stored_window_and_the_watermark_nothing_is_run(stage: Stage) -> None:
    stage.hourly(remember="1h", since=f"{DAY}T12:00Z")
    for now in ("14:00", "15:00", "16:00"):
        stage.set(now)
        stage.run()
    assert stage.run(window="11:00") == ["SKIPPED 11:00-12:00 before-watermark"]
    assert stage.run(window="12:00") == ["SKIPPED 12:00-13:00 key-exists"]
    assert stage.effects() == ["12:00", "13:00", "14:00", "15:00"]


def test_N02_even_when_every_row_was_purged_by_hand(stage: Stage) -> None:
    stage.hourly()
    stage.run()
    stage.execute(f"DELETE FROM {stage.table('windows')}")
    assert stage.run(window="10:00") == ["SKIPPED 10:00-11:00 before-watermark"]
    assert stage.run() == ["IDLE 12:00 next=13:00"]


def test_a_failing_aftercare_never_fails_the_run(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None: ...

    stage.hourly(body, late_rows="SELECT count(*) FROM nowhere")
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    (warning,) = stage.told(Warned)
    assert warning.startswith("WARNED the work is done, but its aftercare failed")
    assert "nowhere" in warning
