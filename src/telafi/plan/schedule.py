"""What the planner asks of a schedule, whatever its kind."""

from __future__ import annotations

from typing import Protocol


class Schedule(Protocol):
    """A pure source of fires: strictly increasing instants, the boundaries of windows."""

    @property
    def text(self) -> str:
        """Give the schedule as the ledger records it beside each window."""

    @property
    def step_microseconds(self) -> int:
        """Give the usual distance of two fires: the measure of lateness."""

    def after(self, instant: int) -> int:
        """Give the first fire later than the instant."""

    def at_or_before(self, instant: int) -> int:
        """Give the newest fire that is not later than the instant."""

    def count(self, after: int, until: int) -> int:
        """Count the fires with `after < fire <= until`."""
