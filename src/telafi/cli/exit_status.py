"""What an end means: the one table of exit statuses, and the one line that an error is worth."""

from __future__ import annotations

import sys
from typing import Final

import click

from telafi.errors import OutOfReach, WrongUse
from telafi.events import Deferred, Event, Failed, InDoubt, RaisedAfter, Skipped
from telafi.observe.streams import LineStream
from telafi.observe.values import escaped

FAILED: Final = 1
WRONG_USE: Final = 2
IN_DOUBT: Final = 3
OUT_OF_REACH: Final = 75
SIGNAL: Final = 128
SIGINT: Final = 2
MESSAGE_CHARACTERS_MAX: Final = 4_000


class Interrupted(KeyboardInterrupt):
    """A second signal: what runs is rolled back, and the process ends with 128 + the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Verdict:
    """Collects what a run's exit status depends on; a subscriber."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._locked = False

    def __call__(self, event: Event) -> None:
        """Take an event into account."""
        match event:
            case Failed(out_of_reach=True) | Deferred(out_of_reach=True):
                self._seen.add(OUT_OF_REACH)
            case InDoubt():
                self._seen.add(IN_DOUBT)
            case Failed() | RaisedAfter():
                self._seen.add(FAILED)
            case Skipped(reason="lock"):
                self._locked = True

    def add(self, error: BaseException) -> None:
        """Take an error that ended a job's run into account."""
        self._seen.add(status_of(error))

    def status(self, on_lock: int = 0) -> int:
        """Give the status by precedence; `on_lock` stands for a run that only found its lock held."""
        signals = [code for code in self._seen if code > SIGNAL]
        for code in (WRONG_USE, *signals, OUT_OF_REACH, IN_DOUBT, FAILED):
            if code in self._seen:
                return code
        return on_lock if self._locked else 0


def status_of(error: BaseException) -> int:
    """Give the exit status that an error stands for."""
    match error:
        case Interrupted():
            return SIGNAL + error.number
        case KeyboardInterrupt():
            return SIGNAL + SIGINT
        case WrongUse():
            return WRONG_USE
        case OutOfReach():
            return OUT_OF_REACH
        case click.ClickException():
            return error.exit_code
        case SystemExit(code=int(code)):
            return code
        case _:
            return FAILED


def report(error: BaseException, *, debug: bool) -> None:
    """Say in one line on standard error what went wrong; the traceback only to those who asked for it."""
    if debug:
        show_traceback(error)
    if not isinstance(error, KeyboardInterrupt | SystemExit):
        say(_message(error))


def show_traceback(error: BaseException) -> None:
    """Print an error with its causes and where it came from."""
    import traceback

    traceback.print_exception(error)


def say(text: str) -> None:
    """Write one line of the command line's own to standard error."""
    LineStream(sys.stderr).write(f"telafi: {escaped(text, MESSAGE_CHARACTERS_MAX)}")


def _message(error: BaseException) -> str:
    match error:
        case WrongUse() | OutOfReach():
            return str(error)
        case click.UsageError(ctx=context) if context is not None:
            text = error.format_message()
            return f"{text[:1].lower()}{text[1:].removesuffix('.')}; see {context.command_path} --help"
        case click.ClickException():
            return error.format_message()
    return f"unexpected error {type(error).__name__}: {error}; run again with --debug to see where"
