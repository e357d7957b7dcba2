"""The modes of a driver in which a mark would be committed alone, and what is said about each."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

import aiosqlite
import psycopg
import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.orm import Session

from telafi import Telafi
from telafi.errors import NotJoinable


@pytest.fixture
def sqlite_app(tmp_path: Path) -> Telafi:
    app = Telafi(f"sqlite:///{tmp_path}/ledger.db", place=tmp_path / "locks")
    app.ledger.upgrade()
    return app


@pytest.fixture
def postgresql_app(postgresql_url: str, tmp_path: Path) -> Telafi:
    app = Telafi(postgresql_url, place=tmp_path / "locks")
    app.ledger.upgrade()
    return app


def marks(path: Path) -> int:
    connection = sqlite3.connect(path)
    count: int = connection.execute("SELECT COUNT(*) FROM telafi_marks").fetchone()[0]
    connection.close()
    return count


def test_a_ledger_without_tables_is_not_made_on_the_way(tmp_path: Path) -> None:
    app = Telafi(f"sqlite:///{tmp_path}/ledger.db", place=tmp_path / "locks")
    connection = sqlite3.connect(tmp_path / "other.db", isolation_level=None)
    connection.execute("BEGIN")
    with pytest.raises(NotJoinable, match=r"no tables yet.*telafi db upgrade"):
        app.join(connection, scope="billing")
    connection.close()
    assert not (tmp_path / "ledger.db").exists()


def test_what_nobody_knows_is_refused_with_the_list(sqlite_app: Telafi) -> None:
    with pytest.raises(NotJoinable, match=r"builtins\.str; it can join: sqlite3\.Connection, aiosqlite"):
        sqlite_app.join("sqlite:///ledger.db", scope="billing")


def test_a_connection_of_the_other_engine_is_refused(sqlite_app: Telafi, postgresql_url: str) -> None:
    with psycopg.connect(postgresql_url) as connection, pytest.raises(NotJoinable, match=r"psycopg\.Connection"):
        sqlite_app.join(connection, scope="billing")
    engine = create_engine(postgresql_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as joined, pytest.raises(NotJoinable, match="ledger is on sqlite"):
        sqlite_app.join(joined, scope="billing")
    engine.dispose()


@pytest.mark.parametrize("level", [None, "", "IMMEDIATE"])
def test_sqlite3_without_an_open_transaction(sqlite_app: Telafi, tmp_path: Path, level: Any) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db", isolation_level=level)
    with pytest.raises(NotJoinable, match="BEGIN IMMEDIATE"):
        sqlite_app.join(connection, scope="billing")
    connection.execute("CREATE TABLE orders (id)")
    with pytest.raises(NotJoinable, match="BEGIN IMMEDIATE"):
        sqlite_app.join(connection, scope="billing")
    if level is not None:
        connection.execute("INSERT INTO orders VALUES (1)")  # the driver begins here by itself
        assert sqlite_app.join(connection, scope="billing").first_time("order:1")
        connection.rollback()
    connection.close()
    assert marks(tmp_path / "ledger.db") == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the attribute came with Python 3.12")
def test_sqlite3_in_the_mode_of_the_standard(sqlite_app: Telafi, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db")
    setattr(connection, "autocommit", False)  # noqa: B010 - unknown to the types of Python 3.11
    assert sqlite_app.join(connection, scope="billing").first_time("order:1")
    connection.rollback()
    connection.close()
    assert marks(tmp_path / "ledger.db") == 0


def test_aiosqlite_without_an_open_transaction(sqlite_app: Telafi, tmp_path: Path) -> None:
    async def main() -> None:
        async with aiosqlite.connect(tmp_path / "ledger.db") as connection:
            with pytest.raises(NotJoinable, match="BEGIN IMMEDIATE"):
                await sqlite_app.ajoin(connection, scope="billing")

    asyncio.run(main())


def test_psycopg_in_autocommit_mode_needs_its_block(postgresql_app: Telafi, postgresql_url: str) -> None:
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        with pytest.raises(NotJoinable, match=r"with connection\.transaction\(\)"):
            postgresql_app.join(connection, scope="billing")
        with connection.transaction(force_rollback=True):
            assert postgresql_app.join(connection, scope="billing").first_time("order:1")
        with connection.transaction():
            assert postgresql_app.join(connection, scope="billing").first_time("order:1")
        assert connection.execute("SELECT COUNT(*) FROM telafi.marks").fetchone() == (1,)


def test_a_check_that_finds_no_tables_leaves_the_users_transaction_whole(
    postgresql_app: Telafi, postgresql_url: str
) -> None:
    elsewhere = Telafi(postgresql_url, schema="elsewhere")
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("CREATE TABLE orders (id INT)")
        with pytest.raises(NotJoinable, match="tables"):
            elsewhere.join(connection, scope="billing")
        connection.execute("INSERT INTO orders VALUES (1)")


def test_an_engine_in_autocommit_mode_is_refused(sqlite_app: Telafi, postgresql_app: Telafi, tmp_path: Path) -> None:
    addresses = {
        sqlite_app: f"sqlite:///{tmp_path}/ledger.db",
        postgresql_app: postgresql_app.ledger.url.replace("postgresql:", "postgresql+psycopg:"),
    }
    for app, address in addresses.items():
        engine = create_engine(address, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection, pytest.raises(NotJoinable, match="transaction"):
            app.join(connection, scope="billing")
        with Session(engine) as session, pytest.raises(NotJoinable, match="transaction"):
            app.join(session, scope="billing")
        engine.dispose()


def test_an_engine_that_says_begin_itself_is_joined(sqlite_app: Telafi, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/ledger.db")
    event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with Session(engine) as session, session.begin_nested():
        assert sqlite_app.join(session, scope="billing").first_time("order:1")
    assert marks(tmp_path / "ledger.db") == 0
    with Session(engine) as session:
        assert sqlite_app.join(session, scope="billing").first_time("order:1")
        session.commit()
    engine.dispose()
    assert marks(tmp_path / "ledger.db") == 1


def test_a_session_that_waits_for_its_rollback_is_refused(sqlite_app: Telafi, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/ledger.db")
    with Session(engine) as session:
        connection = session.connection()
        connection.invalidate()
        with pytest.raises(NotJoinable):
            sqlite_app.join(session, scope="billing")
        session.rollback()
        assert sqlite_app.join(session, scope="billing").first_time("order:1")
    engine.dispose()


def test_a_known_connection_is_not_asked_again(postgresql_app: Telafi, postgresql_url: str) -> None:
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("SELECT 1")
        postgresql_app.join(connection, scope="billing")
        connection.execute("SAVEPOINT before; ALTER TABLE telafi.ledger RENAME TO hidden")
        assert postgresql_app.join(connection, scope="billing").first_time("order:1")
        connection.rollback()
