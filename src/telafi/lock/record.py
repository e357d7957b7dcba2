"""The text in a lock file: one JSON line about its holder, read as diagnostics only."""

from __future__ import annotations

import json
from typing import Final

from telafi.lock.port import Holder

RECORD_BYTES_MAX: Final = 16_384
_COMMAND_CHARACTERS_MAX: Final = 1_000


def encode(holder: Holder) -> bytes:
    """Write a holder as one line that is always short enough to be read back."""
    values = {
        "host": holder.host,
        "pid": holder.pid,
        "since": holder.since,
        "command": holder.command[:_COMMAND_CHARACTERS_MAX],
    }
    return json.dumps(values).encode() + b"\n"


def decode(data: bytes) -> Holder | None:
    """Read a holder; None for anything else, such as the `1` of a PID file or half a line.

    >>> decode(b"1") is None
    True
    """
    try:
        values = json.loads(data.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    match values:
        case {"host": str(host), "pid": int(pid), "since": str(since), "command": str(command)} if pid > 0:
            return Holder(host, pid, since, command)
    return None
