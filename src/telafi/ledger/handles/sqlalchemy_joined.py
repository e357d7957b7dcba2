"""SQLAlchemy objects that a user holds: statements run on their own connection, in their own transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Connection, CursorResult
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from telafi.errors import NotJoinable
from telafi.ledger.handles.sqlite3 import adapted, refuse_without_transaction
from telafi.ledger.steps import Rows, Statement, TransactionState
from telafi.ledger.tally import Tally
from telafi.ledger.texts import Texts
from telafi.ledger.transaction import Transaction

DRIVERS: Final = frozenset({"pysqlite", "aiosqlite", "psycopg", "psycopg_async"})


class SqlalchemyHandle:
    """Runs statements on a Connection of SQLAlchemy, in the driver's own parameter style."""

    def __init__(self, connection: Connection, texts: Texts) -> None:
        self.connection = connection
        self._texts = texts

    @property
    def driver(self) -> Any:
        """Give the driver's own connection."""
        return self.connection.connection.driver_connection

    def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        parameters = statement.parameters
        if self.connection.dialect.name == "sqlite":
            parameters = adapted(parameters)
        result = self.execute(self._texts[statement.name], parameters)
        rows = [tuple(row) for row in result] if result.returns_rows else []
        return Rows(rows, result.rowcount)

    def execute(self, sql: str, parameters: Any) -> CursorResult[Any]:
        """Run any statement; a list stands for the parameters of one, not of many.

        Without any the driver gets none either, so that a % in the text is only a %.
        """
        if parameters is None:
            return self.connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
        given = tuple(parameters) if isinstance(parameters, list) else parameters
        return self.connection.exec_driver_sql(sql, given or None)

    def executemany(self, sql: str, rows: Iterable[Any]) -> CursorResult[Any] | None:
        """Run a statement once for each row of parameters; None where there is no row."""
        listed = [tuple(row) if isinstance(row, list) else row for row in rows]
        return self.connection.exec_driver_sql(sql, listed) if listed else None

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands, in the driver's own words."""
        if self.connection.closed or self.connection.invalidated or not self.connection.in_transaction():
            return "none"
        if self.connection.dialect.name == "sqlite":
            return "open" if self.driver.in_transaction else "none"
        from telafi.ledger.handles.psycopg import STATES

        return STATES.get(self.driver.pgconn.transaction_status, "none")


class SqlalchemyTransaction(Transaction):
    """The user's own transaction; statements give back SQLAlchemy's results."""

    def __init__(self, handle: Any, tally: Tally, connection: Any) -> None:
        super().__init__(handle, tally, connection)
        self._blocking: SqlalchemyHandle = handle

    def execute(self, sql: str, parameters: Any = None) -> Any:
        """Run a statement in the driver's own parameter style and give back a CursorResult."""
        self._tally.before(sql, self._blocking.transaction_state())
        result = self._blocking.execute(sql, parameters)
        self._tally.after(self._blocking.transaction_state(), result.rowcount, returned_rows=result.returns_rows)
        return result

    def executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        """Run a statement once for each row of parameters and give back a CursorResult, None where there is no row."""
        self._tally.before(sql, self._blocking.transaction_state())
        result = self._blocking.executemany(sql, rows)
        rowcount = 0 if result is None else result.rowcount
        self._tally.after(self._blocking.transaction_state(), rowcount, returned_rows=False)
        return result


def joined(owner: Connection | Session, texts: Texts) -> SqlalchemyHandle:
    """Speak on what a user holds, inside the transaction that it is in or begins now; raises NotJoinable."""
    try:
        connection = owner.connection() if isinstance(owner, Session) else owner
        _refuse_unfit(connection, texts.dialect)
        handle = SqlalchemyHandle(connection, texts)
        if not connection.in_transaction():
            connection.begin()
    except SQLAlchemyError as error:
        raise NotJoinable(f"this {type(owner).__name__} cannot be joined: {error}") from error
    if connection.dialect.name == "sqlite":
        _begin_really(handle)
    else:
        from telafi.ledger.handles.psycopg import refuse_unfit

        refuse_unfit(handle.driver)
    return handle


def _refuse_unfit(connection: Connection, dialect: str) -> None:
    driver = connection.dialect.driver
    if connection.dialect.name != dialect:
        raise NotJoinable(f"this engine is on {connection.dialect.name}, but the ledger is on {dialect}")
    if driver not in DRIVERS:
        raise NotJoinable(
            f"this engine uses the driver {driver}, which Telafi does not speak: create it with postgresql+psycopg://, "
            "sqlite:// or sqlite+aiosqlite://"
        )
    if connection.closed or connection.invalidated:
        raise NotJoinable("this connection is closed: open a new one")


def _begin_really(handle: SqlalchemyHandle) -> None:
    """See that SQLite has begun what SQLAlchemy believes to be open: its driver waits for the first INSERT."""
    connection, driver = handle.connection, handle.driver
    legacy = driver.isolation_level is not None
    if connection.in_nested_transaction() and legacy:
        raise NotJoinable(
            "on SQLite a savepoint may be the real transaction here, committed at its end whatever comes after: join "
            "before begin_nested()"
        )
    if legacy and not driver.in_transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    refuse_without_transaction(driver.in_transaction, driver.isolation_level)
