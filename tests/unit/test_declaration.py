"""What a job may ask for and how it may be declared: everything wrong is said at import time, with the fix."""

import functools
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from telafi import AsyncRun, AsyncTransaction, Run, Telafi, Transaction, Window
from telafi.errors import CannotGive, DuplicateJob, KeyNotUsable, ScheduleError, UnknownJob, WrongUse
from telafi.instants import SECOND

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTypes


@pytest.fixture
def app() -> Telafi:
    return Telafi("sqlite:///never-opened.db")


def plain(window: Window, tx: Transaction) -> None: ...


# ----------------------------------------------------------------------------------------- what a job may ask for


def nothing() -> None: ...
def window_only(window: Window) -> None: ...
def at_the_end(window: Window, run: Run) -> None: ...
def driver(connection: sqlite3.Connection) -> None: ...
def both(run: Run, tx: Transaction) -> None: ...
def with_default(tx: Transaction, verbose: bool = False, *, limit: int = 7) -> None: ...  # noqa: FBT001, FBT002
def without_hint(tx: Transaction, verbose=False) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001, FBT002
async def asynchronous(window: Window, tx: AsyncTransaction) -> None: ...
async def asynchronous_end(run: AsyncRun) -> None: ...


@pytest.mark.parametrize(
    ("function", "where"),
    [
        (nothing, "outside"),
        (window_only, "outside"),
        (at_the_end, "end"),
        (plain, "inside"),
        (driver, "inside"),
        (both, "inside"),
        (with_default, "inside"),
        (without_hint, "inside"),
        (asynchronous, "inside"),
        (asynchronous_end, "end"),
    ],
)
def test_what_it_asks_for_says_where_its_transaction_lies(app: Telafi, function: Any, where: str) -> None:
    assert app.job(every="1h")(function).asked.where == where


def test_a_decorated_function_is_asked_for_its_own_parameters(app: Telafi) -> None:
    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        return plain(*args, **kwargs)

    assert app.job(every="1h")(wrapper).asked.where == "inside"


def test_a_generic_connection_is_a_connection() -> None:
    def generic(connection: psycopg.Connection[Any]) -> None: ...

    app = Telafi("postgresql://user@host/database")
    assert app.job(every="1h")(generic).asked.where == "inside"


def strange(window: Window, settings: dict[str, str]) -> None: ...
def unannotated(window: Window, thing) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001
def open_ended(*windows: Window) -> None: ...
def open_names(**things: Window) -> None: ...
def only_for_types(amount: "OnlyForTypes") -> None: ...
def other_database(connection: psycopg.Connection) -> None: ...
def number(window: Window, count: int) -> None: ...
def blocking(window: Window, tx: AsyncTransaction) -> None: ...
async def async_blocking(window: Window, tx: Transaction) -> None: ...
async def async_run_blocking(run: Run) -> None: ...
async def async_driver(connection: sqlite3.Connection) -> None: ...
def optional(tx: Transaction | None) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (strange, r"nobody can give settings: dict"),
        (unannotated, r"parameter 'thing' has no annotation"),
        (open_ended, r"\*windows is open-ended"),
        (open_names, r"\*things is open-ended"),
        (only_for_types, r"'OnlyForTypes' cannot be resolved .* outside of `if TYPE_CHECKING:`"),
        (other_database, r"is a psycopg.Connection, but the ledger is on sqlite"),
        (number, r"nobody can give count: builtins.int"),
        (blocking, r"needs `async def`"),
        (async_blocking, r"an `async def` must not block on telafi.ledger.transaction.Transaction"),
        (async_run_blocking, r"an `async def` must not block"),
        (async_driver, r"an `async def` must not block on sqlite3.Connection"),
        (optional, r"nobody can give tx"),
    ],
)
def test_what_nobody_can_give_is_said_with_its_name(app: Telafi, function: Any, message: str) -> None:
    with pytest.raises(CannotGive, match=message) as raised:
        app.job(every="1h")(function)
    assert function.__name__ in str(raised.value)
    assert list(app.jobs) == []


def test_two_connections_are_one_too_many() -> None:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    def two(session: Session, connection: Connection) -> None: ...

    with pytest.raises(CannotGive, match="one transaction has one"):
        Telafi("sqlite:///never-opened.db").job(every="1h")(two)


# ------------------------------------------------------------------------------------------------ how it is named


def test_a_job_is_named_after_its_function(app: Telafi) -> None:
    def sales_summary(window: Window) -> None: ...

    job = app.job(every="1h")(sales_summary)
    assert (job.name, app.jobs.get("sales-summary")) == ("sales-summary", job)


def test_two_jobs_of_one_name_are_refused(app: Telafi) -> None:
    first = app.job(every="1h")(plain)
    with pytest.raises(DuplicateJob, match="two jobs named 'plain'"):
        app.job(every="1d")(plain)
    assert list(app.jobs) == [first]
    app.job(every="1d", name="second")(plain)


def test_two_applications_know_nothing_of_each_other(app: Telafi) -> None:
    app.job(every="1h")(plain)
    other = Telafi("sqlite:///never-opened.db")
    with pytest.raises(UnknownJob, match="this application has: none"):
        other.jobs.get("plain")
    other.job(every="1h")(plain)


@pytest.mark.parametrize("name", ["-x", "telafi:x", "a\nb", "a\0b", "\u015f" * 101, "\ud800", 7])
def test_a_name_that_cannot_be_stored_or_typed_is_refused(app: Telafi, name: Any) -> None:
    with pytest.raises((WrongUse, KeyNotUsable)):
        app.job(every="1h", name=name)(plain)


def test_calling_a_job_calls_its_function(app: Telafi) -> None:
    @app.job(every="1h")
    def adds(window: Window | None = None, left: int = 1, right: int = 2) -> int:
        return left + right

    assert adds(left=40) == 42


# --------------------------------------------------------------------------------------------- how it is scheduled


@pytest.mark.parametrize("every", [None, "", "hourly", "1x", "1.5h", "-1h", "0s", "999ms", "3661d", 60, "1h 30"])
def test_a_step_that_cannot_be_is_refused(app: Telafi, every: Any) -> None:
    with pytest.raises(ScheduleError):
        app.job(every=every)(plain)


@pytest.mark.parametrize(
    ("every", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h", 3_600),
        ("1h 30m", 5_400),
        ("1d12h", 129_600),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1500ms", 1.5),
        (timedelta(minutes=5), 300),
        ("3660d", 3_660 * 86_400),
    ],
)
def test_a_step_as_text_or_timedelta(app: Telafi, every: Any, seconds: float) -> None:
    assert app.job(every=every)(plain).schedule.step_microseconds == seconds * SECOND


WRONG: dict[str, dict[str, Any]] = {
    "max_windows=0": {"max_windows": 0},
    "attempts=0": {"attempts": 0},
    "crash_attempts=0": {"crash_attempts": 0},
    "group=0": {"group": 0},
    "is more than": {"group": 10_001},
    "on_error='ignore'": {"on_error": "ignore"},
    "if_in_doubt='retry'": {"if_in_doubt": "retry"},
    "isolation='serialisable'": {"isolation": "serialisable"},
    "longer than grace": {"grace": "2h", "max_age": "1h"},
    "grace= must not be negative": {"grace": timedelta(seconds=-1)},
    "grace='soon'": {"grace": "soon"},
    "max_age='old'": {"max_age": "old"},
    "late_after='x'": {"late_after": "x"},
    "remember='forever'": {"remember": "forever"},
}


@pytest.mark.parametrize(("message", "options"), WRONG.items())
def test_a_limit_that_cannot_be_is_refused(app: Telafi, message: str, options: dict[str, Any]) -> None:
    with pytest.raises(WrongUse, match=message):
        app.job(every="1h", **options)(plain)
    assert list(app.jobs) == []


def test_late_after_is_three_steps_unless_told(app: Telafi) -> None:
    assert app.job(every="5m")(plain).options.late_after == 900 * SECOND
    assert app.job(every="5m", name="b", late_after="1m")(plain).options.late_after == 60 * SECOND


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("must_have_effect", 0, "at least 1"),
        ("remember", timedelta(days=-1), "must not be negative"),
        ("late_after", timedelta(seconds=-1), "must not be negative"),
        ("group_ms", -1, "must not be negative"),
    ],
)
def test_a_limit_below_its_least_value_is_refused(app: Telafi, option: str, value: Any, reason: str) -> None:
    with pytest.raises(WrongUse, match=reason):
        app.job(every="1h", **{option: value})(plain)


def test_a_step_of_any_length_is_told_whole(app: Telafi) -> None:
    job = app.job(every=timedelta(seconds=1, microseconds=500))(plain)
    assert job.schedule.text == "every 1s 500us"
