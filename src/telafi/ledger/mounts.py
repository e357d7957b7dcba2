"""Which file system a path lies on, and whether other machines may share it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

_POINT_FIELD: Final = 4  # the fifth of a line, see proc(5)
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")

# Locks on these are told to one machine only, or to none; those of virtual machines are shared with the host.
_NETWORK: Final = re.compile(
    "9p|afpfs|afs|beegfs|ceph|cifs|coda|davfs|fuse|glusterfs|gpfs|lustre|ncpfs|nfs|nfs4|orangefs|prl_fs|pvfs2|smb|smb2|"
    "smb3|smbfs|vboxsf|virtiofs|vmhgfs|webdav"
)
# Of everything that runs in user space only these are known to stand on a disk of this machine.
_LOCAL_IN_USER_SPACE: Final = frozenset({"fuse.encfs", "fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.lxcfs"})


class Mount(NamedTuple):
    """Where a file system is mounted, and of which type it is."""

    point: str
    file_system: str


def mount_of(path: Path, mountinfo: str | None = None) -> Mount | None:
    """Find the mount that holds a path, or will hold it; None where the system does not tell.

    `mountinfo` stands in for the text of /proc/self/mountinfo.
    """
    target = os.path.realpath(path)
    if mountinfo is not None:
        return _holding(target, mountinfo)
    beside = _beside(target)
    return _holding(target, _mountinfo()) if beside is None else _holding_at(*beside, _mountinfo)


def file_system_of(path: Path, mountinfo: str | None = None) -> str | None:
    """Name the type of the file system that holds a path; None where the system does not tell."""
    mount = mount_of(path, mountinfo)
    return mount.file_system if mount else None


def is_network(file_system: str) -> bool:
    """Whether another machine may write on it; user-space file systems count unless known as local.

    >>> [is_network(name) for name in ("nfs4", "fuse.sshfs", "fuseblk", "overlay")]
    [True, True, False, False]
    """
    if file_system.startswith("fuse."):
        return file_system not in _LOCAL_IN_USER_SPACE
    return _NETWORK.fullmatch(file_system) is not None


def _beside(target: str) -> tuple[str, int] | None:
    """Give a directory that lies on the same device as a path does, or will, and the device; None where none tells."""
    try:
        here = _device_of(Path(target))
        for parent in Path(target).parents:
            device = _device_of(parent)
            if device is not None:
                return (str(parent), device) if here in (None, device) else (target, here or 0)
    except OSError:
        pass
    return None


def _device_of(path: Path) -> int | None:
    try:
        return path.stat().st_dev
    except (FileNotFoundError, NotADirectoryError):
        return None


@lru_cache(maxsize=64)
def _holding_at(path: str, device: int, read: Callable[[], str]) -> Mount | None:  # noqa: ARG001 - part of the key
    """Look once in a process: the list of all mounts is long, and what is mounted there later has another device."""
    return _holding(path, read())


def _holding(target: str, mountinfo: str) -> Mount | None:
    # What does not exist yet is no mount point, so the deepest parent that exists decides by itself.
    found: Mount | None = None
    for line in mountinfo.splitlines():
        mount = _parsed(line)
        # The later of two mounts on one point hides the earlier.
        if mount is not None and _holds(mount.point, target) and (not found or len(mount.point) >= len(found.point)):
            found = mount
    return found


def _mountinfo() -> str:
    try:
        return os.fsdecode(Path("/proc/self/mountinfo").read_bytes())
    except OSError:
        return ""  # not Linux


def _parsed(line: str) -> Mount | None:
    before, separator, after = line.partition(" - ")
    fields, kinds = before.split(" "), after.split(" ")
    if not separator or len(fields) <= _POINT_FIELD:
        return None
    return Mount(_ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)), fields[_POINT_FIELD]), kinds[0])


def _holds(point: str, target: str) -> bool:
    return point in ("/", target) or target.startswith(f"{point}/")
