"""The URL of a ledger on PostgreSQL: what is refused, and that no password is ever shown."""

from __future__ import annotations

import psycopg
import pytest

from telafi import Telafi
from telafi.errors import LedgerError, MalformedUrl, WrongUse
from telafi.ledger.engines.postgresql import PostgresqlEngine
from telafi.ledger.port import Fault


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql:///db?host=/run&password=s3cret", "postgresql:///db"),
        ("postgresql://ayse@host", "postgresql://ayse@host"),
        ("postgresql://ayse:s3cret@host:5432/db", "postgresql://ayse:***@host:5432/db"),
        ("postgresql+psycopg://ayse:s3cret@host/db", "postgresql://ayse:***@host/db"),
        ("postgres://:s3cret@[::1]:5432/db", "postgres://:***@[::1]:5432/db"),
        ("postgresql://ayse:s3cret?s3cret@host/db?sslmode=require", "postgresql://ayse:***@host/db"),
        ("postgresql://ayse:s3c%40ret@one:1,two:2/db", "postgresql://ayse:***@one:1,two:2/db"),
        ("postgresql://host/db?user=ayse@example&password=s3cret", "postgresql://host/db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert PostgresqlEngine(url).describe() == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ayse:s3c/ret@host/db",
        "postgresql://ayse:s3c@ret@host/db",
        "postgresql://ayse:12/s3cret@host/db",
        "postgresql://ayse:12/s3c?ret@host/db",
        "postgresql://s3cret:s3cret/db",
        "postgresql://host/db?s3cret",
        "postgresql://host:s3cret/db",
        "postgresql://[::1/s3cret",
    ],
)
def test_a_url_that_nobody_can_read_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(MalformedUrl) as refused:
        Telafi(url)
    assert "%2F" in str(refused.value)
    assert not {part for part in ("s3c", "ret@", "12") if part in str(refused.value)}


@pytest.mark.parametrize("url", ["postgresql://ayse:s3c%zzret@host/db", "postgresql://host/db?s3cret=1"])
def test_what_libpq_cannot_read_is_wrong_use_and_shows_no_password(url: str) -> None:
    with pytest.raises(MalformedUrl, match="libpq says: invalid") as refused:
        Telafi(url).ledger.status()
    assert isinstance(refused.value, WrongUse)
    assert not isinstance(refused.value, LedgerError)
    assert "s3c" not in str(refused.value)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(("seconds", "milliseconds"), [(0, 1), (0.0004, 1), (-1, 1), (0.0016, 2), (10.0, 10_000)])
def test_the_wait_for_a_lock_is_never_for_ever(seconds: float, milliseconds: int) -> None:
    engine = PostgresqlEngine("postgresql://host/db", lock_timeout_seconds=seconds)
    assert engine.begin_text(None).endswith(f"SET LOCAL lock_timeout = {milliseconds}")


@pytest.mark.parametrize("state", ["57P05", "25P04", "57P01", "25P03"])
def test_a_session_that_the_server_ended_is_a_lost_connection(state: str) -> None:
    class Ended(psycopg.OperationalError):
        sqlstate = state

    Ended.__module__ = "psycopg.errors"
    assert PostgresqlEngine("postgresql://host/db").classify(Ended()) is Fault.LOST
