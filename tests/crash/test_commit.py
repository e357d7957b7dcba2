"""COMMIT was sent and nobody knows what became of it: killed, cut off, committed, rolled back, or still pending."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from telafi.instants import Span
from tests.crash.forks import Forks
from tests.crash.scenes import HOUR, SINCE, connect
from tests.crash.servers import backend, gone, setting
from tests.crash.state import Fresh, check, execute, prepare, read
from tests.crash.test_points import CLOSED, POINTS_MAX, RUN, STYLES, WINDOWS, hours, outcomes
from tests.postgresql_server import PostgresqlServer, Unavailable, start_server

ONE = [Span(SINCE, SINCE + HOUR)]
PENDING = "wait_event = 'SyncRep'"
SLOW_COMMIT = """
CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT slow FROM switch) THEN PERFORM pg_sleep(60); END IF;
    RETURN NULL;
END $$
"""

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    """One of this file's own: its settings are changed for all of its databases."""
    try:
        made = start_server()
    except Unavailable as reason:
        pytest.skip(f"PostgreSQL not tested: {reason}")
    yield made
    made.stop()


@pytest.fixture
def url(server: PostgresqlServer) -> Iterator[str]:
    made = server.create_database()
    prepare(made)
    yield made
    server.drop_database(made)


@pytest.mark.parametrize("style", STYLES)
def test_killed_with_every_commit_sent(postgresql_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    """A05: the server gets the COMMIT of a process that has died; the next run is right whether it has ended or not."""
    fresh = Fresh(postgresql_url, tmp_path)
    for number in range(POINTS_MAX):
        with fresh.again() as (url, place):
            given = {"url": url, "place": place, **STYLES[style]}
            first = warm.run(RUN, now=CLOSED, blow_in_commit=number, **given)
            clean = warm.run(RUN, now=CLOSED + HOUR, **given)
            assert set(outcomes(clean)) <= {"Processed", "Skipped"}
            reasons = {outcome["reason"] for outcome in clean.value["outcomes"] if outcome["outcome"] == "Skipped"}
            assert reasons <= {"key-exists"}
            check(read(url), hours(WINDOWS + 1))
            if not first.killed:
                assert outcomes(first) == ["Processed"] * WINDOWS
                return
    pytest.fail(f"a run made more than {POINTS_MAX} commits")


@pytest.mark.parametrize("style", ["inside", "end", "write", "group"])
def test_killed_while_commit_is_pending(
    server: PostgresqlServer, url: str, tmp_path: Path, warm: Forks, style: str
) -> None:
    """A05, and what the next run says before the server knows: it waits, and never runs the body again."""
    given = {"url": url, "place": f"{tmp_path}/place", "now": SINCE + HOUR, **STYLES[style]}
    with setting(server, "synchronous_standby_names", "nosuch") as release:
        execute(url, "ALTER SYSTEM SET synchronous_commit = 'on'")
        child = warm.start(RUN, **given)
        pid = backend(url, PENDING)
        child.kill()
        assert child.end().killed
        # Its plan was pending first: with every COMMIT waiting, only the plan can have been sent.
        release()
        gone(url, pid)
    assert outcomes(warm.run(RUN, **given)) == ["Processed"]
    check(read(url), ONE)
