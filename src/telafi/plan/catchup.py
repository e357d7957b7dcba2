"""The planner: which windows are due, which rows are missing, and where the watermark stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from telafi.instants import Span
from telafi.plan.schedule import Schedule

PLANNED: Final = "planned"
OPEN: Final = "open"
DONE: Final = "done"
PARKED: Final = "parked"
SKIPPED: Final = "skipped"
IN_DOUBT: Final = "in-doubt"
DUE: Final = frozenset({PLANNED, OPEN, IN_DOUBT})
PASSED: Final = frozenset({DONE, PARKED, SKIPPED})


class Stored(NamedTuple):
    """A window row, or a range of compacted done windows, as the planner sees it."""

    start: int
    end: int
    state: str


class Plan(NamedTuple):
    """What a run has to do, oldest first, and what has to be written before it starts."""

    watermark: int
    due: tuple[Span, ...] = ()
    missing: tuple[Span, ...] = ()
    too_old: tuple[Span, ...] = ()
    remaining: int = 0
    new: bool = False


def passing(watermark: int, stored: Sequence[Stored]) -> int:
    """Move the watermark over everything finished that it touches (semantics §3, *passing*).

    >>> passing(0, [Stored(0, 2, "done"), Stored(2, 3, "parked"), Stored(3, 4, "planned")])
    3
    """
    for window in sorted(stored):
        if window.state in PASSED and window.start <= watermark < window.end:
            watermark = window.end
    return watermark


def first_watermark(schedule: Schedule, since: int | None, until: int) -> int:
    """Choose where a job without a watermark starts: `since`, else the newest closed boundary."""
    return schedule.at_or_before(until) if since is None else since


def plan_run(
    schedule: Schedule,
    watermark: int,
    until: int,
    stored: Sequence[Stored],
    *,
    windows_max: int,
    oldest: int | None = None,
) -> Plan:
    """Plan a run: stored windows that are due and the pieces of the free intervals, oldest first, up to the cap.

    Boundaries are the watermark, the schedule's fires and the edges of stored windows up to `until` (protocols W2,
    W10). Free pieces that end before `oldest` are too old: they are stored as skipped at once, ten caps of them a run.
    """
    watermark = passing(watermark, stored)
    ahead = sorted(window for window in stored if window.end > watermark and window.start <= until)
    due: list[Span] = []
    missing: list[Span] = []
    too_old: list[Span] = []
    remaining = 0
    for gap, window in _gaps(watermark, until, ahead):
        position = gap.start
        for piece in () if remaining else _pieces(schedule, gap, ends_open=window is None):
            old = oldest is not None and piece.end < oldest
            if len(due) >= windows_max or (old and len(too_old) >= 10 * windows_max):
                break
            if old:
                too_old.append(piece)
            else:
                due.append(piece)
                missing.append(piece)
            position = piece.end
        remaining += _count(schedule, Span(position, gap.end), ends_open=window is None)
        if window is not None and window.state in DUE and watermark < window.end <= until:
            if len(due) < windows_max and not remaining:
                due.append(Span(window.start, window.end))
            else:
                remaining += 1
    skipped = [Stored(piece.start, piece.end, SKIPPED) for piece in too_old]
    return Plan(passing(watermark, [*stored, *skipped]), tuple(due), tuple(missing), tuple(too_old), remaining)


def _gaps(watermark: int, until: int, ahead: Sequence[Stored]) -> Iterator[tuple[Span, Stored | None]]:
    """Walk the free intervals between stored windows, each with the stored window that ends it."""
    position = watermark
    for window in ahead:
        yield Span(position, max(position, window.start)), window
        position = max(position, window.end)
    yield Span(position, max(position, until)), None


def _pieces(schedule: Schedule, gap: Span, *, ends_open: bool) -> Iterator[Span]:
    """Cut a free interval at the fires; behind the last fire of the newest one, a window is still open."""
    start = gap.start
    while start < gap.end:
        end = schedule.after(start)
        if end > gap.end and ends_open:
            return
        yield Span(start, min(end, gap.end))
        start = end


def _count(schedule: Schedule, gap: Span, *, ends_open: bool) -> int:
    """Count the pieces of a free interval without making them."""
    if gap.start >= gap.end:
        return 0
    if ends_open:
        return schedule.count(gap.start, gap.end)
    return schedule.count(gap.start, gap.end - 1) + 1
