"""Outcomes as values, the notices around them, and the one emit; logs and metrics are subscribers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from telafi.instants import Span

Kind: TypeAlias = Literal["live", "catch-up", "backfill", "redo"]


@dataclass(frozen=True, slots=True)
class Processed:
    """Mark, effect and advance committed."""

    job: str
    window: Span
    kind: Kind
    milliseconds: int
    new: int | None = None
    repeated: int | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was done, on purpose."""

    job: str
    reason: Literal["lock", "key-exists", "before-watermark", "paused", "too-old", "lease-lost"]
    window: Span | None = None
    holder: str | None = None


@dataclass(frozen=True, slots=True)
class Deferred:
    """Not now; it will be done without anyone asking."""

    job: str
    reason: Literal["cap", "not-closed", "hand-back", "retry", "outcome-pending"]
    window: Span | None = None
    remaining: int | None = None
    error: str | None = None
    out_of_reach: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """Raised and rolled back: the unit wrote nothing."""

    job: str
    window: Span
    reason: str
    error: str
    attempt: int | None = None
    attempts: int | None = None
    parked: bool = False
    out_of_reach: bool = False
    exception: BaseException | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Started, and what was written is unknown: a person or a policy decides."""

    job: str
    window: Span
    reason: Literal["no-end", "transaction-control"]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is due."""

    job: str
    watermark: int
    next_at: int
    new: bool = False


Outcome: TypeAlias = Processed | Skipped | Deferred | Failed | InDoubt | Idle


@dataclass(frozen=True, slots=True)
class Planned:
    """A run knows its windows: what a progress bar needs."""

    job: str
    windows: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that a person should look at."""

    job: str
    text: str


@dataclass(frozen=True, slots=True)
class Retried:
    """A unit is repeated whole: normal after a conflict."""

    job: str
    window: Span | None
    fault: str
    attempt: int
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class RaisedAfter:
    """The job raised after its transaction was committed: the effect stands, the error is shown."""

    job: str
    window: Span
    error: str
    exception: BaseException | None = field(default=None, compare=False, repr=False)


Event: TypeAlias = Outcome | Planned | Warned | Retried | RaisedAfter


class Events:
    """The subscribers of one application."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[Event], None]] = []
        self._told: set[int] = set()
        self.dropped = 0

    def subscribe(self, subscriber: Callable[[Event], None]) -> Callable[[], None]:
        """Hand every event to the function from now on; gives back the function that ends it."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def emit(self, event: Event) -> None:
        """Hand an event to every subscriber; one that fails is warned of once, counted, and never harms the work."""
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception as error:  # noqa: BLE001 - a broken log or metric must not stop a unit
                self.dropped += 1
                self._warn(subscriber, error)

    def _warn(self, subscriber: Callable[[Event], None], error: Exception) -> None:
        if id(subscriber) in self._told:
            return
        self._told.add(id(subscriber))
        # Where warnings are errors, this one still must not reach the unit.
        with suppress(Warning):
            warnings.warn(f"a subscriber of Telafi failed: {error!r}", RuntimeWarning, stacklevel=3)
