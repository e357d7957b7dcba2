"""The transaction that a unit is given: statements and record keys that commit together with the mark."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from telafi.keys import checked_key, checked_keys, fingerprint
from telafi.ledger.marks import first_time, first_times
from telafi.ledger.runners import aperform, perform
from telafi.ledger.steps import AsyncHandle, Handle, Steps
from telafi.ledger.tally import Tally

T = TypeVar("T")


class Transaction:
    """The open transaction of a unit, on a blocking connection.

    Everything written through it commits together with the mark of the unit, or not at all. `connection` is the
    driver's own connection; its commit and rollback are refused while the unit is open.
    """

    def __init__(self, handle: Handle, tally: Tally, connection: Any) -> None:
        self._handle = handle
        self._tally = tally
        self._connection = connection

    @property
    def connection(self) -> Any:
        """Give the driver's own connection; what is written past this transaction's verbs cannot be watched."""
        self._tally.lent = True
        return self._connection

    def execute(self, sql: str, parameters: Any = None) -> Any:
        """Run a statement in the driver's own parameter style and give back the driver's cursor.

        Raises TransactionControl where the unit's transaction has ended, and whatever the driver raises.
        """
        self._tally.before(sql, self._handle.transaction_state())
        given = () if parameters is None else (parameters,)
        try:
            changes = _changes_of(self._connection)
            cursor = self._connection.execute(sql, *given)
        except BaseException as error:
            self._tally.met = error
            raise
        returned_rows = cursor.description is not None
        self._tally.after(self._handle.transaction_state(), cursor.rowcount, returned_rows=returned_rows)
        if returned_rows:
            self._tally.returned(sql, cursor.rowcount, self._connection, changes)
        return cursor

    def executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        """Run a statement once for each row of parameters and give back the driver's cursor."""
        self._tally.before(sql, self._handle.transaction_state())
        cursor = self._connection.cursor()
        try:
            cursor.executemany(sql, rows)
        except BaseException as error:
            self._tally.met = error
            raise
        self._tally.after(self._handle.transaction_state(), cursor.rowcount, returned_rows=False)
        return cursor

    def first_time(self, key: str, *, scope: str | None = None, payload: object = None) -> bool:
        """Remember a record key in this transaction: True the first time, False on a repeat.

        With a payload, the same key with another payload raises KeyConflict. Keys are compared byte by byte,
        500 bytes at most, in the scope of the job unless `scope=` shares one. Rule: semantics §2.
        """
        marks = self._tally.marks(scope, self._handle.transaction_state())
        digest = None if payload is None else fingerprint(payload)
        new = self._perform(first_time(marks, checked_key(key), digest))
        self._tally.count(1, int(new))
        return new

    def first_times(self, keys: Iterable[str], *, scope: str | None = None) -> list[str]:
        """Remember many record keys at once and give back the new ones, in the order given, each once.

        A key that stands twice among `keys` counts as new once and as repeated once.
        """
        asked = checked_keys(keys)
        marks = self._tally.marks(scope, self._handle.transaction_state())
        new = self._perform(first_times(marks, asked, returning=self._tally.returning)) if asked else set()
        self._tally.count(len(asked), len(new))
        return in_order(asked, new)

    def _perform(self, steps: Steps[T]) -> T:
        try:
            return perform(steps, self._handle)
        except BaseException as error:
            self._tally.met = error
            raise


class AsyncTransaction:
    """The open transaction of a unit, on an async connection; the verbs of `Transaction`."""

    def __init__(self, handle: AsyncHandle, tally: Tally, connection: Any) -> None:
        self._handle = handle
        self._tally = tally
        self._connection = connection

    @property
    def connection(self) -> Any:
        """Give the driver's own connection; what is written past this transaction's verbs cannot be watched."""
        self._tally.lent = True
        return self._connection

    def execute(self, sql: str, parameters: Any = None) -> Coroutine[Any, Any, Any]:
        """Run a statement in the driver's own parameter style and give back the driver's cursor."""
        return self._awaited(self._execute(sql, parameters))

    def executemany(self, sql: str, rows: Iterable[Any]) -> Coroutine[Any, Any, Any]:
        """Run a statement once for each row of parameters and give back the driver's cursor."""
        return self._awaited(self._executemany(sql, rows))

    def first_time(self, key: str, *, scope: str | None = None, payload: object = None) -> Coroutine[Any, Any, bool]:
        """Remember a record key in this transaction: True the first time, False on a repeat."""
        return self._awaited(self._first_time(key, scope, payload))

    def first_times(self, keys: Iterable[str], *, scope: str | None = None) -> Coroutine[Any, Any, list[str]]:
        """Remember many record keys at once and give back the new ones, in the order given, each once."""
        return self._awaited(self._first_times(keys, scope))

    async def _execute(self, sql: str, parameters: Any) -> Any:
        self._tally.before(sql, self._handle.transaction_state())
        given = () if parameters is None else (parameters,)
        changes = _changes_of(self._connection)
        cursor = await self._connection.execute(sql, *given)
        returned_rows = cursor.description is not None
        self._tally.after(self._handle.transaction_state(), cursor.rowcount, returned_rows=returned_rows)
        if returned_rows:
            self._tally.returned(sql, cursor.rowcount, self._connection, changes)
        return cursor

    async def _executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        self._tally.before(sql, self._handle.transaction_state())
        cursor = self._connection.cursor()
        cursor = await cursor if inspect.isawaitable(cursor) else cursor
        await cursor.executemany(sql, rows)
        self._tally.after(self._handle.transaction_state(), cursor.rowcount, returned_rows=False)
        return cursor

    async def _first_time(self, key: str, scope: str | None, payload: object) -> bool:
        marks = self._tally.marks(scope, self._handle.transaction_state())
        digest = None if payload is None else fingerprint(payload)
        new = await aperform(first_time(marks, checked_key(key), digest), self._handle)
        self._tally.count(1, int(new))
        return new

    async def _first_times(self, keys: Iterable[str], scope: str | None) -> list[str]:
        asked = checked_keys(keys)
        marks = self._tally.marks(scope, self._handle.transaction_state())
        steps = first_times(marks, asked, returning=self._tally.returning)
        new = await aperform(steps, self._handle) if asked else set()
        self._tally.count(len(asked), len(new))
        return in_order(asked, new)

    def _awaited(self, coroutine: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Count a call until somebody awaits it: one that nobody does would pass for one that wrote."""
        self._tally.pending += 1
        return self._watched(coroutine)

    async def _watched(self, coroutine: Coroutine[Any, Any, T]) -> T:
        self._tally.pending -= 1
        try:
            return await coroutine
        except BaseException as error:
            self._tally.met = error
            raise


def _changes_of(connection: Any) -> int | None:
    """Count the rows that were written on a connection of SQLite's so far; None on any other."""
    changes: int | None = getattr(connection, "total_changes", None)
    return changes


def in_order(asked: Sequence[str], new: set[str]) -> list[str]:
    """Give the new keys in the order in which they were asked for, each once."""
    return [key for key in dict.fromkeys(asked) if key in new]
