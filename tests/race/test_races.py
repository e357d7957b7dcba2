"""Two and three runners over a month of departures, killed again and again: every hour once, whatever the lock does."""

from pathlib import Path

import pytest

from tests.crash.forks import Forks
from tests.race.departures import MONTH, MONTH_HOURS, read
from tests.race.race import race

KILLS = 60

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.mark.parametrize(
    ("lock", "groups"),
    [("locked", (1, 1)), ("unlocked", (1, 1)), ("unlocked", (1, 20)), ("unlocked", (1, 20, 7))],
    ids=["locked", "unlocked", "unlocked-mixed", "unlocked-three"],
)
def test_every_hour_once(
    ledger_url: str, tmp_path: Path, warm: Forks, seed: int, lock: str, groups: tuple[int, ...]
) -> None:
    result, contest = race(
        warm,
        ledger_url,
        tmp_path,
        read(MONTH, MONTH_HOURS),
        seed=seed,
        kills=KILLS,
        locked=lock == "locked",
        groups=groups,
    )
    assert contest.kills >= KILLS - len(groups)
    assert result.runners > KILLS / 4
