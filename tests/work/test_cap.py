"""Catch-up after an outage: oldest first, a cap for each run, and the count of what is left."""

import pytest

from telafi import Transaction, Window
from tests.work.stage import DAY, Stage, at, bounds, hours


def minutely(stage: Stage, since: str, **options: object) -> None:
    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)

    stage.app.job(name="minutely", every="1m", since=since, **options)(body)  # type: ignore[arg-type]


def test_T1_01_switched_off_at_night_catches_up_in_caps(stage: Stage) -> None:
    minutely(stage, "2026-01-01T08:29Z", max_windows=50)
    stage.set("2026-01-01T10:21:30")
    runs = [stage.run("minutely") for _ in range(4)]
    processed = [[told for told in run if told.startswith("PROCESSED")] for run in runs]
    assert [len(told) for told in processed] == [50, 50, 12, 0]
    assert [run[-1] for run in runs[:2]] == ["DEFERRED cap 62", "DEFERRED cap 12"]
    assert runs[3] == ["IDLE 2026-01-01T10:21:00Z next=2026-01-01T10:22:00Z"]
    windows = [told.split()[1] for run in processed for told in run]
    assert windows == sorted(windows)
    assert len(set(windows)) == 112
    assert stage.watermark("minutely") == "2026-01-01T10:21:00Z"
    assert len(stage.effects()) == len(set(stage.effects())) == 112


def test_E07_thirty_days_of_hours_with_a_cap_of_24(sqlite_stage: Stage) -> None:
    stage = sqlite_stage
    stage.hourly(max_windows=24, since="2026-08-01T00:00Z")
    stage.set("2026-08-31T00:00")
    told = stage.run()
    assert told[0] == "PROCESSED 2026-08-01T00:00:00Z-2026-08-01T01:00:00Z catch-up"
    assert told[23:] == [
        "PROCESSED 2026-08-01T23:00:00Z-2026-08-02T00:00:00Z catch-up",
        "DEFERRED cap 696",
    ]
    assert "PLANNED 24 696" in stage.told(object)
    assert stage.run()[-1] == "DEFERRED cap 672"
    # Nothing is stored for what is left: a month's rows are not written to be read again by every run.
    assert len(stage.rows()) == 48


def test_a_run_may_be_given_another_cap(stage: Stage) -> None:
    stage.hourly()
    stage.set("15:00")
    assert stage.run(max_windows=2) == [
        "PROCESSED 10:00-11:00 catch-up",
        "PROCESSED 11:00-12:00 catch-up",
        "DEFERRED cap 3",
    ]
    assert len(stage.run()) == 3


def test_a_failure_ends_the_run_without_a_word_of_the_cap(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        raise ValueError("no")

    stage.hourly(body, max_windows=2)
    stage.set("15:00")
    assert stage.run() == ["FAILED 10:00-11:00 ValueError 1"]


def test_max_age_skips_what_is_too_old_by_name_and_for_good(stage: Stage) -> None:
    stage.hourly(max_age="2h")
    stage.set("15:30")
    assert stage.run() == [
        "SKIPPED 10:00-11:00 too-old",
        "SKIPPED 11:00-12:00 too-old",
        "SKIPPED 12:00-13:00 too-old",
        "PROCESSED 13:00-14:00 catch-up",
        "PROCESSED 14:00-15:00 live",
    ]
    assert stage.rows()[:4] == [
        "10:00-11:00 skipped",
        "11:00-12:00 skipped",
        "12:00-13:00 skipped",
        "13:00-14:00 done",
    ]
    assert stage.watermark() == "15:00"
    assert stage.run() == ["IDLE 15:00 next=16:00"]
    assert stage.run(window="10:00") == ["SKIPPED 10:00-11:00 too-old"]
    assert stage.effects() == ["13:00", "14:00"]


@pytest.mark.parametrize("group", [1, 10])
def test_a_window_that_was_planned_and_has_become_too_old_is_skipped_too(stage: Stage, group: int) -> None:
    stage.plan(hours(10, 12))
    stage.hourly(max_age="2h", group=group)
    stage.set("14:30")
    assert stage.run() == [
        "SKIPPED 10:00-11:00 too-old",
        "SKIPPED 11:00-12:00 too-old",
        "PROCESSED 12:00-13:00 catch-up",
        "PROCESSED 13:00-14:00 live",
    ]
    assert stage.rows()[0] == "10:00-11:00 skipped"
    assert stage.effects() == ["12:00", "13:00"]


def test_more_that_is_too_old_than_one_run_may_store_is_counted_as_left(sqlite_stage: Stage) -> None:
    stage = sqlite_stage
    stage.hourly(max_age="1h", max_windows=1)
    stage.set("2026-09-05T10:00")
    told = stage.run()
    assert told[:-1] == [f"SKIPPED {window} too-old" for window in windows_from(10, 10)]
    assert told[-1] == "DEFERRED cap 14"
    assert stage.run()[-2:] == ["SKIPPED 2026-09-05T05:00:00Z-2026-09-05T06:00:00Z too-old", "DEFERRED cap 4"]
    assert stage.run()[-2:] == ["PROCESSED 2026-09-05T08:00:00Z-2026-09-05T09:00:00Z catch-up", "DEFERRED cap 1"]


def windows_from(hour: int, count: int) -> list[str]:
    step = at("01:00") - at("00:00")
    first = at(f"{hour}:00")
    return [bounds((first + step * number, first + step * (number + 1))) for number in range(count)]


def test_a_stop_between_two_windows_hands_the_rest_back(stage: Stage) -> None:
    stage.hourly(max_windows=4)
    stage.set("15:00")
    asked: list[str] = []

    def stopping() -> bool:
        asked.append("now")
        return len(asked) > 2

    assert stage.run(stopping=stopping) == [
        "PROCESSED 10:00-11:00 catch-up",
        "PROCESSED 11:00-12:00 catch-up",
        "DEFERRED hand-back 3",
    ]
    assert stage.rows()[2:] == ["12:00-13:00 planned", "13:00-14:00 planned"]
    assert len(stage.run()) == 3


def test_a_paused_job_says_so_and_goes_on_where_it_was(stage: Stage) -> None:
    stage.hourly()
    stage.plan([])
    stage.pause()
    assert stage.run() == ["SKIPPED paused"]
    assert stage.rows() == []
    stage.pause(paused=False)
    assert len(stage.run()) == 2


def test_a_pause_in_the_middle_of_a_run_stops_the_next_window(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        pauser.append(1)

    pauser: list[int] = []
    stage.hourly(body, since=f"{DAY}T08:00Z")

    def stopping() -> bool:
        # Between two windows, as an operator in another process would.
        if len(pauser) == 2:
            stage.pause()
        return False

    assert stage.run(stopping=stopping)[-1] == "SKIPPED 10:00-11:00 paused"
    assert stage.effects() == ["08:00", "09:00"]
    stage.pause(paused=False)
    assert len(stage.run()) == 2
