"""Several at once on the same rows and keys: repeated whole within a budget, once in the end, never half."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from telafi import Deferred, Failed, LedgerError, Processed, Run, Skipped, Transaction, Window
from telafi.events import Event, Planned
from telafi.plan.retry import Backoff, RetryPolicy
from tests.crash.forks import Forks
from tests.crash.hourly import Hourly, styled, write
from tests.crash.scenes import HOUR, QUICK, SINCE, connect
from tests.crash.servers import backend
from tests.crash.state import check, execute, prepare, query, read
from tests.crash.test_points import RUN, hours, outcomes

pytestmark = [pytest.mark.crash, pytest.mark.slow]

PATIENT = RetryPolicy(
    attempts=200, deadline_seconds=20, conflict=Backoff(0.001, 0.02), connection=Backoff(0.001, 0.02)
)  # fmt: skip
ONCE = RetryPolicy(attempts=1)


@pytest.fixture
def url(postgresql_url: str) -> str:
    prepare(postgresql_url)
    return postgresql_url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    prepare(f"sqlite:///{tmp_path}/ledger.db")
    return f"sqlite:///{tmp_path}/ledger.db"


def together(*works: Callable[[], Any]) -> list[Any]:
    """Do them at once, each in a thread, and give what they gave; the first error is raised."""
    answers: dict[int, Any] = {}
    errors: list[BaseException] = []

    def do(number: int, work: Callable[[], Any]) -> None:
        try:
            answers[number] = work()
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(error)

    threads = [Thread(target=do, args=[number, work]) for number, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
    return [answers[number] for number in range(len(works))]


# ------------------------------------------------------------------------------------------- conflicts and deadlocks


def test_serialization_storm(url: str, tmp_path: Path) -> None:
    """C01: jobs that all read and write one row at SERIALIZABLE: repeated until they commit, the sum is exact."""
    jobs, windows = 4, 6
    execute(url, "CREATE TABLE counter AS SELECT 0 AS number")

    def body(window: Window, tx: Transaction) -> None:
        [(number,)] = tx.execute("SELECT number FROM counter").fetchall()
        tx.execute("UPDATE counter SET number = %s", (number + 1,))

    runs = [
        Hourly(url, tmp_path, body, windows=windows, retry=PATIENT, name=f"job-{number}", isolation="serializable")
        for number in range(jobs)
    ]
    for hourly in runs:
        hourly.app.jobs._budget.share = 1_000.0  # a storm that the budget would end
    found = together(*(lambda hourly=hourly, n=n: hourly.app.jobs.run(f"job-{n}") for n, hourly in enumerate(runs)))
    assert {type(outcome) for outcomes_ in found for outcome in outcomes_} == {Processed}
    assert query(url, "SELECT number FROM counter") == [(jobs * windows,)]
    assert "serialization" in {fault for hourly in runs for fault in hourly.retries}


def test_deadlock(url: str, tmp_path: Path) -> None:
    """C02: two bodies lock two rows in opposite order; the one that the server chooses is repeated."""
    execute(url, "CREATE TABLE pair AS SELECT number, 0 AS total FROM generate_series(1, 2) AS number")
    both = Barrier(2, timeout=30)
    first = {"up": True, "down": True}

    def body_of(name: str, order: tuple[int, int]) -> Callable[[Window, Transaction], None]:
        def body(window: Window, tx: Transaction) -> None:
            tx.execute("SET LOCAL deadlock_timeout = 20")
            tx.execute("UPDATE pair SET total = total + 1 WHERE number = %s", (order[0],))
            if first[name]:
                first[name] = False
                both.wait()
            tx.execute("UPDATE pair SET total = total + 1 WHERE number = %s", (order[1],))

        return body

    up = Hourly(url, tmp_path, body_of("up", (1, 2)), retry=PATIENT, name="up")
    down = Hourly(url, tmp_path, body_of("down", (2, 1)), retry=PATIENT, name="down")
    found = together(lambda: up.app.jobs.run("up"), lambda: down.app.jobs.run("down"))
    assert [type(outcome) for outcomes_ in found for outcome in outcomes_] == [Processed, Processed]
    assert query(url, "SELECT total FROM pair ORDER BY number") == [(2,), (2,)]
    assert up.retries + down.retries == ["serialization"]


@pytest.mark.parametrize("retry", [QUICK, ONCE], ids=["budget", "once"])
@pytest.mark.parametrize("style", ["inside", "end", "write"])
def test_a_conflict_that_never_ends(url: str, tmp_path: Path, style: str, retry: RetryPolicy) -> None:
    """C04, C05: the budget is spent, or there is one attempt only: failed with the driver's error, nothing written."""
    execute(url, "CREATE TABLE contested AS SELECT 0 AS number")
    calls: list[int] = []

    def inside(window: Window, tx: Transaction) -> None:
        calls.append(1)
        write(tx, window, url)
        tx.execute("SELECT number FROM contested")
        execute(url, "UPDATE contested SET number = number + 1")
        tx.execute("UPDATE contested SET number = number + 10")

    hourly = Hourly(url, tmp_path, styled(style, inside), retry=retry, isolation="repeatable read")
    [outcome] = hourly.run()
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.attempt) == ("SerializationFailure", 1)
    assert set(hourly.retries) == ({"serialization"} if retry is QUICK else set())
    assert len(calls) == len(hourly.retries) + 1
    assert (read(url).effects, read(url).total) == ([], 0)

    def calm(window: Window, tx: Transaction) -> None:
        write(tx, window, url)

    assert Hourly(url, tmp_path, calm).outcomes() == ["Processed"]
    check(read(url), hours(1))


def test_lock_timeout_is_repeated_and_statement_timeout_is_not(url: str, tmp_path: Path) -> None:
    """C12: 55P03 may pass; 57014 is the user's own limit, and an error of the job's code."""
    execute(url, "CREATE TABLE held AS SELECT 1 AS number")
    with closing(connect(url)) as holder:
        holder.execute("BEGIN")
        holder.execute("UPDATE held SET number = 2")

        def waits(window: Window, tx: Transaction) -> None:
            tx.execute("SET LOCAL lock_timeout = 5")
            tx.execute("UPDATE held SET number = 3")

        hourly = Hourly(url, tmp_path, waits)
        [outcome] = hourly.run()
        assert isinstance(outcome, Failed)
        assert outcome.reason == "LockNotAvailable"
        assert set(hourly.retries) == {"lock-wait"}

        def times_out(window: Window, tx: Transaction) -> None:
            tx.execute("SET LOCAL statement_timeout = 5")
            tx.execute("SELECT pg_sleep(10)")

        hourly = Hourly(url, tmp_path, times_out)
        [outcome] = hourly.run()
        assert isinstance(outcome, Failed)
        assert (outcome.reason, hourly.retries) == ("QueryCanceled", [])


# --------------------------------------------------------------------------------------------- the same window or key


@pytest.mark.parametrize("style", ["inside", "end", "write"])
def test_two_processes_at_one_window(ledger_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    """C06: the second waits for the first, then finds the key."""
    prepare(ledger_url)
    given = {"url": ledger_url, "place": f"{tmp_path}/place", "now": SINCE + HOUR, "style": style, "locked": False}
    first = warm.start(RUN, pause=True, **given)
    first.expect("body")
    second = warm.start(RUN, **given)
    if ledger_url.startswith("sqlite"):
        first.say("go")  # which of them plans or claims first makes no difference
    else:
        backend(ledger_url, "wait_event_type = 'Lock'")
        first.say("go")
    ends = [first.end(), second.end()]
    said = sorted((outcome["outcome"], outcome.get("reason")) for end in ends for outcome in end.value["outcomes"])
    assert said in ([("Processed", None), ("Skipped", "key-exists")], [("Idle", None), ("Processed", None)])
    if not ledger_url.startswith("sqlite"):
        assert outcomes(ends[0]) == ["Processed"]
    assert read(ledger_url).effects == [hours(1)[0].text]


def test_locked_out_at_once(ledger_url: str, tmp_path: Path, warm: Forks) -> None:
    """C07: the lock is another's: skipped without waiting, with its holder; a killed holder leaves no lock behind."""
    prepare(ledger_url)
    given = {"url": ledger_url, "place": f"{tmp_path}/place", "now": SINCE + HOUR, "style": "inside"}
    first = warm.start(RUN, pause=True, **given)
    first.expect("body")
    [skipped] = warm.run(RUN, **given).value["outcomes"]
    assert (skipped["outcome"], skipped["reason"]) == ("Skipped", "lock")
    assert str(first.pid) in skipped["holder"]
    first.kill()
    assert first.end().killed
    assert outcomes(warm.run(RUN, **given)) == ["Processed"]
    check(read(ledger_url), hours(1))


def test_hot_key(url: str, tmp_path: Path) -> None:
    """C11: fifty at once remember the same key: one of them is the first, the others wait for it and see a repeat."""
    ready = Barrier(50, timeout=60)

    def body(window: Window, tx: Transaction) -> None:
        ready.wait()
        if tx.first_time("the one", scope="shared"):
            write(tx, window, url)

    runs = [Hourly(url, tmp_path, body, lock_timeout=60, name=f"job-{number}") for number in range(50)]
    found = together(*(lambda hourly=hourly, n=n: hourly.app.jobs.run(f"job-{n}") for n, hourly in enumerate(runs)))
    assert all(isinstance(outcome, Processed) for [outcome] in found)
    assert sorted(outcome.new for [outcome] in found) == [0] * 49 + [1]
    assert read(url).effects == [hours(1)[0].text]


def test_hot_key_is_rolled_back_by_its_first(url: str, tmp_path: Path, warm: Forks) -> None:
    """C11: the first one is killed while the second waits for its key: then the second is the first."""

    def body(window: Window, tx: Transaction) -> None:
        assert tx.first_time("the one", scope="shared")
        write(tx, window, url)

    with closing(connect(url)) as first:
        first.execute("BEGIN")
        first.execute("INSERT INTO telafi.marks (scope, mark_key, created_at) VALUES ('shared', 'the one', 0)")

        def end_it() -> None:
            waiting = backend(url, "wait_event_type = 'Lock'")
            assert waiting
            first.close()

        found, _ = together(Hourly(url, tmp_path, body).run, end_it)
    assert [type(outcome) for outcome in found] == [Processed]
    assert read(url).effects == [hours(1)[0].text]


# ------------------------------------------------------------------------------------------------------ SQLite's writer


@pytest.mark.parametrize("style", ["inside", "end", "write", "outside"])
def test_another_writer_holds_the_file(sqlite_url: str, tmp_path: Path, style: str) -> None:
    """C08: beyond the budget the unit is put off and told to be out of reach; a run that cannot even plan says so."""
    with ExitStack() as stack:

        def heard(event: Event) -> None:
            if isinstance(event, Planned):
                writer = stack.enter_context(closing(connect(sqlite_url)))
                writer.execute("BEGIN IMMEDIATE")

        def inside(window: Window, tx: Transaction) -> None:
            write(tx, window, sqlite_url)

        def outside(window: Window) -> None:
            pass

        body = outside if style == "outside" else styled(style, inside)
        hourly = Hourly(sqlite_url, tmp_path, body, windows=2, lock_timeout=0.05, heard=heard)
        [outcome] = hourly.run()
        assert isinstance(outcome, Deferred), outcome
        assert (outcome.reason, outcome.out_of_reach) == ("retry", True)
        assert set(hourly.retries) == {"lock-wait"}
        with pytest.raises(LedgerError, match="busy"):
            hourly.run()
    assert Hourly(sqlite_url, tmp_path, body, windows=3).outcomes() == ["Processed"] * 3
    if style != "outside":
        check(read(sqlite_url), hours(3))


def test_another_writer_holds_the_file_after_an_outside_body(sqlite_url: str, tmp_path: Path) -> None:
    """The effect is there, its mark cannot be written: that is no failure, and what is held for a person stays so."""
    with ExitStack() as stack:

        def body(window: Window) -> None:
            writer = stack.enter_context(closing(connect(sqlite_url)))
            writer.execute("BEGIN IMMEDIATE")

        given: dict[str, Any] = {"windows": 2, "lock_timeout": 0.05, "if_in_doubt": "hold"}
        [outcome] = Hourly(sqlite_url, tmp_path, body, retry=ONCE, **given).run()
        assert isinstance(outcome, Deferred), outcome
        assert (outcome.reason, outcome.out_of_reach) == ("retry", True)
    assert list(read(sqlite_url).windows.values()) == ["open", "planned"]
    assert Hourly(sqlite_url, tmp_path, body, **given).outcomes() == ["InDoubt"]


def test_another_writer_holds_the_file_for_a_moment(sqlite_url: str, tmp_path: Path) -> None:
    """C08: within the limit it only takes longer."""
    with closing(connect(sqlite_url)) as writer:
        writer.execute("BEGIN IMMEDIATE")

        def heard(event: Event) -> None:
            if type(event).__name__ == "Retried":
                writer.close()

        def body(window: Window, tx: Transaction) -> None:
            write(tx, window, sqlite_url)

        hourly = Hourly(sqlite_url, tmp_path, body, lock_timeout=0.05, heard=heard)
        assert hourly.outcomes() == ["Processed"]
        assert hourly.retries == ["lock-wait"]
    check(read(sqlite_url), hours(1))


def test_another_session_holds_the_row(url: str, tmp_path: Path) -> None:
    """A row that somebody holds beyond the limit: skipped, another copy may be at it; nothing is lost."""
    with ExitStack() as stack:

        def heard(event: Event) -> None:
            if isinstance(event, Planned):
                holder = stack.enter_context(closing(connect(url)))
                holder.execute("BEGIN")
                holder.execute("SELECT * FROM telafi.windows FOR UPDATE")

        def body(window: Window, tx: Transaction) -> None:
            write(tx, window, url)

        [outcome] = Hourly(url, tmp_path, body, windows=2, lock_timeout=0.05, heard=heard).run()
        assert isinstance(outcome, Skipped)
        assert outcome.reason == "lock"
    assert Hourly(url, tmp_path, body, windows=3).outcomes() == ["Processed"] * 3
    check(read(url), hours(3))


def test_a_lock_that_the_body_waits_for_elsewhere_is_no_skip(url: str, tmp_path: Path) -> None:
    """An error of the body before its block is the job's own, whatever its code says."""
    execute(url, "CREATE TABLE held AS SELECT 1 AS number")
    with closing(connect(url)) as holder:
        holder.execute("BEGIN")
        holder.execute("UPDATE held SET number = 2")

        def end(run: Run) -> None:
            with closing(connect(url)) as own:
                own.execute("SET lock_timeout = 5")
                own.execute("UPDATE held SET number = 3")

        [outcome] = Hourly(url, tmp_path, end).run()
    assert isinstance(outcome, Failed)
    assert outcome.reason == "LockNotAvailable"
