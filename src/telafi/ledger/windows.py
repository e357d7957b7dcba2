"""Steps on stored windows: read, plan, claim, finish, fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from telafi.instants import Span
from telafi.ledger.rows import ListedRange, ListedWindow, WindowRow
from telafi.ledger.steps import Batch, Statement, Steps
from telafi.plan.catchup import DONE, Stored

Result: TypeAlias = Mapping[str, Any]
ERROR_CHARACTERS_MAX: Final = 1_000


class Claim(NamedTuple):
    """One window in the hands of one copy: "mine" is told by the random claim id alone."""

    job: str
    span: Span
    id: str
    run: str
    kind: str
    outside: bool = False
    parked: bool = False

    def parameters(self, **more: Any) -> dict[str, Any]:
        """Name the window and the claim for a statement."""
        return {
            "job": self.job, "start": self.span.start, "end": self.span.end, "claim": self.id, "run": self.run,
            "kind": self.kind, "outside": self.outside, "parked": self.parked, **more,
        }  # fmt: skip


class Claimed(NamedTuple):
    """A claim that holds; `transaction` is its transaction's id where the database tells."""

    transaction: int | None


class Ahead(NamedTuple):
    """What is stored beyond a position; `tried` are the windows that failed before."""

    rows: list[Stored]
    ranges: list[Stored]
    tried: frozenset[Span]


def read_ahead(job: str, position: int) -> Steps[Ahead]:
    """Read what is stored beyond a position: window rows, and ranges of compacted done windows."""
    parameters = {"job": job, "position": position}
    rows = yield Statement("read_windows_ahead", parameters)
    ranges = yield Statement("read_ranges_ahead", parameters)
    return Ahead(
        [Stored(start, end, state) for start, end, state, _ in rows.rows],
        [Stored(start, end, DONE) for start, end in ranges.rows],
        frozenset(Span(start, end) for start, end, _, attempts in rows.rows if attempts),
    )


def read_first_start(job: str) -> Steps[int | None]:
    """Read the start of the first stored window or range."""
    answer = yield Statement("read_first_start", {"job": job})
    first: int | None = answer.rows[0][0]
    return first


def read_window(job: str, span: Span) -> Steps[WindowRow | None]:
    """Read one window's row."""
    answer = yield Statement("read_window", {"job": job, "start": span.start, "end": span.end})
    return WindowRow(*answer.rows[0]) if answer.rows else None


def insert_windows(
    job: str, spans: Sequence[Span], *, state: str, schedule: str, planned_at: int, reason: str | None = None
) -> Steps[None]:
    """Store windows that are missing; a row that is there already is never touched (protocols W8)."""
    if spans:
        shared = {
            "job": job, "state": state, "schedule": schedule, "zone": None, "tzdata": None,
            "reason": reason, "planned_at": planned_at,
        }  # fmt: skip
        yield Batch("insert_windows", [{**shared, "start": span.start, "end": span.end} for span in spans])


def claim_window(claim: Claim) -> Steps[Claimed | None]:
    """Move a window from planned to open; None where another copy has it, or the job is paused.

    A claim that says so takes a parked window too: a person has asked for it by name.
    """
    answer = yield Statement("claim_window", claim.parameters())
    if answer.rowcount != 1:
        return None
    return Claimed(answer.rows[0][0] if answer.rows else None)


def claim_windows(claims: Sequence[Claim]) -> Steps[Claimed | None]:
    """Claim a whole group in the order of its keys; None where not every one could be had (protocols W11)."""
    answer = yield Batch("claim_windows", [claim.parameters() for claim in claims])
    if answer.rowcount != len(claims):
        return None
    return Claimed(answer.rows[0][0] if answer.rows else None)


def finish_window(claim: Claim, claimed: Claimed, result: Result) -> Steps[bool]:
    """Move a window from open to done, in the effect's transaction: the fence. False where it is not mine."""
    answer = yield Statement("finish_window", claim.parameters(transaction=claimed.transaction, **result))
    finished: bool = answer.rowcount == 1
    return finished


def finish_windows(claims: Sequence[Claim], claimed: Claimed, results: Sequence[Result]) -> Steps[bool]:
    """Finish a whole group; False where not every one is mine."""
    rows = [
        claim.parameters(transaction=claimed.transaction, **result)
        for claim, result in zip(claims, results, strict=True)
    ]
    answer = yield Batch("finish_windows", rows)
    finished: bool = answer.rowcount == len(claims)
    return finished


def release_windows(claims: Sequence[Claim]) -> Steps[None]:
    """Put claimed windows of a group back to planned, in the transaction that claimed them."""
    if claims:
        yield Batch("release_windows", [claim.parameters() for claim in claims])


def read_transaction() -> Steps[int | None]:
    """Read the id of the open transaction, None where the database has none to tell."""
    answer = yield Statement("read_transaction")
    transaction: int | None = answer.rows[0][0]
    return transaction


def take_over(claim: Claim, seen: WindowRow) -> Steps[bool]:
    """Take an open window from an owner that is gone, raising its token."""
    answer = yield Statement("take_over_window", claim.parameters(seen_claim=seen.claim, seen_token=seen.token))
    taken: bool = answer.rowcount == 1
    return taken


def record_failure(claim: Claim, *, state: str, reason: str, error: str) -> Steps[bool]:
    """Count a failed attempt; False where another copy has moved the window on (protocols W5)."""
    # An error's text may hold what a database cannot store; its failure counts all the same.
    text = error[:ERROR_CHARACTERS_MAX].replace("\0", "\\0").encode(errors="backslashreplace").decode()
    more = {"state": state, "reason": reason, "error": text}
    answer = yield Statement("fail_window", claim.parameters(**more))
    recorded: bool = answer.rowcount == 1
    return recorded


def set_in_doubt(claim: Claim, reason: str) -> Steps[None]:
    """Say that nobody knows what this window wrote."""
    yield Statement("doubt_window", claim.parameters(reason=reason))


def park(job: str, span: Span, reason: str) -> Steps[bool]:
    """Set a window aside, so that the job goes on behind it; False where another copy has moved it on."""
    parameters = {"job": job, "start": span.start, "end": span.end, "reason": reason}
    answer = yield Statement("park_window", parameters)
    parked: bool = answer.rowcount == 1
    return parked


def skip(job: str, span: Span, reason: str) -> Steps[bool]:
    """Skip a planned window by a policy that the job declares; False where it is planned no more."""
    parameters = {"job": job, "start": span.start, "end": span.end, "reason": reason}
    answer = yield Statement("skip_window", parameters)
    skipped: bool = answer.rowcount == 1
    return skipped


def list_windows(job: str, rows_max: int) -> Steps[list[ListedWindow]]:
    """List a job's windows, newest first."""
    answer = yield Statement("list_windows", {"job": job, "rows_max": rows_max})
    return [ListedWindow(*row) for row in answer.rows]


def list_ranges(job: str) -> Steps[list[ListedRange]]:
    """List a job's compacted ranges, newest first."""
    answer = yield Statement("list_ranges", {"job": job})
    return [ListedRange(*row) for row in answer.rows]


def count_set_aside(job: str) -> Steps[dict[str, int]]:
    """Count, by their state, the windows that wait for a person."""
    answer = yield Statement("count_set_aside", {"job": job})
    return dict(answer.rows)


def read_last_done(job: str) -> Steps[int | None]:
    """Read the instant of the last success."""
    answer = yield Statement("read_last_done", {"job": job})
    last: int | None = answer.rows[0][0]
    return last


def read_last_effects(job: str, rows_max: int) -> Steps[list[int | None]]:
    """Read how many rows the newest done windows wrote."""
    answer = yield Statement("read_last_effects", {"job": job, "rows_max": rows_max})
    return [row[0] for row in answer.rows]
