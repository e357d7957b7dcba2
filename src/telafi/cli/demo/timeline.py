"""The instants of the week at which both programs are started, with what was odd about some of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from telafi.instants import SECOND, Span, instant_of

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
WEEK: Final = Span(instant_of("2013-02-04T00:00Z"), instant_of("2013-02-11T00:00Z"))

FIRST: Final = instant_of("2013-02-06T12:00Z")  # Wednesday noon: set up, with half a week waiting
AGAIN: Final = FIRST + MINUTE
LATE: Final = instant_of("2013-02-07T14:25Z")  # Thursday
OFF: Final = instant_of("2013-02-07T18:00Z")  # the last start before the power went
KILLED: Final = instant_of("2013-02-08T15:00Z")  # Friday, in the storm
RESTARTED: Final = KILLED + 2 * MINUTE
REBOOT: Final = instant_of("2013-02-10T00:00Z")  # the last start before the machine went down
TWICE: Final = instant_of("2013-02-10T12:00Z")  # Sunday noon: the machine is back
BY_HAND: Final = TWICE + 5 * MINUTE
END: Final = WEEK.end

SET_UP: Final = "set up on Wednesday noon"
STARTED_AGAIN: Final = "started again a minute later"
STARTED_LATE: Final = "started 25 minutes late"
POWER_OFF: Final = "power off for 21 hours"
RUN_AGAIN: Final = "killed, and run again"
MACHINE_DOWN: Final = "machine down for 12 hours"
TWO_COPIES: Final = "two copies at once"
STARTED_BY_HAND: Final = "started by hand"


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the program; `why` is empty where cron did it on the hour."""

    at: int
    why: str = ""


def starts() -> Iterator[Start]:
    """Give every start of the week in order; two copies at once are two starts at one instant."""
    yield Start(FIRST, SET_UP)
    yield Start(AGAIN, STARTED_AGAIN)
    yield from to_thursday()
    yield Start(KILLED, POWER_OFF)
    yield Start(RESTARTED, RUN_AGAIN)
    yield from to_sunday()
    yield Start(TWICE, MACHINE_DOWN)
    yield Start(TWICE, TWO_COPIES)
    yield Start(BY_HAND, STARTED_BY_HAND)
    yield from to_the_end()


def to_thursday() -> Iterator[Start]:
    """Give cron's starts between the first run and the loss of power, one of them late."""
    for start in _hourly(FIRST, OFF):
        yield Start(LATE, STARTED_LATE) if start.at + 25 * MINUTE == LATE else start


def to_sunday() -> Iterator[Start]:
    """Give cron's starts between the kill and the night on which the machine went down."""
    return _hourly(KILLED, REBOOT)


def to_the_end() -> Iterator[Start]:
    """Give cron's starts on the last half day."""
    return _hourly(TWICE, END)


def _hourly(after: int, until: int) -> Iterator[Start]:
    return (Start(at) for at in range(after + HOUR, until + HOUR, HOUR))
