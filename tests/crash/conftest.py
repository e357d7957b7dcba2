"""Fixtures of the crash tests: a warm process that forks children."""

import sys
from collections.abc import Iterator

import pytest

from tests.crash.forks import Forks, forks

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []  # Windows has neither fork nor SIGKILL


@pytest.fixture(scope="session")
def warm() -> Iterator[Forks]:
    with forks() as process:
        yield process
