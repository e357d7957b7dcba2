"""This machine and its processes, as far as the operating system tells."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_PID_MAX: Final = 2**31 - 1
_STARTED_FIELD: Final = 22 - 4  # proc(5) counts from 1; the state behind the bracketed command is field 3


def host_name() -> str:
    """Name this host, as `socket.gethostname` does but without the time to import it where that can be spared."""
    if sys.platform == "win32":
        import socket

        name = socket.gethostname()
    else:
        name = os.uname().nodename
    return name


def boot_id() -> str:
    """Name this boot of the machine; empty where the system does not tell."""
    if sys.platform == "darwin":
        import ctypes

        value, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
        failed = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", value, ctypes.byref(size), None, 0)
        boot = "" if failed else value.value.decode("ascii", "replace")
    else:
        boot = ""
        with suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return boot


def started(pid: int) -> str | None:
    """Tell when a process began, in ticks since boot, and in which namespace its number is valid.

    None when no such process runs (a zombie does not), empty where the system does not tell.
    """
    if os.name != "posix" or not 0 < pid <= _PID_MAX:
        return ""  # Windows' os.kill has no harmless signal, it would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass  # somebody else's, but it runs
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZXx" else f"{fields[_STARTED_FIELD]}@{_namespace()}"


def runs(pid: int, since: str) -> bool | None:
    """Whether the process that began then is still running; None where that cannot be known from here."""
    if since.partition("@")[2] != _namespace():
        return None  # the number means another process in another container
    now = started(pid)
    if now is None:
        return False
    return now == since if now and since else None


def _namespace() -> str:
    try:
        return Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return ""
