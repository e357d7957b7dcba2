"""Descriptors that a forked child closes at once, so that it keeps no lock of its parent."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Final

# Python has one list of fork hooks a process and nothing is ever taken off it, so this one hook is for every lock.
_open: Final[set[int]] = set()
_forking: Final = RLock()

# A link planted at the path is not followed, a pipe planted there is not waited for; Windows has two of its own.
_ALWAYS: Final = (
    getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOINHERIT", 0)
    | getattr(os, "O_BINARY", 0)
)


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep other threads from forking while a descriptor and what is known of it do not agree."""
    with _forking:
        yield


def open_here(path: Path, flags: int) -> int:
    """Open a file for this process alone: neither a forked child nor an executed command keeps it."""
    with no_fork():
        descriptor = os.open(path, flags | _ALWAYS, 0o600)
        _open.add(descriptor)
    return descriptor


def close_here(descriptor: int) -> None:
    """Close what `open_here` opened."""
    with no_fork():
        _open.discard(descriptor)
        os.close(descriptor)


def same_file(descriptor: int, path: Path) -> bool:
    """Whether the path still leads to the open file: a lock on a file that was deleted guards nothing."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def _close_copies() -> None:
    # Closing a copy leaves the parent's lock alone. Unlocking through it would not: a flock belongs to all copies.
    for descriptor in _open:
        with suppress(OSError):
            os.close(descriptor)
    _open.clear()
    _forking.release()


if sys.platform != "win32":
    os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_close_copies)
