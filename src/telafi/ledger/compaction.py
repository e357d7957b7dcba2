"""Steps that turn contiguous done windows into one done range, so that history stays small and is never forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from telafi.instants import Span, chains
from telafi.ledger.rows import ListedRange
from telafi.ledger.steps import Begin, Commit, Statement, Steps
from telafi.ledger.watermarks import lock_job


def compact(job: str, horizon: int, rows_max: int = 1_000) -> Steps[int]:
    """Compact done windows that ended by the horizon, one batch in one transaction; gives back how many rows went.

    The job's row is locked first, then rows are read and deleted (protocols W7).
    """
    parameters = {"job": job, "horizon": horizon, "rows_max": 1}
    if not (yield Statement("read_compactable", parameters)).rows:
        return 0  # as after nearly every run: nothing is locked for it
    yield Begin()
    yield from lock_job(job)
    answer = yield Statement("read_compactable", {"job": job, "horizon": horizon, "rows_max": rows_max})
    compacted = 0
    for chain in chains([Span(*row) for row in answer.rows]):
        compacted += yield from _replace(job, chain)
    yield Commit()
    return compacted


def _replace(job: str, chain: Sequence[Span]) -> Steps[int]:
    whole = Span(chain[0].start, chain[-1].end)
    parameters = {"job": job, "start": whole.start, "end": whole.end}
    touching = yield Statement("read_touching_ranges", parameters)
    ranges = [ListedRange(*row) for row in touching.rows]
    deleted = yield Statement("delete_window_rows", parameters)
    for done in ranges:
        yield Statement("delete_range", {"job": job, "start": done.start})
    start = min([whole.start, *(done.start for done in ranges)])
    end = max([whole.end, *(done.end for done in ranges)])
    windows = len(chain) + sum(done.windows for done in ranges)
    yield Statement("insert_range", {"job": job, "start": start, "end": end, "windows": windows})
    count: int = deleted.rowcount
    return count
