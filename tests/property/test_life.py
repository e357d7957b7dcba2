"""A job's whole life by chance: runs, crashes, new schedules, operators and clocks; then everything is done, once."""

import secrets
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from telafi import FixedClock, Telafi, Transaction, Window
from telafi.errors import NotABoundary, WindowOverlap
from telafi.events import Idle
from telafi.instants import SECOND, Span, instant_of
from telafi.ledger.compaction import compact
from telafi.ledger.planning import PlanRequest, plan_transaction
from telafi.ledger.runners import perform
from telafi.ledger.steps import Begin, Commit, Steps
from telafi.ledger.watermarks import lock_job, set_watermark
from telafi.plan.asked import plan_window
from telafi.plan.catchup import DONE, PARKED, PASSED, PLANNED, Plan, Stored, first_watermark, plan_run
from telafi.plan.every import Every

STEPS = st.integers(1, 7)
ANCHORS = st.integers(0, 7)
CAPS = st.integers(1, 5)


class Broken(Exception):
    """The body fails."""


class Life(RuleBasedStateMachine):
    """What may happen to a job. `rows`, `ranges` and `watermark` are read from whatever world it lives in."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 30
        self.grid = Every(3)
        self.first = 0
        self.highest = 0

    # The world: a list in memory here, a ledger below.

    def begin(self) -> None:
        self.stored: dict[Span, str] = {}
        self.compacted: list[Span] = []
        self.mark: int | None = None
        self.done: Counter[int] = Counter()

    def rows(self) -> list[Stored]:
        return [Stored(*span, state) for span, state in self.stored.items()]

    def ranges(self) -> list[Span]:
        return self.compacted

    def watermark(self) -> int | None:
        return self.mark

    def effects(self) -> Counter[int]:
        return self.done

    def everything(self) -> list[Stored]:
        return self.rows() + [Stored(*span, DONE) for span in self.ranges()]

    def write(self, plan: Plan) -> None:
        self.mark = plan.watermark
        for span in plan.missing:
            assert span not in self.stored
            self.stored[span] = PLANNED

    def do_plan(self, cap: int) -> Plan:
        mark = self.mark
        if mark is None:
            mark = first_watermark(self.grid, 0, self.now)
        plan = plan_run(self.grid, mark, self.now, self.everything(), windows_max=cap)
        self.write(plan)
        return plan

    def do_run(self, cap: int, fails: int | None, *, parks: bool) -> bool:
        """Run what is due; True where there was something."""
        due = self.do_plan(cap).due
        for number, span in enumerate(due):
            if number == fails:
                if not parks:
                    break
                self.finish(span, PARKED)
            else:
                self.process(span)
        return bool(due)

    def process(self, span: Span) -> None:
        assert span.end <= self.now, "an open window was given out"
        if self.stored[span] == PLANNED:
            self.done.update(range(span.start, span.end))
            self.finish(span, DONE)

    def finish(self, span: Span, state: str) -> None:
        self.stored[span] = state
        if self.mark == span.start:
            self.mark = span.end

    def do_ask(self, start: int) -> None:
        if self.mark is None:
            return
        first = min((row.start for row in self.everything()), default=None)
        ranges = [Stored(*span, DONE) for span in self.ranges()]
        plan = plan_window(self.grid, start, self.now, self.mark, rows=self.rows(), ranges=ranges, first_start=first)
        if isinstance(plan, Plan):
            self.write(plan)
            if plan.due[0].end <= self.now:
                self.process(plan.due[0])

    def do_set_back(self, to: int) -> None:
        self.mark = to

    def do_compact(self, horizon: int) -> None:
        for span in sorted(span for span, state in self.stored.items() if state == DONE and span.end <= horizon):
            del self.stored[span]
            touching = [done for done in self.compacted if done.end == span.start or done.start == span.end]
            for done in touching:
                self.compacted.remove(done)
            edges = [edge for done in [*touching, span] for edge in done]
            self.compacted.append(Span(min(edges), max(edges)))

    # What happens.

    @initialize()
    def start(self) -> None:
        self.begin()
        self.do_run(100, None, parks=False)

    @rule(seconds=st.integers(1, 15))
    def time_passes(self, seconds: int) -> None:
        self.set_clock(self.now + seconds)

    @rule(seconds=st.integers(1, 20))
    def the_clock_goes_back(self, seconds: int) -> None:
        self.set_clock(max(0, self.now - seconds))

    @rule(step=STEPS, anchor=ANCHORS)
    def the_schedule_changes(self, step: int, anchor: int) -> None:
        self.grid = Every(step, anchor)

    @rule(cap=CAPS)
    def a_run(self, cap: int) -> None:
        self.do_run(cap, None, parks=False)

    @rule(cap=CAPS, fails=st.integers(0, 3), parks=st.booleans())
    def a_run_that_fails(self, cap: int, fails: int, parks: bool) -> None:  # noqa: FBT001
        self.do_run(cap, fails, parks=parks)

    @rule(cap=CAPS)
    def a_run_that_is_killed_when_it_has_planned(self, cap: int) -> None:
        self.do_plan(cap)

    @rule(start=st.integers(0, 70))
    def somebody_asks_for_a_window(self, start: int) -> None:
        with suppress(NotABoundary, WindowOverlap):
            self.do_ask(start)

    @rule(back=st.integers(0, 30))
    def the_watermark_is_set_back(self, back: int) -> None:
        mark = self.watermark()
        if mark is not None:
            self.do_set_back(max(0, mark - back))

    @rule(horizon=st.integers(0, 60))
    def history_is_compacted(self, horizon: int) -> None:
        self.do_compact(horizon)

    def set_clock(self, now: int) -> None:
        self.now = now
        self.highest = max(self.highest, now)

    # What must always be so.

    @invariant()
    def stored_windows_never_overlap(self) -> None:
        if not hasattr(self, "stored"):
            return
        spans = sorted((row.start, row.end) for row in self.everything())
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans

    @invariant()
    def nothing_is_done_twice(self) -> None:
        if hasattr(self, "stored"):
            assert set(self.effects().values()) <= {1}

    @invariant()
    def everything_behind_the_watermark_is_finished(self) -> None:
        if not hasattr(self, "stored"):
            return
        mark = self.watermark()
        finished = [row for row in self.everything() if row.state in PASSED]
        for instant in range(self.first, mark or 0):
            assert sum(row.start <= instant < row.end for row in finished) == 1, instant

    @invariant()
    def done_means_done(self) -> None:
        if not hasattr(self, "stored"):
            return
        marked: Counter[int] = Counter()
        for row in self.everything():
            if row.state == DONE:
                marked.update(range(row.start, row.end))
        assert marked == self.effects()

    def teardown(self) -> None:
        """Then nothing goes wrong any more, and everything that is closed gets done."""
        if not hasattr(self, "stored"):
            return
        self.set_clock(max(self.highest, self.now) + 20)
        runs = 0
        while self.do_run(10, None, parks=False):
            runs += 1
            assert runs < 50, "it never ends"
        newest = self.grid.at_or_before(self.now)
        mark = self.watermark()
        assert mark is not None
        assert mark >= newest
        parked = [row for row in self.rows() if row.state == PARKED]
        for instant in range(self.first, mark):
            left_out = sum(row.start <= instant < row.end for row in parked)
            assert self.effects()[instant] + left_out == 1, instant
        self.everything_behind_the_watermark_is_finished()


class LifeOnALedger(Life):
    """The same life on a real SQLite ledger, through the application."""

    epoch: ClassVar = datetime(2026, 9, 4, tzinfo=UTC)

    def begin(self) -> None:
        self.stored = {}
        self.folder = tempfile.TemporaryDirectory()
        self.zero = instant_of(self.epoch)
        self.clock = FixedClock(self.zero)
        self.fails: int | None = None
        self.parks = False
        self.app = self.application()
        self.app.ledger.upgrade()
        self.reader = sqlite3.connect(f"{self.folder.name}/ledger.db", isolation_level=None)
        self.reader.execute("CREATE TABLE effects (instant INTEGER)")

    def application(self) -> Telafi:
        """Start the application anew, with the schedule of the day."""
        self.clock.set(self.zero + self.now * SECOND)
        app = Telafi(
            f"sqlite:///{self.folder.name}/ledger.db", place=Path(self.folder.name) / "locks", clock=self.clock
        )
        calls: list[int] = []

        def body(window: Window, tx: Transaction) -> None:
            start, end = (self.small(instant_of(edge)) for edge in (window.start, window.end))
            assert end <= self.now, "an open window was given out"
            tx.executemany("INSERT INTO effects VALUES (?)", [(instant,) for instant in range(start, end)])
            calls.append(start)
            if len(calls) - 1 == self.fails:
                raise Broken

        options: dict[str, Any] = {"on_error": "park", "attempts": 1} if self.parks else {}
        anchor = self.epoch + timedelta(seconds=self.grid.anchor)
        app.job(
            name="job", every=f"{self.grid.step_microseconds}s", anchor=anchor, since=self.epoch, **options
        )(body)  # fmt: skip
        return app

    def small(self, instant: int) -> int:
        return (instant - self.zero) // SECOND

    def perform(self, steps: Steps[Any]) -> Any:
        with self.app.ledger.opened() as handle:
            return perform(steps, handle)

    def read(self, text: str) -> list[tuple[Any, ...]]:
        return self.reader.execute(text).fetchall()

    def rows(self) -> list[Stored]:
        rows = self.read("SELECT start_at, end_at, state FROM telafi_windows")
        return [Stored(self.small(start), self.small(end), state) for start, end, state in rows]

    def ranges(self) -> list[Span]:
        rows = self.read("SELECT start_at, end_at FROM telafi_ranges")
        return [Span(self.small(start), self.small(end)) for start, end in rows]

    def watermark(self) -> int | None:
        rows = self.read("SELECT watermark FROM telafi_jobs")
        return self.small(rows[0][0]) if rows and rows[0][0] is not None else None

    def effects(self) -> Counter[int]:
        return Counter(instant for (instant,) in self.read("SELECT instant FROM effects"))

    def do_plan(self, cap: int) -> Plan:
        def now() -> Steps[int]:
            return self.zero + self.now * SECOND
            yield

        job = self.application().jobs.get("job")
        request = PlanRequest(
            job="job", schedule=job.schedule, since=self.zero, grace=0, max_age=None, windows_max=cap, asked=None,
            run=secrets.token_hex(4), owner=lambda: "nobody", read_now=now, is_gone=lambda _: False, boot=None,
        )  # fmt: skip
        plan: Plan = self.perform(plan_transaction(request)).plan
        return plan

    def do_run(self, cap: int, fails: int | None, *, parks: bool) -> bool:
        self.fails, self.parks = fails, parks
        self.app = self.application()
        outcomes = self.app.jobs.run("job", max_windows=cap)
        self.fails = None
        return not isinstance(outcomes[0], Idle)

    def do_ask(self, start: int) -> None:
        self.app = self.application()
        self.app.jobs.run("job", window=self.epoch + timedelta(seconds=start))

    def do_set_back(self, to: int) -> None:
        def steps() -> Steps[None]:
            yield Begin()
            yield from lock_job("job")
            yield from set_watermark("job", self.zero + to * SECOND)
            yield Commit()

        self.perform(steps())

    def do_compact(self, horizon: int) -> None:
        self.perform(compact("job", self.zero + horizon * SECOND))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            with self.folder, closing(self.reader):
                super().teardown()


def test_a_life_in_memory() -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=150, stateful_step_count=30))


def test_a_life_on_a_ledger() -> None:
    run_state_machine_as_test(LifeOnALedger, settings=settings(max_examples=8, stateful_step_count=14))
