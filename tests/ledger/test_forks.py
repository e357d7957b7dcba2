"""A job that forks: whatever becomes of the child, the parent's unit commits (F10)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import note_engine
from tests.ledger.forking import EXITED, REFUSED
from tests.ledger.kinds import KINDS, Kind
from tests.work.stage import WAIT_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")]

ROOT = Path(__file__).resolve().parents[2]
BLOCKING = [kind for kind in KINDS if not kind.is_async]
PLAIN = [kind for kind in BLOCKING if kind.is_raw]


@pytest.fixture
def url(request: pytest.FixtureRequest, kind: Kind, tmp_path: Path) -> str:
    if kind.engine == "sqlite":
        note_engine(request, "sqlite")
        return f"sqlite:///{tmp_path}/ledger.db"
    created: str = request.getfixturevalue("postgresql_url")
    return created


def forked(url: str, place: Path, kind: Kind, way: str) -> dict[str, Any]:
    """Run a job that forks in a process of its own, and see that neither process had anything to complain of."""
    # From Python 3.12 on it is said of every fork beside a thread, such as aiosqlite's.
    quiet = "ignore:This process:DeprecationWarning"
    command = [
        sys.executable,
        "-W",
        "always::ResourceWarning",
        "-W",
        quiet,
        "-m",
        "tests.ledger.forking",
        url,
        str(place),
        kind.name,
        way,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=5 * WAIT_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def committed(end: int, effects: list[str]) -> dict[str, Any]:
    told = ["PROCESSED 10:00-11:00 catch-up", "DEFERRED cap 1"]
    return {"told": told, "effects": effects, "rows": ["10:00-11:00 done"], "ends": [end]}


def test_F10_a_child_that_exits_leaves_its_parents_unit_whole(url: str, tmp_path: Path, kind: Kind) -> None:
    assert forked(url, tmp_path / "locks", kind, "exits") == committed(EXITED, ["after", "before"])


@pytest.mark.parametrize("kind", BLOCKING, ids=lambda kind: kind.name)
def test_F10_a_child_that_goes_on_is_refused(url: str, tmp_path: Path, kind: Kind) -> None:
    assert forked(url, tmp_path / "locks", kind, "goes on") == committed(REFUSED, ["after", "before"])


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.name)
def test_F10_a_child_that_exits_inside_a_block(url: str, tmp_path: Path, kind: Kind) -> None:
    assert forked(url, tmp_path / "locks", kind, "block") == committed(EXITED, ["10:00"])


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.name)
def test_F10_a_child_that_exits_in_a_group(url: str, tmp_path: Path, kind: Kind) -> None:
    told = forked(url, tmp_path / "locks", kind, "group")
    assert told["told"] == ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]
    assert (told["effects"], told["ends"]) == (["10:00", "11:00"], [EXITED])
