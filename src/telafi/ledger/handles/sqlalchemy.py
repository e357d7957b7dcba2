"""SQLAlchemy on top of our connection: what a job is lent joins the unit's transaction and can end nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.orm import Session, SessionTransaction

from telafi.errors import TransactionControl

# One connection, which is ours to close; SQLAlchemy never says ROLLBACK on it, as its driver is in autocommit mode and
# the BEGIN is ours.
ENGINE_OPTIONS: Final = {"poolclass": StaticPool, "pool_reset_on_return": None, "skip_autocommit_rollback": True}


class Lent(NamedTuple):
    """What a job is given for one unit, with the blocking objects below it."""

    thing: object
    connection: Connection
    session: Session | None


class UnitSession(Session):
    """A session that takes part in the unit's transaction: commit() only flushes, rollback() is always noticed."""

    def rollback(self) -> None:
        """Roll back, also where nothing has come to the session yet: the unit may have written past it."""
        if not self.in_transaction():
            self.begin()
        super().rollback()


def guest_on_sqlite(connection: Any, *, kind: str) -> SqlalchemyGuest:
    """Make the guest of a sqlite3 connection."""
    return _guest("sqlite://", connection, kind)


def guest_on_postgresql(connection: Any, *, kind: str) -> SqlalchemyGuest:
    """Make the guest of a psycopg connection."""
    return _guest("postgresql+psycopg://", connection, kind)


def _guest(url: str, raw: Any, kind: str) -> SqlalchemyGuest:
    engine = create_engine(url, creator=lambda: raw, **ENGINE_OPTIONS)
    # The first connect asks the database about itself, which is to happen outside of any unit.
    engine.connect().close()
    return SqlalchemyGuest(engine, partial(_lent, kind))


def _lent(kind: str, connection: Connection) -> Lent:
    if kind == "sqlalchemy.Connection":
        return Lent(connection, connection, None)
    session = UnitSession(bind=connection, join_transaction_mode="rollback_only")
    return Lent(session, connection, session)


class SqlalchemyGuest:
    """Lends a Connection or Session a unit; all that ends with the unit."""

    def __init__(self, engine: Engine, make: Callable[[Connection], Lent]) -> None:
        self._engine = engine
        self._make = make
        self._boundary = Boundary(engine)
        self._lent: Lent | None = None

    def lend(self) -> object:
        """Give the object for one unit, inside SQLAlchemy's own notion of a transaction."""
        if self._lent is None:
            connection = self._engine.connect()
            self._boundary.enter(connection)
            self._lent = self._make(connection)
            if self._lent.session is not None:
                self._boundary.watch(self._lent.session)
        return self._lent.thing

    def flush(self) -> None:
        """Write out what a session holds; raises TransactionControl where the transaction was rolled back or ended."""
        self._boundary.check()
        if self._lent is not None and self._lent.session is not None:
            self._lent.session.flush()
            self._boundary.check()

    def ended(self) -> None:
        """Let go of the objects: those of a session are detached, with what was loaded of them."""
        lent, self._lent = self._lent, None
        self._boundary.leave()
        if lent is None:
            return
        try:
            if lent.session is not None:
                lent.session.close()
        finally:
            lent.connection.close()

    def close(self) -> None:
        """Let go of everything; the driver's connection stays open for its owner to close."""
        self.ended()


class Boundary:
    """Keeps SQLAlchemy inside the unit: no COMMIT, no second transaction; a ROLLBACK becomes the unit's."""

    def __init__(self, engine: Engine) -> None:
        self._entering = self._inside = self._broken = False
        event.listen(engine, "begin", self._on_begin)
        event.listen(engine, "commit", self._on_commit)
        event.listen(engine, "rollback", self._on_rollback)

    def enter(self, connection: Connection) -> None:
        """Let SQLAlchemy believe that it has begun the transaction."""
        self._broken = False
        self._entering = True
        try:
            connection.begin()
        finally:
            self._entering = False
        self._inside = True

    def watch(self, session: Session) -> None:
        """Notice a rollback of a session that has said nothing to the connection yet."""
        event.listen(session, "after_soft_rollback", self._on_soft_rollback)

    def leave(self) -> None:
        """The unit is over."""
        self._inside = self._broken = False

    def check(self) -> None:
        """Raise TransactionControl where the unit's code has asked for an end of the transaction."""
        if self._broken:
            raise TransactionControl(
                "the unit's code rolled its transaction back, or tried to end it (a flush that fails rolls back too): "
                "nothing was written; use begin_nested() around what may fail"
            )

    def _on_begin(self, _: Connection) -> None:
        if not self._entering:
            self._broken = True
            raise TransactionControl(
                "this would be a second transaction, or one after a rollback: a unit has one, and it lives until the "
                "unit ends; use begin_nested() around what may fail"
            )

    def _on_commit(self, _: Connection) -> None:
        self._broken = True
        raise TransactionControl

    def _on_rollback(self, _: Connection) -> None:
        # Let it pass: SQLAlchemy does this by itself after a flush that failed, whose own error is the one to see.
        self._broken = self._broken or self._inside

    def _on_soft_rollback(self, _: Session, ended: SessionTransaction) -> None:
        self._broken = self._broken or (self._inside and ended.parent is None)
