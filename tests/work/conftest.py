"""The stage of these tests, once on each engine."""

from pathlib import Path

import pytest

from tests.work.stage import Stage


@pytest.fixture
def stage(ledger_url: str, tmp_path: Path) -> Stage:
    """An application at 12:07 on a fresh ledger."""
    return Stage(ledger_url, tmp_path / "locks")


@pytest.fixture
def sqlite_stage(tmp_path: Path) -> Stage:
    """The same on SQLite only, for what no engine changes."""
    return Stage(f"sqlite:///{tmp_path}/ledger.db", tmp_path / "locks")


@pytest.fixture
def postgresql_stage(postgresql_url: str, tmp_path: Path) -> Stage:
    """The same on PostgreSQL only."""
    return Stage(postgresql_url, tmp_path / "locks")
