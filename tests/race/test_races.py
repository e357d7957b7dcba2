"""Two and three runners over a month of departures, killed again and again: every hour once, whatever the lock does."""

from pathlib import Path
from random import Random

import pytest

from tests.crash.forks import Forks
from tests.postgresql_server import PostgresqlServer
from tests.race.departures import MONTH, MONTH_HOURS, read
from tests.race.race import Race, Result, Track, race

KILLS, KILLS_MIN = 65, 50  # a runner that is done may escape the last of them

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
    assert contest.kills >= KILLS_MIN
    assert result.runners > KILLS / 4


@pytest.mark.parametrize("kills", [0, 30])
def test_an_outside_effect_is_repeated_only_after_a_death(
    ledger_url: str, tmp_path: Path, warm: Forks, seed: int, kills: int
) -> None:
    """Two runners without the lock: who lives is never overtaken, who is killed leaves at most one window to repeat."""
    hours = read(MONTH, 240)
    track = Track(ledger_url, f"{tmp_path}/place", MONTH, len(hours), hours)
    track.prepare()
    contest = Race(warm, track, Random(seed), locked=False, groups=(1, 1), style="outside")
    contest.run(kills)
    assert contest.bad == []
    result = Result.of(track)
    assert (result.lost, result.wrong, result.states) == (0, 0, {"done": len(hours)})
    assert result.doubles <= contest.kills
    assert contest.kills >= kills / 2


def test_the_server_restarts_meanwhile(own_server: PostgresqlServer, tmp_path: Path, warm: Forks, seed: int) -> None:
    """B05, with runners killed besides: every hour once, whatever was in flight."""
    month = read(MONTH, MONTH_HOURS)
    url = own_server.create_database()
    track = Track(url, f"{tmp_path}/place", MONTH, len(month), month)
    track.prepare()
    random = Random(seed)
    restarts = sorted(random.sample(range(20, MONTH_HOURS - 60), 6))

    def meddle(done: int) -> None:
        if restarts and done >= restarts[0]:
            restarts.pop(0)
            own_server.restart("immediate" if len(restarts) % 2 else "fast")

    contest = Race(warm, track, random, locked=False, groups=(1, 20), restarts=True)
    contest.run(20, meddle)
    assert contest.bad == []
    assert restarts == []
    Result.of(track).check(track)
