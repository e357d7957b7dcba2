"""Group commit: up to N units of one job share one transaction; whatever goes wrong, they run alone instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from telafi.errors import TransactionControl
from telafi.events import Processed
from telafi.instants import Span, chains
from telafi.ledger.port import Fault
from telafi.ledger.steps import AskState, Begin, Call, Commit, Rollback, Steps
from telafi.ledger.watermarks import advance
from telafi.ledger.windows import (
    Claimed,
    claim_windows,
    finish_windows,
    read_window,
    release_windows,
    set_in_doubt,
)
from telafi.work.attempts import repeated, rolled_back
from telafi.work.progress import Progress
from telafi.work.settle import ended_by_user
from telafi.work.unit import Body, refuse_forgotten


def run_group(members: Sequence[Progress], body_of: Callable[[Progress], Body]) -> Steps[list[Processed]]:
    """Run the members in one transaction; gives back those that committed, none where they have to run alone.

    Every row is claimed, in key order, before any advance (protocols W11). Members that find the group's time used
    up are released in the same transaction.
    """
    context = members[0].context
    deadline = context.clock.monotonic_seconds() + context.job.options.group_ms / 1_000
    running: Progress | None = None
    try:
        yield Begin(context.job.options.isolation)
        claimed = yield from claim_windows([member.claim for member in members])
        if claimed is None:
            yield Rollback()
            return []
        done: list[Progress] = []
        for member in members:
            if done and context.clock.monotonic_seconds() > deadline:
                break
            member.hold(claimed, grouped=True)
            member.began = context.clock.monotonic_seconds()
            running = member
            yield from _call(member, body_of(member))
            member.tally.settle()
            done.append(member)
        running = None
        yield from release_windows([member.claim for member in members[len(done) :]])
        yield from _close(done, claimed)
    except GeneratorExit:
        raise
    except BaseException as error:
        if not isinstance(error, Exception | SystemExit):
            yield from rolled_back(error)
            raise
        yield from _undone(members, running, error)
        return []
    return [member.processed() for member in done]


def _call(member: Progress, body: Body) -> Steps[None]:
    yield Call(body)
    refuse_forgotten(member)
    if (yield AskState()) == "none":
        raise TransactionControl  # or the next member would write outside of every transaction


def _undone(members: Sequence[Progress], running: Progress | None, error: BaseException) -> Steps[None]:
    """Roll back; where the code of a member has ended the transaction itself, say so in its row."""
    context = members[0].context
    lost = context.engine.classify(error) is Fault.LOST
    if lost or not context.engine.is_server:
        # A connection that is lost here is replaced by the first member that runs alone.
        for member in members:
            member.unknown = lost and member.committing
        yield from rolled_back(error)
        return
    guilty = running if running is not None and (yield from ended_by_user(running, Fault.OTHER)) else None
    yield from rolled_back(error)
    yield from repeated(lambda: _doubt(members, guilty), context.attempts())


def _doubt(members: Sequence[Progress], guilty: Progress | None) -> Steps[None]:
    """Nobody knows what a member wrote that ended the transaction, or what any did where it was a COMMIT."""
    yield Begin()
    first = members[0].claim
    row = yield from read_window(first.job, first.span)
    committed = row is not None and row.claim == first.id
    if committed and guilty is not None:
        behind = members.index(guilty) + 1
        yield from release_windows([member.claim for member in members[behind:]])
        doubtful = members[:behind]
    else:
        doubtful = members if committed else [guilty] if guilty is not None else []
    for member in doubtful:
        yield from set_in_doubt(member.claim, "transaction-control")
    yield Commit()


def _close(done: Sequence[Progress], claimed: Claimed) -> Steps[None]:
    split = any(member.tally.split for member in done)
    claims = [member.claim for member in done]
    if split or not (yield from finish_windows(claims, claimed, [member.result() for member in done])):
        raise TransactionControl
    for chain in chains([member.span for member in done]):
        # Windows that follow each other move the watermark once.
        yield from advance(claims[0].job, Span(chain[0].start, chain[-1].end))
    for member in done:
        member.committing = True
    yield Commit()
