"""What a job sees of its own run, and the block at its end in which mark, effect and watermark commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from telafi.errors import AlreadyDone
from telafi.ledger.runners import aperform, perform
from telafi.ledger.steps import AsyncHandle, Handle
from telafi.ledger.transaction import AsyncTransaction, Transaction
from telafi.plan.windows import Window
from telafi.work.progress import Progress
from telafi.work.unit import abandon_unit, close_unit, open_late, write_unit

T = TypeVar("T")


class Run:
    """One attempt at one window, for a job that does slow work first and writes at the end.

    `window` is the interval, `key` its text: what an outside system may be given as an idempotency key.
    """

    def __init__(self, progress: Progress, handle: Handle, window: Window) -> None:
        self._progress = progress
        self._handle = handle
        self.window = window

    @property
    def key(self) -> str:
        """Give the text by which the ledger knows this window."""
        return self.window.key

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open the unit's transaction: everything written in the block commits with the mark, once.

        Raises AlreadyDone where another copy was faster, SecondTransaction on a second block.
        """
        progress = self._progress
        progress.enter()
        try:
            if not perform(open_late(progress), self._handle):
                raise AlreadyDone  # noqa: TRY301 - a body that swallows it must not pass for one that wrote
            progress.in_body = True
            yield progress.transaction(self._handle)
            perform(close_unit(progress), self._handle)
        except BaseException as error:
            perform(abandon_unit(progress, error), self._handle)
            raise

    def write(self, function: Callable[[Transaction], T]) -> T:
        """Run the function inside the unit's transaction, repeating only it after a conflict.

        Raises AlreadyDone where another copy was faster.
        """
        progress = self._progress
        progress.enter()
        written: T = perform(write_unit(progress, lambda handle: function(progress.transaction(handle))), self._handle)
        return written


class AsyncRun:
    """One attempt at one window, in async code; the verbs of `Run`."""

    def __init__(self, progress: Progress, handle: AsyncHandle, window: Window) -> None:
        self._progress = progress
        self._handle = handle
        self.window = window

    @property
    def key(self) -> str:
        """Give the text by which the ledger knows this window."""
        return self.window.key

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncTransaction]:
        """Open the unit's transaction: everything written in the block commits with the mark, once."""
        progress = self._progress
        progress.enter()
        try:
            if not await aperform(open_late(progress), self._handle):
                raise AlreadyDone  # noqa: TRY301 - a body that swallows it must not pass for one that wrote
            progress.in_body = True
            yield progress.async_transaction(self._handle)
            await aperform(close_unit(progress), self._handle)
        except BaseException as error:
            await aperform(abandon_unit(progress, error), self._handle)
            raise

    async def write(self, function: Callable[[AsyncTransaction], Awaitable[T]]) -> T:
        """Run the function inside the unit's transaction, repeating only it after a conflict."""
        progress = self._progress
        progress.enter()
        written: T = await aperform(
            write_unit(progress, lambda handle: function(progress.async_transaction(handle))), self._handle
        )
        return written
