"""The tally of a unit: what it has done so far, and whether its transaction is still whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from telafi.errors import TransactionControl, WrongUse
from telafi.keys import checked_scope
from telafi.ledger.marks import MarkScope

_SETTING: Final = re.compile(r"\s*(SET|RESET|DISCARD)\b", re.IGNORECASE)
_WRITING: Final = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:INSERT|UPDATE|DELETE|MERGE|REPLACE|WITH\b.*\bRETURNING)\b",
    re.IGNORECASE | re.DOTALL,
)


class Tally:
    """What a unit has done so far, and whether its transaction is still whole."""

    __slots__ = (
        "counted",
        "grouped",
        "instant",
        "keyed",
        "late",
        "lent",
        "met",
        "new",
        "origin",
        "pending",
        "repeated",
        "returning",
        "split",
    )

    def __init__(self, origin: Callable[[], MarkScope], *, returning: bool, grouped: bool = False) -> None:
        self.origin = origin
        self.returning = returning
        self.grouped = grouped
        self.split = False
        self.lent = False
        self.met: BaseException | None = None
        self.pending = 0
        self.keyed = False
        self.instant = 0
        self.new = 0
        self.repeated = 0
        self.counted = 0
        self.late: Callable[[], int] | None = None

    @property
    def effects(self) -> int:
        """Give the number of rows that were written."""
        return self.counted if self.late is None else max(self.counted, self.late())

    def settle(self) -> None:
        """Count to the end here: what is written on this connection from now on is somebody else's."""
        self.counted, self.late = self.effects, None

    def before(self, sql: str, state: str) -> None:
        """Refuse a statement that would fall outside the unit's transaction."""
        if self.split or state == "none":
            raise TransactionControl("the unit's transaction has ended: no further statement can join it")
        if self.grouped and _SETTING.match(sql):
            raise WrongUse("SET is refused in a job with group=: it would reach into the other units of the group")

    def after(self, state: str, rowcount: int, *, returned_rows: bool) -> None:
        """Notice at once when the statement ended the transaction; count what it changed."""
        if state == "none":
            self.split = True
            raise TransactionControl
        if not returned_rows and rowcount > 0:
            self.counted += rowcount

    def returned(self, sql: str, rowcount: int, connection: Any, changes: int | None) -> None:
        """Count what a statement with RETURNING wrote; SQLite itself knows it only when the rows have been read."""
        if not _WRITING.match(sql):
            return
        if changes is None:
            self.counted += max(rowcount, 0)
        elif self.late is None:
            since = changes - self.counted
            self.late = lambda: connection.total_changes - since

    def marks(self, scope: str | None, state: str) -> MarkScope:
        """Choose the scope of record keys: the asking job's own, or one that is shared on purpose."""
        self.before("", state)
        self.keyed = True
        origin = self.origin()
        self.instant = max(origin.created_at, self.instant + 1)
        return MarkScope(origin.scope if scope is None else checked_scope(scope), origin.parent, self.instant)

    def count(self, asked: int, new: int) -> None:
        """Count new and repeated record keys."""
        self.new += new
        self.repeated += asked - new
        self.counted += new
