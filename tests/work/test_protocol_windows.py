"""The rules W1 to W13 of the window protocol: for each, the shortest trace that goes wrong without it."""

from functools import partial
from itertools import pairwise
from threading import Event
from typing import Any

import psycopg
import pytest

from telafi import Transaction, Window, WindowOverlap
from telafi.instants import Span
from telafi.ledger.compaction import compact
from telafi.ledger.planning import PlanAnswer, PlanRequest, plan_transaction
from telafi.ledger.rows import RunRow
from telafi.ledger.runners import perform
from telafi.ledger.runs import charge, open_run, read_charges
from telafi.ledger.steps import Steps
from telafi.ledger.windows import Claim, claim_window, record_failure
from telafi.plan.every import every
from tests.work.stage import DAY, WAIT_SECONDS, InThread, Stage, at, bounds, hours, lines
from tests.work.walking import Walk, walk_run


def request(stage: Stage, step: str = "1h", run: str = "r1", **more: Any) -> PlanRequest:
    """Ask for a plan, as a run with that grid would at the stage's time."""

    def now() -> Steps[int]:
        return stage.clock.now_microseconds()
        yield

    asked = PlanRequest(
        job="hourly", schedule=every(step), since=at("10:00"), grace=0, max_age=None, windows_max=100, asked=None,
        run=run, owner=lambda: "nobody", read_now=now, is_gone=lambda _: False, boot=None,
    )  # fmt: skip
    return asked._replace(**more)


def planned(stage: Stage, step: str = "1h", run: str = "r1", **more: Any) -> PlanAnswer:
    return stage.perform(plan_transaction(request(stage, step, run, **more)))


def due(answer: PlanAnswer) -> list[str]:
    return [bounds(span) for span in answer.plan.due]


def no_overlap(stage: Stage) -> None:
    table = stage.table("windows")
    spans = stage.execute(f"SELECT start_at, end_at FROM {table} ORDER BY start_at, end_at")
    spans += stage.execute(f"SELECT start_at, end_at FROM {stage.table('ranges')}")
    spans.sort()
    assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans


# ------------------------------------------------------------------------------------------- W1: the job's row


@pytest.mark.parametrize("seen_before", [False, True], ids=["first run ever", "job known"])
@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_W1_two_plans_with_different_grids_take_turns(postgresql_stage: Stage, seen_before: bool, level: str) -> None:  # noqa: FBT001
    stage = postgresql_stage
    stage.set("16:00")
    if seen_before:
        stage.plan([])
    # Whatever the pool asks for.
    stage.execute(f"ALTER DATABASE \"{stage.url.rpartition('/')[2]}\" SET default_transaction_isolation = '{level}'")
    with stage.app.ledger.opened() as first:
        one = Walk(plan_transaction(request(stage, "2h", "r1")), first).until("insert_windows")
        two = InThread(partial(planned, stage, "3h", "r2"))
        stage.until_somebody_waits()
        assert due(one.finish()) == ["10:00-12:00", "12:00-14:00", "14:00-16:00"]
    assert due(two.answer()) == ["10:00-12:00", "12:00-14:00", "14:00-16:00"]
    no_overlap(stage)


def test_W1_the_rows_row_is_made_locked_and_only_then_are_windows_read(stage: Stage) -> None:
    with stage.app.ledger.opened() as handle:
        walk = Walk(plan_transaction(request(stage)), handle)
        walk.finish()
    order = ["Begin", "insert_job", "lock_job", "read_windows_ahead", "read_ranges_ahead", "insert_windows"]
    assert walk.did[: len(order)] == order


def test_W1_a_plan_waits_while_a_unit_moves_the_watermark(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.hourly()
    stage.set("13:00")
    with walk_run(stage.app) as run:
        run.until("advance_watermark")
        run.step()
        plan = InThread(partial(planned, stage, "3h", "r2"))
        stage.until_somebody_waits()
        assert lines(run.finish()) == [
            "PROCESSED 10:00-11:00 catch-up",
            "PROCESSED 11:00-12:00 catch-up",
            "PROCESSED 12:00-13:00 live",
        ]
    assert set(due(plan.answer())) <= {"11:00-12:00", "12:00-13:00"}
    no_overlap(stage)


# ------------------------------------------------------------------------------------------------ W2: a run's list


def test_W2_a_stored_window_that_reaches_beyond_the_watermark_is_done(stage: Stage) -> None:
    planned(stage, "2h")
    stage.set_watermark("11:00")
    stage.hourly(every="2h")
    assert stage.run() == ["PROCESSED 10:00-12:00 live"]


def test_W2_what_a_dead_run_has_planned_is_done_by_the_next(stage: Stage) -> None:
    planned(stage)
    stage.hourly()
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]


def test_W2_what_lies_behind_the_watermark_is_left_to_backfill(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        if window.start.hour == 10:
            raise ValueError("poison")

    stage.hourly(body)
    assert stage.run() == ["FAILED 10:00-11:00 ValueError 1"]
    stage.set_watermark("11:00")
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]
    assert stage.rows() == ["10:00-11:00 planned", "11:00-12:00 done"]


@pytest.mark.parametrize("state", ["planned", "open", "in-doubt"])
def test_W2_open_and_in_doubt_rows_stand_in_the_list(stage: Stage, state: str) -> None:
    stage.plan(hours(10, 12))
    stage.force("10:00", state)
    assert due(planned(stage)) == ["10:00-11:00", "11:00-12:00"]


def test_W2_a_window_that_is_not_closed_yet_does_not(stage: Stage) -> None:
    stage.plan(hours(10, 14))
    assert due(planned(stage)) == ["10:00-11:00", "11:00-12:00"]


def test_W2_a_plan_whose_answer_was_lost_is_repeated_under_the_same_run(stage: Stage) -> None:
    planned(stage, run="r1")
    assert due(planned(stage, run="r1")) == ["10:00-11:00", "11:00-12:00"]
    assert stage.execute(f"SELECT id FROM {stage.table('runs')}") == [("r1",)]


def test_W2_a_run_keeps_its_id_over_the_attempts_of_its_plan(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.hourly()
    with walk_run(stage.app) as run:
        run.until("Commit")
        lose_the_answer(run)
        run.until("claim_window")
        assert stage.execute("SELECT count(*) FROM telafi.runs") == [(1,)]
        assert lines(run.finish()) == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.execute("SELECT count(*) FROM telafi.runs") == [(0,)]


def lose_the_answer(walk: Walk[Any]) -> None:
    """Let the next request happen, and its answer be lost with the connection."""
    request = walk.request
    assert request is not None
    request.do(walk._handle)
    walk.did.append("lost")
    walk._advance(walk._steps.throw, psycopg.OperationalError("server closed the connection unexpectedly"))


# ------------------------------------------------------------------------------------------------- W3: going on


def between(stage: Stage, change: Any) -> Any:
    """Do something just before the first window of a run, as another process may."""
    asked: list[int] = []

    def stopping() -> bool:
        asked.append(1)
        if len(asked) == 1:
            change()
        return False

    return stopping


@pytest.mark.parametrize("state", ["done", "skipped", "parked"])
def test_W3_what_somebody_else_has_finished_does_not_end_the_run(stage: Stage, state: str) -> None:
    stage.hourly()
    told = stage.run(stopping=between(stage, lambda: stage.force("10:00", state)))
    assert told == ["SKIPPED 10:00-11:00 key-exists", "PROCESSED 11:00-12:00 live"]
    assert stage.effects() == ["11:00"]
    assert stage.run() == ["IDLE 12:00 next=13:00"]


def test_W3_a_window_in_doubt_ends_the_run(stage: Stage) -> None:
    stage.hourly()
    told = stage.run(stopping=between(stage, lambda: stage.force("10:00", "in-doubt")))
    assert told == ["IN-DOUBT 10:00-11:00 no-end"]
    assert stage.rows() == ["10:00-11:00 in-doubt", "11:00-12:00 planned"]
    assert stage.run() == ["IN-DOUBT 10:00-11:00 no-end"]


def test_W3_a_window_that_another_copy_has_started_ends_the_run(stage: Stage) -> None:
    other = stage.another(locked=False)
    told = []

    def first(window: Window) -> None:
        if window.start.hour == 10:
            told.append(stage.run(app=other))

    called: list[str] = []

    def second(window: Window) -> None:
        called.append(window.key)

    for app, body in ((stage.app, first), (other, second)):
        app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z")(body)
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert called == []
    assert told == [["SKIPPED 10:00-11:00 lock"]]


def test_W3_a_failure_ends_the_run_unless_it_may_be_parked(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        if window.start.hour == 10:
            raise ValueError("no")

    stage.hourly(body)
    stage.hourly(body, app=(parking := stage.another()), on_error="park", attempts=5)
    assert stage.run() == ["FAILED 10:00-11:00 ValueError 1"]
    assert stage.run(app=parking) == ["FAILED 10:00-11:00 ValueError 2/5", "PROCESSED 11:00-12:00 live"]


# --------------------------------------------------------------------------------------------- W4: nothing claimed


def test_W4_a_row_that_is_planned_again_is_claimed_again(stage: Stage) -> None:
    stage.plan(hours(10, 12))
    stage.force("10:00", "open")
    stage.hourly()
    with walk_run(stage.app) as run:
        # Nothing was claimed; before the row is read, its owner records a failure.
        run.until("claim_window").until("Rollback").step()
        stage.force("10:00", "planned")
        assert lines(run.finish()) == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
        assert run.did.count("claim_window") == 3


def test_W4_a_row_that_has_gone_is_planned_again(stage: Stage) -> None:
    stage.hourly()
    gone = f"DELETE FROM {stage.table('windows')}"
    told = stage.run(stopping=between(stage, lambda: stage.execute(gone)))
    assert told == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.effects() == ["10:00", "11:00"]


def test_W4_mine_is_told_by_the_claims_id_after_an_answer_was_lost(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.hourly()
    with walk_run(stage.app) as run:
        run.until("advance_watermark").until("Commit")
        lose_the_answer(run)
        told = lines(run.finish())
    assert told == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.effects() == ["10:00", "11:00"]


# ---------------------------------------------------------------------------------------- W5: a failure's record


@pytest.mark.parametrize("on_error", ["stop", "park"])
def test_W5_a_failure_is_not_written_over_what_another_copy_has_done(stage: Stage, on_error: str) -> None:
    def fails(window: Window, tx: Transaction) -> None:
        raise ValueError("no")

    stage.hourly(fails, on_error=on_error, attempts=1)
    other = stage.another(locked=False)
    stage.hourly(app=other)
    with walk_run(stage.app) as run:
        # The body has failed and is rolled back; its failure is not recorded yet.
        run.until("claim_window").until("Rollback").step()
        assert stage.run(app=other, window="10:00") == ["PROCESSED 10:00-11:00 catch-up"]
        run.finish()
    assert stage.rows()[0] == "10:00-11:00 done"
    assert stage.execute(f"SELECT attempts FROM {stage.table('windows')} ORDER BY start_at")[0] == (0,)


def test_W5_a_started_row_goes_back_only_by_the_one_who_started_it(stage: Stage) -> None:
    stage.plan(hours(10, 11))
    mine = Claim("hourly", hours(10, 11)[0], "mine", "r1", "live", outside=True)
    theirs = mine._replace(id="theirs")
    assert stage.perform(claim_window(theirs)) is not None
    assert not stage.perform(record_failure(mine, state="planned", reason="x", error="x"))
    assert stage.rows() == ["10:00-11:00 open"]
    assert stage.perform(record_failure(theirs, state="planned", reason="x", error="x"))
    assert stage.rows() == ["10:00-11:00 planned"]


# ---------------------------------------------------------------------------------------------- W7: compaction


def test_W7_two_compactions_take_turns(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.plan(hours(10, 13))
    for hour in ("10:00", "11:00", "12:00"):
        stage.force(hour, "done")
    with stage.app.ledger.opened() as first:
        one = Walk(compact("hourly", at("16:00")), first).until("insert_range")
        two = InThread(partial(stage.compact, "16:00"))
        stage.until_somebody_waits()
        assert one.finish() == 3
    assert two.answer() == 0
    assert stage.ranges() == ["10:00-13:00 3"]


def test_W7_a_compaction_locks_the_job_before_it_reads(stage: Stage) -> None:
    stage.hourly()
    stage.run()
    with stage.app.ledger.opened() as handle:
        walk = Walk(compact("hourly", at("16:00")), handle)
        walk.finish()
        idle = Walk(compact("hourly", at("16:00")), handle)
        idle.finish()
    # What it deletes is read under the lock; the look before that only says whether to lock at all.
    assert walk.did[:5] == ["read_compactable", "Begin", "insert_job", "lock_job", "read_compactable"]
    assert idle.did == ["read_compactable"]


def test_W7_a_unit_whose_answer_was_lost_still_finds_its_row(postgresql_stage: Stage) -> None:
    # Another copy compacts everything at that very moment, but for rows whose run is open.
    stage = postgresql_stage
    stage.hourly()
    with walk_run(stage.app) as run:
        run.until("advance_watermark").until("Commit")
        lose_the_answer(run)
        assert stage.compact("16:00") == 0
        assert lines(run.finish())[0] == "PROCESSED 10:00-11:00 catch-up"
    assert stage.compact("16:00") == 2
    assert stage.effects() == ["10:00", "11:00"]


def test_W7_a_pause_is_seen_by_every_claim(stage: Stage) -> None:
    stage.hourly()
    with walk_run(stage.app) as run:
        run.until("Commit").step()
        stage.pause()
        assert lines(run.finish()) == ["SKIPPED 10:00-11:00 paused"]
    assert stage.effects() == []


@pytest.mark.parametrize("group", [1, 10])
def test_W7_a_pause_is_seen_by_a_group_too(stage: Stage, group: int) -> None:
    stage.hourly(group=group)
    assert stage.run(stopping=between(stage, stage.pause)) == ["SKIPPED 10:00-11:00 paused"]
    assert stage.effects() == []


# ----------------------------------------------------------------------------- W8: the plan touches no stored row


def test_W8_a_plan_leaves_every_stored_row_as_it_is(stage: Stage) -> None:
    stage.plan(hours(8, 14))
    states = {"08:00": "done", "09:00": "parked", "10:00": "open", "11:00": "in-doubt", "12:00": "skipped"}
    for hour, state in states.items():
        stage.force(hour, state)
    stage.leave_dead_run("dead", [("13:00", "14:00")])
    everything = f"SELECT * FROM {stage.table('windows')} ORDER BY start_at"
    before = stage.execute(everything)
    stage.set("16:00")
    # A grid of its own, a limit of age that all of them are beyond, and a run to be charged.
    planned(stage, "30m", max_age=at("00:30") - at("00:00"), is_gone=lambda _: True)
    after = stage.execute(everything)
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert stage.perform(read_charges("hourly")) == {hours(13, 14)[0]: 1}


def test_W8_a_plan_does_not_wait_for_a_window_that_is_being_worked_on(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    inside, go = Event(), Event()

    def body(window: Window, tx: Transaction) -> None:
        inside.set()
        assert go.wait(WAIT_SECONDS)

    stage.hourly(body)
    unit = InThread(partial(stage.run, window="10:00"))
    assert inside.wait(WAIT_SECONDS)
    stage.leave_dead_run("dead", [("10:00", "11:00")])
    impatient = stage.another(lock_timeout_seconds=0.01, locked=False)
    asked = request(stage, run="r2", max_age=1, is_gone=lambda owner: '"0@' in owner)
    with impatient.ledger.opened() as handle:
        assert due(perform(plan_transaction(asked), handle)) == ["10:00-11:00"]
    assert stage.perform(read_charges("hourly")) == {hours(10, 11)[0]: 1}
    go.set()
    assert unit.answer() == ["PROCESSED 10:00-11:00 catch-up"]


NINE, TEN, ELEVEN = hours(9, 12)


def charged(stage: Stage, plan: list[Span]) -> dict[Span, int]:
    texts = "[" + ", ".join(f"[{span.start}, {span.end}]" for span in plan) + "]"
    stage.leave_dead_run("dead", [(bounds(span)[:5], bounds(span)[6:]) for span in plan])
    stage.perform(charge(RunRow("dead", texts, "gone"), "hourly"))
    return stage.perform(read_charges("hourly"))


def done_by(stage: Stage, hour: str, run: str, state: str = "done") -> None:
    stage.force(hour, state)
    stage.execute(f"UPDATE {stage.table('windows')} SET run = ? WHERE start_at = ?", (run, at(hour)))


def test_W8_a_dead_run_is_charged_to_the_first_window_of_its_plan(stage: Stage) -> None:
    assert charged(stage, [NINE, TEN, ELEVEN]) == {NINE: 1}


def test_W8_or_to_the_one_behind_what_it_has_finished_itself(stage: Stage) -> None:
    stage.plan([NINE, TEN, ELEVEN])
    done_by(stage, "09:00", "dead")
    assert charged(stage, [NINE, TEN, ELEVEN]) == {TEN: 1}


def test_W8_but_to_nobody_behind_what_another_run_has_finished(stage: Stage) -> None:
    stage.plan([NINE, TEN, ELEVEN])
    done_by(stage, "09:00", "another")
    assert charged(stage, [NINE, TEN, ELEVEN]) == {}
    assert stage.execute(f"SELECT count(*) FROM {stage.table('runs')}") == [(0,)], "and it is not asked about again"


@pytest.mark.parametrize(("state", "charges"), [("open", {NINE: 1}), ("in-doubt", {}), ("parked", {}), ("skipped", {})])
def test_W8_and_never_to_one_behind_what_it_has_only_started(
    stage: Stage, state: str, charges: dict[Span, int]
) -> None:
    # It died in the window that it held open: the one behind it is innocent.
    stage.plan([NINE, TEN, ELEVEN])
    done_by(stage, "09:00", "dead", state)
    assert charged(stage, [NINE, TEN, ELEVEN]) == charges


def test_W8_a_dead_run_is_charged_once_and_a_living_one_never(stage: Stage) -> None:
    stage.leave_dead_run("dead", [("10:00", "11:00")])
    stage.perform(open_run("alive", "hourly", hours(10, 11), "alive", at("10:00")))
    stage.perform(open_run("unknown", "hourly", hours(10, 11), "on another host", at("10:00")))
    answers = {"alive": False, "on another host": None, "nobody": False}
    for run in ("r1", "r2", "r3"):
        planned(stage, run=run, is_gone=lambda owner: answers.get(owner, True))
    assert stage.perform(read_charges("hourly")) == {hours(10, 11)[0]: 1}


def test_W8_a_run_that_ended_by_itself_leaves_nothing_to_charge(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        raise ValueError("no")

    stage.hourly(body)
    for _ in range(5):
        stage.run()
    assert stage.execute(f"SELECT count(*) FROM {stage.table('runs')}") == [(0,)]


# ---------------------------------------------------------------------- W9: open rows of a unit with a transaction


def left_open(stage: Stage, *, outside: bool) -> None:
    stage.plan(hours(10, 12))
    stage.leave_dead_run("dead", [("10:00", "11:00")])
    stage.execute(
        f"UPDATE {stage.table('windows')} SET state = 'open', run = 'dead', claim = 'c', outside = ? "
        "WHERE start_at = ?",
        (outside, at("10:00")),
    )


def test_W9_an_open_row_of_a_unit_with_a_transaction_is_in_doubt_and_never_rerun(stage: Stage) -> None:
    left_open(stage, outside=False)
    stage.hourly(if_in_doubt="rerun")
    for _ in range(2):
        assert stage.run() == ["IN-DOUBT 10:00-11:00 transaction-control"]
    assert stage.run(window="10:00") == ["IN-DOUBT 10:00-11:00 transaction-control"]
    assert stage.effects() == []


def test_W9_even_where_the_job_asks_for_no_transaction_any_more(stage: Stage) -> None:
    left_open(stage, outside=False)
    called: list[str] = []

    def body(window: Window) -> None:
        called.append(window.key)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", if_in_doubt="rerun")(body)
    assert stage.run() == ["IN-DOUBT 10:00-11:00 transaction-control"]
    assert called == []


def test_W9_a_started_row_of_a_job_that_has_a_transaction_by_now_is_in_doubt(stage: Stage) -> None:
    left_open(stage, outside=True)
    stage.hourly(if_in_doubt="rerun")
    assert stage.run() == ["IN-DOUBT 10:00-11:00 no-end"]
    assert stage.effects() == []


# ------------------------------------------------------------------------------------------------- W10: bounds


def test_W10_an_edge_beyond_until_closes_no_window(stage: Stage) -> None:
    stage.hourly(every="2h")
    stage.set("16:00")
    assert stage.run(window="14:00") == ["PROCESSED 14:00-16:00 live"]
    graceful = stage.another()
    stage.hourly(app=graceful, every="2h", grace="3h")
    assert stage.run(app=graceful) == ["PROCESSED 10:00-12:00 live"]
    stage.set("17:00")
    assert stage.run(app=graceful) == ["PROCESSED 12:00-14:00 live"]


def test_W10_edges_of_stored_windows_are_boundaries(stage: Stage) -> None:
    stage.hourly(app=(fine := stage.another()), every="30m")
    stage.run(app=fine, window="10:30")
    stage.hourly()
    assert stage.run() == [
        "PROCESSED 10:00-10:30 catch-up",
        "PROCESSED 11:00-12:00 live",
    ]
    no_overlap(stage)


def test_W10_a_range_is_a_stored_window_everywhere(stage: Stage) -> None:
    stage.plan(hours(11, 13))
    stage.force("11:00", "done")
    stage.force("12:00", "done")
    stage.compact("13:00")
    stage.set_watermark("10:00")
    stage.hourly(every="4h")
    stage.set("17:00")
    assert stage.run(window="11:00")[0].endswith("key-exists")
    assert stage.run(window="12:00")[0].endswith("key-exists")
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 13:00-16:00 live"]
    no_overlap(stage)


def test_W10_two_backfills_with_different_grids_cannot_both_pass(stage: Stage) -> None:
    stage.set("16:00")
    planned(stage, "3h", "r2")
    with pytest.raises(WindowOverlap):
        planned(stage, "2h", "r1", asked=at("14:00"))
    assert due(planned(stage, "2h", "r1")) == ["10:00-12:00", "12:00-15:00", "15:00-16:00"]
    no_overlap(stage)


def test_W10_before_watermark_means_before_the_first_stored_window_too(stage: Stage) -> None:
    stage.plan([*hours(10, 11), *hours(12, 13)])
    stage.force("10:00", "done")
    stage.force("12:00", "done")
    stage.set_watermark("13:00")
    stage.hourly()
    stage.set("14:00")
    assert stage.run(window="09:00") == ["SKIPPED 09:00-10:00 before-watermark"]
    assert stage.run(window="11:00") == ["PROCESSED 11:00-12:00 catch-up"]
    stage.set_watermark("08:00")
    assert stage.run(window="08:00") == ["PROCESSED 08:00-09:00 catch-up"]


# -------------------------------------------------------------------------------------------------- W11: groups


def test_W11_a_group_claims_all_of_its_rows_before_anything_else(postgresql_stage: Stage) -> None:
    # Claimed one after the other, this group and `run --window 11:00` would wait for each other for ever.
    stage = postgresql_stage
    inside, go = Event(), Event()

    def body(window: Window, tx: Transaction) -> None:
        inside.set()
        assert go.wait(WAIT_SECONDS)

    stage.hourly(body, group=2)
    other = stage.another(locked=False)
    stage.hourly(app=other)
    group = InThread(stage.run)
    assert inside.wait(WAIT_SECONDS)
    asked = InThread(partial(stage.run, app=other, window="11:00"))
    stage.until_somebody_waits()
    assert stage.effects() == []
    go.set()
    assert group.answer() == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert asked.answer() == ["SKIPPED 11:00-12:00 key-exists"]
    assert "RETRIED serialization 1" not in stage.told(object)


def test_W11_in_the_order_of_their_keys(stage: Stage) -> None:
    stage.hourly(group=10)
    stage.set("15:00")
    with walk_run(stage.app) as run:
        claims: Any = run.until("claim_windows").request
        starts = [row["start"] for row in claims.parameters]
        run.finish()
    assert starts == sorted(starts)
    assert len(starts) == 5
    unit = run.did[run.did.index("claim_windows") :]
    assert unit.index("advance_watermark") > max(index for index, name in enumerate(unit) if name == "Call")
    assert unit.count("claim_windows") == 1


def test_W11_a_group_that_cannot_have_all_runs_alone(stage: Stage) -> None:
    called: list[int] = []
    stage.hourly(lambda window, _: called.append(window.start.hour), group=10)
    stage.set("14:00")
    told = stage.run(stopping=between(stage, lambda: stage.force("12:00", "done")))
    assert told == [
        "PROCESSED 10:00-11:00 catch-up",
        "PROCESSED 11:00-12:00 catch-up",
        "SKIPPED 12:00-13:00 key-exists",
        "PROCESSED 13:00-14:00 live",
    ]
    assert stage.effects() == ["10:00", "11:00", "13:00"]
    assert called == [10, 11, 13], "no body runs in a group that cannot be whole"


# -------------------------------------------------------------------------------------------- W13: the watermark


def test_W13_the_watermark_may_lag_until_the_next_plan(stage: Stage) -> None:
    stage.hourly()
    stage.set("14:00")
    assert stage.run(window="12:00") == ["PROCESSED 12:00-13:00 catch-up"]
    assert stage.watermark() == "10:00"
    stage.run(max_windows=2)
    assert stage.watermark() == "12:00", "the advance moves over its own window only"
    stage.run(max_windows=1)
    assert stage.watermark() == "14:00", "and the plan has passed over the one that was done ahead"


def test_W13_set_forward_it_does_not_stop_a_living_run(stage: Stage) -> None:
    stage.hourly()
    told = stage.run(stopping=between(stage, lambda: stage.set_watermark("12:00")))
    assert told == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert stage.watermark() == "12:00"


def test_W13_set_back_it_doubles_nothing_and_blocks_nothing(stage: Stage) -> None:
    stage.hourly()
    stage.set("15:00")
    stage.run()
    for back in ("10:00", "10:30", "12:00", "14:59"):
        stage.set_watermark(back)
        assert stage.run() == ["IDLE 15:00 next=16:00"]
    stage.set_watermark("08:00")
    assert stage.run() == ["PROCESSED 08:00-09:00 catch-up", "PROCESSED 09:00-10:00 catch-up"]
    assert stage.watermark() == "10:00"
    assert stage.run() == ["IDLE 15:00 next=16:00"]
    assert len(stage.effects()) == len(set(stage.effects())) == 7


def test_W13_an_advance_that_does_not_fit_moves_nothing(stage: Stage) -> None:
    stage.plan(hours(10, 13))
    stage.hourly()
    stage.set("13:00")
    told = stage.run(stopping=between(stage, lambda: stage.set_watermark("09:00")))
    assert len(told) == 3
    assert stage.watermark() == "09:00"
    assert stage.run() == ["PROCESSED 09:00-10:00 catch-up"]
    assert stage.run() == ["IDLE 13:00 next=14:00"]
