"""What a job should notice by itself: rows that came late, windows without effect, work that waits too long."""

from contextlib import closing
from typing import Any

import psycopg
import pytest

from telafi import Transaction, Window
from telafi.errors import WrongUse
from telafi.events import Warned
from telafi.ledger.watermarks import read_job
from telafi.ledger.windows import read_ahead, read_last_done
from telafi.plan.lateness import Outlook, outlook
from tests.work.stage import DAY, Stage, at


def count_orders(stage: Stage, counts: dict[str, int], name: str, **options: Any) -> None:
    """Declare a job that counts the minute's orders and says so in their rows."""

    def body(window: Window, tx: Transaction) -> None:
        rows = tx.execute(
            "UPDATE orders SET counted = true WHERE created >= %(start)s AND created < %(end)s", window.params()
        )
        counts[f"{window.start:%H:%M}"] = rows.rowcount

    late = "SELECT count(*) FROM orders WHERE created < %(watermark)s AND NOT counted"
    stage.app.job(name=name, every="1m", since=f"{DAY}T02:29Z", late_rows=late, **options)(body)


@pytest.fixture
def orders(postgresql_stage: Stage) -> Stage:
    postgresql_stage.execute("CREATE TABLE orders (created timestamptz, counted boolean NOT NULL DEFAULT false)")
    postgresql_stage.set("02:30:05")
    return postgresql_stage


def test_T1_33_without_grace_a_row_that_commits_late_is_lost_but_reported(orders: Stage) -> None:
    counts: dict[str, int] = {}
    count_orders(orders, counts, "minutely")
    with closing(psycopg.connect(orders.url)) as writer:
        writer.execute("INSERT INTO orders VALUES (%s)", (f"{DAY}T02:29:59Z",))
        assert orders.run("minutely") == ["PROCESSED 02:29-02:30 live"]
        assert counts == {"02:29": 0}
        assert orders.told(Warned) == []
        writer.commit()
    orders.set("02:31")
    assert orders.run("minutely") == ["PROCESSED 02:30-02:31 live"]
    assert orders.told(Warned) == ["WARNED 1 records arrived in windows that are finished already"]


def test_T1_33_a_grace_longer_than_the_writing_transaction_counts_it_once(orders: Stage) -> None:
    counts: dict[str, int] = {}
    count_orders(orders, counts, "minutely", grace="5m")
    with closing(psycopg.connect(orders.url)) as writer:
        writer.execute("INSERT INTO orders VALUES (%s)", (f"{DAY}T02:29:59Z",))
        for now in ("02:30:05", "02:31:59", "02:34:59"):
            orders.set(now)
            assert orders.run("minutely") == ["IDLE 02:29 next=02:35"]
        writer.commit()
    orders.set("02:35")
    assert orders.run("minutely") == ["PROCESSED 02:29-02:30 live"]
    orders.set("02:37")
    orders.run("minutely")
    assert counts == {"02:29": 1, "02:30": 0, "02:31": 0}
    assert orders.told(Warned) == []


def test_late_rows_on_sqlite_get_the_watermark_as_text(sqlite_stage: Stage) -> None:
    stage = sqlite_stage
    stage.execute("CREATE TABLE orders (at TEXT)")
    stage.hourly(late_rows="SELECT count(*) FROM orders WHERE at < :watermark")
    stage.execute("INSERT INTO orders VALUES ('2026-09-04T11:59:59Z'), ('2026-09-04T12:00:00Z')")
    stage.run()
    assert stage.told(Warned) == ["WARNED 1 records arrived in windows that are finished already"]


def look(stage: Stage) -> Outlook:
    row = stage.perform(read_job("hourly"))
    assert row is not None
    assert row.watermark is not None
    job = stage.app.jobs.get("hourly")
    until = stage.clock.now_microseconds() - job.options.grace
    ahead = stage.perform(read_ahead("hourly", row.watermark))
    return outlook(job.schedule, row.watermark, until, [*ahead.rows, *ahead.ranges])


def test_T1_39_after_three_steps_without_a_finished_window_the_job_is_late(stage: Stage) -> None:
    stage.hourly(every="5m", since=f"{DAY}T12:00Z")
    stage.set("12:05")
    stage.run()
    late_after = stage.app.jobs.get("hourly").options.late_after
    assert late_after == at("00:15") - at("00:00")
    # The window 12:05-12:10 waits from 12:10 on; nobody runs it.
    late = {}
    for now in ("12:09", "12:10", "12:24:59", "12:25", "12:25:01", "23:00"):
        stage.set(now)
        late[now] = look(stage).is_late(stage.clock.now_microseconds(), late_after)
    assert late == {
        "12:09": False,
        "12:10": False,
        "12:24:59": False,
        "12:25": False,
        "12:25:01": True,
        "23:00": True,
    }
    seen = look(stage)
    assert (seen.due, seen.waiting_since) == (131, at("12:10"))
    assert stage.perform(read_last_done("hourly")) == at("12:05")
    stage.run(max_windows=200)
    assert not look(stage).is_late(stage.clock.now_microseconds(), late_after)


def test_W13_late_counts_rows_whatever_the_watermark_says(stage: Stage) -> None:
    stage.hourly()
    stage.set("15:00")
    stage.run()
    stage.set_watermark("10:00")
    assert look(stage) == Outlook(at("15:00"), 0, None, at("16:00"))
    stage.force("12:00", "planned")
    seen = look(stage)
    assert (seen.due, seen.waiting_since) == (1, at("13:00"))
    stage.force("12:00", "in-doubt")
    assert look(stage).due == 1


def test_T1_39_a_job_that_must_have_an_effect_is_told_after_so_many_without(stage: Stage) -> None:
    effect = [False]

    def body(window: Window, tx: Transaction) -> None:
        if effect[0]:
            stage.note(tx, window)
        tx.execute("SELECT 1")

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", must_have_effect=4)(body)
    stage.set("13:00")
    stage.run()
    assert stage.told(Warned) == [], "three are not four"
    stage.set("14:00")
    stage.run()
    assert stage.told(Warned) == ["WARNED the last 4 windows were processed without writing anything"]
    stage.events.clear()
    effect[0] = True
    stage.set("15:00")
    stage.run()
    assert stage.told(Warned) == []
    assert stage.execute(f"SELECT effects FROM {stage.table('windows')} ORDER BY start_at") == [(0,)] * 4 + [(1,)]


def test_new_record_keys_are_an_effect_and_repeats_are_none(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        tx.first_times(["a", "b"])

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", must_have_effect=1)(body)
    stage.run()
    assert stage.execute(f"SELECT effects FROM {stage.table('windows')} ORDER BY start_at") == [(2,), (0,)]
    assert len(stage.told(Warned)) == 1


def test_must_have_effect_counts_what_a_Transaction_writes(sqlite_stage: Stage) -> None:
    def outside(window: Window) -> None: ...

    with pytest.raises(WrongUse, match="must ask for one"):
        sqlite_stage.app.job(every="1h", must_have_effect=1)(outside)
