"""SQLAlchemy's async objects on top of our async connection: the blocking guest, worked in a greenlet."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.util import greenlet_spawn

from telafi.ledger.handles.sqlalchemy import ENGINE_OPTIONS, Lent, SqlalchemyGuest, UnitSession


async def guest_on_sqlite(connection: Any, *, kind: str) -> AsyncSqlalchemyGuest:
    """Make the guest of an aiosqlite connection."""
    return await _guest("sqlite+aiosqlite://", connection, kind)


async def guest_on_postgresql(connection: Any, *, kind: str) -> AsyncSqlalchemyGuest:
    """Make the guest of an async psycopg connection."""
    return await _guest("postgresql+psycopg://", connection, kind)


async def _guest(url: str, raw: Any, kind: str) -> AsyncSqlalchemyGuest:
    async def creator() -> Any:
        return raw

    engine = create_async_engine(url, async_creator=creator, **ENGINE_OPTIONS)
    # The first connect asks the database about itself, which is to happen outside of any unit.
    await (await engine.connect()).close()
    return AsyncSqlalchemyGuest(SqlalchemyGuest(engine.sync_engine, partial(_lent, engine, kind)))


def _lent(engine: AsyncEngine, kind: str, connection: Connection) -> Lent:
    wrapped = AsyncConnection(engine, connection)
    if kind == "sqlalchemy.AsyncConnection":
        return Lent(wrapped, connection, None)
    # An attribute that expired could not be loaded again without an await.
    session = AsyncSession(
        bind=wrapped, sync_session_class=UnitSession, expire_on_commit=False, join_transaction_mode="rollback_only"
    )
    return Lent(session, connection, session.sync_session)


class AsyncSqlalchemyGuest:
    """Lends an AsyncConnection or AsyncSession a unit."""

    def __init__(self, blocking: SqlalchemyGuest) -> None:
        self._blocking = blocking

    def lend(self) -> object:
        """Give the object for one unit; nothing is said to the database here."""
        return self._blocking.lend()

    async def flush(self) -> None:
        """Write out what a session holds."""
        await greenlet_spawn(self._blocking.flush)

    async def ended(self) -> None:
        """Let go of the objects."""
        await greenlet_spawn(self._blocking.ended)

    async def close(self) -> None:
        """Let go of everything."""
        await greenlet_spawn(self._blocking.close)
