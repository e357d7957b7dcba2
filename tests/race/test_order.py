"""Windows out of their order: ahead of the watermark, behind it, on two grids at once: never stuck, never twice."""

from pathlib import Path
from random import Random

import pytest

from telafi.instants import instant_of
from tests.crash.forks import Forks
from tests.crash.state import execute, query, table
from tests.race.departures import HOUR, read
from tests.race.race import Result, Track, iso

ONCE = "tests.race.runner:run_once"
DAY = instant_of("2013-03-01T00:00Z")  # a boundary of every grid here
HOURS = 48

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture
def track(ledger_url: str, tmp_path: Path) -> Track:
    made = Track(ledger_url, f"{tmp_path}/place", DAY, HOURS, read(DAY, HOURS))
    made.prepare()
    return made


def test_ahead_of_the_watermark(track: Track, warm: Forks, seed: int) -> None:
    """Some hours by name, in any order, some of them twice and killed; the rest by itself."""
    random = Random(seed)
    chosen = random.sample(range(HOURS), 12)
    for number in [*chosen, *chosen[:6]]:
        fuse = random.randrange(40)
        warm.run(ONCE, window=iso(DAY + number * HOUR), blow_before=fuse, **track.given())
        warm.run(ONCE, window=iso(DAY + number * HOUR), **track.given())
    assert Result.of(track).states["done"] == len(chosen)
    warm.run("tests.race.runner:run_until_idle", **track.given())
    Result.of(track).check(track)


def test_watermark_set_back(track: Track, warm: Forks, seed: int) -> None:
    """By hand, while others run and are killed: what is done is passed again, not done again."""
    random = Random(seed)
    for _ in range(12):
        children = [
            warm.start(ONCE, locked=False, max_windows=9, blow_before=random.randrange(120), **track.given())
            for _ in range(2)
        ]
        children[0].read()
        back = DAY + random.randrange(HOURS) * HOUR
        execute(track.url, f"UPDATE {table(track.url, 'jobs')} SET watermark = {back} WHERE watermark > {back}")
        for child in children:
            child.end()
    execute(track.url, f"UPDATE {table(track.url, 'jobs')} SET watermark = {DAY}")
    warm.run("tests.race.runner:run_until_idle", **track.given())
    Result.of(track).check(track)


@pytest.mark.parametrize("grids", [("1h", "90m"), ("1h", "24m"), ("2h", "3h")])
def test_two_grids_at_once(track: Track, warm: Forks, seed: int, grids: tuple[str, str]) -> None:
    """Two applications that disagree about the schedule: windows tile the time, each departure is counted once."""
    random = Random(seed)
    for _ in range(10):
        runners = [
            warm.start(
                "tests.race.runner:run_until_idle",
                locked=False,
                every=every,
                blow_before=random.randrange(250),
                crash_attempts=1_000,
                **track.given(),
            )
            for every in grids
        ]
        for runner in runners:
            assert not [value for kind, value in runner.end().told if kind in ("bad", "raised")]
    for every in grids:
        end = warm.run("tests.race.runner:run_until_idle", every=every, crash_attempts=1_000, **track.given())
        assert [outcome["outcome"] for outcome in end.value["outcomes"]] == ["Idle"]
    rows = query(track.url, f"SELECT start_at, end_at, state FROM {table(track.url, 'windows')} ORDER BY start_at")
    assert {state for _, _, state in rows} == {"done"}
    assert [start for start, _, _ in rows] == [DAY, *(end for _, end, _ in rows[:-1])]
    assert rows[-1][1] == track.end
    counted = [start for (start,) in query(track.url, "SELECT start_at FROM hours ORDER BY start_at")]
    assert counted == [start for start, _, _ in rows]
    assert Result.of(track).total == sum(departures for _, departures in track.source)
