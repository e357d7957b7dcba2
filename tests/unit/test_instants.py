"""Instants, durations and their text, at the ends of time too."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from telafi.errors import MalformedInstant, NaiveInstant, ScheduleError
from telafi.instants import SECOND, Span, datetime_of, duration_of, duration_text, instant_of, instant_text
from telafi.plan.windows import Window, window_of

FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00Z", 0),
        ("1969-12-31T23:59:59Z", -SECOND),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-09-04T13:00+03:00", instant_of("2026-09-04T10:00Z")),
        (" 2026-09-04 10:00:00Z ", instant_of("2026-09-04T10:00Z")),
        ("0001-01-01T00:00Z", instant_of(FIRST)),
        ("9999-12-31T23:59:59.999999Z", instant_of(LAST)),
    ],
)
def test_E06_texts_of_every_age(text: str, instant: int) -> None:
    assert instant_of(text) == instant
    assert datetime_of(instant).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T23:59:60Z",
        "2026-09-04T25:00Z",
        "10000-01-01T00:00Z",
        "0000-01-01T00:00Z",
        "-0001-01-01T00:00Z",
        "2026-02-29T00:00Z",
        "tomorrow",
        "",
        "1788516000",
    ],
)
def test_E06_what_is_no_instant_says_how_to_write_one(text: str) -> None:
    with pytest.raises(MalformedInstant, match="is not an instant"):
        instant_of(text)


@pytest.mark.parametrize("value", [None, 0, 1.5, b"2026-09-04", timedelta(1), datetime.date(FIRST)])
def test_what_is_not_even_a_text_is_refused(value: Any) -> None:
    with pytest.raises(MalformedInstant):
        instant_of(value)


@pytest.mark.parametrize("value", ["2026-09-04T10:00", "2026-09-04", datetime(2026, 9, 4)])  # noqa: DTZ001 - naive on purpose
def test_E11_a_naive_instant_is_a_TypeError_that_names_the_fix(value: Any) -> None:
    with pytest.raises(NaiveInstant, match=r"write 2026-09-04T\d\d:00:00Z if it is UTC") as raised:
        instant_of(value)
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize("instant", [instant_of(FIRST) - 1, instant_of(LAST) + 1, 2**63, -(2**63), 10**30])
def test_E06_beyond_the_calendar_is_an_error_of_ours(instant: int) -> None:
    for write in (instant_text, datetime_of, lambda value: Span(0, value).text):
        with pytest.raises(MalformedInstant, match="outside the years 1 to 9999"):
            write(instant)


def test_E06_an_instant_before_the_year_one_in_its_own_zone_is_no_overflow() -> None:
    east = timezone(timedelta(hours=14))
    assert instant_of(FIRST.replace(tzinfo=east)) == instant_of(FIRST) - 14 * 3_600 * SECOND


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1h 30m", 5_400), ("1h30m", 5_400), ("0s", 0), ("7d", 604_800), ("250ms", 0.25), ("1w 1d", 691_200)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_of(text, "grace") == seconds * SECOND
    assert duration_of(timedelta(seconds=seconds), "grace") == seconds * SECOND


@pytest.mark.parametrize("value", ["", "h", "1", "1h,30m", "one hour", "1H", "1h-30m", "+1h", "1 month", 3_600, None])
def test_what_is_no_duration_names_its_option(value: Any) -> None:
    with pytest.raises(ScheduleError, match=r"grace=.* is not a duration"):
        duration_of(value, "grace")


def test_durations_are_written_in_the_largest_units() -> None:
    texts = ["0s", "90s", "3600s", "86400s", "1500ms", "694861s"]
    assert [duration_text(duration_of(text, "x")) for text in texts] == [
        "0s",
        "1m 30s",
        "1h",
        "1d",
        "1s 500ms",
        "8d 1h 1m 1s",
    ]


def window() -> Window:
    return window_of(Span(instant_of("2026-09-04T10:00Z"), instant_of("2026-09-04T11:00:00.5Z")), "live", "iso")


def test_a_windows_bounds_in_each_style() -> None:
    assert window().params() == {"start": "2026-09-04T10:00:00", "end": "2026-09-04T11:00:00.500000"}
    assert window().params("iso-space") == {"start": "2026-09-04 10:00:00", "end": "2026-09-04 11:00:00.500000"}
    assert window().params("epoch") == {"start": 1_788_516_000, "end": 1_788_519_600}
    assert window().params("datetime") == {"start": window().start, "end": window().end}
    assert window().key == "2026-09-04T10:00:00Z/2026-09-04T11:00:00.500000Z"


@pytest.mark.parametrize("ending", ["", "Z", ".000Z", ".5Z", "+00:00", ".000001+00:00"])
def test_bounds_as_text_compare_right_with_every_way_to_write_an_instant(ending: str) -> None:
    bounds = window().params()
    first, before, after = (
        f"2026-09-04T10:00:00{ending}",
        f"2026-09-04T09:59:59{ending}",
        f"2026-09-04T11:00:01{ending}",
    )
    inside = [text for text in (first, before, after) if str(bounds["start"]) <= text < str(bounds["end"])]
    assert inside == [first]
