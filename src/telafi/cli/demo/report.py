"""The sums at the end, beside those of the naive script, and where everything is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from telafi.cli.demo import jobs
from telafi.cli.demo.data import Figures, figures
from telafi.cli.demo.naive import Tally

WEEK = "SELECT COUNT(*), SUM(cancelled) FROM departures"
ADDED_UP = "SELECT departures, cancelled FROM totals"
BY_HOUR = "SELECT SUM(departures), SUM(cancelled) FROM departures_by_hour"
HOURS = "SELECT COUNT(*), COUNT(DISTINCT hour) FROM departures_by_hour"
ALL_HOURS = Figures(168, 168)


@dataclass(frozen=True, slots=True)
class Sums:
    """The week as it was, and as Telafi's job has it in its two tables."""

    week: Figures
    added_up: Figures
    by_hour: Figures
    hours: Figures

    @property
    def right(self) -> bool:
        return self.week == self.added_up == self.by_hour and self.hours == ALL_HOURS


def sums_of(database: Path) -> Sums:
    """Read the sums from the demo's database."""
    return Sums(*(figures(database, query) for query in (WEEK, ADDED_UP, BY_HOUR, HOURS)))


def table(sums: Sums, tally: Tally) -> Iterator[str]:
    """Give the lines of both tables."""
    yield f"{'':<42}departures  cancelled"
    yield _row("in the week", sums.week)
    yield _row("Telafi: the running total", sums.added_up)
    yield _row(f"Telafi: {sums.hours.departures} hours in the table", sums.by_hour)
    yield f"{'the script without Telafi':<42}{tally.total:>10,}"
    yield ""
    yield f"{'what the script without Telafi got wrong':<42}      lost  counted again"
    for cause, harm in tally.by_cause.items():
        yield _harm(cause, harm.lost, harm.again)
    yield _harm("together", tally.lost, tally.again)
    yield ""
    verdict = "lost 0, counted again 0" if sums.right else "WRONG"
    yield f"Telafi: {verdict}. The script: lost {tally.lost:,}, counted again {tally.again:,}."


def whereabouts(database: Path) -> Iterator[str]:
    """Say where the files are."""
    yield ""
    yield f"The job:      {jobs.__file__}"
    yield f"The database: {database}  (kept: data, results and ledger in one file)"


def _row(label: str, numbers: Figures) -> str:
    return f"{label:<42}{numbers.departures:>10,} {numbers.cancelled:>10,}"


def _harm(label: str, lost: int, again: int) -> str:
    return f"  {label:<40}{lost:>10,} {again:>14,}"
