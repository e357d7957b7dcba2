from pathlib import Path

import pytest

from tests.cli.sample import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """The sample application on a fresh SQLite ledger."""
    return Shop(tmp_path, f"sqlite:///{tmp_path}/ledger.db")


@pytest.fixture
def shop_anywhere(tmp_path: Path, ledger_url: str) -> Shop:
    """The sample application on a fresh ledger of each engine."""
    shop = Shop(tmp_path, ledger_url)
    done = shop.telafi("db", "upgrade")
    assert done.returncode == 0, done.stderr
    return shop
