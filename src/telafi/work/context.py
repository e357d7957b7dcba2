"""What the units of one run share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from telafi.clock import Clock, SystemClock
from telafi.events import Event, Events
from telafi.instants import Span
from telafi.ledger.port import Engine
from telafi.ledger.steps import Steps
from telafi.ledger.watermarks import read_clock
from telafi.plan.retry import RetryBudget, RetryPolicy
from telafi.work.attempts import Attempts
from telafi.work.job import Job


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run of one job: who runs it, on what, and whom it tells."""

    job: Job[..., Any]
    engine: Engine
    clock: Clock
    events: Events
    run: str
    owner: Callable[[], str]
    is_gone: Callable[[str], bool | None]
    crashed: Callable[[str], bool]
    leftovers: Callable[[], set[str]]
    sweep: Callable[[Collection[str], Collection[str]], None]
    stopping: Callable[[], bool]
    unclosed: set[str]
    policy: RetryPolicy
    budget: RetryBudget
    random: Random
    numbers: Iterator[int] = field(default_factory=count)

    def attempts(self, span: Span | None = None, *, began: float | None = None) -> Attempts:
        """Open the count of attempts of one unit, or of one transaction of the run."""
        return Attempts(
            self.engine,
            self.clock,
            self.events,
            job=self.job.name,
            span=span,
            policy=self.policy,
            budget=self.budget,
            random=self.random,
            began=self.clock.monotonic_seconds() if began is None else began,
        )

    def emit(self, event: Event) -> None:
        """Tell the subscribers."""
        self.events.emit(event)

    def read_now(self) -> Steps[int]:
        """Read the time: the server's own where there is one, unless a test has set the clock."""
        return now_of(self.engine, self.clock)


def now_of(engine: Engine, clock: Clock) -> Steps[int]:
    """Read the time: the server's own where there is one, unless a test has set the clock."""
    if engine.is_server and isinstance(clock, SystemClock):
        return (yield from read_clock())
    return clock.now_microseconds()
