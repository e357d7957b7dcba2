"""`run --window START`: the one window that a person asks for, and every reason not to run it."""

import pytest

from telafi import WindowOverlap
from telafi.errors import NotABoundary, UnknownJob, WrongUse
from tests.work.stage import DAY, Stage, hours


def test_ahead_of_time_and_then_in_order(stage: Stage) -> None:
    stage.hourly()
    stage.set("14:00")
    assert stage.run(window="12:00") == ["PROCESSED 12:00-13:00 catch-up"]
    assert (stage.rows(), stage.watermark()) == (["12:00-13:00 done"], "10:00")
    assert stage.run() == [
        "PROCESSED 10:00-11:00 catch-up",
        "PROCESSED 11:00-12:00 catch-up",
        "PROCESSED 13:00-14:00 live",
    ]
    assert stage.run() == ["IDLE 14:00 next=15:00"]
    assert stage.effects() == ["10:00", "11:00", "12:00", "13:00"]


def test_the_newest_closed_window_is_live(stage: Stage) -> None:
    stage.hourly()
    assert stage.run(window="11:00") == ["PROCESSED 11:00-12:00 live"]


def test_done_is_done(stage: Stage) -> None:
    stage.hourly()
    stage.run()
    assert stage.run(window="10:00") == ["SKIPPED 10:00-11:00 key-exists"]
    assert stage.effects() == ["10:00", "11:00"]


def test_an_instant_in_another_zone_is_the_same_instant(stage: Stage) -> None:
    stage.hourly()
    assert stage.run(window=f"{DAY}T13:00+03:00") == ["PROCESSED 10:00-11:00 catch-up"]


@pytest.mark.parametrize("window", ["12:00", "13:00", "23:00"])
def test_an_open_window_is_deferred(stage: Stage, window: str) -> None:
    stage.hourly()
    assert stage.run(window=window)[0].startswith(f"DEFERRED {window}-")
    assert stage.run(window=window)[0].endswith("not-closed")
    assert stage.rows() == []


def test_the_grace_keeps_it_open(stage: Stage) -> None:
    stage.hourly(grace="10m")
    assert stage.run(window="11:00") == ["DEFERRED 11:00-12:00 not-closed"]


def test_a_stored_window_that_is_open_again_after_the_clock_went_back_is_deferred(stage: Stage) -> None:
    stage.plan(hours(10, 12))
    stage.hourly()
    stage.set("11:30")
    assert stage.run(window="11:00") == ["DEFERRED 11:00-12:00 not-closed"]
    assert stage.run() == ["PROCESSED 10:00-11:00 live"]


def test_what_is_no_boundary_is_refused_with_its_neighbours(stage: Stage) -> None:
    stage.hourly()
    with pytest.raises(NotABoundary, match=f"the nearest start at {DAY}T10:00:00Z and {DAY}T11:00:00Z"):
        stage.run(window="10:17")
    assert stage.rows() == []


def test_before_the_watermark_and_the_first_stored_window(stage: Stage) -> None:
    stage.hourly()
    assert stage.run(window="08:00") == ["SKIPPED 08:00-09:00 before-watermark"]
    stage.run()
    assert stage.run(window="09:00") == ["SKIPPED 09:00-10:00 before-watermark"]


def test_a_start_inside_a_stored_window_overlaps_it(stage: Stage) -> None:
    wide = stage.another()
    stage.hourly(app=wide, every="4h", since=f"{DAY}T08:00Z")
    stage.run(app=wide)
    stage.hourly()
    with pytest.raises(WindowOverlap, match=f"inside the stored window {DAY}T08:00:00Z/{DAY}T12:00:00Z"):
        stage.run(window="10:00")
    assert stage.rows() == ["08:00-12:00 done"]


def test_it_is_cut_at_the_next_stored_window(stage: Stage) -> None:
    stage.hourly(app=(narrow := stage.another()))
    stage.set("14:00")
    stage.run(app=narrow, window="11:00")
    stage.hourly(every="2h")
    assert stage.run(window="10:00") == ["PROCESSED 10:00-11:00 catch-up"]
    assert stage.run() == ["PROCESSED 12:00-14:00 live"]
    assert stage.effects() == ["10:00", "11:00", "12:00"]


def test_the_watermark_of_a_stub_may_be_asked_for(stage: Stage) -> None:
    stage.hourly(since=f"{DAY}T10:20Z")
    assert stage.run(window="10:20") == ["PROCESSED 10:20-11:00 catch-up"]


def test_a_parked_window_is_done_when_a_person_asks_for_it_by_name(stage: Stage) -> None:
    stage.plan(hours(10, 11))
    stage.force("10:00", "parked")
    stage.hourly()
    assert stage.run()[0].startswith("PROCESSED 11:00")
    assert stage.run(window="10:00") == ["PROCESSED 10:00-11:00 catch-up"]
    assert stage.effects() == ["10:00", "11:00"]
    assert stage.run(window="10:00") == ["SKIPPED 10:00-11:00 key-exists"]


def test_in_doubt_stays_in_doubt(stage: Stage) -> None:
    stage.plan(hours(10, 12))
    stage.force("10:00", "in-doubt")
    stage.hourly()
    assert stage.run(window="10:00") == ["IN-DOUBT 10:00-11:00 no-end"]
    assert stage.run() == ["IN-DOUBT 10:00-11:00 no-end"]
    assert stage.run(window="11:00") == ["PROCESSED 11:00-12:00 live"]


def test_an_unknown_job_names_the_known_ones(sqlite_stage: Stage) -> None:
    sqlite_stage.hourly()
    with pytest.raises(UnknownJob, match="this application has: hourly"):
        sqlite_stage.run("hourli")


@pytest.mark.parametrize("cap", [0, -1])
def test_a_cap_below_one_is_wrong_use(sqlite_stage: Stage, cap: int) -> None:
    sqlite_stage.hourly()
    with pytest.raises(WrongUse, match="at least 1"):
        sqlite_stage.run(max_windows=cap)
