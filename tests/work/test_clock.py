"""What the clock may do to a job: boundaries, first starts, jumps forward and back, anchors."""

from datetime import UTC, datetime, timedelta

import pytest

from telafi import Transaction, Window
from telafi.errors import MalformedInstant, NaiveInstant
from telafi.events import Warned
from telafi.ledger.watermarks import lock_job
from tests.work.stage import DAY, Stage


def test_E04_a_boundary_belongs_to_the_next_window_and_closes_this_one(stage: Stage) -> None:
    seen = []

    def body(window: Window, tx: Transaction) -> None:
        seen.append((window.start, window.end))

    stage.hourly(body)
    stage.set("10:59:59.999999")
    assert stage.run() == ["IDLE 10:00 next=11:00"]
    stage.set("11:00")
    assert stage.run() == ["PROCESSED 10:00-11:00 live"]
    assert seen == [(datetime(2026, 9, 4, 10, tzinfo=UTC), datetime(2026, 9, 4, 11, tzinfo=UTC))]


def test_E04_a_record_on_the_boundary_is_counted_in_one_window_only(stage: Stage) -> None:
    kind = "timestamptz" if stage.is_server else "text"
    stage.execute(f"CREATE TABLE orders (at {kind}, cents integer)")
    for instant, cents in (("10:00:00", 1), ("10:59:59", 10), ("11:00:00", 100), ("12:00:00", 1_000)):
        stage.execute("INSERT INTO orders VALUES (?, ?)", (f"{DAY}T{instant}Z", cents))
    start, end = ("%(start)s", "%(end)s") if stage.is_server else (":start", ":end")

    def body(window: Window, tx: Transaction) -> None:
        rows = tx.execute(f"SELECT sum(cents) FROM orders WHERE at >= {start} AND at < {end}", window.params())
        totals.append(rows.fetchone()[0])

    totals: list[int] = []
    stage.hourly(body)
    stage.set("13:00")
    stage.run()
    assert totals == [11, 100, 1_000]


def test_E02_an_hour_back_nothing_is_closed_and_a_warning_says_why(stage: Stage) -> None:
    stage.hourly()
    stage.run()
    stage.set("11:07")
    assert stage.run() == ["IDLE 12:00 next=13:00"]
    (warning,) = stage.told(Warned)
    assert f"the clock says {DAY}T11:07:00Z, which is before the watermark {DAY}T12:00:00Z" in warning
    assert stage.watermark() == "12:00"
    stage.set("12:59")
    stage.events.clear()
    assert stage.run() == ["IDLE 12:00 next=13:00"]
    assert stage.told(Warned) == []
    stage.set("13:00")
    assert stage.run() == ["PROCESSED 12:00-13:00 live"]
    assert stage.effects() == ["10:00", "11:00", "12:00"]


@pytest.mark.parametrize("minutes", [-90, 90])
def test_a_wall_clock_that_jumped_against_boot_time_is_a_warning(sqlite_stage: Stage, minutes: int) -> None:
    stage = sqlite_stage
    stage.hourly(since=f"{DAY}T08:00Z")
    stage.run()
    stage.clock.set(stage.clock.now_microseconds() + minutes * 60_000_000)
    stage.run()
    jumped = f"WARNED the wall clock jumped by {minutes * 60:+} s against boot time since the last run"
    assert jumped in stage.told(Warned)


def test_time_that_passed_as_it_should_is_no_jump(sqlite_stage: Stage) -> None:
    stage = sqlite_stage
    stage.hourly()
    stage.run()
    stage.clock.advance(40 * 3_600)
    assert len(stage.run()) == 40
    assert stage.told(Warned) == []


def test_T1_27_without_since_a_new_job_starts_at_the_newest_boundary(stage: Stage) -> None:
    stage.hourly(since=None)
    stage.set("12:25")
    assert stage.run() == ["IDLE 12:00 next=13:00 (new)"]
    assert (stage.rows(), stage.watermark()) == ([], "12:00")
    assert stage.run() == ["IDLE 12:00 next=13:00"], "it is new once"
    stage.set("13:00")
    assert stage.run() == ["PROCESSED 12:00-13:00 live"]


def test_T1_27_with_since_it_starts_there(stage: Stage) -> None:
    stage.hourly(since=f"{DAY}T00:00Z")
    stage.set("12:25")
    told = stage.run()
    assert (len(told), told[0], told[-1]) == (
        12,
        "PROCESSED 00:00-01:00 catch-up",
        "PROCESSED 11:00-12:00 live",
    )


def test_T1_27_unpausing_a_job_that_never_ran_processes_nothing_of_the_past(stage: Stage) -> None:
    stage.hourly(since=None)
    stage.perform(lock_job("hourly"))
    stage.pause()
    assert stage.run() == ["SKIPPED paused"]
    stage.set("17:30")
    stage.pause(paused=False)
    assert stage.run() == ["IDLE 17:00 next=18:00 (new)"]


def test_since_inside_a_step_gives_a_stub_first(stage: Stage) -> None:
    stage.hourly(since=f"{DAY}T10:20Z")
    assert stage.run() == ["PROCESSED 10:20-11:00 catch-up", "PROCESSED 11:00-12:00 live"]


def test_since_in_the_future_waits_for_it(stage: Stage) -> None:
    stage.hourly(since=f"{DAY}T14:00Z")
    assert stage.run() == ["IDLE 14:00 next=15:00"]
    stage.set("15:00")
    assert stage.run() == ["PROCESSED 14:00-15:00 live"]


def test_since_counts_once(stage: Stage) -> None:
    stage.hourly(since=f"{DAY}T10:00Z")
    stage.run()
    later = stage.another()
    stage.hourly(app=later, since=f"{DAY}T00:00Z")
    assert stage.run(app=later) == ["IDLE 12:00 next=13:00"]


def test_T1_14_a_week_is_counted_from_where_it_is_anchored_whoever_restarts(stage: Stage) -> None:
    ran = []
    for day in range(1, 17):
        restarted = stage.another()

        def weekly(window: Window, tx: Transaction) -> None:
            ran.append(f"{window.end:%m-%d}")

        restarted.job(every="7d", anchor="2026-09-01T00:00Z", since="2026-09-01T00:00Z")(weekly)
        stage.set(f"2026-09-{day:02}T00:00")
        stage.run("weekly", app=restarted)
    assert ran == ["09-08", "09-15"]


def test_without_an_anchor_seven_days_count_from_the_epoch(stage: Stage) -> None:
    seen = []

    def weekly(window: Window, tx: Transaction) -> None:
        seen.append(window.start)

    stage.app.job(every="7d", since="2026-08-20T00:00Z")(weekly)
    stage.run("weekly")
    assert [start.isoformat()[:10] for start in seen] == ["2026-08-20", "2026-08-27"]
    assert {(start - datetime(1970, 1, 1, tzinfo=UTC)) % timedelta(days=7) for start in seen} == {timedelta(0)}


def test_T1_16_down_exactly_when_it_was_due_it_runs_once_afterwards(stage: Stage) -> None:
    def daily(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)

    for app in (stage.app, stage.another()):
        app.job(every="1d", anchor=f"{DAY}T11:00Z", since="2026-09-03T11:00Z")(daily)
        stage.set("10:59:50" if app is stage.app else "11:05")
        told = stage.run("daily", app=app)
        due = ["PROCESSED 2026-09-03T11:00:00Z-11:00 live"]
        assert told == (due if app is not stage.app else ["IDLE 2026-09-03T11:00:00Z next=11:00"])
    assert stage.run("daily") == ["IDLE 11:00 next=2026-09-05T11:00:00Z"]
    stage.set("2026-09-05T11:00")
    assert stage.run("daily") == ["PROCESSED 11:00-2026-09-05T11:00:00Z live"]


def test_a_changed_schedule_gives_a_stub_and_no_gap(stage: Stage) -> None:
    stage.hourly()
    stage.run()
    changed = stage.another()
    stage.hourly(app=changed, every="5h")
    stage.set("16:00")
    assert stage.run(app=changed) == ["PROCESSED 12:00-15:00 live"]
    again = stage.another()
    stage.hourly(app=again, every="1h", anchor=f"{DAY}T00:30Z")
    stage.set("17:00")
    assert stage.run(app=again) == ["PROCESSED 15:00-15:30 catch-up", "PROCESSED 15:30-16:30 live"]


NAIVE = ["2026-09-04T10:00", "2026-09-04", datetime(2026, 9, 4, 10)]  # noqa: DTZ001 - naive on purpose


@pytest.mark.parametrize("naive", NAIVE, ids=str)
def test_E11_a_naive_instant_is_refused_wherever_one_is_given(stage: Stage, naive: str | datetime) -> None:
    def body(window: Window, tx: Transaction) -> None: ...

    for option in ("since", "anchor"):
        with pytest.raises(NaiveInstant, match="no time zone"):
            stage.app.job(name="x", every="1h", **{option: naive})(body)  # type: ignore[arg-type]
    stage.hourly()
    with pytest.raises(TypeError):
        stage.app.jobs.run("hourly", window=naive)
    assert stage.rows() == []


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01T00:00Z", "2016-12-31T23:59:60Z", "2026-02-30T00:00Z"])
def test_E06_what_is_no_instant_is_refused_with_how_to_write_one(sqlite_stage: Stage, text: str) -> None:
    sqlite_stage.hourly()
    with pytest.raises(MalformedInstant, match="write it like 2026-09-04T10:00Z"):
        sqlite_stage.app.jobs.run("hourly", window=text)
