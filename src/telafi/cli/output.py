"""What a run shows: its lines, on a terminal a bar below them, and at the end what could not be written."""

from __future__ import annotations

import sys
from collections import deque
from typing import Final

from telafi.cli.exit_status import say, show_traceback
from telafi.cli.progress import Progress, progress_for
from telafi.events import Event, Failed, RaisedAfter
from telafi.observe.log import Log, line_of
from telafi.observe.streams import LineStream

HELD_BACK_MAX: Final = 10_000


class HeldBack:
    """Lines that are shown only if something failed: the newest ones, where there are very many."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream
        self._lines: deque[str] = deque(maxlen=HELD_BACK_MAX)

    def write(self, line: str) -> None:
        """Keep a line."""
        self._lines.append(line)

    def show(self) -> None:
        """Write what was kept."""
        for line in self._lines:
            self._stream.write(line)


class Output:
    """A subscriber that shows the events of a run."""

    def __init__(self, *, as_json: bool, held_back: bool, debug: bool) -> None:
        self._outcomes, self._notices = LineStream(sys.stdout), LineStream(sys.stderr)
        self._held_back = HeldBack(self._outcomes) if held_back else None
        form = line_of
        if as_json:
            from telafi.observe.structured import json_of

            form = json_of
        self._log = Log(self._held_back or self._outcomes, self._notices, form)
        self._progress: Progress = progress_for(sys.stderr, sys.stdout)
        self._debug = debug

    def __call__(self, event: Event) -> None:
        """Show an event; the bar makes room for its line."""
        self._progress.hide()
        self._log(event)
        if self._debug and isinstance(event, Failed | RaisedAfter) and event.exception is not None:
            show_traceback(event.exception)
        self._progress.show(event)

    def clear(self) -> None:
        """Take the bar away: a job's run has ended."""
        self._progress.end()

    def end(self, *, failed: bool) -> None:
        """Show what was held back where something failed, and say how much was lost."""
        if failed and self._held_back is not None:
            self._held_back.show()
        if self._outcomes.dropped:
            say(f"{self._outcomes.dropped} lines were dropped: standard output was closed, full or not read")
