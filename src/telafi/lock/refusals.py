"""What stands in the way of a lock: said with the path, what is wrong, and what to do."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Final

from telafi.errors import LockPlaceError

_PRIVATE: Final = 0o600
_ELSEWHERE: Final = "or name another directory for the locks: Telafi(url, place=...)"
_WAYS_OUT: Final = {
    errno.ENOENT: "create the directory",
    errno.EACCES: f"run as the user it belongs to, {_ELSEWHERE}",
    errno.EPERM: f"run as the user it belongs to, {_ELSEWHERE}",
    errno.EROFS: f"make it writable, {_ELSEWHERE}",
    errno.ENOSPC: f"make room on that disk, {_ELSEWHERE}",
    errno.EDQUOT: f"make room in that user's quota, {_ELSEWHERE}",
    errno.ELOOP: "somebody put a symbolic link there: find out who, then remove it",
    errno.ENOTDIR: "a file stands where a directory is needed: move it away",
    errno.EISDIR: "a directory stands where the lock file is needed: move it away",
    errno.ENXIO: "something else stands where the lock file is needed: move it away",
    errno.ENOLCK: f"that file system cannot lock: use a local disk, {_ELSEWHERE}",
    errno.ENOSYS: f"that file system cannot lock: use a local disk, {_ELSEWHERE}",
    errno.EOPNOTSUPP: f"that file system cannot lock: use a local disk, {_ELSEWHERE}",
}


def refusal(path: Path, error: OSError) -> LockPlaceError:
    """Turn the system's answer about a path into one that helps."""
    reason = error.strerror or str(error)
    way_out = _WAYS_OUT.get(error.errno or 0, f"put that right, {_ELSEWHERE}")
    return LockPlaceError(f"{path} cannot be used for locks ({reason}{_owner(path)}): {way_out}")


def _owner(path: Path) -> str:
    try:
        return f"; it belongs to user {path.lstat().st_uid}, we are user {my_user()}"
    except OSError:
        return ""


def my_user() -> int:
    """Give the user as whom this process opens files; 0 on Windows, which shows every file as that user's."""
    if sys.platform == "win32":
        user = 0
    else:
        user = os.geteuid()
    return user


def insist_on_own(path: Path, found: os.stat_result) -> None:
    """Refuse what another user has put there; root is trusted."""
    if found.st_uid not in (my_user(), 0):
        raise LockPlaceError(
            f"{path} belongs to user {found.st_uid}, we are user {my_user()}: run as that user, {_ELSEWHERE}"
        )


def insist_on_private_file(path: Path, descriptor: int) -> None:
    """Refuse an open file that is not simply ours; one that others may read, or that we may not, is put right."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        what = "has a second name" if stat.S_ISREG(found.st_mode) else "is no regular file"
        raise LockPlaceError(f"{path} {what}: somebody put it there, find out who and remove it")
    insist_on_own(path, found)
    if sys.platform != "win32" and found.st_uid == my_user() and stat.S_IMODE(found.st_mode) != _PRIVATE:
        os.fchmod(descriptor, _PRIVATE)
