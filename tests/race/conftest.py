"""Fixtures of the races: those of the crash tests."""

import sys

from tests.crash.conftest import own_server, seed, warm

__all__ = ["own_server", "seed", "warm"]

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []  # Windows has neither fork nor SIGKILL
