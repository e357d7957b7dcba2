"""psycopg 3, blocking: our own connection, or one that a user holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from telafi.errors import NotJoinable, TransactionControl
from telafi.ledger.handles.forks import Home, leave_alone
from telafi.ledger.handles.guest import Bare, Guest, after_commit
from telafi.ledger.steps import Batch, Rows, Statement, TransactionState
from telafi.ledger.texts import Texts

STATES: Final[Mapping[int, TransactionState]] = {
    int(TransactionStatus.INTRANS): "open",
    int(TransactionStatus.ACTIVE): "open",
    int(TransactionStatus.INERROR): "aborted",
}


def state_of(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> TransactionState:
    """Say how a transaction stands; a connection that the server or the network has ended is lost."""
    status = connection.pgconn.transaction_status
    if status == TransactionStatus.UNKNOWN:
        return "lost" if connection.broken else "closed"
    return STATES.get(status, "none")


class Unit:
    """Whether a unit is open on a connection, and whether its code has tried to end the transaction."""

    def __init__(self) -> None:
        self.is_open = False
        self.tripped = False

    def enter(self) -> None:
        """The transaction belongs to a unit from here on."""
        self.is_open, self.tripped = True, False

    def leave(self) -> None:
        """The unit is over."""
        self.is_open = self.tripped = False

    def refuse(self) -> None:
        """Raise TransactionControl while a unit is open, and remember it, as the code may swallow the error."""
        if self.is_open:
            self.tripped = True
            raise TransactionControl

    def leave_whole(self) -> None:
        """The unit is over if nothing was refused in it; what was refused may have been meant as a ROLLBACK."""
        if self.tripped:
            raise TransactionControl
        self.leave()


class UnitConnection(psycopg.Connection[Any]):
    """A connection whose transaction belongs to the open unit: a user's commit() and rollback() are refused."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.unit = Unit()

    def commit(self) -> None:
        """Commit, unless a unit is open."""
        self.unit.refuse()
        super().commit()

    def rollback(self) -> None:
        """Roll back, unless a unit is open."""
        self.unit.refuse()
        super().rollback()


class PsycopgHandle:
    """Runs statements on one psycopg connection; see `Handle` for the verbs."""

    def __init__(self, connection: psycopg.Connection[Any], texts: Texts) -> None:
        self.connection = connection
        self._texts = texts

    def run(self, statement: Statement) -> Rows:
        """Run a named statement."""
        cursor = psycopg.Cursor(self.connection, row_factory=tuple_row)
        cursor.execute(self._texts[statement.name], statement.parameters or None)
        rows = cursor.fetchall() if cursor.description else []
        return Rows(rows, cursor.rowcount)

    def run_batch(self, batch: Batch) -> Rows:
        """Run a named statement for many rows at once: every parameter travels as an array."""
        return self.run(Statement(batch.name, columns(batch.parameters)))

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands."""
        return state_of(self.connection)


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
        self._connection = self.connection = self._connect()
        self._home = Home()
        try:
            self._guest: Guest = self._make_guest(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def run(self, statement: Statement) -> Rows:
        """Run a named statement; `run_batch` is one, too."""
        self._home.insist()
        return super().run(statement)

    def transaction_state(self) -> TransactionState:
        """Say how the transaction stands; a forked child has none."""
        return super().transaction_state() if self._home.is_here() else "none"

    def begin(self, isolation: str | None) -> None:
        """Open a transaction with its isolation level and lock timeout, in one round trip."""
        self._home.insist()
        self._connection.execute(self._begin_text(isolation))
        self._connection.unit.enter()

    def commit(self) -> None:
        """Commit; raises TransactionControl where the unit's code has tried to end the transaction."""
        self._home.insist()
        self._connection.unit.leave_whole()
        self._connection.execute("COMMIT")
        with after_commit():
            self._guest.ended()

    def rollback(self) -> None:
        """Roll back; quiet where nothing is open, and in a forked child."""
        if not self._home.is_here():
            return
        self._connection.unit.leave()
        try:
            if self._connection.pgconn.transaction_status != TransactionStatus.IDLE:
                self._connection.execute("ROLLBACK")
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
        self._home.insist()
        self._guest.flush()

    def close(self) -> None:
        """Close the connection; a forked child only lets go of it, and tells the server nothing."""
        if not self._home.is_here():
            leave_alone(self._connection, self._guest, descriptor=socket_of(self._connection))
            return
        self._connection.unit.leave()
        try:
            self._guest.close()
        finally:
            self._connection.close()


def joined(connection: psycopg.Connection[Any], texts: Texts) -> PsycopgHandle:
    """Speak on a connection that a user holds; raises NotJoinable where it cannot take a mark."""
    refuse_unfit(connection)
    return PsycopgHandle(connection, texts)


def refuse_unfit(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Raise NotJoinable for a connection that is closed, aborted, or in autocommit mode without a transaction."""
    if connection.closed:
        raise NotJoinable("this connection is closed: open a new one")
    state = STATES.get(connection.pgconn.transaction_status, "none")
    if state == "aborted":
        raise NotJoinable("this transaction was aborted by an earlier error: roll it back first, then join a new one")
    if state == "none" and connection.autocommit:
        raise NotJoinable(
            "this connection is in autocommit mode and has no open transaction, so a mark would be committed by "
            "itself: join inside `with connection.transaction():`"
        )


def socket_of(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> int | None:
    """Give the descriptor of a connection, None where it is closed."""
    return None if connection.closed else connection.pgconn.socket


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn rows into arrays, one a parameter."""
    return {name: [row[name] for row in rows] for name in rows[0]}
