"""A forked child and its parent's connection: the child only has a copy, which is not its own to use or to close."""

from __future__ import annotations

import os

from telafi.errors import ForkedConnection


class _Generation:
    """How many forks lie between this process and the first one: asked before every statement, so no system call."""

    number = 0

    @classmethod
    def count(cls) -> None:
        """Begin a new one, in a child."""
        cls.number += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Generation.count)


class Home:
    """The process that has opened a connection."""

    def __init__(self) -> None:
        self._generation = _Generation.number

    def is_here(self) -> bool:
        """Say whether this still is that process."""
        return _Generation.number == self._generation

    def insist(self) -> None:
        """Raise ForkedConnection in a forked child."""
        if _Generation.number != self._generation:
            raise ForkedConnection


def leave_alone(*things: object, descriptor: int | None = None) -> None:
    """Let a child keep its copies until it ends: to finalise one would end the parent's transaction.

    `descriptor` is the copy of a socket; it leads nowhere from here on, or a server would not notice the parent's end.
    """
    import ctypes

    if descriptor is not None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, descriptor, inheritable=False)
        os.close(nowhere)
    # One reference that nobody gives back: not even the end of the interpreter finalises such an object.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(things))
