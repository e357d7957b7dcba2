"""What a unit's end means when it was not a plain success: nothing claimed, an error, an unknown outcome."""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

from telafi.errors import OutOfReach, TelafiError, TransactionAborted, TransactionControl
from telafi.events import Deferred, Failed, InDoubt, Outcome, Skipped, Warned
from telafi.ledger.causes import told_by_driver
from telafi.ledger.port import Fault
from telafi.ledger.rows import WindowRow
from telafi.ledger.runs import read_owner
from telafi.ledger.steps import AskState, Begin, Commit, Reconnect, Rollback, Steps
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
    return Skipped(job, "too-old" if row.reason == "too-old" else "key-exists", claim.span)


def _open_elsewhere(progress: Progress, row: WindowRow, owner: str | None) -> Steps[Answer]:
    """A started window whose owner is gone is rerun or held; one that asked for a transaction is always in doubt."""
    context = progress.context
    gone = True if owner is None or row.run in context.unclosed else context.is_gone(owner)
    if gone is not True:
        return Skipped(context.job.name, "lock", progress.span)
    if row.outside and progress.claim.outside and context.job.options.if_in_doubt == "rerun":
        taken = yield from repeated(lambda: _take_over(progress, row), context.attempts(progress.span))
        return Again.STARTED if taken else Again.CLAIM
    theirs = progress.claim._replace(id=row.claim or "")
    return (yield from _in_doubt(progress, theirs, "no-end" if row.outside else "transaction-control"))


def settle(progress: Progress, error: BaseException) -> Steps[Answer]:
    """Roll back, then decide: once more, or how the unit ends (transactions §2)."""
    context, in_body = progress.context, progress.in_body
    known = progress.fault if progress.failure is error else None
    fault = known or (yield from fault_of(progress, error))
    progress.unknown = progress.unknown or (progress.committing and fault is Fault.LOST)
    progress.committing = False
    progress.split = progress.split or (yield from ended_by_user(progress, fault))
    if (yield AskState()) == "lost":
        fault = Fault.LOST  # it looked open until it was asked
    yield from rolled_back(error)
    if not isinstance(error, Exception | SystemExit):
        raise error
    if progress.split or progress.tally.split:
        return (yield from _in_doubt(progress, progress.claim, "transaction-control"))
    if (yield from progress.attempts.again(fault)):
        return Again.CLAIM
    text = told(error)
    if isinstance(error, OutOfReach) and not in_body:
        return Deferred(context.job.name, "retry", progress.span, error=text, out_of_reach=True)
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
    context = progress.context
    error = _plain(error, fault)
    if fault is Fault.STORAGE:
        # A full disk is nobody's failure: no attempt is charged, and nothing is parked for it.
        return _failure(progress, error, fault, None, parked=False)
    attempt: int | None = None
    parked = False
    try:
        attempt, parked = yield from repeated(lambda: _record(progress, error), context.attempts(progress.span))
    except _Split:
        return (yield from _in_doubt(progress, progress.claim, "transaction-control"))
    except _Committed:
        return progress.processed()
    except Exception as failure:  # noqa: BLE001 - a ledger that cannot be written must not hide why the unit failed
        error.add_note(f"this failure could not be recorded: {failure}")
    return _failure(progress, error, fault, attempt, parked=parked)


def _failure(progress: Progress, error: BaseException, fault: Fault, attempt: int | None, *, parked: bool) -> Failed:
    options = progress.context.job.options
    return Failed(
        progress.context.job.name,
        progress.span,
        type(error).__name__,
        told(error),
        attempt,
        options.attempts if options.on_error == "park" and attempt is not None else None,
        parked=parked,
        out_of_reach=fault is Fault.STORAGE,
        exception=error,
    )


def fault_of(progress: Progress, error: BaseException) -> Steps[Fault]:
    """Say what an error means for this unit: by its code, by whose it is, and by how our connection stands."""
    engine = progress.context.engine
    fault = engine.classify(error)
    state = yield AskState()
    if state == "lost" or (state == "closed" and progress.claiming):
        return Fault.LOST  # closed before the claim: by a member of a group, which is not this unit
    if state == "closed":
        # The job closed what it was lent: the server rolled back, and the next unit needs a connection.
        progress.open = False
        try:
            yield Reconnect()
        except Exception:  # noqa: BLE001 - then it is as good as lost
            return Fault.LOST
        return Fault.CONTROL
    if progress.committing and not isinstance(error, TelafiError) and not told_by_driver(error):
        return Fault.LOST  # nobody has said whether the COMMIT happened
    if progress.in_body and not progress.own_error(error):
        return Fault.OTHER  # of another database or file, which the user's code speaks to
    if fault is Fault.LOST and engine.is_server and not told_by_driver(error):
        return Fault.OTHER  # a connection is broken, but not ours
    return fault


def ended_by_user(progress: Progress, fault: Fault) -> Steps[bool]:
    """Notice that the user's code has ended the transaction itself: then nobody knows what it wrote."""
    if progress.claimed is None or progress.claim.outside or not progress.open or fault in (Fault.LOST, Fault.STORAGE):
        return False
    state = yield AskState()
    if state == "none":
        # SQLite ends a transaction by itself when the disk is full; only a borrowed connection could write after that.
        lent = progress.tally.lent or progress.context.job.asked.guest is not None
        return progress.context.engine.is_server or lent
    if state != "open" or progress.claimed.transaction is None:
        return False
    try:
        return (yield from read_transaction()) != progress.claimed.transaction
    except Exception:  # noqa: BLE001 - a connection that cannot be asked has lost its transaction by itself
        return False


class _Committed(Exception):
    """The row that was to be recorded as failed is done under this unit's own claim."""


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
    row = None if recorded else (yield from read_window(progress.claim.job, progress.span))
    yield Commit()
    if row is not None and row.state == DONE and row.claim == progress.claim.id:
        raise _Committed
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
