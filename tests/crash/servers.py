"""A PostgreSQL server that a test may hurt, and bounded waits for what happens in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from tests.crash.state import query
from tests.postgresql_server import PostgresqlServer

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
def setting(server: PostgresqlServer, name: str, value: str) -> Iterator[None]:
    """Give a server another setting for a block."""
    [(before,)] = server.execute(f"SHOW {name}")
    set_to(server, name, value)
    try:
        yield
    finally:
        set_to(server, name, before)


def set_to(server: PostgresqlServer, name: str, value: str) -> None:
    server.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    server.execute("SELECT pg_reload_conf()")
    eventually(lambda: server.execute(f"SHOW {name}") == [(value,)])
