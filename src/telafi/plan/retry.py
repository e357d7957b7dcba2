"""When a unit is repeated whole: attempts, total time, full jitter, and a share of all units against storms."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Final

WINDOW_SECONDS: Final = 10.0
FREE_RETRIES: Final = 10


@dataclass(frozen=True, slots=True)
class Backoff:
    """Full jitter: wait between nothing and `base * 2^n`, never longer than the cap (transactions §2.3)."""

    base_seconds: float
    cap_seconds: float

    def delay_seconds(self, attempt: int, random: Random) -> float:
        """Draw the wait before the attempt after this one; attempts count from 1."""
        return random.uniform(0.0, min(self.cap_seconds, self.base_seconds * 2.0 ** min(attempt, 32)))


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a unit is repeated; `attempts=1` means never."""

    attempts: int = 8
    deadline_seconds: float = 10.0
    connection_deadline_seconds: float = 30.0
    conflict: Backoff = Backoff(0.020, 2.0)
    connection: Backoff = Backoff(0.200, 30.0)

    def deadline_of(self, *, lost: bool) -> float:
        """Choose the total time: a server that restarts is waited for longer than a lock."""
        return self.connection_deadline_seconds if lost else self.deadline_seconds


@dataclass(slots=True)
class RetryBudget:
    """At most a fifth of the units of the last ten seconds may be retries, and always a few: no retry storms."""

    share: float = 0.2
    _units: deque[float] = field(default_factory=deque)
    _retries: deque[float] = field(default_factory=deque)

    def count_unit(self, now_seconds: float) -> None:
        """Note that a unit started."""
        self._units.append(now_seconds)
        self._forget(self._units, now_seconds)

    def allows_retry(self, now_seconds: float) -> bool:
        """Take one retry out of the budget, if there is one left."""
        self._forget(self._units, now_seconds)
        self._forget(self._retries, now_seconds)
        if len(self._retries) >= FREE_RETRIES + self.share * len(self._units):
            return False
        self._retries.append(now_seconds)
        return True

    @staticmethod
    def _forget(moments: deque[float], now_seconds: float) -> None:
        while moments and moments[0] < now_seconds - WINDOW_SECONDS:
            moments.popleft()
