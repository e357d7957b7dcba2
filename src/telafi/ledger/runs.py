"""Steps on runs: a record that is still here when its owner is gone tells of a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence

from telafi.instants import Span
from telafi.ledger.rows import RunRow
from telafi.ledger.steps import Statement, Steps
from telafi.ledger.windows import read_window
from telafi.plan.catchup import DONE, OPEN, PLANNED


def open_run(run: str, job: str, plan: Sequence[Span], owner: str, opened_at: int) -> Steps[None]:
    """Record that a run has begun, with its list; the same id again changes nothing."""
    listed = json.dumps([[span.start, span.end] for span in plan])
    yield Statement("insert_run", {"run": run, "job": job, "plan": listed, "owner": owner, "opened_at": opened_at})


def close_run(run: str) -> Steps[None]:
    """End the record of a run that ended by itself."""
    yield Statement("delete_run", {"run": run})


def read_runs(job: str, but: str) -> Steps[list[RunRow]]:
    """Read the other runs of a job that nobody has closed or charged."""
    answer = yield Statement("read_runs", {"job": job, "run": but})
    return [RunRow(*row) for row in answer.rows]


def read_owner(run: str | None) -> Steps[str | None]:
    """Read who owns a run; None where its record is closed."""
    answer = yield Statement("read_run_owner", {"run": run})
    return answer.rows[0][0] if answer.rows else None


def read_owners() -> Steps[list[str]]:
    """Read every owner that the ledger still names."""
    answer = yield Statement("read_owners")
    return [row[0] for row in answer.rows]


def charge(dead: RunRow, job: str) -> Steps[Span | None]:
    """Charge a dead run to the window that it held open, else to the first of its list still planned (protocols W8).

    To a planned one only if it heads the list, or the one before it was finished by the same run; else to nobody.
    """
    before: Span | None = None
    for start, end in json.loads(dead.plan):
        span = Span(start, end)
        row = yield from read_window(job, span)
        held = row is not None and row.state == OPEN and row.run == dead.id
        if held or (row is not None and row.state == PLANNED):
            if not held and before is not None and not (yield from _finished_by(job, before, dead.id)):
                break
            yield Statement("charge_run", {"run": dead.id, "start": start, "end": end})
            return span
        before = span
    yield Statement("delete_run", {"run": dead.id})
    return None


def read_charges(job: str) -> Steps[dict[Span, int]]:
    """Count, for each window, the runs that died at it."""
    answer = yield Statement("read_charges", {"job": job})
    return {Span(start, end): count for start, end, count in answer.rows}


def forget_charges(job: str, span: Span) -> Steps[None]:
    """Start a window's count anew: a person has asked for it by name."""
    yield Statement("forget_charges", {"job": job, "start": span.start, "end": span.end})


def forget_settled_charges(job: str) -> Steps[None]:
    """Drop the records of crashes at windows that are finished by now."""
    yield Statement("forget_settled_charges", {"job": job})


def _finished_by(job: str, span: Span, run: str) -> Steps[bool]:
    row = yield from read_window(job, span)
    return row is not None and row.state == DONE and row.run == run
