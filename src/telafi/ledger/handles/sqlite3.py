"""The standard library's sqlite3: our own connection, or one that a user holds."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Callable
from typing import Any

from telafi.errors import ForkedConnection, LedgerError, TransactionControl
from telafi.ledger.handles.guest import Bare, Guest
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

    def __call__(self, action: int, *_: str | None) -> int:
        """Answer SQLite's authorizer."""
        if self.closed and action in _DENIED:
            self.tripped = True
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
        rows = cursor.fetchall() if cursor.description else []
        return Rows(rows, cursor.rowcount)

    def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement row by row: there is no round trip to save."""
        cursor = self.connection.executemany(self._texts[batch.name], batch.parameters)
        return Rows([], cursor.rowcount)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return "open" if self.connection.in_transaction else "none"


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
        self._file = self._identity()
        self._process = os.getpid()
        self._guest: Guest = self._make_guest(self.connection)
        self._guard = Guard()
        self.connection.set_authorizer(self._guard)

    def begin(self, isolation: str | None) -> None:  # noqa: ARG002 - SQLite has one level, and it is serializable
        """Open a transaction that holds the write lock; refuses a replaced file and a forked connection."""
        if self._process != os.getpid():
            raise ForkedConnection
        if self._identity() != self._file:
            raise LedgerError("the ledger's file was replaced while it was open: nothing was written to the old one")
        self._guard.closed = self._guard.tripped = False
        self.connection.execute(self._guard.begin)
        self._guard.closed = True

    def commit(self) -> None:
        """Commit; a busy COMMIT leaves the transaction open, to be committed again."""
        self._guard.closed = False
        self.connection.execute(self._guard.commit)
        self._guest.ended()

    def rollback(self) -> None:
        """Roll back; quiet where SQLite has done so by itself."""
        self._guard.closed = False
        if self.connection.in_transaction:
            self.connection.execute(self._guard.rollback)
        self._guest.ended()

    def reconnect(self) -> None:
        """Throw the connection away and open a new one."""
        self.close()
        self._open()

    def lend(self) -> object:
        """Give what the job asked for beside Telafi's own objects."""
        return self._guest.lend()

    def flush(self) -> None:
        """Write out what that object still holds; refuses a unit whose code tried to end the transaction."""
        self._guest.flush()

    def close(self) -> None:
        """Close the connection."""
        self._guard.closed = False
        self._guest.close()
        self.connection.close()

    def explain(self, error: BaseException) -> None:
        """Say in plain words why the guard refused a statement."""
        if self._guard.tripped and isinstance(error, sqlite3.DatabaseError):
            error.add_note(str(TransactionControl()))


def adapted(parameters: Parameters) -> Any:
    """Write lists as JSON, which SQLite unpacks with json_each."""
    if list not in map(type, parameters.values()):
        return parameters or ()
    return {name: json.dumps(value) if isinstance(value, list) else value for name, value in parameters.items()}
