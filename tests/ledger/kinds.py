"""Every connection, session and ORM object that Telafi works with, spoken to by one pen."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiosqlite
import psycopg
import pytest
from sqlalchemy import Connection, Integer, create_engine
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from telafi import AsyncTransaction, Telafi, Transaction, Window
from tests.work.stage import DAY, Stage


class Base(DeclarativeBase):
    """The test's own mapping."""


class Effect(Base):
    """One row of the stage's table of effects."""

    __tablename__ = "effects"

    place: Mapped[str] = mapped_column(primary_key=True)
    amount: Mapped[int] = mapped_column(Integer, default=1)


@dataclass(frozen=True)
class Kind:
    """One class of connection on one engine."""

    name: str
    engine: str
    annotation: type
    is_async: bool

    @property
    def is_raw(self) -> bool:
        return "sqlalchemy" not in self.annotation.__module__

    @property
    def is_session(self) -> bool:
        return self.annotation in (Session, AsyncSession)


KINDS: Final = (
    Kind("sqlite3", "sqlite", sqlite3.Connection, False),
    Kind("aiosqlite", "sqlite", aiosqlite.Connection, True),
    Kind("psycopg", "postgresql", psycopg.Connection, False),
    Kind("psycopg-async", "postgresql", psycopg.AsyncConnection, True),
    *(
        Kind(f"{annotation.__name__}-{engine}", engine, annotation, annotation in (AsyncConnection, AsyncSession))
        for annotation in (Connection, Session, AsyncConnection, AsyncSession)
        for engine in ("sqlite", "postgresql")
    ),
)


RAW_KINDS: Final = tuple(kind for kind in KINDS if kind.is_raw)
SESSIONS: Final = tuple(kind for kind in KINDS if kind.is_session)
ON_SQLITE: Final = tuple(kind for kind in KINDS if kind.engine == "sqlite")
ON_POSTGRESQL: Final = tuple(kind for kind in KINDS if kind.engine == "postgresql")


def only(kinds: Sequence[Kind]) -> pytest.MarkDecorator:
    """Narrow the kinds that a test is run with."""
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.name)


class Pen:
    """Writes on whatever it was given; every verb is a coroutine, which never waits on a blocking thing."""

    def __init__(self, stage: Stage, thing: Any, tx: Any = None) -> None:
        self.stage, self.thing, self.tx = stage, thing, tx

    async def write(self, place: str) -> None:
        """Leave one effect; a session keeps it to itself until it is flushed."""
        if isinstance(self.thing, Session | AsyncSession):
            self.thing.add(Effect(place=place))
        else:
            await self.execute("INSERT INTO effects VALUES (?, 1)", (place,))

    async def execute(self, text: str, parameters: tuple[Any, ...] = ()) -> Any:
        """Run a statement in the driver's own style, past any session."""
        thing = self.thing
        if isinstance(thing, Session | AsyncSession):
            thing = await waited(thing.connection())
        run = thing.exec_driver_sql if isinstance(thing, Connection | AsyncConnection) else thing.execute
        return await waited(run(self.stage.sql(text), parameters or None) if parameters else run(text))

    async def call(self, verb: str, *arguments: Any) -> Any:
        """Call a method of the thing."""
        return await waited(getattr(self.thing, verb)(*arguments))

    async def first_time(self, key: str) -> bool:
        return bool(await waited(self.tx.first_time(key)))

    async def first_times(self, keys: list[str]) -> list[str]:
        return list(await waited(self.tx.first_times(keys)))


Script = Callable[[Pen, Window], Coroutine[Any, Any, object]]


async def waited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def driven(script: Coroutine[Any, Any, object]) -> object:
    """Run a coroutine that never waits."""
    try:
        script.send(None)
    except StopIteration as end:
        return end.value
    script.close()
    raise AssertionError("a blocking thing made its pen wait")


def hourly(stage: Stage, kind: Kind, script: Script, **options: Any) -> None:
    """Declare a job over hours since ten o'clock that asks for a thing of that kind, and for its transaction."""

    def blocking(window: Window, tx: Transaction, thing: Any) -> None:
        driven(script(Pen(stage, thing, tx), window))

    async def waiting(window: Window, tx: AsyncTransaction, thing: Any) -> None:
        await script(Pen(stage, thing, tx), window)

    function: Callable[..., Any] = waiting if kind.is_async else blocking
    function.__annotations__["thing"] = kind.annotation
    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", **options)(function)


@asynccontextmanager
async def held(stage: Stage, kind: Kind, url: str | None = None) -> AsyncIterator[Any]:
    """Open a thing of that kind as a user would, with its transaction about to begin or begun."""
    url = url or stage.url
    if kind.is_raw:
        thing = await waited(_RAW[kind.annotation](url.removeprefix("sqlite:///")))
        if kind.engine == "sqlite":
            await waited(thing.execute("BEGIN IMMEDIATE"))
        try:
            yield thing
        finally:
            await waited(thing.close())
        return
    driver = "aiosqlite" if kind.is_async and kind.engine == "sqlite" else "psycopg"
    address = url.replace("postgresql:", "postgresql+psycopg:")
    if kind.is_async:
        engine = create_async_engine(address.replace("sqlite:", f"sqlite+{driver}:"))
        waiting = engine.connect() if kind.annotation is AsyncConnection else AsyncSession(engine)
        try:
            async with waiting as thing:
                yield thing
        finally:
            await engine.dispose()
        return
    blocking = create_engine(address)
    try:
        with blocking.connect() if kind.annotation is Connection else Session(blocking) as thing:
            yield thing
    finally:
        blocking.dispose()


_RAW: Final[dict[type, Callable[[str], Any]]] = {
    sqlite3.Connection: lambda path: sqlite3.connect(path, isolation_level=None),
    aiosqlite.Connection: lambda path: aiosqlite.connect(path, isolation_level=None),
    psycopg.Connection: psycopg.connect,
    psycopg.AsyncConnection: psycopg.AsyncConnection.connect,
}


async def join(app: Telafi, kind: Kind, thing: Any, scope: str = "billing") -> Any:
    """Join by the verb for that kind."""
    return await app.ajoin(thing, scope=scope) if kind.is_async else app.join(thing, scope=scope)
