"""The heart: run one unit once: begin, claim, effect, advance, commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from telafi.errors import AlreadyDone, CoroutineNotAwaited, TransactionAborted, TransactionControl
from telafi.events import Processed, RaisedAfter, Skipped
from telafi.ledger.handles.guest import AfterCommit
from telafi.ledger.port import Fault
from telafi.ledger.steps import AskState, Begin, Call, Commit, Rollback, Steps
from telafi.ledger.watermarks import advance
from telafi.ledger.windows import claim_window, finish_window
from telafi.work.attempts import rolled_back
from telafi.work.progress import Progress
from telafi.work.settle import Again, Answer, ended_by_user, fault_of, nothing_claimed, settle, told

Body: TypeAlias = Callable[[Any], Any]
COMMITS_MAX: Final = 3
CLAIMS_MAX: Final = 20


def run_inside(progress: Progress, body: Body) -> Steps[Answer]:
    """Run a job whose whole body lies inside the unit's transaction, repeating the whole while that may help."""
    for _ in range(CLAIMS_MAX):
        try:
            if (yield from open_unit(progress)):
                yield from call(progress, body)
                yield from close_unit(progress)
                return progress.processed()
            answer = yield from nothing_claimed(progress)
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt and SystemExit roll back too
            if progress.done:
                return (yield from raised_after(progress, error))
            answer = yield from settle(progress, error)
        if answer is not Again.CLAIM:
            return answer
    return Skipped(progress.claim.job, "lock", progress.span)


def run_end(progress: Progress, body: Body) -> Steps[Answer]:
    """Run a job that opens its transaction at its end; the body is repeated with it, slow work included."""
    for _ in range(CLAIMS_MAX):
        try:
            answer = yield from _attempt_end(progress, body)
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - KeyboardInterrupt and SystemExit roll back too
            if progress.done:
                return (yield from raised_after(progress, error))
            answer = yield from settle(progress, error)
        if answer is not Again.CLAIM:
            return answer
        progress.entered = False
    return Skipped(progress.claim.job, "lock", progress.span)


def _attempt_end(progress: Progress, body: Body) -> Steps[Answer]:
    if progress.unknown:
        # The COMMIT before may have happened: ask the ledger before the body runs again.
        if not (yield from open_unit(progress)):
            return (yield from nothing_claimed(progress))
        yield Rollback()
    progress.restart()
    try:
        yield from call(progress, body)
    except AlreadyDone:
        return (yield from nothing_claimed(progress))
    if progress.lost:
        return (yield from nothing_claimed(progress))
    if progress.failure is not None:
        raise progress.failure
    if not progress.done:
        if not (yield from open_late(progress)):
            return (yield from nothing_claimed(progress))
        yield from close_unit(progress)
    return progress.processed()


def write_unit(progress: Progress, body: Body) -> Steps[Any]:
    """Run one function inside the unit's transaction, repeating only that function; raises AlreadyDone."""
    value: Any = None
    for _ in range(CLAIMS_MAX):
        try:
            if (yield from open_unit(progress)):
                value = yield from call(progress, body)
                yield from close_unit(progress)
                return value
            answer = yield from nothing_claimed(progress)
        except Exception as error:
            if progress.done:
                raise
            fault = yield from abandon_unit(progress, error)
            if progress.split or progress.tally.split or not (yield from progress.attempts.again(fault)):
                raise
            continue
        if isinstance(answer, Processed):
            progress.done = True
            return value
        if answer is not Again.CLAIM:
            raise AlreadyDone
    raise AlreadyDone


def call(progress: Progress, body: Body) -> Steps[Any]:
    """Run the user's code; what it raises is told from what Telafi's own statements raise."""
    progress.in_body = True
    value = yield Call(body)
    progress.in_body = False
    return value


def raised_after(progress: Progress, error: BaseException) -> Steps[Processed]:
    """Tell an error that came after the COMMIT: the effect stands."""
    if not isinstance(error, Exception | SystemExit):
        raise error
    yield from rolled_back(error)
    shown = error.__cause__ if isinstance(error, AfterCommit) and error.__cause__ is not None else error
    progress.context.emit(RaisedAfter(progress.claim.job, progress.span, told(shown), shown))
    return progress.processed()


def open_unit(progress: Progress) -> Steps[bool]:
    """Begin and claim; False where nothing was to be claimed, and nothing is open then."""
    progress.ask()
    yield Begin(progress.context.job.options.isolation)
    claimed = yield from claim_window(progress.claim)
    if claimed is None:
        yield Rollback()
        progress.lost = True
        return False
    progress.hold(claimed)
    return True


def open_late(progress: Progress) -> Steps[bool]:
    """Open the unit after slow work, which is not repeated for a connection that did not outlive it."""
    try:
        return (yield from open_unit(progress))
    except Exception as error:
        lost = (yield from fault_of(progress, error)) is Fault.LOST
        if not lost or not (yield from progress.attempts.again(Fault.LOST)):
            raise
    return (yield from open_unit(progress))


def close_unit(progress: Progress) -> Steps[None]:
    """Advance and commit: the window is done only if it is still mine, in the transaction of its effect."""
    if progress.claimed is None:
        raise TransactionControl
    progress.in_body = False
    refuse_forgotten(progress)
    yield Call(_flush)
    if not progress.tally.split and (yield from rolled_back_by_itself(progress)):
        raise TransactionAborted from progress.tally.met
    mine = not progress.tally.split and (yield from finish_window(progress.claim, progress.claimed, progress.result()))
    if not mine:
        progress.split = True
        raise TransactionControl
    yield from advance(progress.claim.job, progress.span)
    progress.open, progress.committing = False, True
    try:
        yield from commit(progress)
    except AfterCommit:
        progress.done = True
        raise
    progress.done = True


def refuse_forgotten(progress: Progress) -> None:
    """Raise CoroutineNotAwaited where a call of the transaction never ran."""
    if progress.tally.pending:
        raise CoroutineNotAwaited("a call of the transaction was never awaited: write `await` before it")


def commit(progress: Progress) -> Steps[None]:
    """Commit; one that SQLite was too busy for is asked again, the work is not."""
    classify = progress.context.engine.classify
    for number in range(1, COMMITS_MAX + 1):
        try:
            yield Commit()
        except Exception as error:
            # A server has rolled back by now, and would answer a second COMMIT without an error.
            busy = number < COMMITS_MAX and classify(error) is Fault.LOCK_WAIT
            if not busy or (yield AskState()) != "open":
                raise
        else:
            return


def abandon_unit(progress: Progress, error: BaseException) -> Steps[Fault]:
    """Roll back what a block has opened and keep its error, so that a body cannot lose it; gives back its fault."""
    fault = Fault.OTHER
    if not progress.done:
        progress.failure = error
        fault = yield from fault_of(progress, error)
        progress.unknown = progress.unknown or (progress.committing and fault is Fault.LOST)
        progress.split = progress.split or (yield from ended_by_user(progress, fault))
        if (yield AskState()) == "lost":
            fault = Fault.LOST  # it looked open until it was asked
        progress.fault = fault
        progress.open = False
        yield from rolled_back(error)
    return fault


def rolled_back_by_itself(progress: Progress) -> Steps[bool]:
    """Notice that SQLite has rolled back after an error that the code swallowed, such as a full disk."""
    state = yield AskState()
    return state == "none" and not (yield from ended_by_user(progress, Fault.OTHER))


def _flush(handle: Any) -> Any:
    return handle.flush()
