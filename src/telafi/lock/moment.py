"""The moment: one copy of a job at a time on this machine, and the sign that this process lives."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock as ThreadLock

from telafi.clock import Clock
from telafi.errors import LedgerError
from telafi.instants import instant_text
from telafi.lock.file import lock_path, open_lock
from telafi.lock.machine import boot_id, host_name, started
from telafi.lock.owner import Owner, process_file
from telafi.lock.place import default_place, place_beside, prepare
from telafi.lock.port import Holder
from telafi.lock.process import ProcessLock, is_gone, leftovers, sweep


class Moment:
    """The locks of one application: beside a SQLite ledger, in the state directory otherwise."""

    def __init__(
        self, ledger: str, file: Path | None, clock: Clock, *, place: Path | None, locked: bool, network_allowed: bool
    ) -> None:
        self._clock = clock
        # Whoever logs in as another user means the same ledger.
        self._ledger = re.sub(r"//[^/]*@", "//", ledger)
        self._ledger_file = file
        self._given_place = place
        self._network_allowed = network_allowed
        self._locked = locked
        self._threads = ThreadLock()
        self._running = 0
        self._process: ProcessLock | None = None

    @property
    def place(self) -> Path:
        """Give the directory of the lock files: each ledger has its own, as jobs of one name may stand in many."""
        if self._given_place is None and self._ledger_file is not None:
            return place_beside(self._ledger_file)
        base = default_place() if self._given_place is None else self._given_place.absolute()
        return lock_path(base, self._ledger).with_suffix("")

    @contextmanager
    def held(self, job: str) -> Iterator[Holder | None]:
        """Hold the job's lock for a block; yields who has it where it is not free. Raises LockPlaceError."""
        if self._ledger_file is not None and not self._ledger_file.parent.is_dir():
            # Making the place would make the directory too, and hide a mistyped URL.
            raise LedgerError(f"the directory {self._ledger_file.parent} does not exist: create it, or correct the URL")
        prepare(self.place, allow_network=self._network_allowed)
        command = " ".join(sys.argv)[:200]
        me = Holder(host_name(), os.getpid(), instant_text(self._clock.now_microseconds()), command)
        lock = open_lock(lock_path(self.place, job), me)
        if self._locked and not lock.acquire():
            yield lock.holder() or Holder("unknown", 0, "", "")
            return
        try:
            with self._alive():
                yield None
        finally:
            lock.release()

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """Keep the process lock while any run of this application needs it."""
        with self._threads:
            self._running += 1
        try:
            yield
        finally:
            with self._threads:
                self._running -= 1
                if not self._running and self._process is not None:
                    self._process.release()
                    self._process = None

    def owner(self) -> str:
        """Take this process's lock and say who it is; only then may its name stand in the ledger."""
        with self._threads:
            if self._process is None:
                self._process = ProcessLock(self.place, allow_network=self._network_allowed)
            return self._process.take().as_text()

    def is_gone(self, owner: str) -> bool | None:
        """Say whether whoever stands behind a ledger's row has ended; None where that cannot be known from here."""
        try:
            found = Owner.from_text(owner)
        except ValueError:
            return None
        # Our process lives, but the run behind this name has ended and taken its file away.
        return True if self._ended_here(found) else is_gone(self.place, found)

    def crashed(self, owner: str) -> bool:
        """Say whether one who is gone was killed; a run that ends takes its file away, ledger or no ledger."""
        with suppress(ValueError):
            return process_file(self.place, Owner.from_text(owner).name).exists()
        return False

    def _ended_here(self, owner: Owner) -> bool:
        mine = owner.pid == os.getpid() and (owner.host, owner.boot) == (host_name(), boot_id())
        return mine and owner.started == started(owner.pid) and not process_file(self.place, owner.name).exists()

    def leftovers(self) -> set[str]:
        """List the files of other processes: most often there are none, and nothing to sweep."""
        mine = {Owner.from_text(self.owner()).name} if self._process is not None else set()
        return leftovers(self.place) - mine

    def sweep(self, owners: Collection[str], among: Collection[str]) -> None:
        """Remove what dead processes have left and the ledger names no more."""
        names = set()
        for owner in owners:
            with suppress(ValueError):
                names.add(Owner.from_text(owner).name)
        sweep(self.place, names, among)

    def boot(self) -> tuple[int, str] | None:
        """Give the microseconds since boot and the boot's name, where the system tells both."""
        seconds, boot = self._clock.boot_seconds(), boot_id()
        return (round(seconds * 1_000_000), boot) if seconds is not None and boot else None
