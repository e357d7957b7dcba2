"""The only place that reads a clock: instants are whole microseconds since the Unix epoch, in UTC."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What Telafi needs of time, so that a test can set it."""

    def now_microseconds(self) -> int:
        """Give the wall clock's instant."""

    def monotonic_seconds(self) -> float:
        """Give a reading that never goes back."""

    def boot_seconds(self) -> float | None:
        """Give the seconds since boot, suspend included; None where the system does not tell."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    async def asleep(self, seconds: float) -> None:
        """Wait in async code."""


class SystemClock:
    """The host's clocks."""

    def now_microseconds(self) -> int:
        """Give the wall clock's instant."""
        return time.time_ns() // 1_000

    def monotonic_seconds(self) -> float:
        """Give a reading that never goes back."""
        return time.monotonic()

    def boot_seconds(self) -> float | None:
        """Give the seconds since boot, suspend included; None where the system does not tell."""
        clock_id = getattr(time, "CLOCK_BOOTTIME", None)
        return time.clock_gettime(clock_id) if clock_id is not None else None

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Wait in async code."""
        import asyncio

        await asyncio.sleep(seconds)


class FixedClock:
    """A clock that stands where it is set; sleeping moves it on.

    >>> clock = FixedClock(0)
    >>> clock.sleep(1.5)
    >>> clock.now_microseconds()
    1500000
    """

    def __init__(self, now_microseconds: int) -> None:
        self._now = now_microseconds
        self._elapsed = 0.0

    def set(self, now_microseconds: int) -> None:
        """Move the wall clock, forward or back; the monotonic reading stays."""
        self._now = now_microseconds

    def advance(self, seconds: float) -> None:
        """Let time pass on every reading."""
        self._now += round(seconds * 1_000_000)
        self._elapsed += seconds

    def now_microseconds(self) -> int:
        """Give the instant that was set."""
        return self._now

    def monotonic_seconds(self) -> float:
        """Give the seconds that were let pass."""
        return self._elapsed

    def boot_seconds(self) -> float | None:
        """Give the seconds that were let pass."""
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.advance(seconds)

    async def asleep(self, seconds: float) -> None:
        """Let the time pass at once, giving other tasks a turn."""
        self.advance(seconds)
        import asyncio

        await asyncio.sleep(0)
