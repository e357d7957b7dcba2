"""The window that a job is given: one closed, half-open interval of UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from telafi.events import Kind
from telafi.instants import SECOND, Span, datetime_of, instant_of

Style: TypeAlias = Literal["iso", "iso-space", "epoch", "datetime"]


@dataclass(frozen=True, slots=True)
class Window:
    """A closed interval `[start, end)` in UTC: a record on the boundary belongs to the next window only.

    `kind` is `live` for the newest closed window and `catch-up` for older ones; `style` is how `params()` writes
    the bounds unless it is told otherwise.
    """

    start: datetime
    end: datetime
    kind: Kind
    style: Style = "iso"

    @property
    def key(self) -> str:
        """Give the text by which the ledger knows this window."""
        return self._span().text

    def params(self, style: Style | None = None) -> dict[str, object]:
        """Give the bounds as the parameters `start` and `end` of a statement.

        `iso` is the text 2026-09-04T10:00:00 (the default on SQLite), `iso-space` the text 2026-09-04 10:00:00: both in
        UTC, and without an ending, so that they compare right with texts that end in Z, +00:00 or a fraction. `epoch`
        is whole seconds, `datetime` aware datetimes (the default on PostgreSQL).
        """
        chosen = style or self.style
        return {"start": written(self.start, chosen), "end": written(self.end, chosen)}

    def _span(self) -> Span:
        return Span(instant_of(self.start), instant_of(self.end))


def window_of(span: Span, kind: Kind, style: Style) -> Window:
    """Make the window that a job sees from the span that the ledger stores."""
    return Window(datetime_of(span.start), datetime_of(span.end), kind, style)


def written(value: datetime, style: Style) -> object:
    """Write an instant as a statement's parameter."""
    if style == "datetime":
        return value
    if style == "epoch":
        return instant_of(value) // SECOND
    # Without an ending: so it sorts before every way to write the same instant, be it …Z, ….000Z or …+00:00.
    text = value.replace(tzinfo=None).isoformat()
    return text if style == "iso" else text.replace("T", " ")
