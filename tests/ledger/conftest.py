"""A stage for each kind of connection."""

from pathlib import Path

import pytest

from tests.conftest import note_engine
from tests.ledger.kinds import KINDS, Kind
from tests.work.stage import Stage


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each class of connection, on each engine."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def stage(request: pytest.FixtureRequest, kind: Kind, tmp_path: Path) -> Stage:
    """An application at 12:07 on a fresh ledger of the engine that the kind is for."""
    if kind.engine == "postgresql":
        return Stage(request.getfixturevalue("postgresql_url"), tmp_path / "locks")
    note_engine(request, "sqlite")
    return Stage(f"sqlite:///{tmp_path}/ledger.db", tmp_path / "locks")
