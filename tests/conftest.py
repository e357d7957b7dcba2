"""Fixtures that every test may ask for: a private PostgreSQL, and a fresh ledger on each engine."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgresql_server import PostgresqlServer, Unavailable, start_server

ENGINES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def _server_or_reason() -> Iterator[PostgresqlServer | str]:
    try:
        server = start_server()
    except Unavailable as reason:
        yield str(reason)
        return
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgresql_server(_server_or_reason: PostgresqlServer | str) -> PostgresqlServer:
    """One server for each pytest process (each xdist worker has its own)."""
    if isinstance(_server_or_reason, str):
        reason = f"PostgreSQL not tested: {_server_or_reason}"
        if os.environ.get("CI") and sys.platform != "win32":
            pytest.fail(f"{reason} (in CI a missing engine is an error)", pytrace=False)
        pytest.skip(reason)
    return _server_or_reason


@pytest.fixture
def postgresql_url(request: pytest.FixtureRequest, postgresql_server: PostgresqlServer) -> Iterator[str]:
    """A fresh, empty database of this test's own."""
    url = postgresql_server.create_database()
    note_engine(request, "postgresql")
    yield url
    postgresql_server.drop_database(url)


@pytest.fixture(params=ENGINES)
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh ledger's URL, once on each engine."""
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgresql_url")
        return url
    note_engine(request, "sqlite")
    return f"sqlite:///{tmp_path}/ledger.db"


def note_engine(request: pytest.FixtureRequest, engine: str) -> None:
    request.node.user_properties.append(("engine", engine))  # travels from xdist's workers to the summary


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for group in terminalreporter.stats.values() for report in group]
    reports = [report for report in reports if isinstance(report, pytest.TestReport)]
    tested = Counter(
        value
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == "engine"
    )
    texts = {str(report.longrepr) for report in reports}
    reasons = {
        text.rpartition("PostgreSQL not tested: ")[2].rstrip("')") for text in texts if "PostgreSQL not tested" in text
    }
    for engine in ENGINES:
        verdict = f"{tested[engine]} tests" if tested[engine] else "NOT tested: no selected test asked for it"
        if engine == "postgresql" and reasons:
            verdict = f"NOT tested: {'; '.join(sorted(reasons))}"
        terminalreporter.write_line(f"engine {engine}: {verdict}")
