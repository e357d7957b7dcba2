"""The engine seam: what a database has to offer so that a ledger can live in it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Final, Protocol

from telafi.errors import LedgerError
from telafi.ledger.steps import AsyncHandle, Handle
from telafi.ledger.texts import Texts
from telafi.plan.windows import Style


class Fault(Enum):
    """What a database error means for the unit that met it (transactions §2.2); told by code, never by message."""

    SERIALIZATION = "serialization"
    LOCK_WAIT = "lock-wait"
    TRANSIENT = "transient"
    LOST = "lost"
    STORAGE = "storage"
    ABORTED = "aborted"
    CONTROL = "control"
    OTHER = "other"


REPEATABLE: Final = frozenset({Fault.SERIALIZATION, Fault.LOCK_WAIT, Fault.TRANSIENT, Fault.LOST})


class Engine(Protocol):
    """A database by its URL: it connects, classifies errors, and says what it can do."""

    dialect: str
    texts: Texts
    style: Style
    is_server: bool

    def describe(self) -> str:
        """Give the URL without any password."""

    def file(self) -> Path | None:
        """Give the file that the ledger lives in, None where it lives in a server."""

    def connect(self, guest: str | None = None, *, patient: bool = True) -> Handle:
        """Open a connection of our own; `guest` names the object that a job asks for beside it.

        One that is not patient gives up at once where it would have to wait for a lock.
        """

    async def aconnect(self, guest: str | None = None) -> AsyncHandle:
        """Open one for async code."""

    def explain(self, error: BaseException) -> LedgerError:
        """Say what is wrong with the ledger, where, and what to do."""

    def classify(self, error: BaseException) -> Fault:
        """Say what an error means, by its code."""
