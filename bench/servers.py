"""The ledgers that are measured: a SQLite file, and a PostgreSQL server that syncs to disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from telafi import FixedClock, Telafi
from telafi.instants import SECOND, instant_of
from tests.postgresql_server import start_server

START = instant_of("2026-01-01T00:00Z")
STEP = 60 * SECOND


@contextmanager
def ledgers() -> Iterator[dict[str, str]]:
    """Give a factory of fresh URLs by engine; `TELAFI_BENCH_POSTGRESQL` names a server of your own."""
    own = os.environ.get("TELAFI_BENCH_POSTGRESQL")
    if own:
        os.environ["TELAFI_TEST_POSTGRESQL"] = own
    server = start_server(fsync=True)
    with tempfile.TemporaryDirectory(prefix="telafi-bench-") as directory:
        try:
            yield {"sqlite": f"sqlite:///{directory}/ledger.db", "postgresql": server.create_database()}
        finally:
            server.stop()


def application(url: str, directory: str, windows: int) -> Telafi:
    """Make an application whose clock stands `windows` minutes after its first window's start."""
    app = Telafi(url, place=Path(directory), clock=FixedClock(START + windows * STEP))
    app.ledger.upgrade()
    return app
