"""Who does a piece of work: what the ledger stores of a process, so that others can ask whether it lives."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_FILE: Final = re.compile(r"process-([0-9a-f]{32})\.lock")


@dataclass(frozen=True, slots=True)
class Owner:
    """One start of one process; the name is random and never used again, so a reused pid means nothing."""

    place: str
    host: str
    boot: str
    name: str
    pid: int
    started: str

    def as_text(self) -> str:
        """Write it for the ledger: JSON with its keys in a fixed order."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `as_text` wrote; raises ValueError for anything else."""
        match json.loads(text):
            case {
                "place": str(place),
                "host": str(host),
                "boot": str(boot),
                "name": str(name),
                "pid": int(pid),
                "started": str(since),
            } if _NAME.fullmatch(name):
                return cls(place, host, boot, name, pid, since)
        raise ValueError(f"{text!r} names no process")


def new_name() -> str:
    """Draw a name that nobody else has."""
    return os.urandom(16).hex()


def process_file(place: Path, name: str) -> Path:
    """Name the file whose lock says that a process lives."""
    return place / f"process-{name}.lock"


def name_of(file_name: str) -> str | None:
    """Read the name out of a file's; None for every other file, a job's lock among them."""
    found = _FILE.fullmatch(file_name)
    return found[1] if found else None
