"""A body that ends in a way no `except Exception` sees: rolled back, told, and never counted as a crash."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from telafi import Failed, Processed, Run, Telafi, Transaction, Window
from telafi.events import Outcome
from tests.crash.scenes import HOUR, QUICK, SINCE, StandingClock, connect
from tests.crash.state import prepare, query, read, table

pytestmark = pytest.mark.crash


def out_of_memory() -> None:
    raise MemoryError


def without_end() -> None:
    without_end()


def interrupted() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1_000_000):
        pass  # Python looks at its signals between two instructions


def leave() -> None:
    raise SystemExit(0)


def close_generator() -> None:
    raise GeneratorExit


ENDINGS: dict[str, Callable[[], None]] = {
    "MemoryError": out_of_memory,
    "RecursionError": without_end,
    "SystemExit": leave,
    "KeyboardInterrupt": interrupted,
    "RuntimeError": close_generator,  # as Python itself renames what would end a generator
}


def declare(app: Telafi, style: str, after: Callable[[], None]) -> None:
    url = app.ledger.url
    mark = "?" if url.startswith("sqlite") else "%s"

    def write(connection: Any, window: Window) -> None:
        connection.execute(f"INSERT INTO effects (at) VALUES ({mark})", (window.key,))
        connection.execute(f"UPDATE totals SET total = total + {mark}", (len(window.key),))

    def inside(window: Window, tx: Transaction) -> None:
        write(tx, window)
        after()

    def group(window: Window, tx: Transaction) -> None:
        inside(window, tx)

    def end(run: Run) -> None:
        with run.transaction() as tx:
            inside(run.window, tx)

    def function(run: Run) -> None:
        run.write(lambda tx: inside(run.window, tx))

    def outside(window: Window) -> None:
        after()
        with connect(url) as connection:
            write(connection, window)

    bodies: dict[str, Callable[..., None]] = {
        "inside": inside, "group": group, "end": end, "write": function, "outside": outside,
    }  # fmt: skip
    size = 2 if style == "group" else 1
    app.job(name="hourly", every="1h", since="2026-09-04T10:00Z", group=size)(bodies[style])


@pytest.mark.parametrize("style", ["inside", "group", "end", "write", "outside"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_body_ends_by(ledger_url: str, tmp_path: Path, ending: str, style: str) -> None:
    prepare(ledger_url)
    raises = ending == "KeyboardInterrupt"

    def application(after: Callable[[], None]) -> Telafi:
        clock = StandingClock(SINCE + 2 * HOUR)
        app = Telafi(ledger_url, place=tmp_path / "place", retry=QUICK, clock=clock)
        declare(app, style, after)
        return app

    for _ in range(4):  # more often than processes may die at a window
        if raises:
            with pytest.raises(KeyboardInterrupt):
                application(ENDINGS[ending]).jobs.run("hourly")
        else:
            [outcome] = application(ENDINGS[ending]).jobs.run("hourly")
            assert isinstance(outcome, Failed)
            assert outcome.reason == ending
        state = read(ledger_url)
        assert (state.effects, state.total, state.runs) == ([], 0, [])
    outcomes: list[Outcome] = application(lambda: None).jobs.run("hourly")
    assert [type(outcome) for outcome in outcomes] == [Processed, Processed]
    assert len(read(ledger_url).effects) == 2
    attempts = query(ledger_url, f"SELECT attempts FROM {table(ledger_url, 'windows')} ORDER BY start_at")
    assert attempts == [(0 if raises else 4,), (0,)]
