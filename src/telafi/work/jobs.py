"""The verbs on jobs: declare, run, look."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any, ParamSpec, TypeVar

from telafi.clock import Clock
from telafi.errors import DuplicateJob, UnknownJob, WrongUse
from telafi.events import Events, Outcome, Skipped
from telafi.instants import instant_of, instant_text
from telafi.keys import checked_scope
from telafi.ledger.planning import BootReading
from telafi.ledger.port import Engine
from telafi.ledger.runners import aperform, perform
from telafi.ledger.steps import Begin, Commit, Steps
from telafi.ledger.verbs import Ledger
from telafi.ledger.watermarks import count_lock_skip
from telafi.lock.moment import Moment
from telafi.lock.port import Holder
from telafi.plan.retry import RetryBudget, RetryPolicy
from telafi.work.context import RunContext, now_of
from telafi.work.job import InDoubtPolicy, Isolation, Job, OnError, declare
from telafi.work.overview import JobStatus, Listing, late_first, look_at_lock, read_listing, read_status
from telafi.work.run import JobRun

P = ParamSpec("P")
R = TypeVar("R")


class Jobs:
    """The jobs of one application."""

    def __init__(
        self, ledger: Ledger, engine: Engine, clock: Clock, events: Events, moment: Moment, policy: RetryPolicy
    ) -> None:
        self._ledger, self._engine, self._clock, self._events = ledger, engine, clock, events
        self._moment = moment
        self._policy = policy
        self._budget = RetryBudget()
        self._unclosed: set[str] = set()
        self._random = Random()  # noqa: S311 - jitter is not a secret
        self._jobs: dict[str, Job[..., Any]] = {}

    def __iter__(self) -> Iterator[Job[..., Any]]:
        """Walk the jobs in the order of their declaration."""
        return iter(self._jobs.values())

    def declare(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        every: str | timedelta | None = None,
        anchor: datetime | str | None = None,
        since: datetime | str | None = None,
        grace: str | timedelta = "0s",
        max_age: str | timedelta | None = None,
        max_windows: int = 100,
        late_after: str | timedelta | None = None,
        remember: str | timedelta = "400d",
        on_error: OnError = "stop",
        attempts: int = 3,
        crash_attempts: int = 3,
        if_in_doubt: InDoubtPolicy = "rerun",
        isolation: Isolation | None = None,
        group: int = 1,
        group_ms: int = 1_000,
        must_have_effect: int | None = None,
        late_rows: str | None = None,
    ) -> Job[P, R]:
        """Make a job of a function; `@app.job(...)` is the same as a decorator, and explains the options."""
        job = declare(
            function, self._engine.dialect,
            name=name, every=every, anchor=anchor, since=since, grace=grace, max_age=max_age, late_after=late_after,
            remember=remember, windows_max=max_windows, on_error=on_error, attempts=attempts,
            crash_attempts=crash_attempts, if_in_doubt=if_in_doubt, isolation=isolation, group=group,
            group_ms=group_ms, must_have_effect=must_have_effect, late_rows=late_rows,
        )  # fmt: skip
        if job.name in self._jobs:
            raise DuplicateJob(f"there are two jobs named {job.name!r}: give one of them another with name=")
        self._jobs[job.name] = job
        return job

    def get(self, name: str) -> Job[..., Any]:
        """Find a job by its name; raises UnknownJob with the names there are."""
        job = self._jobs.get(checked_scope(name))
        if job is None:
            known = ", ".join(sorted(self._jobs)) or "none"
            raise UnknownJob(f"there is no job {name!r}; this application has: {known}")
        return job

    def run(
        self,
        job: str | Job[..., Any],
        *,
        window: datetime | str | None = None,
        max_windows: int | None = None,
        stopping: Callable[[], bool] | None = None,
    ) -> list[Outcome]:
        """Run what is due of a job, or the one window that starts at `window`; safe at any moment, any number of times.

        Gives back every outcome, oldest first; each is also told to the application's subscribers. Raises
        LedgerError where the ledger cannot be reached, LockPlaceError where the lock cannot be taken, WrongUse
        for a window that cannot be.
        """
        found = self.get(job.name if isinstance(job, Job) else job)
        if found.asked.is_async:
            return _run_async(self.arun(found, window=window, max_windows=max_windows, stopping=stopping))
        with self._moment.held(found.name) as holder:
            if holder is not None:
                return self._locked_out(found.name, holder)
            with self._ledger.opened(found.asked.guest) as handle:
                return perform(self._steps(found, window, max_windows, stopping), handle)

    async def arun(
        self,
        job: str | Job[..., Any],
        *,
        window: datetime | str | None = None,
        max_windows: int | None = None,
        stopping: Callable[[], bool] | None = None,
    ) -> list[Outcome]:
        """Run an `async def` job; the verbs and errors of `run`."""
        found = self.get(job.name if isinstance(job, Job) else job)
        with self._moment.held(found.name) as holder:
            if holder is not None:
                return self._locked_out(found.name, holder)
            async with self._ledger.aopened(found.asked.guest) as handle:
                return await aperform(self._steps(found, window, max_windows, stopping), handle)

    def status(self, names: Sequence[str] = ()) -> list[JobStatus]:
        """See how the named jobs stand, or all of them: the late ones first. Raises LedgerError, UnknownJob."""
        chosen = [self.get(name) for name in names] or list(self)
        with self._ledger.opened() as handle:
            found = []
            for job in chosen:
                lock = look_at_lock(self._moment.place, job.name)
                steps = read_status(job, lambda: now_of(self._engine, self._clock), lock)
                found.append(perform(steps, handle))
        return late_first(found)

    def windows(self, job: str | Job[..., Any], *, rows_max: int = 50) -> Listing:
        """List a job's newest windows and what was compacted, newest first. Raises LedgerError, UnknownJob."""
        found = self.get(job.name if isinstance(job, Job) else job)
        with self._ledger.opened() as handle:
            return perform(read_listing(found.name, rows_max), handle)

    def _steps(
        self,
        job: Job[..., Any],
        window: datetime | str | None,
        max_windows: int | None,
        stopping: Callable[[], bool] | None,
    ) -> Steps[list[Outcome]]:
        windows_max = job.options.windows_max if max_windows is None else max_windows
        if windows_max < 1:
            raise WrongUse(f"max_windows={windows_max} must be at least 1")
        asked = None if window is None else instant_of(window)
        if asked is not None:
            instant_text(job.schedule.after(asked))  # raises for a window that would end beyond the year 9999
        boot = None if self._engine.is_server else self._moment.boot()
        reading = None if boot is None else BootReading(self._clock.now_microseconds(), *boot)
        context = RunContext(
            job=job, engine=self._engine, clock=self._clock, events=self._events, run=secrets.token_hex(16),
            owner=self._moment.owner, is_gone=self._moment.is_gone, crashed=self._moment.crashed,
            leftovers=self._moment.leftovers, sweep=self._moment.sweep, unclosed=self._unclosed,
            stopping=stopping or (lambda: False), policy=self._policy, budget=self._budget, random=self._random,
        )  # fmt: skip
        return JobRun(context, asked=asked, windows_max=windows_max, boot=reading).steps()

    def _locked_out(self, job: str, holder: Holder) -> list[Outcome]:
        """Say who holds the lock, then count it where that needs no waiting: the count is for people only."""
        outcome = Skipped(job, "lock", holder=str(holder))
        self._events.emit(outcome)
        with suppress(Exception), self._ledger.opened(patient=False) as handle:
            now = self._clock.now_microseconds()
            perform(_count_skip(job, now, str(holder)), handle)
        return [outcome]


def _count_skip(job: str, now: int, holder: str) -> Steps[None]:
    yield Begin()
    yield from count_lock_skip(job, now, holder)
    yield Commit()


def _run_async(run: Coroutine[Any, Any, list[Outcome]]) -> list[Outcome]:
    import asyncio

    # psycopg cannot work on the loop that Windows has by default.
    factory = asyncio.SelectorEventLoop if sys.platform == "win32" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(run)
