"""The log: one line for an event, outcomes to one stream and notices to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, overload

from telafi.events import Event, Outcome, Planned
from telafi.instants import Span
from telafi.observe.fields import Value, fields_of
from telafi.observe.values import quoted


@overload
def line_of(event: Outcome) -> str: ...
@overload
def line_of(event: Event) -> str | None: ...
def line_of(event: Event) -> str | None:
    """Write an event as `WORD key=value …`, on one line whatever its values are; a plan has no line.

    >>> from telafi.events import Idle
    >>> line_of(Idle("sales-summary", 0, 3_600_000_000))
    'IDLE job=sales-summary watermark=1970-01-01T00:00:00Z next=1970-01-01T01:00:00Z'
    """
    if isinstance(event, Planned):
        return None
    word, values, _ = fields_of(event)
    return " ".join([word, *(f"{name}={text}" for name, text in _shown(values).items())])


class Lines(Protocol):
    """Takes whole lines and never fails."""

    def write(self, line: str) -> None:
        """Write a line."""


class Log:
    """A subscriber that writes outcomes to one stream and warnings, errors and retries to another."""

    def __init__(self, outcomes: Lines, notices: Lines, form: Callable[[Event], str | None] = line_of) -> None:
        self._outcomes, self._notices = outcomes, notices
        self._form = form

    def __call__(self, event: Event) -> None:
        """Write the event's line, if it has one; a stream that is closed or stuck only counts what it drops."""
        line = None if isinstance(event, Planned) else self._form(event)
        if line is not None:
            (self._notices if fields_of(event).notice else self._outcomes).write(line)


def _shown(values: dict[str, Value]) -> dict[str, str]:
    """Choose how each value is written on a line; what is not known is not said."""
    attempts, parked, new = values.pop("attempts", None), values.pop("parked", None), None
    if "watermark" in values:
        new = values.pop("new")
    shown = {name: _text(value) for name, value in values.items() if value is not None}
    if attempts is not None and "attempt" in shown:
        shown["attempt"] += f"/{attempts}"
    if parked:
        shown["parked"] = "yes"
    if new:
        shown["watermark"] += " (new)"
    return shown


def _text(value: Value) -> str:
    return value.text if isinstance(value, Span) else quoted(value)
