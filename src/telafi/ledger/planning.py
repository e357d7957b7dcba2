"""The plan's transaction: what is due is decided and written down under the job's row lock, before any unit starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from telafi.instants import SECOND, Span, instant_text
from telafi.ledger.rows import JobRow
from telafi.ledger.runs import charge, close_run, open_run, read_charges, read_runs
from telafi.ledger.steps import Begin, Commit, Rollback, Steps
from telafi.ledger.watermarks import lock_job, note_clock, set_watermark
from telafi.ledger.windows import Ahead, insert_windows, read_ahead, read_first_start
from telafi.plan.asked import Refusal, plan_window
from telafi.plan.catchup import PLANNED, SKIPPED, Plan, first_watermark, plan_run
from telafi.plan.schedule import Schedule

CLOCK_JUMP: Final = 3_600 * SECOND


class BootReading(NamedTuple):
    """The host's clock beside boot time: how a jump of the wall clock is told."""

    wall_at: int
    boot_at: int
    boot: str


class PlanRequest(NamedTuple):
    """What a run asks of the planner; instants and durations in microseconds."""

    job: str
    schedule: Schedule
    since: int | None
    grace: int
    max_age: int | None
    windows_max: int
    asked: int | None
    run: str
    owner: Callable[[], str]
    read_now: Callable[[], Steps[int]]
    is_gone: Callable[[str], bool | None]
    boot: BootReading | None
    crashed: Callable[[str], bool] = lambda _: True
    unclosed: frozenset[str] = frozenset()


class PlanAnswer(NamedTuple):
    """What a run has to do, and what it should say."""

    plan: Plan
    now: int
    until: int
    tried: frozenset[Span] = frozenset()
    charges: Mapping[Span, int] = MappingProxyType({})
    refusal: tuple[Refusal, Span] | None = None
    paused: bool = False
    warnings: tuple[str, ...] = ()


def plan_transaction(request: PlanRequest) -> Steps[PlanAnswer]:
    """Plan one run (protocols W1, W2, W8, W10); nothing that is stored already is touched."""
    yield Begin()
    row = yield from lock_job(request.job)
    now = yield from request.read_now()
    until = now - request.grace
    warnings = _clock_warnings(request, row, now)
    if row.paused:
        yield Rollback()
        return PlanAnswer(Plan(row.watermark or 0), now, until, paused=True, warnings=warnings)
    watermark = row.watermark
    if watermark is None:
        watermark = first_watermark(request.schedule, request.since, until)
    ahead = yield from read_ahead(request.job, watermark if request.asked is None else min(watermark, request.asked))
    decided = yield from _decide(request, watermark, until, now, ahead)
    if isinstance(decided, Plan):
        plan, refusal = decided, None
    else:
        plan, refusal = Plan(watermark), decided
    plan = plan._replace(new=row.watermark is None and request.since is None)
    charges = yield from _write(request, plan, row, now)
    yield Commit()
    return PlanAnswer(plan, now, until, ahead.tried, charges, refusal, paused=False, warnings=warnings)


def _decide(
    request: PlanRequest, watermark: int, until: int, now: int, ahead: Ahead
) -> Steps[Plan | tuple[Refusal, Span]]:
    if request.asked is None:
        oldest = None if request.max_age is None else now - request.max_age
        stored = [*ahead.rows, *ahead.ranges]
        return plan_run(request.schedule, watermark, until, stored, windows_max=request.windows_max, oldest=oldest)
    first = yield from read_first_start(request.job)
    return plan_window(
        request.schedule, request.asked, until, watermark, rows=ahead.rows, ranges=ahead.ranges, first_start=first
    )


def _write(request: PlanRequest, plan: Plan, row: JobRow, now: int) -> Steps[Mapping[Span, int]]:
    """Write the missing rows, the watermark and the run's record; judge the runs whose owners are gone."""
    schedule = request.schedule.text
    yield from insert_windows(
        request.job, plan.too_old, state=SKIPPED, schedule=schedule, planned_at=now, reason="too-old"
    )
    yield from insert_windows(request.job, plan.missing, state=PLANNED, schedule=schedule, planned_at=now)
    if plan.watermark != row.watermark:
        yield from set_watermark(request.job, plan.watermark)
    if not plan.due:
        return {}
    for dead in (yield from read_runs(request.job, request.run)):
        if dead.id in request.unclosed:
            yield from close_run(dead.id)
        elif request.is_gone(dead.owner):
            if request.crashed(dead.owner):
                yield from charge(dead, request.job)
            else:
                yield from close_run(dead.id)
    charges = yield from read_charges(request.job)
    yield from open_run(request.run, request.job, plan.due, request.owner(), now)
    if request.boot is not None:
        yield from note_clock(request.job, *request.boot)
    return charges


def _clock_warnings(request: PlanRequest, row: JobRow, now: int) -> tuple[str, ...]:
    warnings = []
    if row.watermark is not None and now < row.watermark:
        warnings.append(
            f"the clock says {instant_text(now)}, which is before the watermark {instant_text(row.watermark)}: "
            "no window counts as closed until the clock has caught up"
        )
    boot = request.boot
    if boot is not None and row.boot == boot.boot and row.wall_at is not None and row.boot_at is not None:
        jump = (boot.wall_at - row.wall_at) - (boot.boot_at - row.boot_at)
        if abs(jump) > CLOCK_JUMP:
            warnings.append(f"the wall clock jumped by {jump / SECOND:+.0f} s against boot time since the last run")
    return tuple(warnings)
