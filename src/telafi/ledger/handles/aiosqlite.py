"""aiosqlite: SQLite's blocking handle, worked in the connection's own thread, or a connection that a user holds."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import aiosqlite

from telafi.errors import NotJoinable
from telafi.ledger.handles.forks import leave_alone
from telafi.ledger.handles.guest import Bare, Guest, after_commit, awaited
from telafi.ledger.handles.sqlite3 import OwnSqliteHandle, adapted, refuse_without_transaction
from telafi.ledger.steps import AsyncHandle, Batch, Rows, Statement, TransactionState
from telafi.ledger.texts import Texts

T = TypeVar("T")
MakeGuest: TypeAlias = Callable[[aiosqlite.Connection], Awaitable[Guest]]
CHUNK_ROWS: Final = 64


async def open_handle(open_blocking: Callable[[], OwnSqliteHandle], guest: str | None) -> AsyncHandle:
    """Open the file; raises what the blocking handle raises."""
    make_guest = None
    if guest is not None and guest.startswith("sqlalchemy"):
        from telafi.ledger.handles.sqlalchemy_async import guest_on_sqlite

        make_guest = partial(guest_on_sqlite, kind=guest)
    handle = OwnAiosqliteHandle(open_blocking, make_guest)
    await handle.reconnect()
    return handle


class UnitConnection(aiosqlite.Connection):
    """A connection whose thread also works for us; its transaction is guarded by the blocking handle below it."""

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the connection's thread, behind what was asked of it before."""
        execute: Callable[..., Awaitable[T]] = self._execute
        return await execute(function, *arguments)


class OwnAiosqliteHandle:
    """Our own connection; see `AsyncHandle` for the verbs. Every verb is one trip to the thread.

    A forked child has no such thread that could answer, so every verb asks for the process first.
    """

    connection: UnitConnection

    def __init__(self, open_blocking: Callable[[], OwnSqliteHandle], make_guest: MakeGuest | None) -> None:
        self._open_blocking = open_blocking
        self._make_guest = make_guest
        self._blocking: OwnSqliteHandle | None = None

    async def reconnect(self) -> None:
        """Throw the connection away, where there is one, and open a new one."""
        await self.close()
        blocking = await _in_thread(self._open_blocking)
        # The file is open already, so the thread starts with nothing that could fail.
        self.connection = UnitConnection(lambda: blocking.connection, CHUNK_ROWS)
        self._guest: Guest = Bare(self.connection)
        self._blocking = self._open = blocking
        try:
            await self.connection
            if self._make_guest is not None:
                self._guest = await self._make_guest(self.connection)
        except BaseException:
            await self.close()
            raise

    async def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        self._open.home.insist()
        return await self.connection.work(self._open.run, statement)

    async def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement row by row, in one trip to the thread."""
        self._open.home.insist()
        return await self.connection.work(self._open.run_batch, batch)

    async def begin(self, isolation: str | None) -> None:
        """Open a transaction that holds the write lock."""
        self._open.home.insist()
        await self.connection.work(self._open.begin, isolation)

    async def commit(self) -> None:
        """Commit; a busy COMMIT leaves the transaction open, to be committed again."""
        self._open.home.insist()
        await self.connection.work(self._open.commit)
        with after_commit():
            await awaited(self._guest.ended())

    async def rollback(self) -> None:
        """Roll back; quiet where SQLite has done so by itself, and in a forked child."""
        if not self._open.home.is_here():
            return
        try:
            await self.connection.work(self._open.rollback)
        finally:
            await awaited(self._guest.ended())

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return self._open.transaction_state()

    def lend(self) -> object:
        """Give what the job asked for beside Telafi's own objects."""
        return self._guest.lend()

    async def flush(self) -> None:
        """Write out what that object still holds."""
        self._open.home.insist()
        await awaited(self._guest.flush())

    async def close(self) -> None:
        """Close the connection and end its thread; a forked child leaves both to its parent."""
        blocking, self._blocking = self._blocking, None
        if blocking is None:
            return
        if not blocking.home.is_here():
            leave_alone(self.connection, self._guest)
            return
        try:
            await awaited(self._guest.close())
        finally:
            await self.connection.close()
            blocking.close()


class AiosqliteHandle:
    """Runs statements on a connection that a user holds."""

    def __init__(self, connection: aiosqlite.Connection, texts: Texts) -> None:
        self.connection = connection
        self._texts = texts

    async def run(self, statement: Statement) -> Rows:
        """Run a named statement; a list among its parameters travels as JSON."""
        async with self.connection.execute(self._texts[statement.name], adapted(statement.parameters)) as cursor:
            if cursor.description is None:
                return Rows([], cursor.rowcount)
            cursor.row_factory = None
            return Rows([tuple(row) for row in await cursor.fetchall()], cursor.rowcount)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return "open" if self.connection.in_transaction else "none"


async def joined(connection: aiosqlite.Connection, texts: Texts) -> AiosqliteHandle:
    """Speak on a connection that a user holds; raises NotJoinable unless its transaction is open."""
    try:
        refuse_without_transaction(connection.in_transaction, connection.isolation_level)
    except (ValueError, sqlite3.ProgrammingError) as error:
        raise NotJoinable(f"this connection cannot be joined: {error}") from error
    return AiosqliteHandle(connection, texts)


async def _in_thread(open_blocking: Callable[[], OwnSqliteHandle]) -> OwnSqliteHandle:
    """Open in a thread, as a locked file may keep it waiting; one that is cancelled meanwhile is closed again."""
    opening = asyncio.ensure_future(asyncio.to_thread(open_blocking))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        with suppress(Exception):
            (await opening).close()
        raise
