"""Windows on a fixed grid: `every="1h"`, counted from the Unix epoch unless an anchor is given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from telafi.errors import ScheduleError
from telafi.instants import SECOND, duration_of, duration_text, instant_of, instant_text

STEP_MIN: Final = SECOND
STEP_MAX: Final = 3_660 * 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class Every:
    """A grid of equal steps; see `Schedule` for what it answers.

    >>> Every(step_microseconds=3_600 * SECOND).after(0) // SECOND
    3600
    """

    step_microseconds: int
    anchor: int = 0

    @property
    def text(self) -> str:
        """Give the schedule as the ledger records it beside each window."""
        suffix = f" anchor {instant_text(self.anchor)}" if self.anchor else ""
        return f"every {duration_text(self.step_microseconds)}{suffix}"

    def after(self, instant: int) -> int:
        """Give the first fire later than the instant."""
        return self.at_or_before(instant) + self.step_microseconds

    def at_or_before(self, instant: int) -> int:
        """Give the newest fire that is not later than the instant."""
        return instant - (instant - self.anchor) % self.step_microseconds

    def count(self, after: int, until: int) -> int:
        """Count the fires with `after < fire <= until`."""
        step = self.step_microseconds
        return max(0, (until - self.anchor) // step - (after - self.anchor) // step)


def every(step: str | timedelta, anchor: datetime | str | None = None) -> Every:
    """Read the arguments `every=` and `anchor=` of a job; raises ScheduleError."""
    step_microseconds = duration_of(step, "every")
    if not STEP_MIN <= step_microseconds <= STEP_MAX:
        raise ScheduleError(f"every={step!r}: a window lasts between one second and ten years")
    return Every(step_microseconds, 0 if anchor is None else instant_of(anchor))
