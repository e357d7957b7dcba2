"""What keeps a planned window from being run: it is too old, or processes keep dying at it."""

from __future__ import annotations

from telafi.events import Failed, Outcome, Skipped
from telafi.instants import Span
from telafi.ledger.planning import PlanAnswer
from telafi.ledger.runs import forget_charges
from telafi.ledger.steps import Begin, Commit, Steps
from telafi.ledger.watermarks import advance
from telafi.ledger.windows import park, skip
from telafi.work.attempts import repeated
from telafi.work.context import RunContext


def held_back(context: RunContext, span: Span, answer: PlanAnswer, *, by_name: bool) -> Steps[Outcome | None]:
    """Give the outcome of a window that is not run, or None; a person who asks by name is never held back."""
    options = context.job.options
    charges = answer.charges.get(span, 0)
    if by_name:
        if charges:
            yield from repeated(lambda: _forget(context, span), context.attempts(span))
        return None
    if options.max_age is not None and span.end < answer.now - options.max_age:
        if (yield from repeated(lambda: _skip(context, span), context.attempts(span))):
            return Skipped(context.job.name, "too-old", span)
        return None
    # The first death may have been that of a group, charged to its first window: only one alone is held against it.
    deaths_max = options.crash_attempts if options.group == 1 else max(2, options.crash_attempts)
    if charges < deaths_max:
        return None
    parked = options.on_error == "park"
    if parked and not (yield from repeated(lambda: _park(context, span), context.attempts(span))):
        return None
    text = f"{charges} runs died at this window: look into it, then ask for it by name with run --window"
    return Failed(context.job.name, span, "crash-loop", text, charges, deaths_max, parked=parked)


def _forget(context: RunContext, span: Span) -> Steps[None]:
    yield Begin()
    yield from forget_charges(context.job.name, span)
    yield Commit()


def _skip(context: RunContext, span: Span) -> Steps[bool]:
    yield Begin()
    skipped = yield from skip(context.job.name, span, "too-old")
    if skipped:
        yield from advance(context.job.name, span)
    yield Commit()
    return skipped


def _park(context: RunContext, span: Span) -> Steps[bool]:
    yield Begin()
    parked = yield from park(context.job.name, span, "crash-loop")
    if parked:
        yield from advance(context.job.name, span)
    yield Commit()
    return parked
