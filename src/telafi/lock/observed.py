"""Whether a lock is held, seen from outside: the lock itself is never tried, or a run that starts now would miss it."""

from __future__ import annotations

import os
from pathlib import Path

from telafi.lock.inherited import keeper_of
from telafi.lock.machine import host_name, started
from telafi.lock.port import Holder


def is_held(path: Path, holder: Holder) -> bool | None:
    """Say whether the lock on this file is held; None where that cannot be told.

    A text that a killed process has left in the file proves nothing. Linux shows which process has a locked
    descriptor of the file, and the locks of other users' processes without their names.
    """
    if keeper_of(path) is not None or _listed(path):
        return True
    if holder.host == host_name() and started(holder.pid) is None:
        return False
    return False if _sees(holder.pid) and holder.host == host_name() else None


def _listed(path: Path) -> bool:
    """Look for the file's number in the kernel's list of locks; its device goes by other numbers on some systems."""
    try:
        inode = path.lstat().st_ino
        lines = Path("/proc/locks").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(_is_flock_on(inode, line.split()) for line in lines)


def _is_flock_on(inode: int, words: list[str]) -> bool:
    return "FLOCK" in words and "WRITE" in words and any(word.endswith(f":{inode}") for word in words)


def _sees(pid: int) -> bool:
    """Whether that process's descriptors are shown to us, so that a lock among them would have been seen."""
    return os.access(f"/proc/{pid}/fd", os.R_OK | os.X_OK)
