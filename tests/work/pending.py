"""A COMMIT that hangs for as long as a test wants it to, and what may happen to it meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import psycopg

from tests.work.stage import Stage

SLOW_COMMIT = """
CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION at_commit()
"""
IN_COMMIT = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'advisory' AND query ~ '^COMMIT'
"""
TICK_SECONDS = 0.02


class PendingCommit:
    """Holds every COMMIT of an effect back, by a deferred trigger that asks for a lock which is held here."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        stage.execute(SLOW_COMMIT)
        self._holder = psycopg.connect(stage.url, autocommit=True)
        self._holder.execute("SELECT pg_advisory_lock(7)")

    def backends(self) -> list[int]:
        """Give the backends whose COMMIT is under way."""
        return [row[0] for row in self._stage.execute(IN_COMMIT)]

    def let_go(self) -> None:
        """Let them commit."""
        self._holder.close()

    def end(self) -> None:
        """End the one whose COMMIT is under way, once it is: rolled back. Those that follow are not held back."""
        for _ in range(20_000):
            for pid in self.backends():
                self._stage.execute("SELECT pg_terminate_backend(?)", (pid,))
                self.let_go()
                return
        raise AssertionError("nobody commits")


class JobTimeout(Exception):
    """What a user's alarm raises, wherever the code stands."""


@contextmanager
def alarm_in(pending: PendingCommit) -> Iterator[None]:
    """Raise JobTimeout, once, in the main thread while a COMMIT is under way."""

    def tick(_: int, __: FrameType | None) -> None:
        if pending.backends():
            raise JobTimeout("too slow")
        signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS)

    before = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
