"""COMMIT was sent and nobody knows what became of it: killed, cut off, committed, rolled back, or still pending."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crash.forks import Forks
from tests.crash.scenes import HOUR, SINCE, connect
from tests.crash.servers import backend, gone, set_to, setting
from tests.crash.state import Fresh, check, execute, read
from tests.crash.test_points import CLOSED, POINTS_MAX, RUN, STYLES, WINDOWS, hours, outcomes
from tests.postgresql_server import PostgresqlServer

PENDING = "wait_event = 'SyncRep'"
SLOW_COMMIT = """
CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT slow FROM switch) THEN PERFORM pg_sleep(60); END IF;
    RETURN NULL;
END $$
"""
LOCKING_COMMIT = """
CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE held SET number = number + 1;
    RETURN NULL;
END $$
"""
TRIGGER = """
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION at_commit()
"""

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _no_commit_waits_unless_it_asks(own_server: PostgresqlServer) -> None:
    set_to(own_server, "synchronous_commit", "local")


@pytest.mark.parametrize("style", STYLES)
def test_killed_with_every_commit_sent(postgresql_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    """A05: the server gets the COMMIT of a process that has died; the next run is right whether it has ended or not."""
    fresh = Fresh(postgresql_url, tmp_path)
    for number in range(POINTS_MAX):
        with fresh.again() as (url, place):
            scene = {"url": url, "place": place, **STYLES[style]}
            first = warm.run(RUN, now=CLOSED, trouble={"blow_in_commit": number}, **scene)
            clean = warm.run(RUN, now=CLOSED + HOUR, **scene)
            assert set(outcomes(clean)) <= {"Processed", "Skipped"}
            reasons = {outcome["reason"] for outcome in clean.value["outcomes"] if outcome["outcome"] == "Skipped"}
            assert reasons <= {"key-exists"}
            check(read(url), hours(WINDOWS + 1))
            if not first.killed:
                assert outcomes(first) == ["Processed"] * WINDOWS
                return
    pytest.fail(f"a run made more than {POINTS_MAX} commits")


@pytest.fixture
def pending(own_server: PostgresqlServer, own_url: str) -> Iterator[dict[str, Any]]:
    """What makes one COMMIT hang: it waits for a standby that there is not, until its backend is ended."""
    with setting(own_server, "synchronous_standby_names", "nosuch"):
        yield {"url": own_url, "first": "SELECT set_config('synchronous_commit', 'on', true)"}


INSIDE = ["inside", "end", "write", "group"]


def count(style: str) -> int:
    return 2 if style == "group" else 1


def given(style: str, folder: Path, **more: Any) -> dict[str, Any]:
    """Give a scene of that style with as many windows due as it shares a transaction for."""
    return {"place": f"{folder}/place", "now": SINCE + count(style) * HOUR, **STYLES[style], **more}


@pytest.mark.parametrize("style", INSIDE)
def test_killed_while_commit_is_pending(pending: dict[str, Any], tmp_path: Path, warm: Forks, style: str) -> None:
    """A05: as long as nobody knows, others wait and then leave it alone; afterwards it is done."""
    url = pending["url"]
    child = warm.start(RUN, **given(style, tmp_path), **pending)
    pid = backend(url, PENDING)
    child.kill()
    assert child.end().killed
    meanwhile = warm.run(RUN, lock_timeout=0.1, **given(style, tmp_path), **pending)
    assert meanwhile.value[0] == "LedgerBusy"
    terminate(url, pid)
    after = warm.run(RUN, **given(style, tmp_path), **pending)
    assert (outcomes(after), after.value["bodies"]) == (["Idle"], 0)
    check_once(url, style)


@pytest.mark.parametrize("style", INSIDE)
def test_lost_and_committed(pending: dict[str, Any], tmp_path: Path, warm: Forks, style: str) -> None:
    """B02: the claim is asked for again, the row is done by that very claim: processed, and the body not run again."""
    child = warm.start(RUN, **given(style, tmp_path), **pending)
    terminate(pending["url"], backend(pending["url"], PENDING))
    end = child.end()
    assert outcomes(end) == ["Processed"] * count(style)
    assert end.value["bodies"] == count(style)
    check_once(pending["url"], style)


@pytest.mark.parametrize("style", INSIDE)
def test_lost_and_rolled_back(own_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    """B03: a deferred trigger is still at work in COMMIT when the server ends it: nothing is there, it runs again."""
    execute(own_url, "CREATE TABLE switch AS SELECT true AS slow", SLOW_COMMIT, TRIGGER)
    child = warm.start(RUN, url=own_url, **given(style, tmp_path))
    pid = backend(own_url, "wait_event = 'PgSleep' AND query ~ 'COMMIT'")
    execute(own_url, "UPDATE switch SET slow = false")
    terminate(own_url, pid)
    end = child.end()
    assert outcomes(end) == ["Processed"] * count(style)
    assert end.value["bodies"] == 2 * count(style)
    check_once(own_url, style)


@pytest.mark.parametrize("style", INSIDE)
def test_pending_beyond_the_budget(pending: dict[str, Any], tmp_path: Path, warm: Forks, style: str) -> None:
    """The connection is cut, the COMMIT is still waiting: put off, never guessed; the next run finds it done."""
    url = pending["url"]
    child = warm.start(RUN, cut=True, lock_timeout=0.1, **given(style, tmp_path), **pending)
    pid = backend(url, PENDING)
    child.say("cut")
    end = child.end()
    assert outcomes(end) == ["Deferred"]
    assert end.value["outcomes"][0]["reason"] == "outcome-pending"
    assert end.value["outcomes"][0]["out_of_reach"]
    assert end.value["bodies"] == count(style)
    assert read(url).effects == []
    terminate(url, pid)
    after = warm.run(RUN, **given(style, tmp_path), **pending)
    assert (outcomes(after), after.value["bodies"]) == (["Idle"], 0)
    check_once(url, style)


@pytest.mark.parametrize("style", INSIDE)
def test_commit_refused(own_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    """A deferred constraint refuses at COMMIT: a failure like any other, with nothing written."""
    execute(own_url, "ALTER TABLE effects ADD UNIQUE (at) DEFERRABLE INITIALLY DEFERRED")
    execute(own_url, f"INSERT INTO effects (at) VALUES ('{hours(1)[0].text}')")
    end = warm.run(RUN, url=own_url, **given(style, tmp_path))
    assert outcomes(end) == ["Failed"]
    assert end.value["outcomes"][0]["reason"] == "UniqueViolation"
    assert read(own_url).total == 0
    execute(own_url, "DELETE FROM effects")
    assert outcomes(warm.run(RUN, url=own_url, **given(style, tmp_path))) == ["Processed"] * count(style)
    check_once(own_url, style)


@pytest.mark.parametrize("style", INSIDE)
def test_lock_wait_in_commit(own_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    """A deferred trigger meets a lock beyond the limit: COMMIT has failed, and saying it twice commits nothing."""
    execute(own_url, "CREATE TABLE held AS SELECT 1 AS number", LOCKING_COMMIT, TRIGGER)
    with closing(connect(own_url)) as holder:
        holder.execute("BEGIN")
        holder.execute("UPDATE held SET number = 2")
        end = warm.run(RUN, url=own_url, lock_timeout=0.05, **given(style, tmp_path))
        assert outcomes(end) == ["Failed"]
        state = read(own_url)
        assert (state.effects, state.total) == ([], 0)
    assert outcomes(warm.run(RUN, url=own_url, **given(style, tmp_path))) == ["Processed"] * count(style)
    check_once(own_url, style)


def check_once(url: str, style: str) -> None:
    """Like `check`, but a killed run's record may wait for the next run that has something to do."""
    check(read(url)._replace(runs=[]), hours(count(style)))


def terminate(url: str, pid: int) -> None:
    execute(url, f"SELECT pg_terminate_backend({pid})")
    gone(url, pid)
