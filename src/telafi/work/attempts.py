"""Whole repeats: a unit's attempts, their waits, and the connection between them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from telafi.clock import Clock
from telafi.events import Events, Retried
from telafi.instants import Span
from telafi.ledger.port import REPEATABLE, Engine, Fault
from telafi.ledger.steps import Reconnect, Rollback, Sleep, Steps
from telafi.plan.retry import RetryBudget, RetryPolicy

T = TypeVar("T")


class Attempts:
    """The attempts of one unit: how many, how long, and what each one waits for."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        events: Events,
        *,
        job: str,
        span: Span | None,
        policy: RetryPolicy,
        budget: RetryBudget,
        random: Random,
        began: float,
    ) -> None:
        self._engine, self._clock, self._events = engine, clock, events
        self._job, self._span = job, span
        self._policy, self._budget, self._random = policy, budget, random
        self._began = began
        self._number = 1

    def classify(self, error: BaseException) -> Fault:
        """Say what the error means, by its code."""
        return self._engine.classify(error)

    def again(self, fault: Fault) -> Steps[bool]:
        """Wait for the next attempt, on a new connection where the old one is lost; False when the budget is spent."""
        while fault in REPEATABLE:
            if not (yield from self._wait(fault)):
                return False
            if fault is not Fault.LOST:
                return True
            try:
                yield Reconnect()
            except Exception as failure:  # noqa: BLE001 - a server that is still away is asked again, within the budget
                fault = self.classify(failure)
                continue
            return True
        return False

    def _wait(self, fault: Fault) -> Steps[bool]:
        now = self._clock.monotonic_seconds()
        lost = fault in (Fault.LOST, Fault.TRANSIENT)
        left = self._began + self._policy.deadline_of(lost=lost) - now
        if self._number >= self._policy.attempts or left <= 0 or not self._budget.allows_retry(now):
            return False
        backoff = self._policy.connection if lost else self._policy.conflict
        delay = min(backoff.delay_seconds(self._number, self._random), left)
        self._events.emit(Retried(self._job, self._span, fault.value, self._number, delay))
        self._number += 1
        yield Sleep(self._clock, delay)
        return True


def repeated(make: Callable[[], Steps[T]], attempts: Attempts) -> Steps[T]:
    """Run a whole transaction, again from its BEGIN while its errors allow it."""
    while True:
        try:
            return (yield from make())
        except Exception as error:
            yield from rolled_back(error)
            if not (yield from attempts.again(attempts.classify(error))):
                raise


class Repeater:
    """Repeats a whole transaction that belongs to no unit, such as the upgrade of the schema."""

    def __init__(self, engine: Engine, clock: Clock, events: Events, policy: RetryPolicy) -> None:
        self._engine, self._clock, self._events, self._policy = engine, clock, events, policy

    def __call__(self, make: Callable[[], Steps[T]]) -> Steps[T]:
        """Run it, again while its errors allow it."""
        attempts = Attempts(
            self._engine,
            self._clock,
            self._events,
            job="telafi",
            span=None,
            policy=self._policy,
            budget=RetryBudget(),
            random=Random(),  # noqa: S311 - jitter is not a secret
            began=self._clock.monotonic_seconds(),
        )
        return (yield from repeated(make, attempts))


def rolled_back(error: BaseException) -> Steps[None]:
    """Roll back; a ROLLBACK that fails never hides the first error."""
    try:
        yield Rollback()
    except Exception as failure:  # noqa: BLE001 - the first error is the one to show
        error.add_note(f"the ROLLBACK after it failed too: {failure}")
