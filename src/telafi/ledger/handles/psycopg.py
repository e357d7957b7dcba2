"""psycopg 3, blocking: our own connection, or one that a user holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from telafi.errors import ForkedConnection, TransactionControl
from telafi.ledger.handles.guest import Bare, Guest
from telafi.ledger.steps import Batch, Rows, Statement, TransactionState
from telafi.ledger.texts import Texts

STATES: Final[Mapping[TransactionStatus, TransactionState]] = {
    TransactionStatus.INTRANS: "open",
    TransactionStatus.ACTIVE: "open",
    TransactionStatus.INERROR: "aborted",
}


class UnitConnection(psycopg.Connection[Any]):
    """A connection whose transaction belongs to the open unit: a user's commit() and rollback() are refused."""

    unit_open = False

    def commit(self) -> None:
        """Commit, unless a unit is open."""
        if self.unit_open:
            raise TransactionControl
        super().commit()

    def rollback(self) -> None:
        """Roll back, unless a unit is open."""
        if self.unit_open:
            raise TransactionControl
        super().rollback()


class PsycopgHandle:
    """Runs statements on one psycopg connection; see `Handle` for the verbs."""

    def __init__(self, connection: psycopg.Connection[Any], texts: Texts) -> None:
        self.connection = connection
        self._texts = texts

    def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        cursor = self.connection.cursor(row_factory=tuple_row)
        cursor.execute(self._texts[statement.name], statement.parameters or None)
        rows = cursor.fetchall() if cursor.description else []
        return Rows(rows, cursor.rowcount)

    def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement for many rows at once: every parameter travels as an array."""
        return self.run(Statement(batch.name, columns(batch.parameters)))

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return STATES.get(self.connection.info.transaction_status, "none")


class OwnPsycopgHandle(PsycopgHandle):
    """Our own connection: it also begins, commits and reconnects."""

    def __init__(
        self,
        texts: Texts,
        connect: Callable[[], UnitConnection],
        begin_text: Callable[[str | None], str],
        make_guest: Callable[[UnitConnection], Guest] | None = None,
    ) -> None:
        self._connect = connect
        self._begin_text = begin_text
        self._make_guest = make_guest or Bare
        self._open()
        super().__init__(self.connection, texts)

    def _open(self) -> None:
        self._unit = self.connection = self._connect()
        self._process = os.getpid()
        self._guest: Guest = self._make_guest(self._unit)

    def begin(self, isolation: str | None) -> None:
        """Open a transaction with its isolation level and lock timeout, in one round trip."""
        if self._process != os.getpid():
            raise ForkedConnection
        self._unit.execute(self._begin_text(isolation))  # type: text built from checked words only
        self._unit.unit_open = True

    def commit(self) -> None:
        """Commit."""
        self._unit.unit_open = False
        self._unit.execute("COMMIT")
        self._guest.ended()

    def rollback(self) -> None:
        """Roll back; quiet where nothing is open."""
        self._unit.unit_open = False
        if self._unit.info.transaction_status != TransactionStatus.IDLE:
            self._unit.execute("ROLLBACK")
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
        self._guest.flush()

    def close(self) -> None:
        """Close the connection."""
        self._unit.unit_open = False
        self._guest.close()
        self._unit.close()


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows into arrays, one a parameter."""
    return {name: [row[name] for row in rows] for name in rows[0]}
