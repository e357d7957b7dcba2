"""One start of the job in a process of its own, which can be told to stand still in the middle of a window."""

from __future__ import annotations

import sys
from pathlib import Path

from telafi import Window
from telafi.cli.demo.jobs import JOB, WeekClock, application
from telafi.events import Event
from telafi.observe.log import line_of

HOLDING = "HOLDING"


class Hold:
    """Stands still at the end of the window of that number until a line comes in; 0 never does."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, window: Window) -> None:
        self._left -= 1
        if self._left == 0:
            print(HOLDING, window.key, flush=True)
            sys.stdin.readline()


def main(database: str, now_microseconds: str, hold_in_window: str) -> None:
    """Run the job once, with a line of output for every outcome."""
    app = application(Path(database), WeekClock(int(now_microseconds)), Hold(int(hold_in_window)))
    app.subscribe(tell)
    app.jobs.run(JOB)


def tell(event: Event) -> None:
    """Print the line of an event, so that the parent sees how far this copy is."""
    line = line_of(event)
    if line is not None:
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
