import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.postgresql_server import PostgresqlServer, find_programs, reachable

KILLED = """
import sys
from tests.postgresql_server import start_server
server = start_server()
print(server.pid, server.directory, flush=True)
sys.stdin.read()
"""


def test_a_fresh_database_is_empty_and_writable(postgresql_url: str) -> None:
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("CREATE TABLE here (number int)")
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert tables == (1,)


def test_every_ledger_url_names_its_engine(ledger_url: str) -> None:
    assert ledger_url.partition(":")[0] in {"sqlite", "postgresql"}


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_what_was_committed_survives_a_restart(
    postgresql_server: PostgresqlServer, postgresql_url: str, mode: str
) -> None:
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("CREATE TABLE kept (number int)")
    before = postgresql_server.pid
    postgresql_server.restart("immediate" if mode == "immediate" else "fast")
    with psycopg.connect(postgresql_url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    assert postgresql_server.pid != before


@pytest.mark.slow
@pytest.mark.crash
def test_the_server_ends_with_a_pytest_that_is_killed(postgresql_server: PostgresqlServer) -> None:
    assert postgresql_server.pid  # a private server can be had
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    pid, directory = process.stdout.readline().split()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert wait_until_gone(Path(directory))
    assert not is_running(int(pid))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
def test_programs_in_a_closed_folder_are_copied_with_their_libraries(tmp_path: Path) -> None:
    programs = tmp_path / "closed" / "package" / "installed" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "closed" / "package.libs").mkdir()
    (tmp_path / "closed").chmod(0o700)
    copied = reachable(programs, tmp_path / "server")
    assert copied == tmp_path / "server" / "programs" / "package" / "installed" / "bin"
    assert (copied.parents[2] / "package.libs").is_dir()


@pytest.mark.skipif(not Path("/usr/lib/postgresql").is_dir(), reason="no PostgreSQL of the system's own")
def test_the_newest_installed_server_is_found() -> None:
    assert (find_programs() / "initdb").exists()


def wait_until_gone(directory: Path) -> bool:
    waiter = 'for _ in $(seq 200); do [ -e "$1" ] || exit 0; sleep 0.05; done; exit 1'
    return subprocess.run(["/bin/sh", "-c", waiter, "sh", str(directory)], check=False).returncode == 0


def is_running(pid: int) -> bool:
    status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(status.strip()) and not status.startswith("Z")
