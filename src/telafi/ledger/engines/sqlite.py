"""SQLite: the ledger in a file beside the data; it creates itself on first use."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from telafi.errors import LedgerError, MissingDriver
from telafi.ledger.causes import causes
from telafi.ledger.handles.guest import Guest
from telafi.ledger.handles.sqlite3 import OwnSqliteHandle
from telafi.ledger.mounts import file_system_of, is_network
from telafi.ledger.port import Fault
from telafi.ledger.steps import AsyncHandle
from telafi.ledger.texts import Texts
from telafi.plan.windows import Style

VERSION_MIN: Final = (3, 24, 0)
BUSY: Final = 5
LOCKED: Final = 6
READONLY: Final = 8
IOERR: Final = 10
CORRUPT: Final = 11
FULL: Final = 13
CANTOPEN: Final = 14
AUTH: Final = 23
NOTADB: Final = 26
BUSY_SNAPSHOT: Final = 517
_PRIMARY: Final = {
    BUSY: Fault.LOCK_WAIT,
    LOCKED: Fault.LOCK_WAIT,
    IOERR: Fault.LOST,
    READONLY: Fault.STORAGE,
    CORRUPT: Fault.STORAGE,
    FULL: Fault.STORAGE,
    AUTH: Fault.CONTROL,
    CANTOPEN: Fault.STORAGE,
    NOTADB: Fault.STORAGE,
}
_ADVICE: Final = {
    READONLY: "is read-only: give this user write access to the file and its directory",
    CORRUPT: "is damaged (a page fails SQLite's checks): restore it from a backup, Telafi never recreates it",
    NOTADB: "is not a SQLite database: check the path, Telafi never overwrites a file",
    CANTOPEN: "cannot be opened: check that the directory exists and that this user may write to it",
    FULL: "cannot grow, the disk is full: free some space and run again",
    BUSY: "stayed locked by another writer beyond the limit",
}


class SqliteEngine:
    """A ledger in one file, for the processes of one machine."""

    dialect = "sqlite"
    style: Style = "iso"
    is_server = False

    def __init__(self, path: Path, *, lock_timeout_seconds: float = 10.0, network_allowed: bool = False) -> None:
        self.path = path.absolute()
        self._name = str(self.path)
        self.texts = Texts("sqlite")
        self._lock_timeout_seconds = lock_timeout_seconds
        self._network_allowed = network_allowed

    def describe(self) -> str:
        """Give the URL of the ledger."""
        return f"sqlite:///{self.path}"

    def file(self) -> Path:
        """Give the file that the ledger lives in."""
        return self.path

    def connect(self, guest: str | None = None, *, patient: bool = True) -> OwnSqliteHandle:
        """Open the file, creating it if it is not there; raises LedgerError with what is wrong and what to do."""
        self._check()
        try:
            opened = partial(self.open, patient=patient)
            return OwnSqliteHandle(self.texts, opened, self.identity, self._guest(guest))
        except sqlite3.Error as error:
            raise self.explain(error) from error

    async def aconnect(self, guest: str | None = None) -> AsyncHandle:
        """Open the file for async code, through aiosqlite."""
        try:
            from telafi.ledger.handles.aiosqlite import open_handle
        except ImportError as error:
            raise MissingDriver("async jobs on SQLite need aiosqlite: pip install 'telafi[aiosqlite]'") from error
        self._check()
        try:
            return await open_handle(partial(OwnSqliteHandle, self.texts, self.open, self.identity), guest)
        except sqlite3.Error as error:
            raise self.explain(error) from error

    def classify(self, error: BaseException) -> Fault:
        """Say what an error means, by SQLite's extended code."""
        for cause in causes(error):
            code = getattr(cause, "sqlite_errorcode", None)
            if isinstance(cause, sqlite3.Error) and code is not None:
                return Fault.SERIALIZATION if code == BUSY_SNAPSHOT else _PRIMARY.get(code & 0xFF, Fault.OTHER)
        return Fault.OTHER

    def open(self, *, patient: bool = True) -> sqlite3.Connection:
        """Open one connection with the settings that the ledger relies on."""
        self._create_file()
        timeout = self._lock_timeout_seconds if patient else 0.0
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=timeout, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def explain(self, error: BaseException) -> LedgerError:
        """Say what is wrong with the file and what to do."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        advice = _ADVICE.get(code, f"cannot be used: {error}")
        return LedgerError(f"the ledger {self.path} {advice}")

    def identity(self) -> tuple[int, int]:
        """Give what tells this very file from another at the same path."""
        try:
            found = os.stat(self._name)  # noqa: PTH116 - asked before every unit, where a Path costs as much again
        except OSError as error:
            raise LedgerError(f"the ledger {self.path} is gone: {error.strerror}") from error
        return found.st_dev, found.st_ino

    def _check(self) -> None:
        if sqlite3.sqlite_version_info < VERSION_MIN:
            raise LedgerError(f"SQLite {sqlite3.sqlite_version} is too old: Telafi needs 3.24 (2018) or newer")
        if not self.path.parent.is_dir():
            raise LedgerError(f"the directory {self.path.parent} does not exist: create it, or correct the URL")
        if self.path.is_dir():
            raise LedgerError(f"{self.path} is a directory: the URL of a SQLite ledger names a file")
        kind = file_system_of(self.path)
        if kind is not None and is_network(kind) and not self._network_allowed:
            raise LedgerError(
                f"the ledger {self.path} is on a network file system ({kind}), where SQLite's locks do not hold: "
                "put it on a local disk, or use a postgresql:// ledger; Telafi(url, network_allowed=True) trusts it"
            )

    def _create_file(self) -> None:
        """Create the file for its owner only; an existing one is never opened but by SQLite."""
        if self.path.exists():
            return
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise LedgerError(f"the ledger {self.path} cannot be created: {error.strerror}") from error

    def _guest(self, guest: str | None) -> Callable[[sqlite3.Connection], Guest] | None:
        if guest is None or not guest.startswith("sqlalchemy"):
            return None
        from telafi.ledger.handles.sqlalchemy import guest_on_sqlite

        return partial(guest_on_sqlite, kind=guest)
