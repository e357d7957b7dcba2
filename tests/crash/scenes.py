"""What the children do: build an application, run its job, and die before a chosen request to the database."""

import os
import pwd
import resource
import select
import signal
import socket
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg

import telafi.ledger.handles.psycopg  # noqa: F401 - imported here, so that no child has to
from telafi import Run, SystemClock, Telafi, Transaction, Window
from telafi.events import Outcome
from telafi.instants import instant_of
from telafi.ledger.steps import Batch, Handle, Rows, Statement
from telafi.plan.retry import Backoff, RetryPolicy
from tests.crash.child import Talk

HOUR = 3_600_000_000
SINCE = instant_of("2026-09-04T10:00Z")
QUICK = RetryPolicy(
    attempts=50,
    deadline_seconds=1.0,
    connection_deadline_seconds=2.0,
    conflict=Backoff(0.001, 0.02),
    connection=Backoff(0.002, 0.05),
)


class StandingClock:
    """The wall clock stands where the scene wants it; waits are real."""

    def __init__(self, now_microseconds: int) -> None:
        self._now = now_microseconds
        self._real = SystemClock()

    def now_microseconds(self) -> int:
        return self._now

    def monotonic_seconds(self) -> float:
        return self._real.monotonic_seconds()

    def boot_seconds(self) -> float | None:
        return self._real.boot_seconds()

    def sleep(self, seconds: float) -> None:
        self._real.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        await self._real.asleep(seconds)


class Fuse:
    """Counts the requests to the database, from 0, and does something to this very process before the chosen one."""

    def __init__(
        self,
        blow_before: int | None = None,
        blow_in_commit: int | None = None,
        *,
        interrupt_before: int | None = None,
        cut_before: int | None = None,
        cut_from: int | None = None,
    ) -> None:
        """Kill it, or interrupt it as Ctrl-C does; or let the server end its connection, once or from then on."""
        self.requests = 0
        self.commits = 0
        self.handle: Any = None
        self._blow_before, self._blow_in_commit = blow_before, blow_in_commit
        self._interrupt_before = interrupt_before
        self._cut_before, self._cut_from = cut_before, cut_from

    @property
    def blown(self) -> bool:
        """Whether the chosen request was reached."""
        chosen = [self._blow_before, self._interrupt_before, self._cut_before, self._cut_from]
        return any(number is not None and number < self.requests for number in chosen)

    def tick(self) -> None:
        number = self.requests
        self.requests += 1
        if number == self._blow_before:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self._interrupt_before:
            signal.raise_signal(signal.SIGINT)
        if number == self._cut_before or (self._cut_from is not None and number >= self._cut_from):
            self._end_connection()

    def commit(self) -> None:
        """Die with COMMIT sent and its answer not read: only a server can be asked in such a way."""
        if self.commits == self._blow_in_commit:
            connection = self.handle.connection
            connection.pgconn.send_query(b"COMMIT")
            while connection.pgconn.flush():
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        self.commits += 1

    def _end_connection(self) -> None:
        connection = self.handle.connection
        if connection.closed:
            return
        info = connection.info
        pid, where = info.backend_pid, {"host": info.host, "port": info.port, "user": info.user}
        with psycopg.connect(dbname=info.dbname, autocommit=True, **where) as admin:
            admin.execute("SELECT pg_terminate_backend(%s)", [pid])
            select.select([connection.pgconn.socket], [], [], 20)  # its last words have come


class FusedHandle:
    """A handle whose every request goes through the fuse."""

    def __init__(self, handle: Handle, fuse: Fuse) -> None:
        self._handle = handle
        self._fuse = fuse
        fuse.handle = handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    def run(self, statement: Statement) -> Rows:
        self._fuse.tick()
        return self._handle.run(statement)

    def run_batch(self, batch: Batch) -> Rows:
        self._fuse.tick()
        return self._handle.run_batch(batch)

    def begin(self, isolation: str | None) -> None:
        self._fuse.tick()
        self._handle.begin(isolation)

    def commit(self) -> None:
        self._fuse.tick()
        self._fuse.commit()
        self._handle.commit()

    def rollback(self) -> None:
        self._fuse.tick()
        self._handle.rollback()


def fuse_connections(app: Telafi, fuse: Fuse) -> None:
    engine: Any = app.jobs._engine
    connect = engine.connect
    engine.connect = lambda *given, **options: FusedHandle(connect(*given, **options), fuse)


def effects(url: str) -> Callable[[Any, Callable[[], None], str], None]:
    """Give the statements of one window's effect; any of them done twice would show."""
    mark = "?" if url.startswith("sqlite") else "%s"
    insert = f"INSERT INTO effects (at) VALUES ({mark})"
    add = f"UPDATE totals SET total = total + {mark}"

    def write(connection: Any, tick: Callable[[], None], at: str) -> None:
        tick()
        connection.execute(insert, (at,))
        tick()
        connection.execute(add, (len(at),))
        tick()

    return write


def connect(url: str) -> Any:
    """Open a connection of the test's own, each statement in a transaction of its own."""
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=20)
    return psycopg.connect(url, autocommit=True)


class Scene:
    """One application with one job, `hourly`, whose body counts its own statements as requests."""

    def __init__(
        self,
        talk: Talk,
        url: str,
        place: str,
        style: str,
        now: int,
        *,
        fuse: Fuse | None = None,
        locked: bool = True,
        lock_timeout: float = 5.0,
        attempts: int = 50,
        first: str | None = None,
        pause: bool = False,
        cut: bool = False,
        job: dict[str, Any] | None = None,
    ) -> None:
        """`style` says where the job writes, `job` gives more options of its declaration.

        The first body of the process runs the statement `first`; with `pause` every body waits for a word, with `cut`
        the word is waited for beside it, and the connection is cut then.
        """
        self.fuse = fuse or Fuse()
        self.bodies = 0
        self._talk, self._first, self._pause, self._cut = talk, first, pause, cut
        clock = StandingClock(now)
        self.app = Telafi(
            url,
            place=Path(place),
            locked=locked,
            retry=replace(QUICK, attempts=attempts),
            clock=clock,
            lock_timeout_seconds=lock_timeout,
        )
        fuse_connections(self.app, self.fuse)
        self.app.subscribe(lambda event: talk.tell(type(event).__name__))
        self._url = url
        self._write = effects(url)
        bodies: dict[str, Callable[..., None]] = {
            "inside": self.inside,
            "end": self.end,
            "write": self.function,
            "outside": self.outside,
        }
        options = {"every": "1h", "since": "2026-09-04T10:00Z", "name": "hourly", **(job or {})}
        self.app.job(**options)(bodies[style])

    def inside(self, window: Window, tx: Transaction) -> None:
        self.bodies += 1
        if self._first is not None and self.bodies == 1:
            tx.execute(self._first)
        if self._cut and self.bodies == 1:
            Thread(target=self._cut_off, args=[tx.connection.pgconn.socket], daemon=True).start()
        self._write(tx, self.fuse.tick, window.key)
        tx.first_times([f"{window.key} {number}" for number in range(3)])
        self.fuse.tick()
        if self._pause:
            self._talk.tell("body", window.key)
            self._talk.hear()

    def end(self, run: Run) -> None:
        self.fuse.tick()
        with run.transaction() as tx:
            self.inside(run.window, tx)
        self.fuse.tick()

    def function(self, run: Run) -> None:
        run.write(lambda tx: self.inside(run.window, tx))

    def outside(self, window: Window) -> None:
        self.bodies += 1
        with closing(connect(self._url)) as connection:
            self._write(connection, self.fuse.tick, window.key)

    def _cut_off(self, descriptor: int) -> None:
        self._talk.hear()
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            connection.shutdown(socket.SHUT_RDWR)


def shown(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [{"outcome": type(outcome).__name__, **plain(outcome)} for outcome in outcomes]


def plain(outcome: Outcome) -> dict[str, Any]:
    return {name: value for name, value in asdict(outcome).items() if name != "exception"}


def run(
    talk: Talk,
    *given: Any,
    trouble: dict[str, int] | None = None,
    window: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Run the job once; tells how many requests it has made."""
    fuse = Fuse(**(trouble or {}))
    scene = Scene(talk, *given, fuse=fuse, **more)
    outcomes = scene.app.jobs.run("hourly", window=window)
    counts = {"requests": fuse.requests, "commits": fuse.commits, "bodies": scene.bodies, "blown": fuse.blown}
    return {"outcomes": shown(outcomes), **counts}


def upgrade(talk: Talk, url: str, blow_before: int | None = None, *, gate: bool = False) -> dict[str, Any]:
    """Upgrade the ledger's schema; at the gate it waits for the word."""
    fuse = Fuse(blow_before)
    app = Telafi(url, retry=QUICK, clock=StandingClock(SINCE))
    fuse_connections(app, fuse)
    if gate:
        talk.tell("ready")
        talk.hear()
    applied = list(app.ledger.upgrade())
    return {"applied": applied, "requests": fuse.requests}


def run_with_file_limit(talk: Talk, bytes_max: int, **given: Any) -> dict[str, Any]:
    """Run the job where no file may grow beyond a size: the kernel refuses the write, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, resource.RLIM_INFINITY))
    return run(talk, **given)


def run_as_nobody(talk: Talk, **given: Any) -> dict[str, Any]:
    """Run the job as a user to whom permissions mean something."""
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
    return run(talk, **given)


def fork_with_a_connection(talk: Talk, url: str, place: str) -> list[str]:
    """Carry an open connection over a fork; tells what the child's use of it ended in, then uses it itself."""
    app = Telafi(url, place=Path(place), retry=QUICK)
    with app.ledger.opened() as handle:
        readable, writable = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                handle.begin(None)
                answer = "nothing"
            except BaseException as error:  # noqa: BLE001 - this is what it is about
                answer = type(error).__name__
            os.write(writable, answer.encode())
            os._exit(0)
        os.close(writable)
        told = os.read(readable, 100).decode()
        os.close(readable)
        os.waitpid(child, 0)
        handle.begin(None)
        handle.commit()
    return [told]


def count_up(talk: Talk, url: str, place: str, name: str, rounds: int) -> dict[str, Any]:
    """Read a counter and write it again, one higher, in so many windows."""
    now = SINCE + rounds * HOUR
    app = Telafi(url, place=Path(place), retry=QUICK, clock=StandingClock(now), lock_timeout_seconds=20)

    def body(window: Window, tx: Transaction) -> None:
        [(number,)] = tx.execute("SELECT number FROM counter").fetchall()
        tx.execute("UPDATE counter SET number = ?", (number + 1,))

    app.job(name=name, every="1h", since="2026-09-04T10:00Z", max_windows=rounds)(body)
    app.subscribe(lambda event: talk.tell(type(event).__name__))
    return {"outcomes": shown(app.jobs.run(name))}


def fork_in_the_body(talk: Talk, url: str, place: str, now: int) -> dict[str, Any]:
    """Fork in every body and let both processes return from it."""
    mine = os.getpid()
    app = Telafi(url, place=Path(place), retry=QUICK, clock=StandingClock(now))
    write = effects(url)

    def body(window: Window, tx: Transaction) -> None:
        write(tx, lambda: None, window.key)
        if child := os.fork():
            os.waitpid(child, 0)

    app.job(name="hourly", every="1h", since="2026-09-04T10:00Z")(body)
    try:
        return {"outcomes": shown(app.jobs.run("hourly"))}
    finally:
        if os.getpid() != mine:
            os._exit(0)
