"""Steps: what Telafi says to a database, written once and run sync, async, or up to a chosen point.

An error that a request meets is thrown back into the step: a traceback names its line, and it decides what to do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from telafi.clock import Clock
from telafi.errors import CoroutineNotAwaited

T = TypeVar("T")
TransactionState: TypeAlias = Literal["open", "aborted", "none", "lost", "closed"]
Parameters: TypeAlias = Mapping[str, Any]
_NONE: Final[Parameters] = MappingProxyType({})


class Rows(NamedTuple):
    """What a statement answered; `rowcount` counts the rows it changed."""

    rows: Sequence[tuple[Any, ...]]
    rowcount: int


class Handle(Protocol):
    """One connection, spoken to by blocking calls."""

    def run(self, statement: Statement) -> Rows:
        """Run a named statement."""

    def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement for many rows at once."""

    def begin(self, isolation: str | None) -> None:
        """Open the transaction."""

    def commit(self) -> None:
        """Commit it."""

    def rollback(self) -> None:
        """Roll it back; quiet where none is open."""

    def reconnect(self) -> None:
        """Throw the connection away and open a new one."""

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""

    def lend(self) -> object:
        """Give what a job asked for beside Telafi's own objects."""

    def flush(self) -> None:
        """Write out what that object still holds."""

    def close(self) -> None:
        """Close the connection."""


class AsyncHandle(Protocol):
    """One connection, spoken to by coroutines; the verbs of `Handle`."""

    async def run(self, statement: Statement) -> Rows:
        """Run a named statement."""

    async def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement for many rows at once."""

    async def begin(self, isolation: str | None) -> None:
        """Open the transaction."""

    async def commit(self) -> None:
        """Commit it."""

    async def rollback(self) -> None:
        """Roll it back; quiet where none is open."""

    async def reconnect(self) -> None:
        """Throw the connection away and open a new one."""

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""

    def lend(self) -> object:
        """Give what a job asked for beside Telafi's own objects."""

    async def flush(self) -> None:
        """Write out what that object still holds."""

    async def close(self) -> None:
        """Close the connection."""


class Request(Protocol):
    """Something that a step asks its runner to do."""

    def do(self, handle: Handle) -> Any:
        """Do it with blocking calls."""

    async def ado(self, handle: AsyncHandle) -> Any:
        """Do it with coroutines."""


Steps: TypeAlias = Generator[Request, Any, T]


class Statement(NamedTuple):
    """A statement by the name of its file in `sql/<dialect>/`."""

    name: str
    parameters: Parameters = _NONE

    def do(self, handle: Handle) -> Rows:
        """Run it."""
        return handle.run(self)

    async def ado(self, handle: AsyncHandle) -> Rows:
        """Run it."""
        return await handle.run(self)


class Batch(NamedTuple):
    """The same statement for many rows: set-based on a server, row by row where there are no round trips."""

    name: str
    parameters: Sequence[Parameters]

    def do(self, handle: Handle) -> Rows:
        """Run it."""
        return handle.run_batch(self)

    async def ado(self, handle: AsyncHandle) -> Rows:
        """Run it."""
        return await handle.run_batch(self)


class Begin(NamedTuple):
    """Open a transaction: IMMEDIATE on SQLite, READ COMMITTED on servers unless told otherwise."""

    isolation: str | None = None

    def do(self, handle: Handle) -> None:
        """Open it."""
        handle.begin(self.isolation)

    async def ado(self, handle: AsyncHandle) -> None:
        """Open it."""
        await handle.begin(self.isolation)


class Commit(NamedTuple):
    """Commit the open transaction."""

    def do(self, handle: Handle) -> None:
        """Commit."""
        handle.commit()

    async def ado(self, handle: AsyncHandle) -> None:
        """Commit."""
        await handle.commit()


class Rollback(NamedTuple):
    """Roll back whatever is open."""

    def do(self, handle: Handle) -> None:
        """Roll back."""
        handle.rollback()

    async def ado(self, handle: AsyncHandle) -> None:
        """Roll back."""
        await handle.rollback()


class Reconnect(NamedTuple):
    """Throw the connection away and open a new one."""

    def do(self, handle: Handle) -> None:
        """Reconnect."""
        handle.reconnect()

    async def ado(self, handle: AsyncHandle) -> None:
        """Reconnect."""
        await handle.reconnect()


class AskState(NamedTuple):
    """Ask how the transaction stands; nothing is said to the database."""

    def do(self, handle: Handle) -> TransactionState:
        """Ask."""
        return handle.transaction_state()

    async def ado(self, handle: AsyncHandle) -> TransactionState:
        """Ask."""
        return handle.transaction_state()


class Sleep(NamedTuple):
    """Wait before the next attempt."""

    clock: Clock
    seconds: float

    def do(self, handle: Handle) -> None:  # noqa: ARG002 - every request has the same shape
        """Wait."""
        self.clock.sleep(self.seconds)

    async def ado(self, handle: AsyncHandle) -> None:  # noqa: ARG002 - every request has the same shape
        """Wait."""
        await self.clock.asleep(self.seconds)


class Call(NamedTuple):
    """Run the user's code; it may be a coroutine function where the runner is async."""

    function: Callable[[Any], Any]

    def do(self, handle: Handle) -> Any:
        """Call it."""
        try:
            answer = self.function(handle)
        except GeneratorExit as error:  # thrown into the steps it would end them with nothing rolled back
            raise RuntimeError("the job raised GeneratorExit") from error
        if inspect.iscoroutine(answer):
            answer.close()
        if answer is not None and (inspect.isawaitable(answer) or inspect.isgenerator(answer)):
            raise CoroutineNotAwaited
        return answer

    async def ado(self, handle: AsyncHandle) -> Any:
        """Call it and await it."""
        try:
            answer = self.function(handle)
            if inspect.isawaitable(answer):
                answer = await answer
        except GeneratorExit as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is None:
                raise  # it comes from no code below: the loop has gone, and closes this coroutine
            raise RuntimeError("the job raised GeneratorExit") from error
        if inspect.iscoroutine(answer):
            answer.close()
        if inspect.iscoroutine(answer) or inspect.isasyncgen(answer) or inspect.isgenerator(answer):
            raise CoroutineNotAwaited
        return answer
