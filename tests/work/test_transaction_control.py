"""COMMIT and ROLLBACK in a user's code: prevented where the driver allows, else detected, never called a failure."""

import sqlite3
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from telafi import Run, Transaction, TransactionControl, Window
from tests.work.stage import DAY, Stage

DOUBT = "IN-DOUBT 11:00-12:00 transaction-control"


def declare(stage: Stage, function: Any, **options: Any) -> None:
    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z", **options)(function)


# ---------------------------------------------------------------------------------------------------- prevented

PREVENTED: dict[str, Callable[[sqlite3.Connection], object]] = {
    "COMMIT": lambda connection: connection.execute("COMMIT"),
    "commit()": lambda connection: connection.commit(),
    "ROLLBACK": lambda connection: connection.execute("ROLLBACK"),
    "rollback()": lambda connection: connection.rollback(),
    "END": lambda connection: connection.execute("end transaction"),
    "BEGIN": lambda connection: connection.execute("BEGIN"),
    "executescript": lambda connection: connection.executescript("SELECT 1;"),
    "with": lambda connection: connection.__exit__(None, None, None),
    "ATTACH": lambda connection: connection.execute("ATTACH ':memory:' AS other"),
    "DETACH": lambda connection: connection.execute("DETACH main"),
}


@pytest.mark.parametrize("attempt", PREVENTED.values(), ids=PREVENTED)
def test_H13_on_sqlite_it_is_refused_and_nothing_is_written(
    sqlite_stage: Stage, attempt: Callable[[sqlite3.Connection], object]
) -> None:
    stage = sqlite_stage

    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        attempt(tx.connection)

    declare(stage, body)
    told = stage.run()
    assert told in (["FAILED 11:00-12:00 TransactionControl 1"], ["FAILED 11:00-12:00 OperationalError 1"])
    assert (stage.effects(), stage.rows(), stage.watermark()) == ([], ["11:00-12:00 planned"], "11:00")


@pytest.mark.parametrize("attempt", [PREVENTED["COMMIT"], PREVENTED["commit()"], PREVENTED["executescript"]])
def test_H13_on_sqlite_who_swallows_the_refusal_has_done_no_harm(
    sqlite_stage: Stage, attempt: Callable[[sqlite3.Connection], object]
) -> None:
    stage = sqlite_stage

    def body(window: Window, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO effects VALUES ('one', 1)")
        with pytest.raises(sqlite3.DatabaseError):
            attempt(connection)
        connection.execute("INSERT INTO effects VALUES ('two', 1)")
        assert stage.effects() == []

    declare(stage, body)
    told = stage.run()
    done = told == ["PROCESSED 11:00-12:00 live"]
    assert done or told == ["FAILED 11:00-12:00 TransactionControl 1"]
    assert (stage.effects() == ["one", "two"]) is done
    assert stage.rows() == [f"11:00-12:00 {'done' if done else 'planned'}"]


@pytest.mark.parametrize("verb", ["commit", "rollback"])
def test_H13_on_postgresql_the_drivers_own_verbs_are_refused(postgresql_stage: Stage, verb: str) -> None:
    stage = postgresql_stage

    def body(window: Window, connection: psycopg.Connection[Any]) -> None:
        connection.execute("INSERT INTO effects VALUES ('one', 1)")
        getattr(connection, verb)()

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 TransactionControl 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])


def test_savepoints_are_the_users_own(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        for word in ("kept", "dropped"):
            tx.execute("SAVEPOINT mine")
            tx.execute(stage.sql("INSERT INTO effects VALUES (?, 1)"), (word,))
            tx.execute("RELEASE SAVEPOINT mine" if word == "kept" else "ROLLBACK TO SAVEPOINT mine")

    declare(stage, body)
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]
    assert stage.effects() == ["kept"]


# ----------------------------------------------------------------------------------------------------- detected

ENDINGS = {
    "COMMIT": ["COMMIT"],
    "COMMIT, BEGIN": ["COMMIT", "BEGIN"],
    "ROLLBACK": ["ROLLBACK"],
    "ROLLBACK, BEGIN": ["ROLLBACK", "BEGIN"],
    "ROLLBACK, written": ["ROLLBACK", "INSERT INTO effects VALUES ('alone', 1)"],
    "COMMIT AND CHAIN": ["COMMIT AND CHAIN"],
}


def leave(how: str) -> None:
    if how == "raise":
        raise ValueError("and then")
    if how == "exit":
        sys.exit(0)


@pytest.mark.parametrize("how", ["return", "raise", "exit"])
@pytest.mark.parametrize("statements", ENDINGS.values(), ids=ENDINGS)
def test_H13_on_postgresql_it_is_detected_and_nobody_calls_it_a_failure(
    postgresql_stage: Stage, statements: list[str], how: str
) -> None:
    stage = postgresql_stage

    def body(window: Window, connection: psycopg.Connection[Any]) -> None:
        connection.execute("INSERT INTO effects VALUES ('first', 1)")
        for statement in statements:
            connection.execute(statement.encode())
        leave(how)

    declare(stage, body)
    assert stage.run() == [DOUBT]
    before = stage.effects()
    assert stage.rows() == ["11:00-12:00 in-doubt"]
    assert stage.watermark() == "11:00"
    # Never again by itself, and nothing behind it.
    stage.set("13:00")
    assert stage.run() == [DOUBT]
    assert stage.effects() == before


def test_H13_in_a_block_at_the_end_it_is_detected_too(postgresql_stage: Stage) -> None:
    stage = postgresql_stage

    def body(window: Window, run: Run) -> None:
        with run.transaction() as tx:
            stage.note(tx, window)
            tx.connection.execute("COMMIT")
            raise ValueError("and then")

    declare(stage, body)
    assert stage.run() == [DOUBT]
    assert (stage.effects(), stage.rows()) == (["11:00"], ["11:00-12:00 in-doubt"])


def test_H13_in_write_it_is_detected_and_not_repeated(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    calls = []

    def write(tx: Transaction) -> None:
        calls.append(1)
        tx.execute("INSERT INTO effects VALUES ('first', 1)")
        tx.connection.execute("COMMIT")
        tx.connection.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")

    def body(window: Window, run: Run) -> None:
        run.write(write)

    declare(stage, body)
    assert stage.run() == [DOUBT]
    assert (calls, stage.effects()) == ([1], ["first"])


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK", "commit", "END"])
def test_H13_the_transaction_object_refuses_everything_that_follows(postgresql_stage: Stage, ending: str) -> None:
    stage = postgresql_stage

    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        for _ in range(2):
            with pytest.raises(TransactionControl):
                tx.execute(ending)
            with pytest.raises(TransactionControl):
                stage.note(tx, window, 100)
            with pytest.raises(TransactionControl):
                tx.executemany("INSERT INTO effects VALUES (%s, %s)", [("many", 1)])

    declare(stage, body)
    assert stage.run() == [DOUBT]
    assert stage.effects() == ([] if ending == "ROLLBACK" else ["11:00"])


def test_H13_no_key_is_marked_after_the_transaction_has_ended(postgresql_stage: Stage) -> None:
    stage = postgresql_stage

    def body(window: Window, tx: Transaction) -> None:
        with pytest.raises(TransactionControl):
            tx.execute("ROLLBACK")
        for ask in (lambda: tx.first_time("a"), lambda: tx.first_times(["b"])):
            with pytest.raises(TransactionControl):
                ask()

    declare(stage, body)
    assert stage.run() == [DOUBT]
    assert stage.execute("SELECT count(*) FROM telafi.marks") == [(0,)]


def test_a_failing_commit_is_a_failure_and_no_transaction_control(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    stage.execute("CREATE TABLE parents (id int PRIMARY KEY)")
    stage.execute("CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED)")

    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        tx.execute("INSERT INTO children VALUES (7)")

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 ForeignKeyViolation 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])
    stage.execute("INSERT INTO parents VALUES (7)")
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]


@pytest.mark.parametrize("where", ["inside", "end", "write"])
def test_a_conflict_at_commit_repeats_the_unit(postgresql_stage: Stage, where: str) -> None:
    stage = postgresql_stage
    stage.execute("CREATE TABLE seats (free int)")
    stage.execute("INSERT INTO seats VALUES (2)")
    calls = []

    def take(tx: Transaction) -> None:
        calls.append(1)
        tx.execute("SELECT sum(free) FROM seats")
        tx.execute("INSERT INTO seats VALUES (-1)")
        if len(calls) == 1:
            # Another serializable transaction reads and writes the same meanwhile: one of the two has to go.
            with psycopg.connect(stage.url) as other:
                other.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
                other.execute("SELECT sum(free) FROM seats")
                other.execute("INSERT INTO seats VALUES (-1)")

    def inside(window: Window, tx: Transaction) -> None:
        take(tx)

    def end(window: Window, run: Run) -> None:
        with run.transaction() as tx:
            take(tx)

    def write(window: Window, run: Run) -> None:
        run.write(take)

    declare(stage, {"inside": inside, "end": end, "write": write}[where], isolation="serializable")
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]
    assert len(calls) == 2
    assert stage.execute("SELECT sum(free) FROM seats") == [(0,)]
