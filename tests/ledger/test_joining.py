"""Record keys in a transaction that the user opened: they commit with it, go with it, or are refused with the fix."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from telafi import KeyConflict, Telafi, TransactionControl
from telafi.errors import KeyNotUsable, NotJoinable
from tests.ledger.kinds import ON_POSTGRESQL, RAW_KINDS, Kind, Pen, held, join, only, waited
from tests.work.stage import Stage


@pytest.fixture(autouse=True)
def _tables(stage: Stage) -> None:
    stage.app.ledger.upgrade()


def keys(stage: Stage) -> list[str]:
    return [
        f"{row[0]} {row[1]}" for row in stage.execute(f"SELECT scope, mark_key FROM {stage.table('marks')} ORDER BY 2")
    ]


async def pay(stage: Stage, kind: Kind, thing: Any) -> tuple[bool, list[str]]:
    """What a payment's handler does: remember the key, then write."""
    tx = await join(stage.app, kind, thing)
    fresh = await waited(tx.first_time("order:1"))
    if fresh:
        await Pen(stage, thing).write("paid")
    return fresh, await waited(tx.first_times(["b", "order:1", "a", "b"]))


def test_what_the_user_commits_is_all_there_and_a_repeat_does_nothing(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        for expected in ((True, ["b", "a"]), (False, [])):
            async with held(stage, kind) as thing:
                assert await pay(stage, kind, thing) == expected
                await waited(thing.commit())

    asyncio.run(main())
    assert stage.effects() == ["paid"]
    assert keys(stage) == ["billing a", "billing b", "billing order:1"]


def test_what_the_user_rolls_back_was_never_there(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            assert await pay(stage, kind, thing) == (True, ["b", "a"])
            await waited(thing.rollback())

    asyncio.run(main())
    assert (stage.effects(), keys(stage)) == ([], [])


def test_what_is_neither_committed_nor_rolled_back_was_never_there(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            await pay(stage, kind, thing)
            if kind.annotation is psycopg.Connection or kind.annotation is psycopg.AsyncConnection:
                await waited(thing.rollback())

    asyncio.run(main())
    assert (stage.effects(), keys(stage)) == ([], [])


def test_statements_give_back_the_rows(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            tx = await join(stage.app, kind, thing)
            insert = stage.sql("INSERT INTO effects VALUES (?, ?)")
            assert (await waited(tx.execute(insert, ("one", 3)))).rowcount == 1
            assert (await waited(tx.executemany(insert, [("two", 1), ("three", 1)]))).rowcount == 2
            none = await waited(tx.executemany(insert, []))
            assert none is None or none.rowcount in (0, -1)
            cursor = await waited(tx.execute("SELECT SUM(amount) FROM effects"))
            assert (await waited(cursor.fetchone()))[0] == 5
            await waited(thing.commit())

    asyncio.run(main())
    assert stage.total() == 5


def test_a_percent_sign_is_one_where_there_are_no_parameters(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            tx = await join(stage.app, kind, thing)
            await waited(tx.execute("INSERT INTO effects VALUES ('50%', 1)"))
            cursor = await waited(tx.execute("SELECT amount FROM effects WHERE place LIKE '5%'"))
            assert tuple(await waited(cursor.fetchone())) == (1,)
            await waited(thing.commit())

    asyncio.run(main())
    assert stage.effects() == ["50%"]


def test_the_same_key_with_another_payload_is_a_conflict(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            tx = await join(stage.app, kind, thing)
            assert await waited(tx.first_time("order:1", payload={"cents": 100}))
            assert not await waited(tx.first_time("order:1", payload={"cents": 100}))
            with pytest.raises(KeyConflict):
                await waited(tx.first_time("order:1", payload={"cents": 999}))
            assert await waited(tx.first_time("order:1", scope="shipping"))
            await waited(thing.commit())

    asyncio.run(main())
    assert sorted(keys(stage)) == ["billing order:1", "shipping order:1"]


def test_after_the_users_commit_a_further_key_is_refused(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            tx = await join(stage.app, kind, thing)
            assert await waited(tx.first_time("order:1"))
            await waited(thing.commit())
            with pytest.raises(TransactionControl):
                await waited(tx.first_time("order:2"))
            with pytest.raises(TransactionControl):
                await waited(tx.execute("SELECT 1"))

    asyncio.run(main())
    assert keys(stage) == ["billing order:1"]


def test_the_next_transaction_of_the_same_connection_is_joined_anew(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            for number in range(3):
                if number and kind.is_raw and kind.engine == "sqlite":
                    await waited(thing.execute("BEGIN IMMEDIATE"))
                tx = await join(stage.app, kind, thing)
                assert await waited(tx.first_time(f"order:{number}"))
                await waited(thing.commit())

    asyncio.run(main())
    assert keys(stage) == ["billing order:0", "billing order:1", "billing order:2"]


def test_another_database_is_refused(stage: Stage, kind: Kind, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Its marks would protect nothing here; one without the tables is told apart from one with others' tables."""
    server = None if kind.engine == "sqlite" else request.getfixturevalue("postgresql_server")
    url = f"sqlite:///{tmp_path}/other.db" if server is None else server.create_database()

    async def refused(match: str) -> None:
        async with held(stage, kind, url) as thing:
            with pytest.raises(NotJoinable, match=match):
                await join(stage.app, kind, thing)
            with suppress(sqlite3.Error):
                await waited(thing.rollback())

    asyncio.run(refused("tables are not in this connection's database"))
    Telafi(url, place=tmp_path / "locks").ledger.upgrade()
    asyncio.run(refused("another database"))
    if server is not None:
        server.drop_database(url)


def test_a_closed_one_is_refused(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            await waited(thing.close())
            if kind.is_session:  # a session that was closed begins anew
                assert await waited((await join(stage.app, kind, thing)).first_time("order:1"))
            else:
                with pytest.raises(NotJoinable, match=r"closed|no active connection"):
                    await join(stage.app, kind, thing)

    asyncio.run(main())


@only(ON_POSTGRESQL)
def test_an_aborted_one_is_refused(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            with pytest.raises(Exception, match="no_such_table"):
                await Pen(stage, thing).execute("SELECT 1 FROM no_such_table")
            with pytest.raises(NotJoinable, match="aborted"):
                await join(stage.app, kind, thing)
            await waited(thing.rollback())

    asyncio.run(main())


def test_a_scope_is_checked_before_anything_else(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            for scope in ("", "telafi:mine", "x" * 201):
                with pytest.raises(KeyNotUsable):
                    await join(stage.app, kind, thing, scope)

    asyncio.run(main())


def test_the_verb_of_the_other_colour_is_named(stage: Stage, kind: Kind) -> None:
    async def main() -> None:
        async with held(stage, kind) as thing:
            if kind.is_async:
                with pytest.raises(NotJoinable, match=r"await app\.ajoin"):
                    stage.app.join(thing, scope="billing")
            else:
                with pytest.raises(NotJoinable, match=r"app\.join"):
                    await stage.app.ajoin(thing, scope="billing")

    asyncio.run(main())


@only(RAW_KINDS)
def test_rows_of_the_users_own_making_do_not_reach_into_ours(stage: Stage, kind: Kind) -> None:
    def as_text(*_: Any) -> Any:
        return "row" if kind.engine == "sqlite" else str

    async def main() -> None:
        async with held(stage, kind) as thing:
            thing.row_factory = as_text
            tx = await join(stage.app, kind, thing)
            assert await waited(tx.first_time("order:1", payload=1))
            assert not await waited(tx.first_time("order:1", payload=1))
            assert await waited(tx.first_times(["order:1", "order:2"])) == ["order:2"]
            await waited(thing.commit())

    asyncio.run(main())
    assert keys(stage) == ["billing order:1", "billing order:2"]
