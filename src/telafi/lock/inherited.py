"""Who keeps a lock whose holder has ended: a child that was forked past Python's hooks still has the open file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def keeper_of(path: Path) -> int | None:
    """Find the process with a locked descriptor of this file; None where nobody can be seen (Linux only).

    /proc/locks is of no use here: it goes on naming the process that has ended. Every process's own list says whether
    the lock hangs on that very descriptor.
    """
    try:
        wanted = path.lstat()
        pids = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    except OSError:
        return None
    return next((pid for pid in pids if _keeps(Path("/proc", str(pid)), wanted)), None)


def _keeps(process: Path, wanted: os.stat_result) -> bool:
    # It may end while we look, and another user's descriptors are not shown to us.
    with suppress(OSError):
        for opened in (process / "fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(opened.stat(), wanted) and _locked(process / "fdinfo" / opened.name):
                    return True
    return False


def _locked(description: Path) -> bool:
    lines = description.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.startswith("lock:") and "FLOCK" in line and "WRITE" in line for line in lines)
