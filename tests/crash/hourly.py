"""An hourly job in the test's own process: what it says, and what happens on the way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from telafi import Run, Telafi, Transaction, Window
from telafi.events import Event, Outcome, Retried
from telafi.plan.retry import RetryPolicy
from tests.crash.scenes import HOUR, QUICK, SINCE, StandingClock, effects


class Hourly:
    """An application whose job has so many windows due; `heard` may be given to meddle at an event."""

    def __init__(
        self,
        url: str,
        place: Path,
        body: Callable[..., None],
        *,
        windows: int = 1,
        retry: RetryPolicy = QUICK,
        locked: bool = True,
        lock_timeout: float = 5.0,
        heard: Callable[[Event], None] | None = None,
        **job: Any,
    ) -> None:
        clock = StandingClock(SINCE + windows * HOUR)
        self.app = Telafi(
            url, place=place / "place", locked=locked, retry=retry, clock=clock, lock_timeout_seconds=lock_timeout
        )
        self.app.job(**{"name": "hourly", "every": "1h", "since": "2026-09-04T10:00Z", **job})(body)
        self.events: list[Event] = []
        self.app.subscribe(self.events.append)
        if heard is not None:
            self.app.subscribe(heard)

    def run(self, window: str | None = None) -> list[Outcome]:
        return self.app.jobs.run("hourly", window=window)

    def outcomes(self) -> list[str]:
        return [type(outcome).__name__ for outcome in self.run()]

    @property
    def retries(self) -> list[str]:
        """Give the faults that were answered by another attempt."""
        return [event.fault for event in self.events if isinstance(event, Retried)]


def styled(style: str, inside: Callable[[Window, Transaction], None]) -> Callable[..., None]:
    """Give a body that does the same in the place that the style names."""

    def end(run: Run) -> None:
        with run.transaction() as tx:
            inside(run.window, tx)

    def function(run: Run) -> None:
        run.write(lambda tx: inside(run.window, tx))

    match style:
        case "end":
            return end
        case "write":
            return function
        case _:
            return inside


def write(connection: Any, window: Any, url: str) -> None:
    """Write a window's effect on any connection."""
    effects(url)(connection, lambda: None, window.key)
