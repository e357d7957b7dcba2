"""One run of a job: plan, then do, oldest first, each unit in its own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from telafi.events import Deferred, Failed, Idle, InDoubt, Kind, Outcome, Planned, Processed, Skipped, Warned
from telafi.instants import Span
from telafi.ledger.planning import BootReading, PlanAnswer, PlanRequest, plan_transaction
from telafi.ledger.runs import close_run
from telafi.ledger.steps import Begin, Commit, Steps
from telafi.plan.asked import Refusal
from telafi.work.aftercare import after_run
from telafi.work.attempts import repeated, rolled_back
from telafi.work.calling import body_of
from telafi.work.context import RunContext
from telafi.work.gate import held_back
from telafi.work.group import run_group
from telafi.work.outside import run_outside
from telafi.work.progress import Progress
from telafi.work.settle import Again
from telafi.work.unit import run_end, run_inside

PLANS_MAX: Final = 5
_RUNNERS: Final = {"inside": run_inside, "end": run_end, "outside": run_outside}


class JobRun:
    """A run on its way: its plan, and what has come of it so far."""

    def __init__(self, context: RunContext, *, asked: int | None, windows_max: int, boot: BootReading | None) -> None:
        self._context = context
        self._asked = asked
        self._windows_max = windows_max
        self._boot = boot
        self._outcomes: list[Outcome] = []
        self._now = 0
        self._charged = False
        self._members: dict[Span, Progress] = {}

    def steps(self) -> Steps[list[Outcome]]:
        """Run what is due, or the one window that was asked for; every outcome is told as it happens."""
        try:
            for _ in range(PLANS_MAX):
                if not (yield from self._plan_and_do()):
                    break
            else:
                self._tell(Deferred(self._context.job.name, "retry", error="the ledger's rows keep changing"))
        except GeneratorExit:
            raise
        except BaseException as error:
            # Not a crash: nobody is to be charged for it.
            yield from self._close(error)
            raise
        if any(isinstance(outcome, Processed) for outcome in self._outcomes):
            yield from after_run(self._context, self._now, charged=self._charged)
        return self._outcomes

    def _plan_and_do(self) -> Steps[bool]:
        """Plan and do it; True where a row has gone meanwhile, so that the run has to plan again."""
        context = self._context
        answer = yield from repeated(lambda: plan_transaction(self._request()), context.attempts())
        self._now, self._charged = answer.now, bool(answer.charges)
        for text in answer.warnings:
            context.emit(Warned(context.job.name, text))
        for span in answer.plan.too_old:
            self._tell(Skipped(context.job.name, "too-old", span))
        if not answer.plan.due:
            if answer.plan.remaining or not self._outcomes:
                self._tell(_nothing_due(context, answer))
            return False
        if len(answer.plan.due) > 1:
            context.emit(Planned(context.job.name, len(answer.plan.due), answer.plan.remaining))
        again = yield from self._do(answer)
        yield from self._close(None)
        return again

    def _request(self) -> PlanRequest:
        context, options = self._context, self._context.job.options
        return PlanRequest(
            job=context.job.name, schedule=context.job.schedule, since=options.since, grace=options.grace,
            max_age=options.max_age, windows_max=self._windows_max, asked=self._asked, run=context.run,
            owner=context.owner, read_now=context.read_now, is_gone=context.is_gone, boot=self._boot,
            crashed=context.crashed, unclosed=frozenset(context.unclosed),
        )  # fmt: skip

    def _do(self, answer: PlanAnswer) -> Steps[bool]:
        waiting = list(answer.plan.due)
        while waiting:
            if self._context.stopping():
                self._tell(
                    Deferred(self._context.job.name, "hand-back", remaining=len(waiting) + answer.plan.remaining)
                )
                return False
            together = self._together(waiting, answer)
            done = (yield from self._do_group(together, answer)) if len(together) > 1 else 0
            alone = [] if done else waiting[: max(1, len(together))]
            del waiting[: done or len(alone)]
            for span in alone:
                outcome = yield from self._do_one(span, answer)
                if outcome is None:
                    return True
                if self._ends_run(self._tell(outcome)):
                    return False
        if answer.plan.remaining:
            self._tell(Deferred(self._context.job.name, "cap", remaining=answer.plan.remaining))
        return False

    def _do_group(self, spans: Sequence[Span], answer: PlanAnswer) -> Steps[int]:
        members = [Progress(self._context, span, self._kind(span, answer)) for span in spans]
        processed = yield from run_group(members, body_of)
        self._members = {} if processed else {member.span: member for member in members}
        for outcome in processed:
            self._tell(outcome)
        return len(processed)

    def _do_one(self, span: Span, answer: PlanAnswer) -> Steps[Outcome | None]:
        """Run one unit; None where its row has gone."""
        by_name = self._asked is not None
        held = yield from held_back(self._context, span, answer, by_name=by_name)
        if held is not None:
            return held
        member = self._members.pop(span, None)
        kind = self._kind(span, answer)
        progress = member.alone() if member is not None else Progress(self._context, span, kind, by_name=by_name)
        ended = yield from _RUNNERS[self._context.job.asked.where](progress, body_of(progress))
        return None if isinstance(ended, Again) else ended

    def _together(self, waiting: Sequence[Span], answer: PlanAnswer) -> list[Span]:
        """Choose the windows that may share a transaction: the first ones that have never failed."""
        options = self._context.job.options
        if options.group == 1:
            return []
        together: list[Span] = []
        # Where a process has died before, nobody is to die with the one that did it.
        for span in waiting[: 1 if answer.charges else options.group]:
            if self._asked is not None or span in answer.tried:
                break
            if options.max_age is not None and span.end < answer.now - options.max_age:
                break  # only alone is it held back
            together.append(span)
        return together

    def _kind(self, span: Span, answer: PlanAnswer) -> Kind:
        return "live" if span.end >= self._context.job.schedule.at_or_before(answer.until) else "catch-up"

    def _tell(self, outcome: Outcome) -> Outcome:
        self._outcomes.append(outcome)
        self._context.emit(outcome)
        return outcome

    def _ends_run(self, outcome: Outcome) -> bool:
        match outcome:
            case Skipped(reason="lock" | "lease-lost" | "paused") | InDoubt() | Deferred():
                return True
            case Failed():
                return outcome.out_of_reach or self._context.job.options.on_error == "stop"
            case _:
                return False

    def _close(self, error: BaseException | None) -> Steps[None]:
        """End the run's record; where that fails, the next run finds its owner gone, not crashed, and does it."""
        try:
            if error is not None:
                yield from rolled_back(error)
            yield from repeated(self._end_record, self._context.attempts())
            self._context.unclosed.discard(self._context.run)
        except Exception as failure:  # noqa: BLE001 - the outcomes stand, and a later run closes the record
            self._context.unclosed.add(self._context.run)
            yield from rolled_back(failure)

    def _end_record(self) -> Steps[None]:
        yield Begin()  # with its limit on waiting for locks
        yield from close_run(self._context.run)
        yield Commit()


def _nothing_due(context: RunContext, answer: PlanAnswer) -> Outcome:
    job, plan = context.job, answer.plan
    if answer.paused:
        return Skipped(job.name, "paused")
    match answer.refusal:
        case (Refusal.NOT_CLOSED, span):
            return Deferred(job.name, "not-closed", span)
        case (Refusal.KEY_EXISTS, span):
            return Skipped(job.name, "key-exists", span)
        case (Refusal.BEFORE_WATERMARK, span):
            return Skipped(job.name, "before-watermark", span)
    if plan.remaining:
        return Deferred(job.name, "cap", remaining=plan.remaining)
    return Idle(job.name, plan.watermark, job.schedule.after(plan.watermark) + job.options.grace, new=plan.new)
