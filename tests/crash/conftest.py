"""Fixtures of the crash tests: a warm process that forks children, and a server that may be hurt."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.crash.forks import Forks, forks
from tests.crash.state import prepare
from tests.postgresql_server import PostgresqlServer, Unavailable, start_server

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []  # Windows has neither fork nor SIGKILL


@pytest.fixture(scope="session")
def warm() -> Iterator[Forks]:
    with forks() as process:
        yield process


@pytest.fixture
def seed() -> int:
    """What chance is drawn from; `TELAFI_TEST_SEED` gives another."""
    chosen = int(os.environ.get("TELAFI_TEST_SEED", "2013"))
    sys.stdout.write(f"TELAFI_TEST_SEED={chosen}\n")  # shown where the test fails
    return chosen


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresqlServer]:
    """A server of this file's own: it is stopped, restarted, and its settings are changed for all of its databases."""
    try:
        server = start_server()
    except Unavailable as reason:
        pytest.skip(f"PostgreSQL not tested: {reason}")
    yield server
    server.stop()


@pytest.fixture
def own_url(own_server: PostgresqlServer) -> Iterator[str]:
    """A database on it, with the ledger and the tables of the effects."""
    url = own_server.create_database()
    prepare(url)
    yield url
    own_server.drop_database(url)
