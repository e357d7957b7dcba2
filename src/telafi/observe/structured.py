"""Events as JSON: one object on one line, with every key of its outcome always there."""

from __future__ import annotations

import json

from telafi.events import Event
from telafi.instants import Span, instant_text
from telafi.observe.fields import Value, fields_of
from telafi.observe.values import cut


def json_of(event: Event) -> str:
    """Write an event as a JSON object: `outcome` or `notice` says which, instants are ISO 8601 in UTC."""
    word, values, notice = fields_of(event)
    kind = "notice" if notice else "outcome"
    return json.dumps({kind: word, **{name: _plain(value) for name, value in values.items()}})


def window_json(span: Span) -> dict[str, str]:
    """Write a window as every JSON of Telafi has it."""
    return {"start": instant_text(span.start), "end": instant_text(span.end)}


def _plain(value: Value) -> object:
    if isinstance(value, Span):
        return window_json(value)
    return cut(value) if isinstance(value, str) else value
