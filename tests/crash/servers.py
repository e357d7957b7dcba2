"""A PostgreSQL server that a test may hurt, and bounded waits for what happens in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from tests.postgresql_server import PostgresqlServer
from tests.crash.state import query

POLLS_MAX = 4_000


def eventually(what: Callable[[], Any]) -> Any:
    """Ask again until the answer is true; fails after some twenty seconds."""
    never = Event()
    for _ in range(POLLS_MAX):
        if answer := what():
            return answer
        never.wait(0.005)
    raise AssertionError("it never happened")


def backend(url: str, where: str) -> int:
    """Wait for a backend of this database that does this, and give its process."""
    name = url.rpartition("/")[2]
    text = f"SELECT pid FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid() AND {where}"
    [(found,), *_] = eventually(lambda: query(url, text))
    pid: int = found
    return pid


def gone(url: str, pid: int) -> None:
    """Wait for a backend's end."""
    eventually(lambda: not query(url, f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"))


@contextmanager
def setting(server: PostgresqlServer, name: str, value: str) -> Iterator[Callable[[], None]]:
    """Give a server another setting; the function ends it before the block does."""

    def change(text: str) -> None:
        server.execute(text)
        server.execute("SELECT pg_reload_conf()")
        wanted = value if text.partition(" ")[2].startswith("SYSTEM SET") else None
        current = f"SELECT setting FROM pg_settings WHERE name = '{name}'"
        eventually(lambda: (server.execute(current)[0][0] == value) is (wanted is not None))

    change(f"ALTER SYSTEM SET {name} = '{value}'")
    try:
        yield lambda: change(f"ALTER SYSTEM RESET {name}")
    finally:
        change(f"ALTER SYSTEM RESET {name}")
