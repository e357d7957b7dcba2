"""psycopg 3, async: our own connection, or one that a user holds; the twin of the blocking handle."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from telafi.ledger.handles.forks import Home, leave_alone
from telafi.ledger.handles.guest import Bare, Guest, after_commit, awaited
from telafi.ledger.handles.psycopg import Unit, columns, refuse_unfit, socket_of, state_of
from telafi.ledger.steps import AsyncHandle, Batch, Rows, Statement, TransactionState
from telafi.ledger.texts import Texts


async def open_handle(
    texts: Texts, url: str, parameters: Mapping[str, Any], begin_text: Callable[[str | None], str], guest: str | None
) -> AsyncHandle:
    """Connect; raises what psycopg raises."""
    make_guest = None
    if guest is not None and guest.startswith("sqlalchemy"):
        from telafi.ledger.handles.sqlalchemy_async import guest_on_postgresql

        make_guest = partial(guest_on_postgresql, kind=guest)
    connect = partial(AsyncUnitConnection.connect, url, **parameters)
    handle = OwnAsyncPsycopgHandle(texts, connect, begin_text, make_guest)
    await handle.reconnect()
    return handle


class AsyncUnitConnection(psycopg.AsyncConnection[Any]):
    """A connection whose transaction belongs to the open unit: a user's commit() and rollback() are refused."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.unit = Unit()

    async def commit(self) -> None:
        """Commit, unless a unit is open."""
        self.unit.refuse()
        await super().commit()

    async def rollback(self) -> None:
        """Roll back, unless a unit is open."""
        self.unit.refuse()
        await super().rollback()


class AsyncPsycopgHandle:
    """Runs statements on one async psycopg connection; see `AsyncHandle` for the verbs."""

    connection: psycopg.AsyncConnection[Any]

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    async def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        cursor = psycopg.AsyncCursor(self.connection, row_factory=tuple_row)
        await cursor.execute(self._texts[statement.name], statement.parameters or None)
        rows = await cursor.fetchall() if cursor.description else []
        return Rows(rows, cursor.rowcount)

    async def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement for many rows at once: every parameter travels as an array."""
        return await self.run(Statement(batch.name, columns(batch.parameters)))

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return state_of(self.connection)


class OwnAsyncPsycopgHandle(AsyncPsycopgHandle):
    """Our own connection: it also begins, commits and reconnects."""

    def __init__(
        self,
        texts: Texts,
        connect: Callable[[], Awaitable[AsyncUnitConnection]],
        begin_text: Callable[[str | None], str],
        make_guest: Callable[[AsyncUnitConnection], Awaitable[Guest]] | None,
    ) -> None:
        super().__init__(texts)
        self._connect = connect
        self._begin_text = begin_text
        self._make_guest = make_guest
        self._connection: AsyncUnitConnection | None = None

    async def reconnect(self) -> None:
        """Throw the connection away, where there is one, and open a new one."""
        await self.close()
        self._connection = self.connection = connection = await self._connect()
        self._unit = connection.unit
        self._home = Home()
        self._guest: Guest = Bare(connection)
        try:
            if self._make_guest is not None:
                self._guest = await self._make_guest(connection)
        except BaseException:
            await connection.close()
            raise

    async def run(self, statement: Statement) -> Rows:
        """Run a named statement; `run_batch` is one, too."""
        self._home.insist()
        return await super().run(statement)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands; a forked child has none."""
        return super().transaction_state() if self._home.is_here() else "none"

    async def begin(self, isolation: str | None) -> None:
        """Open a transaction with its isolation level and lock timeout, in one round trip."""
        self._home.insist()
        await self.connection.execute(self._begin_text(isolation))
        self._unit.enter()

    async def commit(self) -> None:
        """Commit; raises TransactionControl where the unit's code has tried to end the transaction."""
        self._home.insist()
        self._unit.leave_whole()
        await self.connection.execute("COMMIT")
        with after_commit():
            await awaited(self._guest.ended())

    async def rollback(self) -> None:
        """Roll back; quiet where nothing is open, and in a forked child."""
        if not self._home.is_here():
            return
        self._unit.leave()
        try:
            if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
                await self.connection.execute("ROLLBACK")
        finally:
            await awaited(self._guest.ended())

    def lend(self) -> object:
        """Give what the job asked for beside Telafi's own objects."""
        return self._guest.lend()

    async def flush(self) -> None:
        """Write out what that object still holds."""
        self._home.insist()
        await awaited(self._guest.flush())

    async def close(self) -> None:
        """Close the connection; a forked child only lets go of it, and tells the server nothing."""
        if self._connection is None:
            return
        if not self._home.is_here():
            leave_alone(self._connection, self._guest, descriptor=socket_of(self._connection))
            return
        self._unit.leave()
        try:
            await awaited(self._guest.close())
        finally:
            await self._connection.close()


class JoinedAsyncPsycopgHandle(AsyncPsycopgHandle):
    """A connection that a user holds."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], texts: Texts) -> None:
        super().__init__(texts)
        self.connection = connection


async def joined(connection: psycopg.AsyncConnection[Any], texts: Texts) -> JoinedAsyncPsycopgHandle:
    """Speak on a connection that a user holds; raises NotJoinable where it cannot take a mark."""
    refuse_unfit(connection)
    return JoinedAsyncPsycopgHandle(connection, texts)
