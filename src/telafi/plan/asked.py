"""`run --window START`: the one window that a person asks for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

from telafi.errors import NotABoundary, WindowOverlap
from telafi.instants import Span, instant_text
from telafi.plan.catchup import DUE, Plan, Stored, passing
from telafi.plan.schedule import Schedule


class Refusal(Enum):
    """Why a window that was asked for is not run; each is an outcome, not an error."""

    KEY_EXISTS = "key-exists"
    NOT_CLOSED = "not-closed"
    BEFORE_WATERMARK = "before-watermark"


Answer: TypeAlias = Plan | tuple[Refusal, Span]


def plan_window(
    schedule: Schedule,
    start: int,
    until: int,
    watermark: int,
    *,
    rows: Sequence[Stored],
    ranges: Sequence[Stored],
    first_start: int | None,
) -> Answer:
    """Plan the stored window with that start, else the schedule's (semantics §3, protocols W10).

    Raises NotABoundary where neither exists, WindowOverlap where a stored window is in the way.
    """
    watermark = passing(watermark, [*rows, *ranges])
    for row in rows:
        if row.start == start:
            if row.state in DUE and row.end > until:
                return Refusal.NOT_CLOSED, Span(row.start, row.end)
            return Plan(watermark, (Span(row.start, row.end),))
    asked = Span(start, schedule.after(start))
    if any(done.start <= start < done.end for done in ranges):
        return Refusal.KEY_EXISTS, asked
    stored = sorted([*rows, *ranges])
    if start < watermark and (first_start is None or start < first_start):
        return Refusal.BEFORE_WATERMARK, asked
    for window in stored:
        if window.start < start < window.end:
            raise WindowOverlap(
                f"{instant_text(start)} lies inside the stored window {Span(window.start, window.end).text}: "
                f"ask for {instant_text(window.start)}"
            )
    if schedule.at_or_before(start) != start and start != watermark:
        raise NotABoundary(_no_boundary(schedule, start))
    end = min([asked.end, *(window.start for window in stored if window.start > start)])
    if end > until:
        return Refusal.NOT_CLOSED, Span(start, end)
    piece = Span(start, end)
    return Plan(watermark, (piece,), (piece,))


def _no_boundary(schedule: Schedule, start: int) -> str:
    before, after = schedule.at_or_before(start), schedule.after(start)
    return (
        f"no window starts at {instant_text(start)} ({schedule.text}): "
        f"the nearest start at {instant_text(before)} and {instant_text(after)}"
    )
