"""Interrupted, or without its connection, before a request: a run that ends by itself is no crash and loses nothing."""

from pathlib import Path
from typing import Any

import pytest

from tests.crash.forks import Forks
from tests.crash.scenes import HOUR
from tests.crash.state import Fresh, check, read
from tests.crash.test_points import CLOSED, POINTS_MAX, RUN, STYLES, WINDOWS, check_between, hours, left_over, outcomes

STEP = 4  # between the points; the seed says where they begin

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def anxious(style: str) -> dict[str, Any]:
    """Give a scene of that style in which the first crash would be one too many."""
    given = STYLES.get(style, {"style": style})
    return {**given, "job": {"crash_attempts": 1, **given.get("job", {})}}


@pytest.mark.parametrize("style", STYLES)
def test_interrupted_before_every_request(ledger_url: str, tmp_path: Path, warm: Forks, seed: int, style: str) -> None:
    """Ctrl-C goes up to the caller, and nobody counts it as a crash."""
    fresh = Fresh(ledger_url, tmp_path)
    for point in range(seed % STEP, POINTS_MAX, STEP):
        with fresh.again() as (url, place):
            given = {"url": url, "place": place, **anxious(style)}
            first = warm.run(RUN, now=CLOSED, trouble={"interrupt_before": point}, **given)
            between = read(url)
            check_between(between)
            assert left_over(place) == []
            clean = warm.run(RUN, now=CLOSED + HOUR, **given)
            assert outcomes(clean) == ["Processed"] * (WINDOWS + 1 - len(between.effects)), point
            check(read(url), hours(WINDOWS + 1))
            if first.kind == "end":
                assert outcomes(first) == ["Processed"] * WINDOWS
                return
            assert first.value[0] == "KeyboardInterrupt"
    pytest.fail(f"a run made more than {POINTS_MAX} requests")


@pytest.mark.parametrize("style", [*STYLES, "outside"])
def test_connection_ended_before_every_request(
    postgresql_url: str, tmp_path: Path, warm: Forks, seed: int, style: str
) -> None:
    """B01: wherever it is lost, the run itself goes on with another one and does everything once."""
    fresh = Fresh(postgresql_url, tmp_path)
    for point in range(seed % STEP, POINTS_MAX, STEP):
        with fresh.again() as (url, place):
            given = {"url": url, "place": place, **anxious(style)}
            first = warm.run(RUN, now=CLOSED, trouble={"cut_before": point}, **given)
            assert outcomes(first) == ["Processed"] * WINDOWS, point
            clean = warm.run(RUN, now=CLOSED + HOUR, **given)
            assert outcomes(clean) == ["Processed"], point
            check(read(url), hours(WINDOWS + 1))
            if not first.value["blown"]:
                return
    pytest.fail(f"a run made more than {POINTS_MAX} requests")


@pytest.mark.parametrize("style", [*STYLES, "outside"])
def test_connection_ended_from_every_request_on(
    postgresql_url: str, tmp_path: Path, warm: Forks, seed: int, style: str
) -> None:
    """B01, C04: a server that never lets it through again: put off, and no crash; the next run goes on."""
    fresh = Fresh(postgresql_url, tmp_path)
    for point in range(seed % STEP, POINTS_MAX, STEP):
        with fresh.again() as (url, place):
            given = {"url": url, "place": place, **anxious(style)}
            first = warm.run(RUN, now=CLOSED, trouble={"cut_from": point}, attempts=3, **given)
            if first.kind == "raised":
                assert first.value[0] == "LedgerError", first.value[2]
            else:
                *before, last = first.value["outcomes"]
                assert {outcome["outcome"] for outcome in before} <= {"Processed"}
                assert last["outcome"] == "Processed" or (last["outcome"] == "Deferred" and last["out_of_reach"])
            done = read(url).finished
            clean = warm.run(RUN, now=CLOSED + HOUR, **given)
            assert outcomes(clean) == ["Processed"] * (WINDOWS + 1 - done), point
            check(read(url), hours(WINDOWS + 1), at_least_once=style == "outside")
            if first.kind == "end" and not first.value["blown"]:
                return
    pytest.fail(f"a run made more than {POINTS_MAX} requests")
