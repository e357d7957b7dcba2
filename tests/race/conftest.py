"""Fixtures of the races: a warm process that forks the runners, and the seed."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.crash.forks import Forks, forks

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []  # Windows has neither fork nor SIGKILL


@pytest.fixture(scope="session")
def warm() -> Iterator[Forks]:
    with forks() as process:
        yield process


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("TELAFI_TEST_SEED", "2013"))
    print(f"TELAFI_TEST_SEED={chosen}")  # shown where the test fails
    return chosen
