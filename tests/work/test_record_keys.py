"""Record keys: each thing once, remembered in the transaction of its effect."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from telafi import Transaction, Window, file_key
from telafi.ledger.marks import MarkScope, first_time
from telafi.ledger.runners import perform
from telafi.ledger.steps import Batch, Rows, Statement
from tests.work.stage import DAY, Stage


class Counting:
    """A handle that remembers which statements it was asked for."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.statements: list[Statement] = []

    def run(self, statement: Statement) -> Rows:
        self.statements.append(statement)
        rows: Rows = self._handle.run(statement)
        return rows

    def run_batch(self, batch: Batch) -> Rows:
        raise AssertionError("a statement for each key")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)


def ask(stage: Stage, keys: Sequence[str], name: str = "hourly", **options: Any) -> tuple[list[str], list[Statement]]:
    """Ask for keys in a unit of their own; gives back the new ones and the statements that it took."""
    new: list[str] = []
    statements: list[Statement] = []

    def asks(window: Window, tx: Transaction) -> None:
        counting = Counting(tx._handle)
        tx._handle = counting
        new.extend(tx.first_times(keys, **options))
        statements.extend(counting.statements)

    stage.app.job(name=name, every="1h", since=f"{DAY}T11:00Z")(asks)
    stage.run(name)
    return new, statements


def test_new_keys_come_in_the_order_asked_each_once(stage: Stage) -> None:
    assert ask(stage, ["b", "a", "b", "c", "a"])[0] == ["b", "a", "c"]
    assert stage.told(type(stage.events[-1]))[-1] == "PROCESSED 11:00-12:00 live new=3 repeated=2"
    assert ask(stage, ["d", "c", "b", "a"], "second", scope="hourly")[0] == ["d"]
    assert stage.told(type(stage.events[-1]))[-1] == "PROCESSED 11:00-12:00 live new=1 repeated=3"


def test_thousands_of_keys_take_one_statement_or_two_and_travel_sorted(stage: Stage) -> None:
    keys = [f"order:{number}" for number in range(5_000)]
    Random(7).shuffle(keys)
    new, statements = ask(stage, keys)
    assert new == keys
    names = [statement.name for statement in statements]
    assert names == ["insert_marks"]
    # Two bulk inserts of the same keys meet in the same order, so neither can hold what the other waits for.
    assert statements[-1].parameters["keys"] == sorted(keys)
    new, statements = ask(stage, [*keys, "one more"], "second", scope="hourly")
    assert new == ["one more"]
    names = [statement.name for statement in statements]
    assert names == (["insert_marks"] if stage.is_server else ["insert_marks", "read_new_keys"])


def test_keys_that_the_same_unit_has_asked_for_before_are_repeats(stage: Stage) -> None:
    new: list[list[str]] = []

    def asks(window: Window, tx: Transaction) -> None:
        new.extend(tx.first_times(keys) for keys in (["a"], ["b", "a"], ["a", "b", "c"], ["c", "b", "a"]))

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(asks)
    assert stage.run() == ["PROCESSED 11:00-12:00 live new=3 repeated=6"]
    assert new == [["a"], ["b"], ["c"], []]


def test_no_keys_ask_the_ledger_nothing(stage: Stage) -> None:
    assert ask(stage, []) == ([], [])
    assert stage.told(type(stage.events[-1]))[-1] == "PROCESSED 11:00-12:00 live new=0 repeated=0"


def test_one_key_asked_for_one_by_one(stage: Stage) -> None:
    asked = []

    def asks(window: Window, tx: Transaction) -> None:
        asked.extend([tx.first_time("a"), tx.first_time("a"), tx.first_time("b", payload={"cents": 200})])

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(asks)
    assert stage.run() == ["PROCESSED 11:00-12:00 live new=2 repeated=1"]
    assert asked == [True, False, True]


def test_H14_the_same_key_with_another_payload_is_a_conflict_and_nothing_is_done(stage: Stage) -> None:
    def pays(window: Window, tx: Transaction) -> None:
        cents = 200 if window.start.hour == 10 else 500
        tx.first_time("k1", payload={"amount": cents, "currency": "TRY"})
        stage.note(tx, window, cents)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z")(pays)
    assert stage.run() == ["PROCESSED 10:00-11:00 catch-up new=1 repeated=0", "FAILED 11:00-12:00 KeyConflict 1"]
    assert stage.total() == 200


def test_the_same_payload_in_another_order_is_a_repeat(stage: Stage) -> None:
    payloads = [{"amount": 200, "to": "x"}, {"to": "x", "amount": 200}]

    def pays(window: Window, tx: Transaction) -> None:
        assert [tx.first_time("k1", payload=payload) for payload in payloads] == [True, False]
        assert not tx.first_time("k1"), "without a payload there is nothing to compare"

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(pays)
    assert stage.run() == ["PROCESSED 11:00-12:00 live new=1 repeated=2"]


def test_keys_of_a_unit_that_fails_are_free_again(stage: Stage) -> None:
    broken = [True]

    def fails_once(window: Window, tx: Transaction) -> None:
        assert tx.first_times(["a", "b"]) == ["a", "b"]
        if broken.pop():
            broken.append(False)
            raise ValueError("after the marks")

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(fails_once)
    assert stage.run() == ["FAILED 11:00-12:00 ValueError 1"]
    assert stage.run() == ["PROCESSED 11:00-12:00 live new=2 repeated=0"]


def test_T3_09_the_same_key_in_two_jobs_and_for_two_tenants_is_four_things(stage: Stage) -> None:
    def both(window: Window, tx: Transaction) -> None:
        for tenant in ("a", "b"):
            if tx.first_time(f"{tenant}:42"):
                stage.note(tx, window)

    for name in ("invoice", "mail"):
        stage.app.job(name=name, every="1h", since=f"{DAY}T11:00Z")(both)
        assert stage.run(name) == ["PROCESSED 11:00-12:00 live new=2 repeated=0"]
    assert stage.total() == 4


DISTINCT = {
    "where one part ends": [("job1", "1"), ("job", "11")],
    "separators": [("a:b", "c"), ("a", "b:c")],
    "composed": [("s", "\u00e9"), ("s", "e\u0301")],
    "turkish": [("s", "\u0130"), ("s", "i"), ("s", "I"), ("s", "\u0131"), ("s", "i\u0307")],
    "case and space": [("s", "a"), ("s", "A"), ("s", "a "), ("s", " a"), ("s", "\uff41")],
    "sharp s": [("s", "stra\u00dfe"), ("s", "strasse"), ("s", "STRASSE")],
    "odd": [("s", text) for text in ("\U0001f600", "\U0001f601", "%", "_", "'", "\\", "a\nb", "%s", ":k", '"', "{}")],
}


@pytest.mark.parametrize("pairs", DISTINCT.values(), ids=DISTINCT)
def test_T3_16_G04_keys_are_compared_byte_by_byte(stage: Stage, pairs: list[tuple[str, str]]) -> None:
    def asks(window: Window, tx: Transaction) -> None:
        assert [tx.first_time(key, scope=scope) for scope, key in pairs] == [True] * len(pairs)
        assert [tx.first_times([key], scope=scope) for scope, key in pairs] == [[]] * len(pairs)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(asks)
    assert stage.run() == [f"PROCESSED 11:00-12:00 live new={len(pairs)} repeated={len(pairs)}"]


def test_G06_the_longest_scope_and_key_fit_into_the_index(stage: Stage) -> None:
    scope, key = "\u015f" * 100, "\U0001f600" * 125

    def asks(window: Window, tx: Transaction) -> None:
        assert tx.first_time(key, scope=scope)
        assert tx.first_times([key, key[1:]], scope=scope) == [key[1:]]

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(asks)
    assert stage.run() == ["PROCESSED 11:00-12:00 live new=2 repeated=1"]


BAD = ["", "a\0b", "\ud800", "x" * 501, "\u015f" * 251, None, 17, b"bytes"]


@pytest.mark.parametrize("key", BAD, ids=ascii)
def test_T3_19_a_key_that_cannot_be_is_refused_before_any_statement(sqlite_stage: Stage, key: Any) -> None:
    stage = sqlite_stage

    def asks(window: Window, tx: Transaction) -> None:
        counting = Counting(tx._handle)
        tx._handle = counting
        for ask_for in (lambda: tx.first_time(key), lambda: tx.first_times(["fine", key])):
            with pytest.raises(ValueError):
                ask_for()
        assert counting.statements == []

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(asks)
    assert stage.run()[0].startswith("PROCESSED 11:00-12:00 live")


def test_T3_19_only_the_keys_own_constraint_says_repeat(stage: Stage) -> None:
    # A mark without its instant breaks NOT NULL: that must be an error, never "seen before".
    def asks(window: Window, tx: Transaction) -> None:
        nowhen = MarkScope("hourly", None, None)  # type: ignore[arg-type]
        perform(first_time(nowhen, "a", None), tx._handle)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(asks)
    assert stage.run() == [f"FAILED 11:00-12:00 {'NotNullViolation' if stage.is_server else 'IntegrityError'} 1"]


def test_the_same_file_under_one_name_is_one_thing(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "orders.csv", tmp_path / "b" / "orders.csv"
    for file, text in ((first, "1;25000\n"), (second, "1;25000\n")):
        file.parent.mkdir()
        file.write_text(text)
    assert file_key(first) == file_key(str(second))
    assert file_key(first).startswith("orders.csv:")
    second.write_text("1;25001\n")
    assert file_key(first) != file_key(second)
    other = first.rename(first.with_name("orders-2.csv"))
    assert file_key(other).partition(":")[2] != file_key(second).partition(":")[2]
    with pytest.raises(FileNotFoundError):
        file_key(first)
