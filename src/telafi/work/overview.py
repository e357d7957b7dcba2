"""How the jobs stand, for people: read in passing, with no lock taken and no row written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from telafi.instants import Span
from telafi.ledger.rows import ListedRange, ListedWindow
from telafi.ledger.steps import Steps
from telafi.ledger.watermarks import read_job, read_lock_skips
from telafi.ledger.windows import count_set_aside, list_ranges, list_windows, read_ahead, read_last_done
from telafi.lock.file import lock_path, open_lock
from telafi.lock.observed import is_held
from telafi.lock.port import Holder
from telafi.plan.catchup import IN_DOUBT, PARKED, PLANNED, first_watermark
from telafi.plan.lateness import outlook
from telafi.work.job import Job


class LockSkips(NamedTuple):
    """How often runs found the job's lock held, when last, and by whom."""

    runs: int
    last_at: int
    holder: str | None


@dataclass(frozen=True, slots=True)
class LockView:
    """Who is written in a job's lock file; `held` is None where it cannot be told whether that still holds."""

    holder: Holder | None = None
    held: bool | None = False


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How one job stands; instants in microseconds, `watermark` None before the first run."""

    job: str
    watermark: int | None
    paused: bool
    due: int
    late: bool
    waiting_since: int | None
    last_success: int | None
    next_at: int
    lock: LockView
    skips: LockSkips | None
    parked: int
    in_doubt: int
    failing: bool


class Listing(NamedTuple):
    """A job's newest windows, the stretches that were compacted, and whether there is more."""

    windows: list[ListedWindow]
    ranges: list[ListedRange]
    more: bool


def read_status(job: Job[..., Any], read_now: Callable[[], Steps[int]], lock: LockView) -> Steps[JobStatus]:
    """Look at one job: what a run would find now, and what has happened to it."""
    options, schedule = job.options, job.schedule
    now = yield from read_now()
    until = now - options.grace
    row = yield from read_job(job.name)
    stored = row.watermark if row is not None else None
    watermark = first_watermark(schedule, options.since, until) if stored is None else stored
    ahead = yield from read_ahead(job.name, watermark)
    seen = outlook(schedule, watermark, until, [*ahead.rows, *ahead.ranges])
    set_aside = yield from count_set_aside(job.name)
    skips = yield from read_lock_skips(job.name)
    last_success = yield from read_last_done(job.name)
    return JobStatus(
        job=job.name,
        watermark=None if stored is None else seen.watermark,
        paused=row is not None and bool(row.paused),
        due=seen.due,
        late=seen.is_late(now, options.late_after),
        waiting_since=seen.waiting_since,
        last_success=last_success,
        next_at=schedule.after(max(seen.watermark, until)) + options.grace,
        lock=lock,
        skips=None if skips is None else LockSkips(*skips),
        parked=set_aside.get(PARKED, 0),
        in_doubt=set_aside.get(IN_DOUBT, 0),
        failing=any(row.state == PLANNED and Span(row.start, row.end) in ahead.tried for row in ahead.rows),
    )


def late_first(found: Sequence[JobStatus]) -> list[JobStatus]:
    """Put the late jobs first, the one that waits longest before the others; the rest keep their order."""
    return sorted(found, key=lambda status: (not status.late, status.waiting_since or 0 if status.late else 0))


def read_listing(job: str, rows_max: int) -> Steps[Listing]:
    """Read a job's newest windows and its compacted stretches, newest first."""
    windows = yield from list_windows(job, rows_max + 1)
    ranges = yield from list_ranges(job)
    if len(windows) > rows_max:
        oldest = windows[rows_max - 1].start
        return Listing(windows[:rows_max], [found for found in ranges if found.start > oldest], more=True)
    return Listing(windows, ranges, more=False)


def look_at_lock(place: Path, job: str) -> LockView:
    """See who is written in a job's lock file and whether the lock is held, without touching the lock."""
    path = lock_path(place, job)
    holder = open_lock(path, Holder("", 0, "", "")).holder()
    return LockView() if holder is None else LockView(holder, is_held(path, holder))
