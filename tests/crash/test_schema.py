"""The ledger's tables: killed anywhere while they are made, or made by two at once, they are whole or not there."""

from pathlib import Path

import pytest

from telafi import Telafi
from tests.crash.forks import Forks
from tests.crash.scenes import SINCE
from tests.crash.state import execute, query, table
from tests.crash.test_points import outcomes

UPGRADE = "tests.crash.scenes:upgrade"
POINTS_MAX = 100

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def forget(url: str) -> None:
    if url.startswith("sqlite"):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{url.removeprefix('sqlite:///')}{suffix}").unlink(missing_ok=True)
    else:
        execute(url, "DROP SCHEMA IF EXISTS telafi CASCADE")


def versions(url: str) -> list[tuple[int]]:
    return query(url, f"SELECT version FROM {table(url, 'versions')}")


def test_upgrade_killed_before_every_statement(ledger_url: str, warm: Forks) -> None:
    known = Telafi(ledger_url).ledger.status().wanted
    for point in range(POINTS_MAX):
        forget(ledger_url)
        first = warm.run(UPGRADE, url=ledger_url, blow_before=point)
        found = Telafi(ledger_url).ledger.status()
        assert found.found == (0 if first.killed else known)
        second = warm.run(UPGRADE, url=ledger_url)
        assert len(second.value["applied"]) == (known if first.killed else 0)
        assert versions(ledger_url) == [(number + 1,) for number in range(known)]
        assert len(query(ledger_url, f"SELECT id FROM {table(ledger_url, 'ledger')}")) == 1
        if not first.killed:
            assert point > known
            return
    pytest.fail(f"an upgrade made more than {POINTS_MAX} requests")


def test_first_use_killed_before_every_statement(tmp_path: Path, warm: Forks) -> None:
    url, place = f"sqlite:///{tmp_path}/ledger.db", f"{tmp_path}/place"
    given = {"url": url, "place": place, "style": "inside", "now": SINCE}
    for point in range(POINTS_MAX):
        forget(url)
        first = warm.run("tests.crash.scenes:run", trouble={"blow_before": point}, **given)
        assert outcomes(warm.run("tests.crash.scenes:run", **given)) == ["Idle"]
        assert len(versions(url)) == Telafi(url).ledger.status().wanted
        if not first.killed:
            return
    pytest.fail(f"a first use made more than {POINTS_MAX} requests")


@pytest.mark.parametrize("round_", range(5))
def test_two_upgrades_at_once(ledger_url: str, warm: Forks, round_: int) -> None:
    both = [warm.start(UPGRADE, url=ledger_url, gate=True) for _ in range(2)]
    for child in both:
        child.expect("ready")
    for child in both:
        child.say()
    ends = [child.end() for child in both]
    assert [end.kind for end in ends] == ["end", "end"], ends
    known = Telafi(ledger_url).ledger.status().wanted
    assert sorted(len(end.value["applied"]) for end in ends) == [0, known]
    assert len(versions(ledger_url)) == known
    assert len(query(ledger_url, f"SELECT id FROM {table(ledger_url, 'ledger')}")) == 1


def test_a_migration_that_fails_leaves_nothing(ledger_url: str) -> None:
    """The last statement meets a table of that name: those before it are gone with it, and the error is shown."""
    in_the_way = table(ledger_url, "marks")
    if not ledger_url.startswith("sqlite"):
        execute(ledger_url, "CREATE SCHEMA telafi")
    execute(ledger_url, f"CREATE TABLE {in_the_way} (mine int)")
    with pytest.raises(Exception, match="already exists"):
        Telafi(ledger_url).ledger.upgrade()
    assert Telafi(ledger_url).ledger.status().found == 0
    execute(ledger_url, f"DROP TABLE {in_the_way}")
    assert len(Telafi(ledger_url).ledger.upgrade()) == Telafi(ledger_url).ledger.status().wanted
