"""What an event says, as a word and named values: the one source of its line and of its JSON."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, assert_never

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
from telafi.instants import Span, instant_text

Value: TypeAlias = str | int | bool | Span | None


class Fields(NamedTuple):
    """An event's word and its values, in the order of a line; a notice is no outcome."""

    word: str
    values: dict[str, Value]
    notice: bool = False


def fields_of(event: Event) -> Fields:
    """Name what an event says."""
    if isinstance(event, Planned | Warned | Retried | RaisedAfter):
        return _notice(event)
    values: dict[str, Value] = {"job": event.job}
    match event:
        case Processed():
            word = "PROCESSED"
            values |= {"window": event.window, "kind": event.kind, "new": event.new, "repeated": event.repeated}
            values["ms"] = event.milliseconds
        case Skipped():
            word = "SKIPPED"
            values |= {"window": event.window, "reason": event.reason, "holder": event.holder}
        case Deferred():
            word = "DEFERRED"
            values |= {"window": event.window, "reason": event.reason, "remaining": event.remaining}
            values["error"] = event.error
        case Failed():
            word = "FAILED"
            values |= {"window": event.window, "reason": event.reason, "error": event.error}
            values |= {"attempt": event.attempt, "attempts": event.attempts, "parked": event.parked}
        case InDoubt():
            word = "IN-DOUBT"
            values |= {"window": event.window, "reason": event.reason}
        case Idle():
            word = "IDLE"
            values |= {"watermark": instant_text(event.watermark), "next": instant_text(event.next_at)}
            values["new"] = event.new
        case _:
            assert_never(event)
    return Fields(word, values)


def _notice(event: Planned | Warned | Retried | RaisedAfter) -> Fields:
    values: dict[str, Value]
    match event:
        case Planned():
            word, values = "PLANNED", {"windows": event.windows, "remaining": event.remaining}
        case Warned():
            word, values = "WARNING", {"text": event.text}
        case Retried():
            delay_ms = round(event.delay_seconds * 1_000)
            word = "RETRY"
            values = {"window": event.window, "reason": event.fault, "attempt": event.attempt, "delay_ms": delay_ms}
        case RaisedAfter():
            word, values = "ERROR", {"window": event.window, "reason": "raised-after-commit", "error": event.error}
        case _:
            assert_never(event)
    return Fields(word, {"job": event.job, **values}, notice=True)
