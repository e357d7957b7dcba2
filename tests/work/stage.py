"""A stage for tests of behaviour: an application on a fresh ledger, a clock that stands, a line for each event."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import psycopg

from telafi import FixedClock, Telafi, Transaction, Window
from telafi.events import (
    Deferred,
    Event,
    Failed,
    Idle,
    InDoubt,
    Planned,
    Processed,
    RaisedAfter,
    Retried,
    Skipped,
    Warned,
)
from telafi.instants import Span, instant_of, instant_text
from telafi.ledger.compaction import compact
from telafi.ledger.runners import perform
from telafi.ledger.runs import open_run
from telafi.ledger.steps import Begin, Commit, Steps
from telafi.ledger.watermarks import lock_job, read_job, set_watermark
from telafi.ledger.windows import insert_windows, list_ranges, list_windows
from telafi.lock.owner import Owner, new_name, process_file
from telafi.work.job import Job

T = TypeVar("T")
DAY = "2026-09-04"
WAIT_SECONDS = 20.0
"""How long a test waits for an event that must come; only a defect reaches it."""


def at(text: str) -> int:
    """Give the instant of `12:07` on the day of the tests, or of `2026-09-05T00:00`, in UTC."""
    return instant_of(f"{text}Z" if "T" in text else f"{DAY}T{text}Z")


def short(instant: int) -> str:
    """Write an instant as `12:07` on the day of the tests, else in full."""
    text = instant_text(instant).removeprefix(f"{DAY}T")
    return text.removesuffix("Z").removesuffix(":00") if len(text) < 18 else text


def bounds(span: tuple[int, int]) -> str:
    return f"{short(span[0])}-{short(span[1])}"


def hours(first: int, last: int) -> list[Span]:
    """Give the windows of whole hours from `first` to `last`."""
    return [Span(at(f"{hour:02}:00"), at(f"{hour + 1:02}:00")) for hour in range(first, last)]


def line(event: Event) -> str:  # noqa: PLR0911 - one for each kind
    """Write an event as one short line."""
    match event:
        case Processed(window=window, kind=kind, new=new, repeated=repeated):
            counted = "" if new is None else f" new={new} repeated={repeated}"
            return f"PROCESSED {bounds(window)} {kind}{counted}"
        case Skipped(window=window, reason=reason):
            return f"SKIPPED {reason}" if window is None else f"SKIPPED {bounds(window)} {reason}"
        case Deferred(window=window, reason=reason, remaining=remaining):
            left = "" if remaining is None else f" {remaining}"
            return f"DEFERRED {reason}{left}" if window is None else f"DEFERRED {bounds(window)} {reason}"
        case Failed(window=window, reason=reason, attempt=attempt, attempts=attempts, parked=parked):
            of = "" if attempts is None else f"/{attempts}"
            return f"FAILED {bounds(window)} {reason} {attempt}{of}{' parked' if parked else ''}"
        case InDoubt(window=window, reason=reason):
            return f"IN-DOUBT {bounds(window)} {reason}"
        case Idle(watermark=watermark, next_at=next_at, new=new):
            return f"IDLE {short(watermark)} next={short(next_at)}{' (new)' if new else ''}"
        case Warned(text=text):
            return f"WARNED {text}"
        case RaisedAfter(window=window, error=error):
            return f"RAISED-AFTER {bounds(window)} {error}"
        case Retried(fault=fault, attempt=attempt):
            return f"RETRIED {fault} {attempt}"
        case Planned(windows=windows, remaining=remaining):
            return f"PLANNED {windows} {remaining}"


def lines(events: Sequence[Event]) -> list[str]:
    return [line(event) for event in events]


class Stage:
    """One application, its clock, its ledger seen from outside, and a table that shows every effect."""

    @property
    def locks(self) -> Path:
        """The ledger's own directory below the place."""
        return self.app.jobs._moment.place

    def __init__(self, url: str, place: Path, now: str = "12:07", **options: Any) -> None:
        self.url, self.place = url, place
        self.is_server = url.startswith("postgresql")
        self.clock = FixedClock(at(now))
        self.app = self.another(**options)
        self.events: list[Event] = []
        self.app.subscribe(self.events.append)
        if self.is_server:
            self.app.ledger.upgrade()
        self.execute("CREATE TABLE effects (place TEXT NOT NULL, amount INTEGER NOT NULL)")

    def another(self, **options: Any) -> Telafi:
        """Make another application on the same ledger, as a second process would."""
        return Telafi(self.url, **{"place": self.place, "clock": self.clock, **options})

    def set(self, now: str) -> None:
        self.clock.set(at(now))

    def sql(self, text: str) -> str:
        """Write a statement with `?` in the driver's own style."""
        return text.replace("?", "%s") if self.is_server else text

    def table(self, name: str) -> str:
        """Name one of the ledger's tables."""
        return f"telafi.{name}" if self.is_server else f"telafi_{name}"

    def note(self, tx: Transaction, window: Window, amount: int = 1) -> None:
        """Leave one effect: a plain INSERT that would show anything done twice."""
        tx.execute(self.sql("INSERT INTO effects VALUES (?, ?)"), (short(instant_of(window.start)), amount))

    def effects(self) -> list[str]:
        """List the windows that left an effect, each as often as it did."""
        return [row[0] for row in self.execute("SELECT place FROM effects ORDER BY place")]

    def total(self) -> int:
        return int(self.execute("SELECT COALESCE(SUM(amount), 0) FROM effects")[0][0])

    def hourly(
        self, body: Callable[[Window, Transaction], object] | None = None, app: Telafi | None = None, **options: Any
    ) -> Job[..., Any]:
        """Declare a job over hours since ten o'clock that leaves one effect, and then does what the test adds."""

        def hourly(window: Window, tx: Transaction) -> object:
            self.note(tx, window)
            return body(window, tx) if body is not None else None

        declared = {"name": "hourly", "every": "1h", "since": f"{DAY}T10:00Z", **options}
        return (app or self.app).job(**declared)(hourly)

    def run(self, job: str = "hourly", *, app: Telafi | None = None, **options: Any) -> list[str]:
        """Run a job and give back its lines."""
        if len(str(options.get("window", ""))) == 5:
            options["window"] = f"{DAY}T{options['window']}Z"
        return lines((app or self.app).jobs.run(job, **options))

    def told(self, kind: type) -> list[str]:
        """Give the lines of one kind of event, in the order in which they were told."""
        return [line(event) for event in self.events if isinstance(event, kind)]

    def rows(self, job: str = "hourly") -> list[str]:
        """List the stored windows, oldest first."""
        listed = self.perform(list_windows(job, 10_000))
        return [f"{bounds((row.start, row.end))} {row.state}" for row in reversed(listed)]

    def ranges(self, job: str = "hourly") -> list[str]:
        """List the compacted ranges, oldest first."""
        listed = self.perform(list_ranges(job))
        return [f"{bounds((row.start, row.end))} {row.windows}" for row in reversed(listed)]

    def watermark(self, job: str = "hourly") -> str | None:
        row = self.perform(read_job(job))
        return None if row is None or row.watermark is None else short(row.watermark)

    def set_watermark(self, instant: str, job: str = "hourly") -> None:
        """Put the watermark somewhere else, as an operator may."""
        self.perform(lock_job(job))
        self.perform(set_watermark(job, at(instant)))

    def pause(self, job: str = "hourly", *, paused: bool = True) -> None:
        self.execute(f"UPDATE {self.table('jobs')} SET paused = ? WHERE job = ?", (paused, job))

    def plan(self, spans: Sequence[Span], job: str = "hourly") -> None:
        """Store windows as planned, and the watermark before them, as a run leaves them that was killed at once."""

        def steps() -> Steps[None]:
            yield Begin()
            yield from lock_job(job)
            first = spans[0].start if spans else at("10:00")
            yield from set_watermark(job, first)
            yield from insert_windows(job, spans, state="planned", schedule="every 1h", planned_at=first)
            yield Commit()

        self.perform(steps())

    def force(self, start: str, state: str, job: str = "hourly") -> None:
        """Put a stored window into another state."""
        text = f"UPDATE {self.table('windows')} SET state = ? WHERE job = ? AND start_at = ?"
        self.execute(text, (state, job, at(start)))

    def compact(self, horizon: str, job: str = "hourly") -> int:
        return self.perform(compact(job, at(horizon)))

    def leave_dead_run(self, run: str, plan: Sequence[tuple[str, str]], job: str = "hourly") -> None:
        """Leave the record of a run whose process was killed at the first window of its plan."""
        spans = [Span(at(start), at(end)) for start, end in plan]
        if not self.rows(job):
            self.plan(spans, job)
        self.perform(open_run(run, job, spans, self.gone(), at("10:00")))

    def bury(self, job: str = "hourly") -> None:
        """Let the owner of every open run of a job be one that has ended."""
        self.execute(f"UPDATE {self.table('runs')} SET owner = ? WHERE job = ?", (self.gone(), job))

    def gone(self) -> str:
        """Name an owner that was killed: its file is there, and nobody holds its lock."""
        moment = self.app.jobs._moment
        with moment.held("nobody"):
            alive = Owner.from_text(moment.owner())
        killed = replace(alive, started=f"0@{alive.started.partition('@')[2]}", name=new_name())
        process_file(self.locks, killed.name).touch(mode=0o600)
        return killed.as_text()

    def perform(self, steps: Steps[T]) -> T:
        """Run steps on a connection of their own."""
        with self.app.ledger.opened() as handle:
            return perform(steps, handle)

    def until_somebody_waits(self, sessions: int = 1) -> None:
        """Look until that many sessions of the server wait for another's lock."""
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        with psycopg.connect(self.url, autocommit=True) as connection:
            for _ in range(20_000):
                found = connection.execute(waiting).fetchone()
                if found and found[0] >= sessions:
                    return
        raise AssertionError("nobody waits")

    def execute(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement on a connection that Telafi knows nothing of."""
        if self.is_server:
            with psycopg.connect(self.url, autocommit=True) as connection:
                # The test's own text, with placeholders.
                cursor = connection.execute(self.sql(text).encode(), parameters)
                return cursor.fetchall() if cursor.description else []
        with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None)) as connection_:
            return connection_.execute(text, parameters).fetchall()


class InThread:
    """Something that happens meanwhile; its answer, or its error, at the end."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._answer: Any = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._answer = self._function()
        except BaseException as error:  # noqa: BLE001 - raised again where it is asked for
            self._error = error

    def answer(self) -> Any:
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive(), "it should have ended by now"
        if self._error is not None:
            raise self._error
        return self._answer
