"""A process killed before every request that a run makes to the database: one clean run later all is right, once."""

from pathlib import Path
from typing import Any

import pytest

from telafi.instants import Span
from tests.crash.forks import End, Forks
from tests.crash.scenes import HOUR, SINCE
from tests.crash.state import Fresh, State, check, read

RUN = "tests.crash.scenes:run"
WINDOWS = 2
POINTS_MAX = 400
CLOSED = SINCE + WINDOWS * HOUR  # what the killed run sees; the clean one comes an hour later
STYLES: dict[str, dict[str, Any]] = {
    "inside": {"style": "inside"},
    "end": {"style": "end"},
    "write": {"style": "write"},
    "group": {"style": "inside", "job": {"group": 2}},
    "compact": {"style": "inside", "job": {"remember": "0s"}},
}
pytestmark = [pytest.mark.crash, pytest.mark.slow]


def hours(count: int) -> list[Span]:
    return [Span(SINCE + number * HOUR, SINCE + (number + 1) * HOUR) for number in range(count)]


def outcomes(end: End) -> list[str]:
    assert end.kind == "end", end.value
    return [told["outcome"] for told in end.value["outcomes"]]


@pytest.mark.parametrize("style", STYLES)
def test_killed_before_every_request(ledger_url: str, tmp_path: Path, warm: Forks, style: str) -> None:
    fresh = Fresh(ledger_url, tmp_path)
    for point in range(POINTS_MAX):
        with fresh.again() as (url, place):
            given = {"url": url, "place": place, **STYLES[style]}
            first = warm.run(RUN, now=CLOSED, trouble={"blow_before": point}, **given)
            between = read(url)
            check_between(between)
            clean = warm.run(RUN, now=CLOSED + HOUR, **given)
            assert outcomes(clean) == ["Processed"] * (WINDOWS + 1 - len(between.effects)), point
            check(read(url), hours(WINDOWS + 1))
            assert left_over(place) == []
            if not first.killed:
                assert outcomes(first) == ["Processed"] * WINDOWS
                assert first.value["requests"] == point
                return
    pytest.fail(f"a run made more than {POINTS_MAX} requests")


def check_between(state: State) -> None:
    """What a crash leaves behind: whole windows in their order, each with its effect, its marks and the watermark."""
    finished = len(state.effects)
    keys = [span.text for span in hours(finished)]
    assert state.effects == keys
    assert state.total == sum(map(len, keys))
    assert len(state.marks) == 3 * finished
    assert not {"open", "in-doubt", "parked"} & set(state.windows.values())
    assert state.finished == finished
    assert state.watermark in (None if not finished else CLOSED, SINCE + finished * HOUR)


def left_over(place: str) -> list[str]:
    return [path.name for path in Path(place).glob("process-*")]
