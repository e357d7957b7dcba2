"""A job as it is declared: a function, its schedule, and its limits; all durations in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Generic, Literal, ParamSpec, TypeAlias, TypeVar

from telafi.errors import ScheduleError, WrongUse
from telafi.instants import SECOND, duration_of, instant_of
from telafi.keys import RESERVED, checked_scope
from telafi.plan.every import every as every_schedule
from telafi.plan.schedule import Schedule
from telafi.work.parameters import Asked, asked_by

P = ParamSpec("P")
R = TypeVar("R")
OnError: TypeAlias = Literal["stop", "park"]
InDoubtPolicy: TypeAlias = Literal["rerun", "hold"]
Isolation: TypeAlias = Literal["read committed", "repeatable read", "serializable"]
GROUP_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Options:
    """How a job runs: everything but its function, its name and its schedule."""

    since: int | None = None
    grace: int = 0
    max_age: int | None = None
    windows_max: int = 100
    late_after: int = 0
    remember: int = 400 * 86_400 * SECOND
    on_error: OnError = "stop"
    attempts: int = 3
    crash_attempts: int = 3
    if_in_doubt: InDoubtPolicy = "rerun"
    isolation: Isolation | None = None
    group: int = 1
    group_ms: int = 1_000
    must_have_effect: int | None = None
    late_rows: str | None = None


@dataclass(frozen=True)
class Job(Generic[P, R]):
    """A function over windows. Calling it calls the function, without ledger, lock or transaction."""

    name: str
    function: Callable[P, R] = field(repr=False)
    schedule: Schedule
    asked: Asked = field(repr=False)
    options: Options = field(repr=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the plain function, as a test would."""
        return self.function(*args, **kwargs)


def declare(
    function: Callable[P, R],
    dialect: str,
    *,
    name: str | None,
    every: str | timedelta | None,
    anchor: datetime | str | None,
    since: datetime | str | None,
    grace: str | timedelta,
    max_age: str | timedelta | None,
    late_after: str | timedelta | None,
    remember: str | timedelta,
    **limits: Any,
) -> Job[P, R]:
    """Check a job's declaration and make the job; raises WrongUse with what is wrong."""
    if every is None:
        raise ScheduleError("a job needs a schedule: give it every=, such as every='1h'")
    schedule = every_schedule(every, anchor)
    options = Options(
        since=None if since is None else instant_of(since),
        grace=duration_of(grace, "grace"),
        max_age=None if max_age is None else duration_of(max_age, "max_age"),
        late_after=3 * schedule.step_microseconds if late_after is None else duration_of(late_after, "late_after"),
        remember=duration_of(remember, "remember"),
        **limits,
    )
    asked = asked_by(function, dialect)
    label = name or getattr(function, "__name__", "").replace("_", "-")
    _check(label, options, asked)
    return Job(label, function, schedule, asked, options)


def _check(name: str, options: Options, asked: Asked) -> None:
    checked_scope(name)
    if "\n" in name or name.startswith(("-", RESERVED)):
        raise WrongUse(f"{name!r} is no name for a job: start it with a letter, on one line")
    at_least_one = {"max_windows": options.windows_max, "attempts": options.attempts, "group": options.group}
    at_least_one["crash_attempts"] = options.crash_attempts
    at_least_one["must_have_effect"] = 1 if options.must_have_effect is None else options.must_have_effect
    for label, number in at_least_one.items():
        if number < 1:
            raise WrongUse(f"job {name}: {label}={number} must be at least 1")
    not_negative = {"grace": options.grace, "remember": options.remember, "late_after": options.late_after}
    for label, number in {**not_negative, "group_ms": options.group_ms}.items():
        if number < 0:
            raise WrongUse(f"job {name}: {label}= must not be negative")
    if options.max_age is not None and options.max_age < options.grace:
        raise WrongUse(f"job {name}: max_age= must be longer than grace=, or no window would ever be due")
    if options.on_error not in ("stop", "park"):
        raise WrongUse(f"job {name}: on_error={options.on_error!r} must be 'stop' or 'park'")
    if options.isolation not in (None, "read committed", "repeatable read", "serializable"):
        raise WrongUse(f"job {name}: isolation={options.isolation!r} must be one of the three that the servers have")
    if options.if_in_doubt not in ("rerun", "hold"):
        raise WrongUse(f"job {name}: if_in_doubt={options.if_in_doubt!r} must be 'rerun' or 'hold'")
    _check_group(name, options, asked)


def _check_group(name: str, options: Options, asked: Asked) -> None:
    if options.group > 1 and (asked.where != "inside" or "guest" in asked.names.values()):
        raise WrongUse(
            f"job {name}: group= shares one transaction, so the job must ask for a Transaction and no session"
        )
    if options.group > GROUP_MAX:
        raise WrongUse(f"job {name}: group={options.group} is more than {GROUP_MAX}")
    if options.must_have_effect is not None and "transaction" not in asked.names.values():
        raise WrongUse(f"job {name}: must_have_effect= counts what a Transaction writes, so the job must ask for one")
