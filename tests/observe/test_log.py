import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telafi.events import (
    Deferred,
    Event,
    Failed,
    Idle,
    InDoubt,
    Planned,
    Processed,
    RaisedAfter,
    Retried,
    Skipped,
    Warned,
)
from telafi.instants import Span, instant_of
from telafi.observe.log import Log, line_of
from telafi.observe.structured import json_of

TEN = instant_of("2026-09-04T10:00Z")
ELEVEN = instant_of("2026-09-04T11:00Z")
WINDOW = Span(TEN, ELEVEN)
TEXT = "window=2026-09-04T10:00:00Z/2026-09-04T11:00:00Z"

LINES: list[tuple[Event, str]] = [
    (
        Processed("sales-summary", WINDOW, "catch-up", 12, new=2, repeated=0),
        f"PROCESSED job=sales-summary {TEXT} kind=catch-up new=2 repeated=0 ms=12",
    ),
    (Processed("sales-summary", WINDOW, "live", 3), f"PROCESSED job=sales-summary {TEXT} kind=live ms=3"),
    (
        Idle("sales-summary", TEN, ELEVEN),
        "IDLE job=sales-summary watermark=2026-09-04T10:00:00Z next=2026-09-04T11:00:00Z",
    ),
    (
        Idle("sales-summary", TEN, ELEVEN, new=True),
        "IDLE job=sales-summary watermark=2026-09-04T10:00:00Z (new) next=2026-09-04T11:00:00Z",
    ),
    (Skipped("a", "lock", holder="4711@atlas"), "SKIPPED job=a reason=lock holder=4711@atlas"),
    (Skipped("a", "key-exists", WINDOW), f"SKIPPED job=a {TEXT} reason=key-exists"),
    (Deferred("a", "cap", remaining=27), "DEFERRED job=a reason=cap remaining=27"),
    (Deferred("a", "retry", WINDOW, error="disk full"), f'DEFERRED job=a {TEXT} reason=retry error="disk full"'),
    (
        Failed("a", WINDOW, "ValueError", "no total", attempt=1, attempts=3),
        f'FAILED job=a {TEXT} reason=ValueError error="no total" attempt=1/3',
    ),
    (Failed("a", WINDOW, "ValueError", "no", attempt=2), f"FAILED job=a {TEXT} reason=ValueError error=no attempt=2"),
    (Failed("a", WINDOW, "ValueError", "no"), f"FAILED job=a {TEXT} reason=ValueError error=no"),
    (
        Failed("a", WINDOW, "ValueError", "no", 3, 3, parked=True),
        f"FAILED job=a {TEXT} reason=ValueError error=no attempt=3/3 parked=yes",
    ),
    (InDoubt("a", WINDOW, "no-end"), f"IN-DOUBT job=a {TEXT} reason=no-end"),
    (Warned("a", "the clock is wrong"), 'WARNING job=a text="the clock is wrong"'),
    (
        Retried("a", WINDOW, "serialization", 1, 0.0125),
        f"RETRY job=a {TEXT} reason=serialization attempt=1 delay_ms=12",
    ),
    (Retried("a", None, "lost", 2, 1.0), "RETRY job=a reason=lost attempt=2 delay_ms=1000"),
    (RaisedAfter("a", WINDOW, "too late"), f'ERROR job=a {TEXT} reason=raised-after-commit error="too late"'),
]


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line for _, line in LINES])
def test_each_event_has_its_line(event: Event, line: str) -> None:
    assert line_of(event) == line


def test_a_plan_has_no_line() -> None:
    assert line_of(Planned("a", 3, 0)) is None


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line for _, line in LINES])
def test_json_says_what_the_line_says(event: Event, line: str) -> None:
    found = json.loads(json_of(event))
    assert line.startswith(found.get("outcome") or found["notice"])
    assert found["job"] == event.job
    if TEXT in line:
        assert found["window"] == {"start": "2026-09-04T10:00:00Z", "end": "2026-09-04T11:00:00Z"}


def test_json_has_every_key_of_its_outcome_always() -> None:
    empty = json.loads(json_of(Processed("a", WINDOW, "live", 3)))
    full = json.loads(json_of(Processed("a", WINDOW, "live", 3, new=2, repeated=0)))
    assert list(empty) == list(full) == ["outcome", "job", "window", "kind", "new", "repeated", "ms"]
    assert empty["new"] is None
    assert json.loads(json_of(Planned("a", 3, 7))) == {"notice": "PLANNED", "job": "a", "windows": 3, "remaining": 7}


@given(st.text())
def test_whatever_an_error_says_it_is_one_line(text: str) -> None:
    event = Failed("a", WINDOW, "ValueError", text)
    line = line_of(event)
    assert line.isprintable()
    assert len(json_of(event).splitlines()) == 1
    assert json.loads(json_of(event))["error"] == text


def test_a_log_writes_outcomes_and_notices_to_streams_of_their_own() -> None:
    outcomes, notices = Lines(), Lines()
    log = Log(outcomes, notices)
    events: list[Event] = [
        Idle("a", TEN, ELEVEN),
        Warned("a", "look"),
        Planned("a", 3, 0),
        InDoubt("a", WINDOW, "no-end"),
    ]
    for event in events:
        log(event)
    assert [line.partition(" ")[0] for line in outcomes.written] == ["IDLE", "IN-DOUBT"]
    assert notices.written == ["WARNING job=a text=look"]


@pytest.mark.parametrize("form", [line_of, json_of])
def test_a_log_takes_any_form(form: Callable[[Event], str | None]) -> None:
    outcomes = Lines()
    Log(outcomes, Lines(), form)(InDoubt("a", WINDOW, "no-end"))
    assert outcomes.written == [form(InDoubt("a", WINDOW, "no-end"))]


class Lines:
    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(line)
