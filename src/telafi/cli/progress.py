"""The progress of a long catch-up, on a terminal only: a bar with rich, a line now and then without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TextIO

from telafi.cli.exit_status import say
from telafi.events import Event, Failed, InDoubt, Planned, Processed, Skipped

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

STEPS: Final = 200
PLAIN_STEPS: Final = 10


class Progress(Protocol):
    """What a run's output asks of its progress."""

    def hide(self) -> None:
        """Make room for a line."""

    def show(self, event: Event) -> None:
        """Count an event, and show how far the run has come."""

    def end(self) -> None:
        """The run has ended."""


class Count:
    """How many of the planned windows are behind us."""

    def __init__(self) -> None:
        self.job, self.done, self.total = "", 0, 0

    def take(self, event: Event) -> bool:
        """Count an event; False where it changes nothing."""
        match event:
            case Planned():
                self.job, self.done, self.total = event.job, 0, event.windows
            case Processed() | Skipped() | Failed() | InDoubt() if self.total and event.job == self.job:
                self.done += 1
            case _:
                return False
        return True


class NoProgress:
    """Shows nothing: standard error is no terminal."""

    def hide(self) -> None:
        """Nothing is there."""

    def show(self, event: Event) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Nothing is there."""


class PlainProgress:
    """A line after every tenth of the windows."""

    def __init__(self) -> None:
        self._count = Count()

    def hide(self) -> None:
        """Lines need no room."""

    def show(self, event: Event) -> None:
        """Say `k/n` now and then."""
        count = self._count
        if count.take(event) and count.done and count.done % max(1, count.total // PLAIN_STEPS) == 0:
            say(f"{count.job} {count.done}/{count.total}")

    def end(self) -> None:
        """Forget the run."""
        self._count = Count()


class BarProgress:
    """A bar of rich's on standard error; it goes away for every line that the same terminal shows."""

    def __init__(self, stream: TextIO, *, shares_terminal: bool) -> None:
        self._stream = stream
        self._shares_terminal = shares_terminal
        self._count = Count()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def hide(self) -> None:
        """Clear the bar's line."""
        if self._bar is not None and self._shares_terminal:
            self._bar.stop()

    def show(self, event: Event) -> None:
        """Draw the bar again, where it would look different or was hidden."""
        count = self._count
        changed = count.take(event)
        if not count.total:
            return
        if self._bar is None or self._task is None:
            self._bar = _new_bar(self._stream, shares_terminal=self._shares_terminal)
            self._task = self._bar.add_task(count.job, total=count.total)
        if changed:
            self._bar.update(self._task, description=count.job, completed=count.done, total=count.total)
        if self._shares_terminal or count.done == 0:
            self._bar.start()
        if count.done % max(1, count.total // STEPS) == 0:
            self._bar.refresh()

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None
        self._count = Count()


def progress_for(errors: TextIO | None, output: TextIO | None) -> Progress:
    """Choose by what standard error is, and by what is installed."""
    if errors is None or not errors.isatty():
        return NoProgress()
    from importlib.util import find_spec

    if find_spec("rich") is None:
        return PlainProgress()
    return BarProgress(errors, shares_terminal=output is not None and output.isatty())


def _new_bar(stream: TextIO, *, shares_terminal: bool) -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
        redirect_stdout=shares_terminal,
    )
