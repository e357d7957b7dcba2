"""What a runner does: count the departures of every due hour, again and again, until nothing is due."""

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

from telafi import Idle, LedgerError, Telafi, Transaction, Window
from telafi.events import Deferred, Event, Outcome, Processed, Skipped
from telafi.instants import instant_of
from tests.crash.child import Talk
from tests.crash.scenes import QUICK, Fuse, StandingClock, connect, fuse_connections, shown

COUNT = {
    "sqlite": """
        INSERT INTO hours (start_at, departures, runner)
        SELECT :start, COALESCE(SUM(departures), 0), :runner FROM source WHERE at >= :start AND at < :end""",
    "postgresql": """
        INSERT INTO hours (start_at, departures, runner)
        SELECT %(start)s, COALESCE(SUM(departures), 0), %(runner)s FROM source
        WHERE at >= %(start)s AND at < %(end)s""",
}
ADD = {
    "sqlite": """
        UPDATE totals SET total = total + (
            SELECT COALESCE(SUM(departures), 0) FROM source WHERE at >= :start AND at < :end)""",
    "postgresql": """
        UPDATE totals SET total = total + (
            SELECT COALESCE(SUM(departures), 0) FROM source WHERE at >= %(start)s AND at < %(end)s)""",
}


def application(
    talk: Talk,
    url: str,
    place: str,
    *,
    now: int,
    locked: bool = True,
    poison: int | None = None,
    dies_after_one: bool = False,
    blow_before: int | None = None,
    style: str = "inside",
    **job: Any,
) -> Telafi:
    """The application; it dies at the window that starts at `poison`, or before a chosen request."""
    app = Telafi(url, place=Path(place), locked=locked, retry=QUICK, clock=StandingClock(now), lock_timeout_seconds=5)
    dialect = "sqlite" if url.startswith("sqlite") else "postgresql"

    def count(window: Window, tx: Transaction) -> None:
        start = instant_of(window.start)
        talk.tell("body", start)
        bounds = {"start": start, "end": instant_of(window.end)}
        tx.execute(COUNT[dialect], {**bounds, "runner": os.getpid()})
        if start == poison:
            os.kill(os.getpid(), signal.SIGKILL)
        tx.execute(ADD[dialect], bounds)

    def count_outside(window: Window) -> None:
        start = instant_of(window.start)
        talk.tell("body", start)
        if start == poison:
            os.kill(os.getpid(), signal.SIGKILL)
        with closing(connect(url)) as own:
            own.execute(COUNT[dialect], {"start": start, "end": instant_of(window.end), "runner": os.getpid()})

    app.job(**{"name": "departures", "every": "1h", "max_windows": 50, **job})(
        count if style == "inside" else count_outside
    )

    def heard(event: Event) -> None:
        if isinstance(event, Processed):
            talk.tell("done")
            if dies_after_one:
                os.kill(os.getpid(), signal.SIGKILL)

    app.subscribe(heard)
    fuse_connections(app, Fuse(blow_before))
    return app


def finished(outcomes: list[Outcome]) -> bool:
    """Nothing is due any more, or another copy has the lock."""
    return all(
        isinstance(outcome, Idle) or (isinstance(outcome, Skipped) and outcome.reason == "lock") for outcome in outcomes
    )


def expected(outcome: Outcome, *, restarts: bool) -> bool:
    """What a race may end a window or a run with."""
    match outcome:
        case Processed() | Skipped() | Idle() | Deferred(reason="cap"):
            return True
        case Deferred():
            return restarts and outcome.out_of_reach
        case _:
            return False


def run_until_idle(talk: Talk, *, restarts: bool = False, **given: Any) -> dict[str, Any]:
    """Run until nothing is due; tells every body and every success, and how it ended.

    Where the server restarts meanwhile, a run may find it away.
    """
    app = application(talk, **given)
    while True:
        try:
            outcomes = app.jobs.run("departures")
        except LedgerError as error:
            if not restarts:
                raise
            talk.tell("away", str(error))
            app.clock.sleep(0.02)
            continue
        if bad := [outcome for outcome in outcomes if not expected(outcome, restarts=restarts)]:
            talk.tell("bad", shown(bad))
        if finished(outcomes):
            return {"outcomes": shown(outcomes)}


def run_once(talk: Talk, window: str | None = None, **given: Any) -> list[dict[str, Any]]:
    return shown(application(talk, **given).jobs.run("departures", window=window))
