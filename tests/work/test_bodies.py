"""What a job's function may give back, or raise, and what it means."""

import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from telafi import Run, Transaction, Window
from telafi.events import Failed
from tests.work.stage import DAY, Stage

LIVE = "PROCESSED 11:00-12:00 live"


def declare(stage: Stage, function: Any, **options: Any) -> None:
    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z", **options)(function)


def returns_it(_: object) -> object:
    return forgotten()


async def forgotten() -> None:
    raise AssertionError("nobody awaits it")


def test_H11_a_coroutine_that_nobody_awaits_is_no_success(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> object:
        stage.note(tx, window)
        return forgotten()

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 CoroutineNotAwaited 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])


def test_H11_a_generator_that_nobody_runs_is_no_success(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> Iterator[int]:
        stage.note(tx, window)
        yield 1

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 CoroutineNotAwaited 1"]
    assert stage.rows() == ["11:00-12:00 planned"]


@pytest.mark.parametrize("where", ["end", "write", "outside"])
def test_H11_wherever_the_transaction_lies(sqlite_stage: Stage, where: str) -> None:
    stage = sqlite_stage

    def end(window: Window, run: Run) -> object:
        return forgotten()

    def write(window: Window, run: Run) -> None:
        run.write(returns_it)

    def outside(window: Window) -> object:
        return forgotten()

    declare(stage, {"end": end, "write": write, "outside": outside}[where])
    assert stage.run() == ["FAILED 11:00-12:00 CoroutineNotAwaited 1"]
    assert stage.rows() == ["11:00-12:00 planned"]


def test_H11_an_awaitable_of_its_own_kind_is_none_either(sqlite_stage: Stage) -> None:
    stage = sqlite_stage

    class Later:
        def __await__(self) -> Generator[None, None, None]:
            yield

    def body(window: Window, tx: Transaction) -> object:
        return Later()

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 CoroutineNotAwaited 1"]


@pytest.mark.parametrize("answer", [0, False, "", "text", [1], {"a": 1}, object], ids=repr)
def test_any_other_answer_is_thrown_away(sqlite_stage: Stage, answer: object) -> None:
    stage = sqlite_stage
    stage.hourly(lambda *_: answer, since=f"{DAY}T11:00Z")
    assert stage.run() == [LIVE]


def test_H12_a_body_that_never_touched_its_transaction_is_processed(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        """Do nothing at all."""

    declare(stage, body)
    assert stage.run() == [LIVE]
    assert (stage.rows(), stage.watermark()) == (["11:00-12:00 done"], "12:00")


@pytest.mark.parametrize("status", [0, 1, None, "a text"])
def test_SystemExit_is_a_failure_whatever_its_status(stage: Stage, status: object) -> None:
    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        sys.exit(status)  # type: ignore[arg-type]

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 SystemExit 1"]
    assert (stage.effects(), stage.rows()) == ([], ["11:00-12:00 planned"])


@pytest.mark.parametrize("where", ["inside", "end", "outside"])
def test_KeyboardInterrupt_rolls_back_and_ends_the_run(stage: Stage, where: str) -> None:
    raised = [True]

    def inside(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        interrupt()

    def end(window: Window, run: Run) -> None:
        with run.transaction() as tx:
            stage.note(tx, window)
            interrupt()

    def outside(window: Window) -> None:
        interrupt()

    def interrupt() -> None:
        if raised.pop():
            raised.append(False)
            raise KeyboardInterrupt

    declare(stage, {"inside": inside, "end": end, "outside": outside}[where])
    with pytest.raises(KeyboardInterrupt):
        stage.run()
    assert stage.effects() == []
    assert stage.rows() == [f"11:00-12:00 {'open' if where == 'outside' else 'planned'}"]
    # Nobody died: the run has closed its record, so no window is charged, and the next run goes on at once.
    assert stage.execute(f"SELECT count(*) FROM {stage.table('runs')}") == [(0,)]
    assert stage.run() == [LIVE]
    assert stage.effects() == ([] if where == "outside" else ["11:00"])


def test_MemoryError_is_a_failure_and_the_next_window_waits(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        raise MemoryError

    declare(stage, body)
    assert stage.run() == ["FAILED 11:00-12:00 MemoryError 1"]
    assert stage.effects() == []


def test_an_error_keeps_its_text_and_notes(stage: Stage) -> None:
    def body(window: Window, tx: Transaction) -> None:
        error = ValueError("no such rate")
        error.add_note("asked the bank twice")
        raise error

    declare(stage, body)
    failed = stage.app.jobs.run("hourly")[0]
    assert isinstance(failed, Failed)
    assert failed.error.startswith("no such rate; asked the bank twice")
    stored = stage.execute(f"SELECT reason, error FROM {stage.table('windows')}")
    assert stored == [("ValueError", "no such rate; asked the bank twice")]


def test_an_error_of_any_length_and_of_any_text_can_be_recorded(stage: Stage) -> None:
    texts = ["x" * 100_000, "\u015f" * 5_000, "NUL \0 here", "lone \ud800 surrogate", ""]

    def body(window: Window, tx: Transaction) -> None:
        raise ValueError(texts[-1])

    declare(stage, body)
    for attempt in range(1, len(texts) + 1):
        assert stage.run() == [f"FAILED 11:00-12:00 ValueError {attempt}"]
        texts.pop()
