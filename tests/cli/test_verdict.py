"""Which exit status wins where several apply, and what each error stands for."""

import io
import signal

import click
import pytest

from telafi.cli.exit_status import Interrupted, Verdict, status_of
from telafi.cli.progress import BarProgress, NoProgress, PlainProgress, progress_for
from telafi.errors import LedgerBusy, LockPlaceError, UnknownJob
from telafi.events import Deferred, Event, Failed, Idle, InDoubt, Planned, Processed, RaisedAfter, Skipped
from telafi.instants import Span

WINDOW = Span(0, 1)
BY_PRECEDENCE: list[tuple[Event | BaseException, int]] = [
    (UnknownJob(), 2),
    (Interrupted(signal.SIGTERM), 143),
    (Deferred("a", "retry", WINDOW, out_of_reach=True), 75),
    (InDoubt("a", WINDOW, "no-end"), 3),
    (Failed("a", WINDOW, "ValueError", "no"), 1),
    (Skipped("a", "lock"), 9),
    (Idle("a", 0, 1), 0),
]


def take(verdict: Verdict, what: Event | BaseException) -> None:
    if isinstance(what, BaseException):
        verdict.add(what)
    else:
        verdict(what)


@pytest.mark.parametrize("first", range(len(BY_PRECEDENCE)))
def test_the_first_of_the_table_wins_whatever_comes_after_or_before(first: int) -> None:
    following = BY_PRECEDENCE[first:]
    for order in (following, following[::-1]):
        verdict = Verdict()
        for what, _ in order:
            take(verdict, what)
        assert verdict.status(on_lock=9) == BY_PRECEDENCE[first][1]


def test_a_failure_out_of_reach_is_75_and_an_error_after_the_commit_is_1() -> None:
    verdict = Verdict()
    verdict(RaisedAfter("a", WINDOW, "too late"))
    assert verdict.status() == 1
    verdict(Failed("a", WINDOW, "OperationalError", "disk full", out_of_reach=True))
    assert verdict.status() == 75


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LedgerBusy(), 75),
        (LockPlaceError(), 75),
        (UnknownJob(), 2),
        (click.UsageError("no"), 2),
        (click.ClickException("no"), 1),
        (KeyboardInterrupt(), 130),
        (Interrupted(signal.SIGINT), 130),
        (SystemExit(7), 7),
        (ZeroDivisionError(), 1),
    ],
)
def test_each_error_has_its_status(error: BaseException, status: int) -> None:
    assert status_of(error) == status


def test_progress_without_rich_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    progress = PlainProgress()
    done = Processed("a", WINDOW, "catch-up", 1)
    events: list[Event] = [Planned("a", 40, 0), *[done] * 40, Deferred("a", "cap", remaining=1)]
    for event in events:
        progress.hide()
        progress.show(event)
    progress.end()
    progress.show(Processed("a", WINDOW, "live", 1))
    assert capsys.readouterr().err.splitlines() == [f"telafi: a {number}/40" for number in range(4, 41, 4)]


def test_progress_is_chosen_by_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(progress_for(None, None), NoProgress)
    assert isinstance(progress_for(io.StringIO(), None), NoProgress)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert isinstance(progress_for(Terminal(), None), PlainProgress)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert isinstance(progress_for(Terminal(), None), BarProgress)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
