"""PostgreSQL: the ledger in a schema of its own, beside the data."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from telafi.errors import LedgerError, MalformedUrl, MissingDriver
from telafi.ledger.causes import causes
from telafi.ledger.port import Fault
from telafi.ledger.steps import AsyncHandle
from telafi.ledger.texts import Texts, percent_style
from telafi.plan.windows import Style

if TYPE_CHECKING:
    from telafi.ledger.handles.psycopg import OwnPsycopgHandle

SCHEMA_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,40}")
CONNECT_TIMEOUT_SECONDS: Final = 10
_LEVELS: Final = frozenset({"read committed", "repeatable read", "serializable"})
_STATES: Final = {
    "40001": Fault.SERIALIZATION,
    "40P01": Fault.SERIALIZATION,
    "55P03": Fault.LOCK_WAIT,
    "57P03": Fault.TRANSIENT,
    "57P01": Fault.LOST,
    "57P02": Fault.LOST,
    "25006": Fault.LOST,
    "25P03": Fault.LOST,
    "25P04": Fault.LOST,
    "57P05": Fault.LOST,
    "53100": Fault.STORAGE,
    "58030": Fault.STORAGE,
    "25P02": Fault.ABORTED,
}
_CLASSES: Final = {"53": Fault.TRANSIENT, "08": Fault.LOST}
# As libpq reads it: a user name and a password end at the first @ or /, so neither may hold one of them.
_HOST: Final = r"(?:\[[^\]@/?]*\]|[^:@/?,\[\]]*)(?::\d*)?"
_URL: Final = re.compile(
    rf"(?P<scheme>[a-z]+)://(?:(?P<user>[^:@/?]*)(?P<password>:[^@/]*)?@)?(?P<place>{_HOST}(?:,{_HOST})*(?:/[^@?]*)?)"
    r"(?:\?(?:[^=&?]+=[^&]*(?:&|$))*)?"
)


class PostgresqlEngine:
    """A ledger on a server, for any number of machines."""

    dialect = "postgresql"
    style: Style = "datetime"
    is_server = True

    def __init__(self, url: str, *, schema: str = "telafi", lock_timeout_seconds: float = 10.0) -> None:
        if not SCHEMA_NAME.fullmatch(schema):
            raise MalformedUrl(f"the schema name {schema!r} is not usable: letters a-z, digits and _, 41 at most")
        self._url = re.sub(r"^postgresql\+psycopg:", "postgresql:", url)
        parts = _URL.fullmatch(self._url)
        if parts is None:
            raise _malformed("write / as %2F, @ as %40, ? as %3F and % as %25 in a user name and a password")
        self._parts = parts
        self.schema = schema
        self._lock_timeout_ms = max(1, round(lock_timeout_seconds * 1_000))  # 0 would wait for ever
        self.texts = Texts("postgresql", self._adapt)

    def describe(self) -> str:
        """Give the URL without any password, and without its options, which may hold one."""
        scheme, user, password, place = self._parts.groups()
        secret = "" if password is None else ":***"
        return f"{scheme}://{place}" if user is None else f"{scheme}://{user}{secret}@{place}"

    def file(self) -> None:
        """Give nothing: the ledger lives in a server."""

    def connect(self, guest: str | None = None, *, patient: bool = True) -> OwnPsycopgHandle:
        """Connect; raises LedgerError with what the server or the network said, MalformedUrl with what libpq said."""
        try:
            import psycopg

            from telafi.ledger.handles.psycopg import OwnPsycopgHandle, UnitConnection
        except ImportError as error:
            raise _missing() from error
        make_guest = None
        if guest is not None and guest.startswith("sqlalchemy"):
            from telafi.ledger.handles.sqlalchemy import guest_on_postgresql

            make_guest = partial(guest_on_postgresql, kind=guest)
        self._insist_on_url()
        try:
            connect = partial(UnitConnection.connect, self._url, **self.connect_parameters())
            return OwnPsycopgHandle(self.texts, connect, partial(self.begin_text, patient=patient), make_guest)
        except psycopg.Error as error:
            raise self.explain(error) from error

    async def aconnect(self, guest: str | None = None) -> AsyncHandle:
        """Connect for async code."""
        try:
            import psycopg

            from telafi.ledger.handles.psycopg_async import open_handle
        except ImportError as error:
            raise _missing() from error
        self._insist_on_url()
        try:
            return await open_handle(self.texts, self._url, self.connect_parameters(), self.begin_text, guest)
        except psycopg.Error as error:
            raise self.explain(error) from error

    def classify(self, error: BaseException) -> Fault:
        """Say what an error means, by its SQLSTATE; a connection that broke has none."""
        for cause in causes(error):
            if type(cause).__module__.partition(".")[0] != "psycopg":
                continue
            state = getattr(cause, "sqlstate", None)
            if state is not None:
                return _STATES.get(state) or _CLASSES.get(state[:2], Fault.OTHER)
            if type(cause).__name__ in ("OperationalError", "ConnectionTimeout"):
                return Fault.LOST
        return Fault.OTHER

    def connect_parameters(self) -> dict[str, Any]:
        """Give the settings of every connection: UTF-8 always, dead peers noticed within 30 seconds, no named plans."""
        return {
            "autocommit": True,
            "prepare_threshold": None,
            "client_encoding": "utf8",
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
            "application_name": "telafi",
        }

    def begin_text(self, isolation: str | None, *, patient: bool = True) -> str:
        """Write the BEGIN of a unit."""
        level = isolation or "read committed"
        if level not in _LEVELS:
            raise LedgerError(f"PostgreSQL has no isolation level {isolation!r}")
        timeout_ms = self._lock_timeout_ms if patient else 1
        return f"BEGIN ISOLATION LEVEL {level}; SET LOCAL lock_timeout = {timeout_ms}"

    def explain(self, error: BaseException) -> LedgerError:
        """Say what the server or the network said, in one line."""
        reason = " ".join(str(error).split()) or type(error).__name__
        return LedgerError(f"the ledger {self.describe()} cannot be reached: {reason}")

    def _insist_on_url(self) -> None:
        """Let libpq read the URL; what it quotes of it may be the password."""
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        try:
            conninfo_to_dict(self._url)
        except ProgrammingError as error:
            reason = re.sub(r'"[^"]*"', '"…"', " ".join(str(error).split()))
            raise _malformed(f"libpq says: {reason}") from None

    def _adapt(self, text: str) -> str:
        if self.schema != "telafi":
            text = re.sub(r"\btelafi\.(?=[a-z_]+)", f"{self.schema}.", text)
            text = text.replace("SCHEMA IF NOT EXISTS telafi", f"SCHEMA IF NOT EXISTS {self.schema}")
            text = text.replace("'telafi:schema'", f"'{self.schema}:schema'")
        return percent_style(text)


def _malformed(reason: str) -> MalformedUrl:
    return MalformedUrl(f"this postgresql:// URL cannot be read, {reason}")


def _missing() -> MissingDriver:
    return MissingDriver("a postgresql:// ledger needs psycopg: pip install 'telafi[postgresql]'")
