"""Process locks: a process lives as long as the kernel holds the lock on its file."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from telafi.errors import LockPlaceError
from telafi.lock.descriptors import close_here, no_fork, open_here, same_file
from telafi.lock.machine import boot_id, host_name, runs, started
from telafi.lock.owner import Owner, name_of, new_name, process_file
from telafi.lock.place import prepare, read_identity
from telafi.lock.refusals import insist_on_private_file, refusal
from telafi.lock.verbs import native

_SWEPT_MAX: Final = 1_000


class _Held(NamedTuple):
    owner: Owner
    path: Path
    descriptor: int


class ProcessLock:
    """Says that this process lives, until it ends; threads may share it, a forked child takes its own."""

    def __init__(self, place: Path, *, allow_network: bool = False) -> None:
        self._place = place.absolute()
        self._allow_network = allow_network
        self._verbs = native()
        self._taken: _Held | None = None

    def take(self) -> Owner:
        """Take it, once; only what this returns may be written to the ledger. Raises LockPlaceError."""
        # A fork in the middle would leave the child a lock without an owner; this also lets in one thread at a time.
        with no_fork():
            held = self._held()
            if held is None:
                identity = prepare(self._place, allow_network=self._allow_network)
                try:
                    held = self._taken = self._lock(identity)
                except OSError as error:
                    raise refusal(self._place, error) from error
            return held.owner

    def release(self) -> None:
        """Say that this process owns nothing any more, and remove its file."""
        with no_fork():
            held, self._taken = self._held(), None
            if held is None:
                return
            try:
                # Windows removes no open file, and a place may have become read-only: then a sweep will do it.
                with suppress(OSError):
                    held.path.unlink(missing_ok=True)
            finally:
                close_here(held.descriptor)

    def still_mine(self) -> bool:
        """Whether observers still find our lock at its path."""
        held = self._held()
        return held is not None and same_file(held.descriptor, held.path)

    def _held(self) -> _Held | None:
        # What a fork has copied is the parent's.
        return self._taken if self._taken and self._taken.owner.pid == os.getpid() else None

    def _lock(self, identity: str) -> _Held:
        # A sweep may meet the file between its creation and its locking; nobody knows the name yet, so take another.
        for _ in range(_SWEPT_MAX):
            name = new_name()
            path = process_file(self._place, name)
            descriptor = open_here(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            locked = False
            try:
                insist_on_private_file(path, descriptor)
                locked = self._verbs.try_lock(descriptor) and same_file(descriptor, path)
            finally:
                if not locked:
                    close_here(descriptor)
                    path.unlink(missing_ok=True)
            if locked:
                pid = os.getpid()
                return _Held(Owner(identity, host_name(), boot_id(), name, pid, started(pid) or ""), path, descriptor)
        raise LockPlaceError(
            f"files in {self._place} are deleted again and again: find out what does that, and stop it"
        )


def is_gone(place: Path, owner: Owner) -> bool | None:
    """Whether a process has ended: True is certain, False is alive, None cannot be known from here."""
    path = process_file(place, owner.name)
    if name_of(path.name) is None or read_identity(place) != owner.place:
        return None
    try:
        descriptor = open_here(path, os.O_RDONLY)
    except FileNotFoundError:
        return _is_gone_without_file(owner)
    except OSError:
        return None
    try:
        return native().try_lock(descriptor, shared=True)
    except OSError:
        return None
    finally:
        close_here(descriptor)


def leftovers(place: Path) -> set[str]:
    """List the names of all processes that have a file here, living ones too."""
    try:
        return {name for entry in os.scandir(place) if (name := name_of(entry.name))}
    except OSError:
        return set()


def sweep(place: Path, referenced: Collection[str], among: Collection[str] | None = None) -> None:
    """Remove the files of processes that have ended and that no row of the ledger names any more.

    `among` are the names that were listed before the ledger was asked: a process that came later is not among them.
    """
    for name in (leftovers(place) if among is None else set(among)).difference(referenced):
        # Others sweep too, and a file that cannot be removed today harms nobody.
        with suppress(OSError):
            _remove_if_free(process_file(place, name))


def _is_gone_without_file(owner: Owner) -> bool | None:
    # A place can be copied with its identity, as in a machine's image: another host is not known to be gone.
    boot = boot_id()
    if owner.host != host_name() or not boot or not owner.boot:
        return None
    if owner.boot != boot:
        return True
    running = runs(owner.pid, owner.started)
    return None if running is None else not running


def _remove_if_free(path: Path) -> None:
    descriptor = open_here(path, os.O_RDONLY)
    try:
        free = native().try_lock(descriptor, shared=True)
        # The lock is held over the removal: an owner that locks too late finds its file gone, and takes another name.
        if free and sys.platform != "win32":
            path.unlink(missing_ok=True)
    finally:
        close_here(descriptor)
    if free and sys.platform == "win32":
        path.unlink(missing_ok=True)  # Windows removes no open file, so an owner's file is safe there by itself
