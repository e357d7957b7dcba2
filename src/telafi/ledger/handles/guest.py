"""What a job may be lent beside Telafi's own objects: the driver's connection, or an ORM's object on top of it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol


class Guest(Protocol):
    """An object on top of our connection that joins the unit's transaction."""

    def lend(self) -> object:
        """Give the object for one unit."""

    def flush(self) -> Awaitable[None] | None:
        """Write out what the object still holds, before the advance."""

    def ended(self) -> Awaitable[None] | None:
        """Let go of the object: the unit's transaction is over."""

    def close(self) -> Awaitable[None] | None:
        """Let go of everything before the connection closes."""


class AfterCommit(Exception):
    """What hangs on the connection raised after the COMMIT had happened; its cause is the error to show."""


class after_commit:  # noqa: N801 - reads as a block's name; a class, as this is entered once a unit
    """Tell an error that comes after the COMMIT from one of the COMMIT itself."""

    def __enter__(self) -> None:
        """Begin what comes after the COMMIT."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Raise AfterCommit in place of an error."""
        if isinstance(error, Exception):
            raise AfterCommit from error


class Bare:
    """The driver's connection itself."""

    def __init__(self, connection: object) -> None:
        self._connection = connection

    def lend(self) -> object:
        """Give the connection."""
        return self._connection

    def flush(self) -> None:
        """Nothing is held back."""

    def ended(self) -> None:
        """Nothing is held on to."""

    def close(self) -> None:
        """Nothing is held on to."""


async def awaited(answer: Awaitable[None] | None) -> None:
    """Wait for what a guest does where it has to wait for something itself."""
    if answer is not None:
        await answer
