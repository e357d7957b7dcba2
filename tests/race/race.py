"""Several runners at once on one ledger, killed at random moments of their progress and started again at once."""

import selectors
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from telafi import Telafi
from telafi.instants import instant_text
from tests.crash.forks import Child, Forks
from tests.crash.scenes import connect
from tests.crash.state import table
from tests.race.departures import HOUR

EVENTS_MAX = 30
REQUESTS_MAX = 300


@dataclass
class Track:
    """What the runners share: a ledger with the departures of some hours."""

    url: str
    place: str
    start: int
    hours: int
    source: list[tuple[int, int]] = field(repr=False)

    @property
    def end(self) -> int:
        return self.start + self.hours * HOUR

    def prepare(self) -> None:
        Telafi(self.url).ledger.upgrade()
        mark = "?" if self.url.startswith("sqlite") else "%s"
        with closing(connect(self.url)) as connection:
            # No unique constraint: what is done twice must show.
            connection.execute("CREATE TABLE hours (start_at bigint, departures bigint, runner bigint)")
            connection.execute("CREATE TABLE source (at bigint PRIMARY KEY, departures bigint)")
            connection.execute("CREATE TABLE totals (total bigint)")
            connection.execute("INSERT INTO totals VALUES (0)")
            connection.cursor().executemany(f"INSERT INTO source VALUES ({mark}, {mark})", self.source)

    def given(self, **more: Any) -> dict[str, Any]:
        return {"url": self.url, "place": self.place, "since": iso(self.start), "now": self.end, **more}


@dataclass(frozen=True)
class Result:
    """What the ledger and the effects say in the end."""

    doubles: int
    lost: int
    wrong: int
    total: int
    states: dict[str, int]
    watermark: int | None
    runs: int
    runners: int

    @classmethod
    def of(cls, track: Track) -> "Result":
        with closing(connect(track.url)) as connection:
            rows = connection.execute("SELECT start_at, departures, runner FROM hours").fetchall()
            [(total,)] = connection.execute("SELECT total FROM totals").fetchall()
            states = connection.execute(f"SELECT state, COUNT(*) FROM {table(track.url, 'windows')} GROUP BY state")
            states = dict(states.fetchall())
            ranges = connection.execute(f"SELECT SUM(windows) FROM {table(track.url, 'ranges')}").fetchall()[0][0]
            watermarks = connection.execute(f"SELECT watermark FROM {table(track.url, 'jobs')}").fetchall()
            [(runs,)] = connection.execute(f"SELECT COUNT(*) FROM {table(track.url, 'runs')}").fetchall()
        if ranges:
            states["done"] = states.get("done", 0) + int(ranges)
        counted = Counter(start for start, _, _ in rows)
        source = dict(track.source)
        return cls(
            doubles=sum(count - 1 for count in counted.values()),
            lost=len(source.keys() - counted.keys()),
            wrong=sum(source.get(start) != departures for start, departures, _ in rows),
            total=total,
            states=states,
            watermark=watermarks[0][0] if watermarks else None,
            runs=runs,
            runners=len({runner for _, _, runner in rows}),
        )

    def check(self, track: Track) -> None:
        assert (self.doubles, self.lost, self.wrong) == (0, 0, 0)
        assert self.total == sum(departures for _, departures in track.source)
        assert self.states == {"done": track.hours}
        assert self.watermark == track.end


def iso(instant: int) -> str:
    return instant_text(instant)


class Race:
    """The runners and their killer; a kill falls some events after a start, or before a request chosen beforehand."""

    def __init__(
        self, forks: Forks, track: Track, random: Random, *, locked: bool, groups: Sequence[int], **given: Any
    ) -> None:
        self._forks, self._track, self._random = forks, track, random
        self._groups = groups
        self._given = {"locked": locked, "crash_attempts": 1_000, **given}
        self._selector = selectors.DefaultSelector()
        self._left: dict[Child, int] = {}
        self._slots: dict[Child, int] = {}
        self._waiting: list[int] = []
        self.kills = 0
        self.done = 0
        self.bad: list[Any] = []

    def run(self, kills: int, meddle: Callable[[int], None] = lambda _: None) -> None:
        """Let them run to their end, so many of them killed on the way; `meddle` hears how many windows are done."""
        for slot in range(len(self._groups)):
            self._start(slot, kills)
        while self._left:
            for key, _ in self._selector.select(timeout=60):
                child = key.fileobj
                assert isinstance(child, Child)
                self._hear(child, kills)
                meddle(self.done)

    def _start(self, slot: int, kills: int) -> None:
        by_request = self.kills < kills and self._random.random() < 0.5
        given = self._track.given(
            group=self._groups[slot],
            blow_before=self._random.randrange(REQUESTS_MAX) if by_request else None,
            **self._given,
        )
        child = self._forks.start("tests.race.runner:run_until_idle", **given)
        self._left[child] = self._random.randrange(1, EVENTS_MAX)
        self._slots[child] = slot
        self._selector.register(child, selectors.EVENT_READ)

    def _hear(self, child: Child, kills: int) -> None:
        heard = child.read()
        if heard is None:
            self._ended(child, kills)
            return
        if heard[0] in ("bad", "raised"):
            self.bad.append(heard[1])
        self.done += heard[0] == "done"
        self._left[child] -= 1
        if self._left[child] == 0 and self.kills < kills:
            child.kill()

    def _ended(self, child: Child, kills: int) -> None:
        self._selector.unregister(child)
        del self._left[child]
        slot = self._slots.pop(child)
        end = child.end()
        if end.killed:
            self.kills += 1
        if end.killed or not self._left:
            waiting, self._waiting = self._waiting, []
            for other in [slot, *waiting] if end.killed else waiting:
                self._start(other, kills)
        elif end.kind == "end" and end.value["outcomes"][0]["outcome"] == "Skipped":
            self._waiting.append(slot)  # the lock is another's: it comes back when somebody has ended


def race(
    forks: Forks,
    url: str,
    folder: Path,
    source: list[tuple[int, int]],
    *,
    seed: int,
    kills: int,
    locked: bool,
    groups: Sequence[int],
) -> tuple[Result, Race]:
    """Run a race over these hours and give its result."""
    track = Track(url, f"{folder}/place", source[0][0], len(source), source)
    track.prepare()
    contest = Race(forks, track, Random(seed), locked=locked, groups=groups)
    contest.run(kills)
    assert contest.bad == []
    result = Result.of(track)
    result.check(track)
    return result, contest
