"""A job whose effect lies outside: after any crash at least once, or held for a person where it says so."""

from pathlib import Path

import pytest

from tests.crash.forks import Forks
from tests.crash.scenes import HOUR
from tests.crash.state import Fresh, check, read
from tests.crash.test_points import CLOSED, POINTS_MAX, RUN, WINDOWS, hours, left_over, outcomes

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def test_rerun_is_at_least_once(ledger_url: str, tmp_path: Path, warm: Forks) -> None:
    fresh = Fresh(ledger_url, tmp_path)
    for point in range(POINTS_MAX):
        with fresh.again() as (url, place):
            first = warm.run(RUN, url=url, place=place, style="outside", now=CLOSED, trouble={"blow_before": point})
            between = read(url)
            done = between.finished
            assert 0 <= len(set(between.effects)) - done <= 1
            assert "in-doubt" not in between.windows.values()
            clean = warm.run(RUN, url=url, place=place, style="outside", now=CLOSED + HOUR)
            assert outcomes(clean) == ["Processed"] * (WINDOWS + 1 - done), point
            check(read(url), hours(WINDOWS + 1), at_least_once=True)
            assert left_over(place) == []
            if not first.killed:
                return
    pytest.fail(f"a run made more than {POINTS_MAX} requests")


def test_hold_never_repeats_by_itself(ledger_url: str, tmp_path: Path, warm: Forks) -> None:
    fresh = Fresh(ledger_url, tmp_path)
    doubts = 0
    for point in range(POINTS_MAX):
        with fresh.again() as (url, place):
            given = {"url": url, "place": place, "style": "outside", "job": {"if_in_doubt": "hold"}}
            first = warm.run(RUN, now=CLOSED, trouble={"blow_before": point}, **given)
            between = read(url)
            started = [bounds for bounds, state in between.windows.items() if state == "open"]
            clean = warm.run(RUN, now=CLOSED + HOUR, **given)
            if started:
                doubts += 1
                assert outcomes(clean) == ["InDoubt"]
                assert clean.value["outcomes"][0]["reason"] == "no-end"
                assert outcomes(warm.run(RUN, now=CLOSED + HOUR, **given)) == ["InDoubt"]
                after = read(url)
                assert after.effects == between.effects
                assert after.windows[started[0]] == "in-doubt"
                assert after.watermark == started[0][0]
            else:
                assert outcomes(clean) == ["Processed"] * (WINDOWS + 1 - between.finished), point
                check(read(url), hours(WINDOWS + 1))
            if not first.killed:
                assert doubts > 3 * WINDOWS
                return
    pytest.fail(f"a run made more than {POINTS_MAX} requests")
