"""The ledger as an application sees it: open it, upgrade it, look at its schema."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Protocol, TypeVar

from telafi.clock import Clock
from telafi.errors import LedgerBusy, TelafiError
from telafi.ledger.causes import told_by_driver
from telafi.ledger.port import Engine, Fault
from telafi.ledger.runners import aperform, perform
from telafi.ledger.schema import SchemaStatus, ensure, read_status, script, status_of, upgrade
from telafi.ledger.steps import AsyncHandle, Handle, Steps

T = TypeVar("T")


class Repeat(Protocol):
    """Runs a whole transaction, again while its errors allow it."""

    def __call__(self, make: Callable[[], Steps[T]]) -> Steps[T]:
        """Run it."""


class Ledger:
    """One set of tables in the user's own database."""

    def __init__(self, engine: Engine, clock: Clock, repeat: Repeat) -> None:
        self._engine = engine
        self._clock = clock
        self._repeat = repeat

    @property
    def url(self) -> str:
        """Give the ledger's URL without any password."""
        return self._engine.describe()

    @contextmanager
    def opened(self, guest: str | None = None, *, patient: bool = True) -> Iterator[Handle]:
        """Open a connection for a block; a SQLite ledger is created on first use. Raises LedgerError."""
        with self._named():
            handle = self._engine.connect(guest, patient=patient)
            try:
                perform(self._repeat(lambda: ensure(self._engine, self._clock)), handle)
                yield handle
            finally:
                handle.close()

    @asynccontextmanager
    async def aopened(self, guest: str | None = None) -> AsyncIterator[AsyncHandle]:
        """Open an async connection for a block."""
        with self._named():
            handle = await self._engine.aconnect(guest)
            try:
                await aperform(self._repeat(lambda: ensure(self._engine, self._clock)), handle)
                yield handle
            finally:
                await handle.close()

    def upgrade(self) -> Sequence[str]:
        """Bring the schema up to this release and give back the migrations that were applied."""
        with self._named(), closing(self._engine.connect()) as handle:
            return perform(self._repeat(lambda: upgrade(self._engine, self._clock)), handle)

    def status(self) -> SchemaStatus:
        """Compare the ledger's schema with this release's."""
        file = self._engine.file()
        if file is not None and file.parent.is_dir() and not file.exists():
            return status_of(self._engine, ())  # looking creates nothing
        with self._named(), closing(self._engine.connect()) as handle:
            return perform(read_status(self._engine), handle)

    def sql(self) -> str:
        """Give what `upgrade` does to an empty database as one script, for people who apply it by their own tools."""
        return script(self._engine, self._clock)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Turn a driver's error that no step could answer into one that names the ledger and can be caught."""
        try:
            yield
        except TelafiError:
            raise
        except Exception as error:
            fault = self._engine.classify(error)
            if fault in (Fault.LOCK_WAIT, Fault.SERIALIZATION):
                text = f"the ledger {self.url} stayed busy beyond the limit, another writer holds it: {error}"
                raise LedgerBusy(text) from error
            # A job's own errors never come here: what a driver says now, it says of the ledger's statements.
            if told_by_driver(error) or fault is not Fault.OTHER:
                raise self._engine.explain(error) from error
            raise
