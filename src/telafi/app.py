"""The application: the one place that wires engine, locks, jobs and subscribers together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from telafi.clock import Clock, SystemClock
from telafi.errors import MalformedUrl
from telafi.events import Event, Events
from telafi.ledger.engines.postgresql import PostgresqlEngine
from telafi.ledger.engines.sqlite import SqliteEngine
from telafi.ledger.joining import Joining
from telafi.ledger.port import Engine
from telafi.ledger.transaction import AsyncTransaction, Transaction
from telafi.ledger.verbs import Ledger
from telafi.lock.moment import Moment
from telafi.plan.retry import RetryPolicy
from telafi.work.attempts import Repeater
from telafi.work.job import InDoubtPolicy, Isolation, Job, OnError
from telafi.work.jobs import Jobs

P = ParamSpec("P")
R = TypeVar("R")


class Telafi:
    """An application on one ledger: `Telafi("sqlite:///sales.db")`, `Telafi("postgresql://user@host/database")`.

    `schema` names the ledger's schema on a server, `place` the directory of the lock files, `locked=False` switches
    the file lock off (nothing breaks, work is only tried more often), `lock_timeout_seconds` bounds the wait for
    another's row or file, `clock` is for tests. Raises MalformedUrl.

    >>> app = Telafi("sqlite:///sales.db")
    >>> app.ledger.url.startswith("sqlite:///")
    True
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "telafi",
        place: str | Path | None = None,
        locked: bool = True,
        lock_timeout_seconds: float = 10.0,
        network_allowed: bool = False,
        retry: RetryPolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.events = Events()
        engine = _engine_of(url, schema, lock_timeout_seconds, network_allowed=network_allowed)
        policy = retry or RetryPolicy()
        moment = Moment(
            engine.describe(),
            engine.file(),
            self.clock,
            place=None if place is None else Path(place),
            locked=locked,
            network_allowed=network_allowed,
        )
        self.ledger = Ledger(engine, self.clock, Repeater(engine, self.clock, self.events, policy))
        self._joining = Joining(engine, self.clock)
        self.jobs = Jobs(self.ledger, engine, self.clock, self.events, moment, policy)

    def job(
        self,
        *,
        name: str | None = None,
        every: str | timedelta | None = None,
        anchor: datetime | str | None = None,
        since: datetime | str | None = None,
        grace: str | timedelta = "0s",
        max_age: str | timedelta | None = None,
        max_windows: int = 100,
        late_after: str | timedelta | None = None,
        remember: str | timedelta = "400d",
        on_error: OnError = "stop",
        attempts: int = 3,
        crash_attempts: int = 3,
        if_in_doubt: InDoubtPolicy = "rerun",
        isolation: Isolation | None = None,
        group: int = 1,
        group_ms: int = 1_000,
        must_have_effect: int | None = None,
        late_rows: str | None = None,
    ) -> Callable[[Callable[P, R]], Job[P, R]]:
        """Declare a function as a job over windows; `docs/reference/jobs.md` explains each option.

        Raises ScheduleError, CannotGive or DuplicateJob where the declaration cannot work, at import time.
        """
        options = {key: value for key, value in locals().items() if key != "self"}
        return lambda function: self.jobs.declare(function, **options)

    def join(self, connection: Any, *, scope: str) -> Transaction:
        """Join the transaction that is open on a connection or session of yours: record keys commit with it, or not.

        `scope` keeps these keys apart from others'. Raises NotJoinable, which names the fix.
        """
        return self._joining.join(connection, scope)

    async def ajoin(self, connection: Any, *, scope: str) -> AsyncTransaction:
        """Join the transaction of an async connection or session; the rules of `join`."""
        return await self._joining.ajoin(connection, scope)

    def subscribe(self, subscriber: Callable[[Event], None]) -> Callable[[], None]:
        """Hand every outcome and notice to a function; gives back the function that ends it."""
        return self.events.subscribe(subscriber)


def _engine_of(url: str, schema: str, lock_timeout_seconds: float, *, network_allowed: bool) -> Engine:
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite" and rest.startswith("/") and rest[1:] and not set(rest) & set("?#"):
        if rest == "/:memory:":
            raise MalformedUrl("a ledger in memory would forget everything with the process: name a file")
        path = Path(rest[1:])
        return SqliteEngine(path, lock_timeout_seconds=lock_timeout_seconds, network_allowed=network_allowed)
    if separator and scheme in ("postgresql", "postgres", "postgresql+psycopg") and rest:
        return PostgresqlEngine(url, schema=schema, lock_timeout_seconds=lock_timeout_seconds)
    shown = f"{scheme}://…" if separator else url
    raise MalformedUrl(
        f"{shown!r} is not the URL of a ledger: write sqlite:///file.db, sqlite:////absolute/file.db or "
        "postgresql://user@host/database"
    )
