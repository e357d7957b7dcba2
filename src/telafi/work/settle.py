"""What a unit's end means when it was not a plain success: nothing claimed, an error, an unknown outcome."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, TypeAlias

from telafi.errors import TransactionAborted, TransactionControl
from telafi.events import Deferred, Failed, InDoubt, Outcome, Skipped, Warned
from telafi.ledger.port import Fault
from telafi.ledger.rows import WindowRow
from telafi.ledger.runs import read_owner
from telafi.ledger.steps import Begin, Call, Commit, Rollback, Steps, TransactionState
from telafi.ledger.watermarks import read_job
from telafi.ledger.windows import Claim, read_transaction, read_window, record_failure, set_in_doubt, take_over
from telafi.plan.catchup import DONE, IN_DOUBT, OPEN, PARKED, PLANNED
from telafi.work.attempts import repeated, rolled_back
from telafi.work.progress import Progress


class Again(Enum):
    """The unit has not ended: what to do next."""

    CLAIM = "claim"
    PLAN = "plan"
    STARTED = "started"


Answer: TypeAlias = Outcome | Again
Doubt: TypeAlias = Literal["no-end", "transaction-control"]


def nothing_claimed(progress: Progress) -> Steps[Answer]:
    """Read the row in a new transaction and say why it could not be claimed (semantics §2, protocols W4)."""
    claim, job = progress.claim, progress.context.job.name
    yield Begin()
    row = yield from read_window(job, claim.span)
    owner = (yield from read_owner(row.run)) if row is not None and row.state == OPEN else None
    job_row = yield from read_job(job)
    yield Rollback()
    if row is None:
        return Again.PLAN
    if row.state == DONE and row.claim == claim.id:
        return progress.processed()
    if row.state == OPEN and row.claim == claim.id:
        if claim.outside:
            return Again.STARTED
        # Only a COMMIT in the user's code can leave a row of mine open (protocols W9).
        return (yield from _in_doubt(progress, claim, "transaction-control"))
    if row.state == PLANNED:
        return Skipped(job, "paused", claim.span) if job_row is not None and job_row.paused else Again.CLAIM
    if row.state == IN_DOUBT:
        return InDoubt(job, claim.span, "transaction-control" if row.reason == "transaction-control" else "no-end")
    if row.state == OPEN:
        return (yield from _open_elsewhere(progress, row, owner))
    return Skipped(job, "key-exists", claim.span)


def _open_elsewhere(progress: Progress, row: WindowRow, owner: str | None) -> Steps[Answer]:
    """A started window whose owner is gone is rerun or held; one that asked for a transaction is always in doubt."""
    context = progress.context
    gone = True if owner is None else context.is_gone(owner)
    if gone is not True:
        return Skipped(context.job.name, "lock", progress.span)
    if row.outside and progress.claim.outside and context.job.options.if_in_doubt == "rerun":
        taken = yield from repeated(lambda: _take_over(progress, row), context.attempts(progress.span))
        return Again.STARTED if taken else Again.CLAIM
    theirs = progress.claim._replace(id=row.claim or "")
    return (yield from _in_doubt(progress, theirs, "no-end" if row.outside else "transaction-control"))


def settle(progress: Progress, error: BaseException) -> Steps[Answer]:
    """Roll back, then decide: once more, or how the unit ends (transactions §2)."""
    context, attempts = progress.context, progress.attempts
    fault = attempts.classify(error)
    progress.unknown = progress.unknown or (progress.committing and fault is Fault.LOST)
    progress.committing = False
    if isinstance(error, Exception | SystemExit) and fault is not Fault.LOST:
        progress.split = progress.split or (yield from ended_by_user(progress))
    yield from rolled_back(error)
    if not isinstance(error, Exception | SystemExit):
        raise error
    if progress.split or progress.tally.split:
        return (yield from _in_doubt(progress, progress.claim, "transaction-control"))
    if (yield from attempts.again(error)):
        return Again.CLAIM
    text = told(error)
    if progress.unknown:
        return Deferred(context.job.name, "outcome-pending", progress.span, error=text, out_of_reach=True)
    if fault in (Fault.LOST, Fault.TRANSIENT):
        return Deferred(context.job.name, "retry", progress.span, error=text, out_of_reach=True)
    if fault is Fault.LOCK_WAIT and progress.claiming:
        if context.engine.is_server:
            return Skipped(context.job.name, "lock", progress.span)
        return Deferred(context.job.name, "retry", progress.span, error=text, out_of_reach=True)
    return (yield from failed(progress, error, fault))


def failed(progress: Progress, error: BaseException, fault: Fault) -> Steps[Outcome]:
    """Record a failure in a second, own transaction; parked once the attempts are spent and the job says so."""
    context, options = progress.context, progress.context.job.options
    error = _plain(error, fault)
    attempt: int | None = None
    parked = False
    try:
        attempt, parked = yield from repeated(lambda: _record(progress, error), context.attempts(progress.span))
    except _Split:
        return (yield from _in_doubt(progress, progress.claim, "transaction-control"))
    except Exception as failure:  # noqa: BLE001 - a ledger that cannot be written must not hide why the unit failed
        error.add_note(f"this failure could not be recorded: {failure}")
    return Failed(
        context.job.name,
        progress.span,
        type(error).__name__,
        told(error),
        attempt,
        options.attempts if options.on_error == "park" else None,
        parked=parked,
        out_of_reach=fault is Fault.STORAGE,
        exception=error,
    )


def ended_by_user(progress: Progress) -> Steps[bool]:
    """Notice that the user's code has ended the transaction itself: then nobody knows what it wrote."""
    if progress.claimed is None or progress.claim.outside or not progress.open:
        return False
    state = yield Call(state_of)
    if state == "none":
        # SQLite ends a transaction by itself when the disk is full; only a borrowed connection could write after that.
        return progress.context.engine.is_server or progress.context.job.asked.guest is not None
    if state == "aborted" or progress.claimed.transaction is None:
        return False
    return (yield from read_transaction()) != progress.claimed.transaction


def state_of(handle: Any) -> TransactionState:
    """Ask how the transaction stands."""
    state: TransactionState = handle.transaction_state()
    return state


class _Split(Exception):
    """The row that was to be recorded as failed is open under this unit's own claim."""


def _plain(error: BaseException, fault: Fault) -> BaseException:
    """Name what a driver tells by a code only."""
    plain = {Fault.ABORTED: TransactionAborted, Fault.CONTROL: TransactionControl}.get(fault)
    if plain is None or isinstance(error, plain):
        return error
    named = plain()
    named.__cause__ = error
    return named


def told(error: BaseException) -> str:
    """Write an error with its notes, as one text."""
    notes: list[str] = getattr(error, "__notes__", [])
    return "; ".join([str(error) or type(error).__name__, *notes])


def _record(progress: Progress, error: BaseException) -> Steps[tuple[int | None, bool]]:
    options = progress.context.job.options
    yield Begin()
    row = yield from read_window(progress.claim.job, progress.span)
    if row is not None and row.state == OPEN and row.claim == progress.claim.id and not row.outside:
        raise _Split
    attempt = 1 + (row.attempts if row is not None else 0)
    parked = options.on_error == "park" and attempt >= options.attempts
    state = PARKED if parked else PLANNED
    recorded = yield from record_failure(progress.claim, state=state, reason=type(error).__name__, error=told(error))
    yield Commit()
    # Another copy may have finished the window meanwhile: then this failure counts for nothing.
    return (attempt, parked) if recorded else (None, False)


def _in_doubt(progress: Progress, claim: Claim, reason: Doubt) -> Steps[InDoubt]:
    try:
        yield from repeated(lambda: _doubt(claim, reason), progress.context.attempts(progress.span))
    except Exception as failure:  # noqa: BLE001 - the doubt stands, whether or not it can be written down now
        text = f"window {progress.span.text} is in doubt, which could not be recorded: {failure}"
        progress.context.emit(Warned(progress.context.job.name, text))
    return InDoubt(progress.context.job.name, progress.span, reason)


def _doubt(claim: Claim, reason: str) -> Steps[None]:
    yield Begin()
    yield from set_in_doubt(claim, reason)
    yield Commit()


def _take_over(progress: Progress, row: WindowRow) -> Steps[bool]:
    yield Begin()
    taken = yield from take_over(progress.claim, row)
    yield Commit()
    return taken
