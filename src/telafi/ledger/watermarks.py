"""Steps on a job's row: its watermark, its lock, its clock."""

from __future__ import annotations

from telafi.instants import Span
from telafi.ledger.rows import JobRow
from telafi.ledger.steps import Statement, Steps


def lock_job(job: str) -> Steps[JobRow]:
    """Make the job's row, then lock it to the end of the transaction (protocols W1: two statements, in this order)."""
    yield Statement("insert_job", {"job": job})
    answer = yield Statement("lock_job", {"job": job})
    return JobRow(*answer.rows[0])


def read_job(job: str) -> Steps[JobRow | None]:
    """Read the job's row without locking it."""
    answer = yield Statement("read_job", {"job": job})
    return JobRow(*answer.rows[0]) if answer.rows else None


def set_watermark(job: str, watermark: int) -> Steps[None]:
    """Put the watermark where the planner says."""
    yield Statement("set_watermark", {"job": job, "watermark": watermark})


def advance(job: str, span: Span) -> Steps[None]:
    """Move the watermark over a finished window; no row is no error, passing moves it later (semantics §2)."""
    yield Statement("advance_watermark", {"job": job, "start": span.start, "end": span.end})


def note_clock(job: str, wall_at: int, boot_at: int | None, boot: str) -> Steps[None]:
    """Remember how the wall clock stood against boot time, so that the next run sees a jump."""
    yield Statement("note_clock", {"job": job, "wall_at": wall_at, "boot_at": boot_at, "boot": boot})


def read_clock() -> Steps[int]:
    """Read the database's own clock."""
    answer = yield Statement("read_clock")
    instant: int = answer.rows[0][0]
    return instant


def count_lock_skip(job: str, last_at: int, holder: str | None) -> Steps[None]:
    """Count a run that found the lock held, in a row of its own that no unit updates."""
    yield Statement("count_lock_skip", {"job": job, "last_at": last_at, "holder": holder})


def read_lock_skips(job: str) -> Steps[tuple[int, int, str | None] | None]:
    """Read how often the lock was found held, when last, and by whom."""
    answer = yield Statement("read_lock_skips", {"job": job})
    return tuple(answer.rows[0]) if answer.rows else None
