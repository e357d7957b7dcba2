"""The stage of these tests, once on each engine."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgresql_server import PostgresqlServer
from tests.work.stage import Stage

EMPTY_AGAIN = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA IF EXISTS telafi CASCADE;
DROP SCHEMA public CASCADE;
CREATE SCHEMA public
"""


@pytest.fixture(scope="session")
def one_database(postgresql_server: PostgresqlServer) -> Iterator[str]:
    """A database for all of these tests: each leaves it empty, which costs a tenth of a new one."""
    url = postgresql_server.create_database()
    yield url
    postgresql_server.drop_database(url)


@pytest.fixture
def postgresql_url(request: pytest.FixtureRequest, one_database: str) -> Iterator[str]:
    """An empty database."""
    request.node.user_properties.append(("engine", "postgresql"))
    yield one_database
    with psycopg.connect(one_database, autocommit=True) as connection:
        connection.execute(EMPTY_AGAIN.encode())
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" RESET ALL'.encode())


@pytest.fixture
def stage(ledger_url: str, tmp_path: Path) -> Stage:
    """An application at 12:07 on a fresh ledger."""
    return Stage(ledger_url, tmp_path / "locks")


@pytest.fixture
def sqlite_stage(tmp_path: Path) -> Stage:
    """The same on SQLite only, for what no engine changes."""
    return Stage(f"sqlite:///{tmp_path}/ledger.db", tmp_path / "locks")


@pytest.fixture
def postgresql_stage(postgresql_url: str, tmp_path: Path) -> Stage:
    """The same on PostgreSQL only."""
    return Stage(postgresql_url, tmp_path / "locks")
