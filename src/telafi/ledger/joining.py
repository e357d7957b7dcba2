"""Joining: record keys and statements inside a transaction that the user opened and will end."""

from __future__ import annotations

import secrets
from contextlib import suppress
from importlib import import_module
from typing import Any
from weakref import WeakSet

from telafi.clock import Clock
from telafi.errors import NotJoinable
from telafi.keys import checked_scope
from telafi.ledger.kinds import KINDS, Kind
from telafi.ledger.marks import MarkScope
from telafi.ledger.port import Engine
from telafi.ledger.runners import aperform, perform
from telafi.ledger.steps import Statement, Steps
from telafi.ledger.tally import Tally
from telafi.ledger.transaction import AsyncTransaction, Transaction


class Joining:
    """Joins transactions in one ledger's own database."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._ledger: str | None = None
        # Driver connections that were seen to lead to this ledger; one never changes its database.
        self._known: WeakSet[Any] = WeakSet()

    def join(self, connection: Any, scope: str) -> Transaction:
        """Join what a blocking connection has open; raises NotJoinable."""
        known, scope = self._kind_of(connection, is_async=False), checked_scope(scope)
        module = import_module(f"telafi.ledger.handles.{known.module}")
        handle = module.joined(connection, self._engine.texts)
        if not self._knows(handle):
            perform(self._compare(self._ledger or self._read_own()), handle)
            self._remember(handle)
        kind: type[Transaction] = getattr(module, known.transaction) if known.transaction else Transaction
        return kind(handle, self._tally(scope), connection)

    async def ajoin(self, connection: Any, scope: str) -> AsyncTransaction:
        """Join what an async connection has open; raises NotJoinable."""
        known, scope = self._kind_of(connection, is_async=True), checked_scope(scope)
        module = import_module(f"telafi.ledger.handles.{known.module}")
        handle = await module.joined(connection, self._engine.texts)
        if not self._knows(handle):
            await aperform(self._compare(self._ledger or await self._aread_own()), handle)
            self._remember(handle)
        kind: type[AsyncTransaction] = getattr(module, known.transaction) if known.transaction else AsyncTransaction
        return kind(handle, self._tally(scope), connection)

    def _kind_of(self, connection: Any, *, is_async: bool) -> Kind:
        shown = f"{type(connection).__module__}.{type(connection).__qualname__}"
        names = [f"{ancestor.__module__}.{ancestor.__qualname__}" for ancestor in type(connection).__mro__]
        kind = next((KINDS[name] for name in names if name in KINDS), None)
        if kind is None:
            raise NotJoinable(f"Telafi cannot join a {shown}; it can join: {', '.join(KINDS)}")
        if kind.is_async != is_async:
            verb = "`await app.ajoin(…)`" if kind.is_async else "`app.join(…)`"
            raise NotJoinable(f"a {shown} is joined by {verb}")
        if kind.dialect not in (None, self._engine.dialect):
            raise NotJoinable(f"this is a {shown}, but the ledger is on {self._engine.dialect}")
        return kind

    def _tally(self, scope: str) -> Tally:
        parent = f"join {secrets.token_hex(8)}"

        def origin() -> MarkScope:
            return MarkScope(scope, parent, self._clock.now_microseconds())

        return Tally(origin, returning=self._engine.is_server)

    def _knows(self, handle: Any) -> bool:
        """Say whether the check can be left out; where nothing is open yet, it also opens the transaction."""
        with suppress(TypeError):  # a sqlite3.Connection cannot be remembered, and is asked in microseconds
            return _driver_of(handle) in self._known and handle.transaction_state() == "open"
        return False

    def _remember(self, handle: Any) -> None:
        with suppress(TypeError):
            self._known.add(_driver_of(handle))

    def _compare(self, own: str) -> Steps[None]:
        """Ask the connection for the ledger that it leads to."""
        found = yield from read_id()
        if found is None:
            raise NotJoinable(
                "the ledger's tables are not in this connection's database: connect to "
                f"{self._engine.describe()}, or create them there with `telafi db upgrade` (app.ledger.upgrade())"
            )
        if found != own:
            raise NotJoinable(
                f"this connection leads to another database than the ledger {self._engine.describe()}: a mark there "
                "would protect nothing here"
            )

    def _read_own(self) -> str:
        self._check_file()
        handle = self._engine.connect(patient=False)
        try:
            return self._own(perform(read_id(), handle))
        finally:
            handle.close()

    async def _aread_own(self) -> str:
        self._check_file()
        handle = await self._engine.aconnect()
        try:
            return self._own(await aperform(read_id(), handle))
        finally:
            await handle.close()

    def _check_file(self) -> None:
        """Joining creates no ledger: it could not, beside a transaction that is open already."""
        file = self._engine.file()
        if file is not None and not file.exists():
            self._own(None)

    def _own(self, found: str | None) -> str:
        if found is None:
            raise NotJoinable(
                f"the ledger {self._engine.describe()} has no tables yet: create them once with `telafi db upgrade` "
                "(app.ledger.upgrade())"
            )
        self._ledger = found
        return found


def read_id() -> Steps[str | None]:
    """Read the id of the ledger that a connection leads to, None where there is none."""
    tables = yield Statement("find_versions")
    if not tables.rows[0][0]:
        return None
    answer = yield Statement("read_ledger")
    ledger: str = answer.rows[0][0]
    return ledger


def _driver_of(handle: Any) -> Any:
    return handle.driver if hasattr(handle, "driver") else handle.connection
