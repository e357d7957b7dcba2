"""The script most people would write: on every start, add the departures of "the last hour from now"."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from telafi.cli.demo.timeline import HOUR, Start

AFTERWARDS = "after the last start"


@dataclass(slots=True)
class Harm:
    """Departures that one oddity cost: never counted, or counted once more."""

    lost: int = 0
    again: int = 0


@dataclass(slots=True)
class Tally:
    """What the script believes, and what is wrong with it."""

    total: int = 0
    by_cause: dict[str, Harm] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        return sum(harm.lost for harm in self.by_cause.values())

    @property
    def again(self) -> int:
        return sum(harm.again for harm in self.by_cause.values())

    def cost_of(self, *causes: str) -> Harm:
        """Sum up the harm of some causes."""
        found = [self.by_cause[cause] for cause in causes if cause in self.by_cause]
        return Harm(sum(harm.lost for harm in found), sum(harm.again for harm in found))

    def charge(self, cause: str, *, lost: int = 0, again: int = 0) -> None:
        """Write harm down under its cause, where there is some."""
        if lost > 0 or again > 0:
            harm = self.by_cause.setdefault(cause, Harm())
            harm.lost += max(0, lost)
            harm.again += max(0, again)


def run(departures: Sequence[int], starts: Iterable[Start]) -> Tally:
    """Start the script at each instant, over departures in the order of time.

    A start adds what lies in `[now - 1h, now)` with one UPDATE that is committed at once, so a start that is killed
    after it has added all the same: the demo kills Telafi's run at this very point.

    >>> tally = run([10, 20, 30], [Start(HOUR + 15, "late"), Start(HOUR + 15, "twice")])
    >>> tally.total, tally.lost, tally.again
    (4, 1, 2)
    """
    tally = Tally()
    reached, previous = 0, ""
    for start in starts:
        first = bisect_left(departures, start.at - HOUR)
        beyond = bisect_left(departures, start.at)
        tally.total += beyond - first
        tally.charge(start.why, lost=first - reached)
        tally.charge(start.why or previous, again=min(beyond, reached) - first)
        reached, previous = max(reached, beyond), start.why
    tally.charge(AFTERWARDS, lost=len(departures) - reached)
    return tally
