"""Instants, durations and half-open spans as whole microseconds, and their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from telafi.errors import MalformedInstant, NaiveInstant, ScheduleError

SECOND: Final = 1_000_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_UNITS: Final = {
    "us": 1,
    "ms": 1_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 604_800 * SECOND,
}
_DURATION: Final = re.compile(r"(\d+)\s*(us|ms|s|m|h|d|w)")


class Span(NamedTuple):
    """A half-open interval `[start, end)`."""

    start: int
    end: int

    @property
    def text(self) -> str:
        """Give both bounds as ISO 8601 in UTC, the text by which a window is known."""
        return f"{instant_text(self.start)}/{instant_text(self.end)}"


def chains(spans: Sequence[Span]) -> list[list[Span]]:
    """Split spans, sorted by their start, into runs that follow each other without a gap.

    >>> [len(chain) for chain in chains([Span(0, 1), Span(1, 3), Span(4, 5)])]
    [2, 1]
    """
    found: list[list[Span]] = []
    for span in spans:
        if found and found[-1][-1].end == span.start:
            found[-1].append(span)
        else:
            found.append([span])
    return found


def instant_of(value: datetime | str) -> int:
    """Turn an aware datetime, or its ISO 8601 text, into an instant.

    Raises NaiveInstant without a time zone, MalformedInstant where it is no instant at all.

    >>> instant_of("2026-09-04T10:00Z")
    1788516000000000
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise MalformedInstant(f"{value!r} is not an instant: write it like 2026-09-04T10:00Z") from None
    if not isinstance(value, datetime):
        raise MalformedInstant(f"{value!r} is not an instant: give a datetime with a time zone, or its text")
    if value.utcoffset() is None:
        raise NaiveInstant(f"{value.isoformat()} has no time zone: write {value.isoformat()}Z if it is UTC")
    return (value - EPOCH) // _MICROSECOND


def datetime_of(instant: int) -> datetime:
    """Turn an instant into an aware datetime in UTC; raises MalformedInstant beyond the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=instant)
    except OverflowError:
        raise MalformedInstant(f"{instant} microseconds lie outside the years 1 to 9999") from None


def instant_text(instant: int) -> str:
    """Write an instant as ISO 8601 in UTC, with fractions only where there are some.

    >>> instant_text(1788516000000000)
    '2026-09-04T10:00:00Z'
    """
    return datetime_of(instant).isoformat().replace("+00:00", "Z")


def duration_of(value: timedelta | str, what: str) -> int:
    """Turn a timedelta or a text such as `90s`, `1h` or `1d 12h` into microseconds; raises ScheduleError.

    >>> duration_of("1h 30m", "every") // SECOND
    5400
    """
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if not isinstance(value, str) or not (parts := _DURATION.findall(value)) or _DURATION.sub("", value).strip():
        raise ScheduleError(f"{what}={value!r} is not a duration: write it like 90s, 5m, 1h, 1d, 7d or 1h 30m")
    return sum(int(number) * _UNITS[unit] for number, unit in parts)


def duration_text(microseconds: int) -> str:
    """Write a duration in the largest units that fit.

    >>> duration_text(5_400 * SECOND)
    '1h 30m'
    """
    parts = []
    for unit in ("d", "h", "m", "s", "ms", "us"):
        number, microseconds = divmod(microseconds, _UNITS[unit])
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"
