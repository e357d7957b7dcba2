"""SQLAlchemy's async objects that a user holds: the blocking ones below them, worked in a greenlet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.util import greenlet_spawn

from telafi.errors import NotJoinable
from telafi.ledger.handles import sqlalchemy_joined
from telafi.ledger.handles.sqlalchemy_joined import SqlalchemyHandle
from telafi.ledger.steps import Rows, Statement, TransactionState
from telafi.ledger.tally import Tally
from telafi.ledger.texts import Texts
from telafi.ledger.transaction import AsyncTransaction


class AsyncSqlalchemyHandle:
    """Runs statements on the Connection below an AsyncConnection or AsyncSession."""

    def __init__(self, blocking: SqlalchemyHandle) -> None:
        self.blocking = blocking
        self.driver = blocking.driver

    async def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        return await greenlet_spawn(self.blocking.run, statement)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return self.blocking.transaction_state()


class AsyncSqlalchemyTransaction(AsyncTransaction):
    """The user's own transaction; statements give back SQLAlchemy's results."""

    def __init__(self, handle: Any, tally: Tally, connection: Any) -> None:
        super().__init__(handle, tally, connection)
        self._blocking: SqlalchemyHandle = handle.blocking

    async def _execute(self, sql: str, parameters: Any) -> Any:
        """Give back a CursorResult, its rows read."""
        self._tally.before(sql, self._blocking.transaction_state())
        result = await greenlet_spawn(self._blocking.execute, sql, parameters)
        self._tally.after(self._blocking.transaction_state(), result.rowcount, returned_rows=result.returns_rows)
        return result

    async def _executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        """Give back a CursorResult, None where there is no row."""
        self._tally.before(sql, self._blocking.transaction_state())
        result = await greenlet_spawn(self._blocking.executemany, sql, rows)
        rowcount = 0 if result is None else result.rowcount
        self._tally.after(self._blocking.transaction_state(), rowcount, returned_rows=False)
        return result


async def joined(owner: AsyncConnection | AsyncSession, texts: Texts) -> AsyncSqlalchemyHandle:
    """Speak on what a user holds; raises NotJoinable."""
    below = owner.sync_session if isinstance(owner, AsyncSession) else owner.sync_connection
    if below is None:
        raise NotJoinable("this AsyncConnection is closed, or was never started: `async with engine.connect() as …`")
    return AsyncSqlalchemyHandle(await greenlet_spawn(sqlalchemy_joined.joined, below, texts))
