"""The connection is lost, the server restarts, refuses, or is read-only: repeated whole, put off, or said in a line."""

from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from telafi import Deferred, Failed, LedgerError, Transaction, Window
from telafi.events import Event, Processed, Retried
from tests.crash.hourly import Hourly, styled, write
from tests.crash.scenes import SINCE, connect
from tests.crash.servers import gone, set_to
from tests.crash.state import check, execute, prepare, read
from tests.crash.test_points import hours
from tests.postgresql_server import PostgresqlServer, PrivateServer

pytestmark = [pytest.mark.crash, pytest.mark.slow]

Meddle = Callable[[Any], None]


def backend_of(tx: Transaction) -> int:
    pid: int = tx.execute("SELECT pg_backend_pid()").fetchone()[0]
    return pid


def bodies(style: str, url: str, meddle: Meddle) -> Callable[..., None]:
    """Give a body of that style which meddles between its statements, the first time only."""
    calls: list[int] = []

    def inside(window: Window, tx: Transaction) -> None:
        tx.execute("INSERT INTO effects (at) VALUES (%s)", (window.key,))
        calls.append(1)
        if len(calls) == 1:
            meddle(tx)
        tx.execute("UPDATE totals SET total = total + %s", (len(window.key),))

    return styled(style, inside)


@pytest.mark.parametrize("style", ["inside", "end", "write"])
def test_backend_ended_in_the_body(own_url: str, tmp_path: Path, style: str) -> None:
    """B01: lost before COMMIT: on a new connection once more from the start."""

    def end_it(tx: Transaction) -> None:
        pid = backend_of(tx)
        execute(own_url, f"SELECT pg_terminate_backend({pid})")
        gone(own_url, pid)

    hourly = Hourly(own_url, tmp_path, bodies(style, own_url, end_it), windows=2)
    assert hourly.outcomes() == ["Processed", "Processed"]
    assert hourly.retries == ["lost"]
    check(read(own_url), hours(2))


@pytest.mark.parametrize("event_name", ["Planned", "Processed"])
def test_backend_ended_between_units(own_url: str, tmp_path: Path, event_name: str) -> None:
    """B01: every idle connection of this database ends, after the plan or after a window."""

    def heard(event: Event) -> None:
        if type(event).__name__ == event_name:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            execute(own_url, f"{others} AND pid <> pg_backend_pid()")

    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, own_url)

    hourly = Hourly(own_url, tmp_path, body, windows=3, heard=heard)
    assert hourly.outcomes() == ["Processed"] * 3
    assert set(hourly.retries) == {"lost"}
    assert Hourly(own_url, tmp_path, body, windows=4).outcomes() == ["Processed"]
    check(read(own_url), hours(4))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.parametrize("style", ["inside", "end", "write"])
def test_restart_in_the_body(own_server: PostgresqlServer, own_url: str, tmp_path: Path, mode: Any, style: str) -> None:
    """B05: 57P01 or 57P02 in the middle, the server is back at once."""
    hourly = Hourly(own_url, tmp_path, bodies(style, own_url, lambda _: own_server.restart(mode)), windows=2)
    assert hourly.outcomes() == ["Processed", "Processed"]
    assert "lost" in hourly.retries
    check(read(own_url), hours(2))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_server_away_for_a_while(own_server: PrivateServer, own_url: str, tmp_path: Path, mode: Any) -> None:
    """B05: nobody answers the first attempts; they are spread, and the fifth finds it."""
    attempts: list[float] = []

    def heard(event: Event) -> None:
        if isinstance(event, Retried):
            attempts.append(event.delay_seconds)
            if len(attempts) == 5:
                start(own_server)

    hourly = Hourly(own_url, tmp_path, bodies("inside", own_url, lambda _: own_server._end(mode)), heard=heard)
    assert hourly.outcomes() == ["Processed"]
    assert len(attempts) >= 5
    assert len(set(attempts)) > 3
    check(read(own_url), hours(1))


@pytest.mark.parametrize("style", ["inside", "end", "write"])
def test_server_away_beyond_the_budget(own_server: PrivateServer, own_url: str, tmp_path: Path, style: str) -> None:
    """B05, C04: put off and told to be out of reach; the next run does it."""
    with started_again(own_server):
        hourly = Hourly(own_url, tmp_path, bodies(style, own_url, lambda _: own_server._end("fast")), windows=2)
        [outcome] = hourly.run()
        assert isinstance(outcome, Deferred)
        assert (outcome.reason, outcome.out_of_reach) == ("retry", True)
        with pytest.raises(LedgerError, match="cannot be reached") as refused:
            hourly.run()
        assert one_line(refused.value)
    assert read(own_url).effects == []
    assert Hourly(own_url, tmp_path, bodies(style, own_url, lambda _: None), windows=3).outcomes() == ["Processed"] * 3
    check(read(own_url), hours(3))


def test_restart_while_an_outside_body_runs(own_server: PostgresqlServer, own_url: str, tmp_path: Path) -> None:
    """The mark is written on a new connection, and the body not called again."""
    calls: list[str] = []

    def body(window: Window) -> None:
        own_server.restart("immediate")
        calls.append(window.key)

    hourly = Hourly(own_url, tmp_path, body)
    assert hourly.outcomes() == ["Processed"]
    assert len(calls) == 1


def test_read_only_for_a_while(own_server: PostgresqlServer, own_url: str, tmp_path: Path) -> None:
    """B07: 25006 after a failover: the connection is thrown away and the unit repeated until it may write."""

    def heard(event: Event) -> None:
        if isinstance(event, Processed) and event.window.start == SINCE:
            set_to(own_server, "default_transaction_read_only", "on")
        if isinstance(event, Retried) and event.attempt == 3:
            set_to(own_server, "default_transaction_read_only", "off")

    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, own_url)

    hourly = Hourly(own_url, tmp_path, body, windows=2, heard=heard)
    assert hourly.outcomes() == ["Processed", "Processed"]
    assert hourly.retries[:3] == ["lost"] * 3
    check(read(own_url), hours(2))


def test_read_only_beyond_the_budget(own_server: PostgresqlServer, own_url: str, tmp_path: Path) -> None:
    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, own_url)

    def heard(event: Event) -> None:
        if isinstance(event, Processed):
            set_to(own_server, "default_transaction_read_only", "on")

    try:
        processed, put_off = Hourly(own_url, tmp_path, body, windows=2, heard=heard).run()
        assert isinstance(processed, Processed)
        assert isinstance(put_off, Deferred)
        assert (put_off.reason, put_off.out_of_reach) == ("retry", True)
        with pytest.raises(LedgerError) as refused:
            Hourly(own_url, tmp_path, body, windows=2).run()
        assert one_line(refused.value)
    finally:
        set_to(own_server, "default_transaction_read_only", "off")
    assert Hourly(own_url, tmp_path, body, windows=3).outcomes() == ["Processed"] * 2
    check(read(own_url), hours(3))


@pytest.mark.parametrize("style", ["inside", "group", "end", "write"])
def test_a_swallowed_error_is_no_success(own_url: str, tmp_path: Path, style: str) -> None:
    """B09: PostgreSQL answers COMMIT with ROLLBACK and no error: failed, and nothing is there."""

    def meddle(tx: Transaction) -> None:
        with suppress(Exception):
            tx.execute("SELECT 1 / 0")

    def inside(window: Window, tx: Transaction) -> None:
        write(tx, window, own_url)
        meddle(tx)

    body = styled(style, inside)
    [outcome] = Hourly(own_url, tmp_path, body, windows=2, group=2 if style == "group" else 1).run()
    assert isinstance(outcome, Failed)
    assert outcome.reason == "TransactionAborted"
    assert (read(own_url).effects, read(own_url).total, read(own_url).runs) == ([], 0, [])


def test_too_many_connections(own_server: PostgresqlServer, tmp_path: Path) -> None:
    """B13: a full server is asked again while a unit runs, and named in one line where a run cannot even begin."""
    own_server.execute("DROP ROLE IF EXISTS limited")
    own_server.execute("CREATE ROLE limited LOGIN CONNECTION LIMIT 1")
    database = own_server.create_database()
    own_server.execute(f'ALTER DATABASE "{database.rpartition("/")[2]}" OWNER TO limited')
    url = database.replace("postgres@", "limited@", 1)
    prepare(url)
    with ExitStack() as others:

        def meddle(tx: Transaction) -> None:
            pid = backend_of(tx)
            execute(database, f"SELECT pg_terminate_backend({pid})")
            gone(database, pid)
            others.enter_context(closing(connect(url)))

        def heard(event: Event) -> None:
            if isinstance(event, Retried) and event.attempt == 3:
                others.close()

        hourly = Hourly(url, tmp_path, bodies("inside", url, meddle), heard=heard)
        assert hourly.outcomes() == ["Processed"]
        assert len(hourly.retries) >= 3
        with closing(connect(url)), pytest.raises(LedgerError, match="too many connections") as refused:
            hourly.run()
        assert one_line(refused.value)
    check(read(url), hours(1))
    own_server.drop_database(database)
    own_server.execute("DROP ROLE limited")


def changed(url: str, **parts: str) -> str:
    return urlunsplit(urlsplit(url)._replace(**parts))


@pytest.mark.parametrize("wrong", ["role", "database", "port", "tables", "password"])
def test_cannot_begin(own_url: str, tmp_path: Path, wrong: str) -> None:
    """B14: one line that says what is wrong, and no password."""
    place = urlsplit(own_url).netloc.rpartition("@")[2]
    url = {
        "role": changed(own_url, netloc=f"nobody_here@{place}"),
        "database": changed(own_url, path="/nowhere"),
        "port": changed(own_url, netloc="postgres@127.0.0.1:1"),
        "password": changed(own_url, netloc=f"nobody_here:s3cret@{place}"),
        "tables": own_url,
    }[wrong]
    if wrong == "tables":
        execute(own_url, "DROP SCHEMA telafi CASCADE")
    with pytest.raises(LedgerError) as refused:
        Hourly(url, tmp_path, lambda: None).run()
    assert one_line(refused.value)
    assert "s3cret" not in str(refused.value)
    assert {"tables": "telafi db upgrade"}.get(wrong, "cannot be reached") in str(refused.value)


def test_ended_for_being_idle_in_the_body(own_url: str, tmp_path: Path) -> None:
    """25P03: the server ends a transaction that waited too long; that is a lost connection."""

    def meddle(tx: Transaction) -> None:
        pid = backend_of(tx)
        tx.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
        gone(own_url, pid)

    hourly = Hourly(own_url, tmp_path, bodies("inside", own_url, meddle))
    assert hourly.outcomes() == ["Processed"]
    assert hourly.retries == ["lost"]
    check(read(own_url), hours(1))


def one_line(error: BaseException) -> bool:
    return "\n" not in str(error)


def start(server: PrivateServer) -> None:
    server._process = server._start()


class started_again:  # noqa: N801 - reads as a sentence
    """Start the server after the block, whatever happened in it."""

    def __init__(self, server: PrivateServer) -> None:
        self._server = server

    def __enter__(self) -> None:
        assert isinstance(self._server, PrivateServer)

    def __exit__(self, *_: object) -> None:
        start(self._server)
