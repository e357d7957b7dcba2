"""A job whose effect lies outside the database: `started` and `done` marks around it, at least once."""

from __future__ import annotations

from telafi.events import Deferred, Processed, Skipped
from telafi.ledger.port import Fault
from telafi.ledger.steps import Begin, Call, Commit, Rollback, Steps
from telafi.ledger.watermarks import advance
from telafi.ledger.windows import Claimed, finish_window, read_window
from telafi.plan.catchup import DONE
from telafi.work.attempts import repeated, rolled_back
from telafi.work.progress import Progress
from telafi.work.settle import Again, Answer, failed, nothing_claimed, settle, told
from telafi.work.unit import CLAIMS_MAX, Body, open_unit


def run_outside(progress: Progress, body: Body) -> Steps[Answer]:
    """Mark the window started, call the body, mark it done; a crash in between is the policy's to answer."""
    started = yield from _start(progress)
    if started is not Again.STARTED:
        return started
    try:
        yield Call(body)
    except GeneratorExit:
        raise
    except BaseException as error:
        yield from rolled_back(error)
        if not isinstance(error, Exception | SystemExit):
            raise
        return (yield from failed(progress, error, Fault.OTHER))
    try:
        return (yield from repeated(lambda: _finish(progress), progress.context.attempts(progress.span)))
    except Exception as error:  # noqa: BLE001 - the row stays open: the next run resolves it by its policy
        yield from rolled_back(error)
        return Deferred(progress.claim.job, "retry", progress.span, error=told(error), out_of_reach=True)


def _start(progress: Progress) -> Steps[Answer]:
    for _ in range(CLAIMS_MAX):
        answer = yield from _try_start(progress)
        if answer is not Again.CLAIM:
            return answer
    return Skipped(progress.claim.job, "lock", progress.span)


def _try_start(progress: Progress) -> Steps[Answer]:
    try:
        if (yield from open_unit(progress)):
            yield Commit()
            return Again.STARTED
        return (yield from nothing_claimed(progress))
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - settled below, KeyboardInterrupt included
        return (yield from settle(progress, error))


def _finish(progress: Progress) -> Steps[Processed | Skipped]:
    """Mark the window done where it is still mine; a zombie whose window was taken over writes nothing."""
    yield Begin()
    if (yield from finish_window(progress.claim, Claimed(None), progress.result())):
        yield from advance(progress.claim.job, progress.span)
        yield Commit()
        return progress.processed()
    yield Rollback()
    row = yield from read_window(progress.claim.job, progress.span)
    if row is not None and row.state == DONE and row.claim == progress.claim.id:
        return progress.processed()
    return Skipped(progress.claim.job, "lease-lost", progress.span)
