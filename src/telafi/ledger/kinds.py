"""The connections and ORM objects of others that Telafi works with, by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """One class: the only dialect it may be on, what a job is lent for it, and the module that joins one of a user's.

    `transaction` names the class that the user of a joined one is given, in that module.
    """

    dialect: str | None
    is_async: bool
    lent: str
    module: str
    transaction: str | None = None


_JOINED: Final = ("sqlalchemy_joined", "SqlalchemyTransaction")
_JOINED_ASYNC: Final = ("sqlalchemy_joined_async", "AsyncSqlalchemyTransaction")

KINDS: Final[Mapping[str, Kind]] = {
    "sqlite3.Connection": Kind("sqlite", False, "driver", "sqlite3"),
    "aiosqlite.core.Connection": Kind("sqlite", True, "driver", "aiosqlite"),
    "psycopg.Connection": Kind("postgresql", False, "driver", "psycopg"),
    "psycopg.AsyncConnection": Kind("postgresql", True, "driver", "psycopg_async"),
    "sqlalchemy.engine.base.Connection": Kind(None, False, "sqlalchemy.Connection", *_JOINED),
    "sqlalchemy.orm.session.Session": Kind(None, False, "sqlalchemy.Session", *_JOINED),
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": Kind(None, True, "sqlalchemy.AsyncConnection", *_JOINED_ASYNC),
    "sqlalchemy.ext.asyncio.session.AsyncSession": Kind(None, True, "sqlalchemy.AsyncSession", *_JOINED_ASYNC),
}
