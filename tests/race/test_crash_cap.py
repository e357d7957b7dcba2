"""A window at which processes die: after three deaths nobody runs it again by itself; a person may."""

from pathlib import Path
from typing import Any

import pytest

from tests.crash.forks import End, Forks
from tests.crash.state import query, table
from tests.race.departures import HOUR, MONTH, read
from tests.race.race import Result, Track, iso

ONCE = "tests.race.runner:run_once"
HOURS = 8
POISON = MONTH + 3 * HOUR

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.fixture
def track(ledger_url: str, tmp_path: Path) -> Track:
    made = Track(ledger_url, f"{tmp_path}/place", MONTH, HOURS, read(MONTH, HOURS))
    made.prepare()
    return made


def bodies(end: End) -> list[int]:
    return [value for kind, value in end.told if kind == "body"]


def said(end: End) -> list[tuple[str, str | None]]:
    assert end.kind == "end", end.value
    return [(outcome["outcome"], outcome.get("reason")) for outcome in end.value]


def charges(track: Track) -> list[Any]:
    """Give each window at which processes died, with how many."""
    counts = "SELECT charged_start, COUNT(*) FROM {} WHERE charged_start IS NOT NULL GROUP BY charged_start ORDER BY 1"
    return [tuple(row) for row in query(track.url, counts.format(table(track.url, "runs")))]


@pytest.mark.parametrize("style", ["inside", "outside"])
@pytest.mark.parametrize("on_error", ["stop", "park"])
def test_three_deaths_are_enough(track: Track, warm: Forks, on_error: str, style: str) -> None:
    given = track.given(poison=POISON, on_error=on_error, style=style)
    first = warm.run(ONCE, **given)
    assert first.killed
    assert bodies(first) == [MONTH, MONTH + HOUR, MONTH + 2 * HOUR, POISON]
    for _ in range(2):
        again = warm.run(ONCE, **given)
        assert again.killed
        assert bodies(again) == [POISON]

    fourth = warm.run(ONCE, **given)
    assert POISON not in bodies(fourth)
    expected = [("Failed", "crash-loop")] + ([("Processed", None)] * 4 if on_error == "park" else [])
    assert said(fourth) == expected
    assert fourth.value[0]["attempt"] == fourth.value[0]["attempts"] == 3
    assert fourth.value[0]["parked"] is (on_error == "park")
    assert bodies(warm.run(ONCE, **given)) == []


@pytest.mark.parametrize("style", ["inside", "outside"])
def test_asked_for_by_name_it_is_tried_and_counted_anew(track: Track, warm: Forks, style: str) -> None:
    given = track.given(poison=POISON, style=style)
    for _ in range(3):
        assert warm.run(ONCE, **given).killed
    assert said(warm.run(ONCE, **given)) == [("Failed", "crash-loop")]
    assert charges(track) == [(POISON, 3)]

    asked = warm.run(ONCE, window=iso(POISON), **given)
    assert asked.killed
    assert bodies(asked) == [POISON]
    assert warm.run(ONCE, **given).killed  # one death counted: it is tried again by itself
    assert warm.run(ONCE, **given).killed
    assert said(warm.run(ONCE, **given)) == [("Failed", "crash-loop")]

    repaired = track.given(style=style)
    assert said(warm.run(ONCE, window=iso(POISON), **repaired)) == [("Processed", None)]
    assert said(warm.run(ONCE, **repaired)) == [("Processed", None)] * 4
    if style == "inside":
        Result.of(track).check(track)
    assert charges(track) == []


@pytest.mark.parametrize("crash_attempts", [1, 2, 3])
def test_in_a_group_the_innocent_go_on(track: Track, warm: Forks, crash_attempts: int) -> None:
    given = track.given(poison=POISON, group=5, on_error="park", crash_attempts=crash_attempts)
    deaths = 0
    while (end := warm.run(ONCE, **given)).killed:
        deaths += 1
        assert deaths < 3 + HOURS
    assert said(end).count(("Failed", "crash-loop")) == 1
    result = Result.of(track)
    assert result.states == {"done": HOURS - 1, "parked": 1}
    assert (result.doubles, result.lost, result.watermark) == (0, 1, track.end)


def test_a_runner_that_dies_further_on_each_time_is_no_crash_loop(track: Track, warm: Forks) -> None:
    for number in range(HOURS - 1):
        end = warm.run(ONCE, dies_after_one=True, **track.given())
        assert end.killed
        assert Result.of(track).states["done"] == number + 1
        assert all(count == 1 for _, count in charges(track))
    assert said(warm.run(ONCE, **track.given())) == [("Processed", None)]
    Result.of(track).check(track)
    assert charges(track) == []
