"""The demo's application: one job, whose plain INSERT and additive UPDATE would show anything done twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from telafi import Telafi, Transaction, Window
from telafi.cli.demo.timeline import WEEK
from telafi.clock import SystemClock
from telafi.instants import datetime_of

JOB = "departures-per-hour"
INSERT = """
INSERT INTO departures_by_hour (hour, departures, cancelled)
SELECT :start, COUNT(*), COALESCE(SUM(cancelled), 0) FROM departures WHERE at >= :start AND at < :end
"""
ADD = """
UPDATE totals SET
    departures = departures + (SELECT COUNT(*) FROM departures WHERE at >= :start AND at < :end),
    cancelled = cancelled + (SELECT COALESCE(SUM(cancelled), 0) FROM departures WHERE at >= :start AND at < :end)
"""


class WeekClock(SystemClock):
    """A wall clock that stands at an instant of the week; durations stay real."""

    def __init__(self, now_microseconds: int) -> None:
        self._now = now_microseconds

    def set(self, now_microseconds: int) -> None:
        self._now = now_microseconds

    def now_microseconds(self) -> int:
        return self._now

    def boot_seconds(self) -> float | None:
        """Give nothing: a week of 2013 has no boot to be compared with."""
        return None


def nothing(window: Window) -> None:
    """Do nothing at the end of a window."""


def application(database: Path, clock: WeekClock, at_the_end: Callable[[Window], None] = nothing) -> Telafi:
    """Make the application; `at_the_end` is called in every window, with all written and nothing committed."""
    app = Telafi(f"sqlite:///{database}", clock=clock)

    @app.job(every="1h", since=datetime_of(WEEK.start), max_windows=100)
    def departures_per_hour(window: Window, tx: Transaction) -> None:
        tx.execute(INSERT, window.params())
        tx.execute(ADD, window.params())
        at_the_end(window)

    return app
