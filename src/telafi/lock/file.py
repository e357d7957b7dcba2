"""A job's lock as a file: the kernel's lock decides, the text in it only says who."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from telafi.errors import LockPlaceError
from telafi.lock.descriptors import close_here, open_here, same_file
from telafi.lock.inherited import keeper_of
from telafi.lock.machine import host_name, started
from telafi.lock.port import Holder, Lock
from telafi.lock.record import RECORD_BYTES_MAX, decode, encode
from telafi.lock.refusals import insist_on_private_file, refusal
from telafi.lock.verbs import Verbs, native

_REPLACED_MAX: Final = 100
_SLUG_CHARACTERS_MAX: Final = 60
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def lock_path(place: Path, name: str) -> Path:
    """Name the lock file of a job: readable, safe on every system, and never that of another name.

    >>> lock_path(Path("locks"), "günlük/özet").name
    'g_nl_k_zet-44bdd7bb3b.lock'
    """
    slug = _UNSAFE.sub("_", name)[:_SLUG_CHARACTERS_MAX].strip("._-") or "job"
    if _DEVICE.match(slug):
        slug = f"_{slug}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return place / f"{slug}-{digest}.lock"


def open_lock(path: Path, me: Holder) -> Lock:
    """Give the lock of this operating system; nothing is taken yet."""
    return FileLock(path, me)


class FileLock:
    """A lock on a file that is never deleted, so that there is never a second one of the same name."""

    def __init__(self, path: Path, me: Holder, verbs: Verbs | None = None) -> None:
        self._path = path
        self._me = me
        self._verbs = native() if verbs is None else verbs
        self._made_by = os.getpid()
        self._held: tuple[int, int] | None = None  # the descriptor, and the process that locked it

    def acquire(self) -> bool:
        """Take it; False at once when another copy has it. Raises LockPlaceError."""
        if self.still_mine():
            return True
        self.release()
        try:
            descriptor = self._lock()
        except OSError as error:
            raise refusal(self._path, error) from error
        if descriptor is not None:
            self._held = descriptor, os.getpid()
        return descriptor is not None

    def release(self) -> None:
        """Give it back; a forked child gives nothing back, it never had it."""
        descriptor, self._held = self._descriptor(), None
        if descriptor is None:
            return
        try:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            # Closing alone would leave it with a child that was forked past Python's hooks.
            self._verbs.unlock(descriptor)
        finally:
            close_here(descriptor)

    def still_mine(self) -> bool:
        """Whether the file at the path still is the one that we locked."""
        descriptor = self._descriptor()
        return descriptor is not None and same_file(descriptor, self._path)

    def holder(self) -> Holder | None:
        """Read who holds it; nobody is a fair answer, since any text in the file is only what somebody wrote."""
        record = decode(self._read())
        if record is None:
            keeper = keeper_of(self._path)
            return None if keeper is None else Holder(host_name(), keeper, since="", command="")
        if record.host != host_name() or started(record.pid) is not None:
            return record
        keeper = keeper_of(self._path)
        now = decode(self._read())  # somebody may have taken it while we looked around
        return replace(record, inherited_by=keeper) if now == record else now

    def _descriptor(self) -> int | None:
        return self._held[0] if self._held and self._held[1] == os.getpid() else None

    def _lock(self) -> int | None:
        for _ in range(_REPLACED_MAX):
            descriptor = open_here(self._path, os.O_RDWR | os.O_CREAT)
            kept = False
            try:
                insist_on_private_file(self._path, descriptor)
                if not self._verbs.try_lock(descriptor):
                    return None
                if same_file(descriptor, self._path):
                    self._write(descriptor)
                    kept = True
                    return descriptor
            finally:
                if not kept:
                    close_here(descriptor)
        raise LockPlaceError(f"{self._path} is deleted again and again: find out what does that, and stop it")

    def _write(self, descriptor: int) -> None:
        forked = os.getpid() != self._made_by
        os.ftruncate(descriptor, 0)
        os.write(descriptor, encode(replace(self._me, pid=os.getpid()) if forked else self._me))

    def _read(self) -> bytes:
        try:
            descriptor = open_here(self._path, os.O_RDONLY)
        except OSError:
            return b""
        try:
            return os.read(descriptor, RECORD_BYTES_MAX)
        except OSError:
            return b""
        finally:
            close_here(descriptor)
