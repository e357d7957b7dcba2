"""Signals: the first one lets the running unit finish, the second one rolls it back, the third one kills."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from telafi.cli.exit_status import Interrupted

NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class Stopping:
    """Whether someone has asked this process to stop."""

    def __init__(self) -> None:
        self._signals = 0

    def __call__(self) -> bool:
        """Say whether no further unit is to be started."""
        return self._signals > 0

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Listen to the signals for a block; one that the parent had ignored, as under nohup, stays ignored."""
        numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        before = {number: signal.getsignal(number) for number in numbers if _is_main_thread()}
        mine = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
        for number in mine:
            signal.signal(number, self._note)
        try:
            yield
        finally:
            for number, handler in mine.items():
                signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._signals += 1
        if self._signals == 1:
            name = signal.Signals(number).name
            _write(f"telafi: {name}: stopping after the running window; a second signal rolls it back at once\n")
            return
        # Whoever cannot be interrupted here, such as a long statement of SQLite, is killed by the third.
        for name in NAMES:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        raise Interrupted(number)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _write(text: str) -> None:
    """Write without Python's buffers, which the interrupted code may be in the middle of."""
    try:
        descriptor = sys.__stderr__.fileno() if sys.__stderr__ else 2
        # On a terminal the cursor stands behind a bar, or behind the `^C` that was typed.
        os.write(descriptor, (f"\n{text}" if os.isatty(descriptor) else text).encode())
    except (OSError, ValueError):
        return
