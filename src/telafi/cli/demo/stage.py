"""What the acts are played on: the database, the application with a settable clock, and the printed page."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from telafi import Telafi
from telafi.cli.demo.jobs import JOB, WeekClock
from telafi.cli.demo.naive import Tally
from telafi.cli.demo.timeline import Start
from telafi.instants import datetime_of
from telafi.observe.log import line_of

COMMAND = f"$ telafi run {JOB}"
SHOWN_FIRST = 3


@dataclass(slots=True)
class Stage:
    """One demo: where it writes, what it runs, how it speaks."""

    database: Path
    clock: WeekClock
    app: Telafi
    tally: Tally
    say: Callable[[str], None]

    def run(self, at: int, window: str | None = None) -> list[str]:
        """Start the job at that instant, and give its lines."""
        self.clock.set(at)
        return [line_of(outcome) for outcome in self.app.jobs.run(JOB, window=window)]

    def run_all(self, starts: Iterable[Start]) -> list[str]:
        """Start the job at each of the instants, and give all lines."""
        return [line for start in starts for line in self.run(start.at)]

    def title(self, at: int, text: str) -> None:
        self.say("")
        self.say(f"{datetime_of(at):%A %H:%M}  {text}")

    def show(self, lines: Sequence[str], command: str = COMMAND) -> None:
        """Print what was started and what it said, a long list shortened in its middle."""
        if command:
            self.say(command)
        for line in shortened(lines):
            self.say(line)

    def say_without(self, *causes: str) -> None:
        """Say what these causes cost the script that is started at the same instants."""
        cost = self.tally.cost_of(*causes)
        counts = {"lost": cost.lost, "counted again": cost.again}
        harm = [f"{count:,} departures {what}" for what, count in counts.items() if count]
        self.say(f"Without Telafi: {', '.join(harm) or 'all right'}.")

    def rows_of(self, window: str) -> int:
        """Count the rows that the job has written for a window."""
        start, _, _ = window.partition("/")
        with closing(sqlite3.connect(self.database)) as connection:
            query = "SELECT COUNT(*) FROM departures_by_hour WHERE hour = ?"
            (count,) = connection.execute(query, [start]).fetchone()
        return int(count)


def shortened(lines: Sequence[str]) -> list[str]:
    """Keep the first three lines and the last one where there are more than five.

    >>> shortened(["a", "b", "c", "d", "e", "f"])
    ['a', 'b', 'c', '… 2 more …', 'f']
    """
    if len(lines) <= SHOWN_FIRST + 2:
        return list(lines)
    return [*lines[:SHOWN_FIRST], f"… {len(lines) - SHOWN_FIRST - 1} more …", lines[-1]]
