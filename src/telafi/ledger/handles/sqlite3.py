"""The standard library's sqlite3: our own connection, or one that a user holds."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable
from typing import Any

from telafi.errors import LedgerError, NotJoinable, TransactionControl
from telafi.ledger.handles.forks import Home, leave_alone
from telafi.ledger.handles.guest import Bare, Guest, after_commit
from telafi.ledger.steps import Batch, Parameters, Rows, Statement, TransactionState
from telafi.ledger.texts import Texts

SQLITE_TRANSACTION = 22
SQLITE_ATTACH = 24
SQLITE_DETACH = 25
_DENIED = frozenset({SQLITE_TRANSACTION, SQLITE_ATTACH, SQLITE_DETACH})


class Guard:
    """Denies COMMIT, ROLLBACK and ATTACH while a unit is open, so that no code can split mark and effect."""

    def __init__(self) -> None:
        # A statement of ours stays in the driver's cache: its text must not be one that a user would write.
        mark = secrets.token_hex(8)
        self.begin = f"BEGIN IMMEDIATE /* {mark} */"
        self.commit = f"COMMIT /* {mark} */"
        self.rollback = f"ROLLBACK /* {mark} */"
        self.closed = False
        self.tripped = False

    def __call__(self, action: int, what: str | None, *_: str | None) -> int:
        """Answer SQLite's authorizer; a refused COMMIT or ROLLBACK is remembered, as the code may swallow its error."""
        if self.closed and action in _DENIED:
            self.tripped = self.tripped or (action == SQLITE_TRANSACTION and what != "BEGIN")
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK


class SqliteHandle:
    """Runs statements on one sqlite3 connection; see `Handle` for the verbs."""

    def __init__(self, connection: sqlite3.Connection, texts: Texts) -> None:
        self.connection = connection
        self._texts = texts

    def run(self, statement: Statement) -> Rows:
        """Run a named statement; a list among its parameters travels as JSON."""
        cursor = self.connection.execute(self._texts[statement.name], adapted(statement.parameters))
        if cursor.description is None:
            return Rows([], cursor.rowcount)
        # The user's own factories do not reach into our rows.
        text_factory = self.connection.text_factory
        self.connection.text_factory, cursor.row_factory = str, None
        try:
            return Rows(cursor.fetchall(), cursor.rowcount)
        finally:
            self.connection.text_factory = text_factory

    def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement row by row: there is no round trip to save."""
        cursor = self.connection.executemany(self._texts[batch.name], batch.parameters)
        return Rows([], cursor.rowcount)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        try:
            return "open" if self.connection.in_transaction else "none"
        except sqlite3.ProgrammingError:
            return "closed"


class OwnSqliteHandle(SqliteHandle):
    """Our own connection: it also begins, commits and reconnects."""

    def __init__(
        self,
        texts: Texts,
        connect: Callable[[], sqlite3.Connection],
        identity: Callable[[], tuple[int, int]],
        make_guest: Callable[[sqlite3.Connection], Guest] | None = None,
    ) -> None:
        self._connect = connect
        self._identity = identity
        self._make_guest = make_guest or Bare
        self._open()
        super().__init__(self.connection, texts)

    def _open(self) -> None:
        self.connection = self._connect()
        self.home = Home()
        try:
            self._file = self._identity()
            self._guest: Guest = self._make_guest(self.connection)
        except BaseException:
            self.connection.close()
            raise
        self._guard = Guard()
        self.connection.set_authorizer(self._guard)

    def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        self.home.insist()
        return super().run(statement)

    def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement row by row."""
        self.home.insist()
        return super().run_batch(batch)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands; a forked child has none."""
        return super().transaction_state() if self.home.is_here() else "none"

    def begin(self, isolation: str | None) -> None:  # noqa: ARG002 - SQLite has one level, and it is serializable
        """Open a transaction that holds the write lock; refuses a replaced file and a forked connection."""
        self.home.insist()
        if self._identity() != self._file:
            raise LedgerError("the ledger's file was replaced while it was open: nothing was written to the old one")
        self._guard.closed = self._guard.tripped = False
        self.connection.execute(self._guard.begin)
        self._guard.closed = True

    def commit(self) -> None:
        """Commit; a busy COMMIT leaves the transaction open, to be committed again.

        Raises TransactionControl where the unit's code has tried to end the transaction: it may have meant a ROLLBACK.
        """
        self.home.insist()
        if self._guard.tripped:
            raise TransactionControl
        self._guard.closed = False
        self.connection.execute(self._guard.commit)
        with after_commit():
            self._guest.ended()

    def rollback(self) -> None:
        """Roll back; quiet where SQLite has done so by itself, and in a forked child."""
        if not self.home.is_here():
            return
        self._guard.closed = self._guard.tripped = False
        try:
            if self.connection.in_transaction:
                self.connection.execute(self._guard.rollback)
        finally:
            self._guest.ended()

    def reconnect(self) -> None:
        """Throw the connection away and open a new one."""
        self.close()
        self._open()

    def lend(self) -> object:
        """Give what the job asked for beside Telafi's own objects."""
        return self._guest.lend()

    def flush(self) -> None:
        """Write out what that object still holds."""
        self.home.insist()
        self._guest.flush()

    def close(self) -> None:
        """Close the connection; a forked child leaves it to its parent."""
        if not self.home.is_here():
            leave_alone(self.connection, self._guest)
            return
        self._guard.closed = False
        try:
            self._guest.close()
        finally:
            self.connection.close()


def adapted(parameters: Parameters) -> Any:
    """Write lists as JSON, which SQLite unpacks with json_each."""
    if list not in map(type, parameters.values()):
        return parameters or ()
    return {name: json.dumps(value) if isinstance(value, list) else value for name, value in parameters.items()}


def joined(connection: sqlite3.Connection, texts: Texts) -> SqliteHandle:
    """Speak on a connection that a user holds; raises NotJoinable unless its transaction is open."""
    try:
        refuse_without_transaction(connection.in_transaction, connection.isolation_level)
    except sqlite3.ProgrammingError as error:
        raise NotJoinable(f"this connection cannot be joined: {error}") from error
    return SqliteHandle(connection, texts)


def refuse_without_transaction(in_transaction: object, isolation_level: str | None) -> None:
    """Raise NotJoinable where no transaction is open, with what the driver's mode means."""
    if in_transaction:
        return
    by_itself = "" if isolation_level is None else " (the driver begins one by itself only at INSERT, UPDATE or DELETE)"
    raise NotJoinable(
        f"this connection has no open transaction{by_itself}: execute 'BEGIN IMMEDIATE' on it first, join, and commit "
        "when the effect is written"
    )
