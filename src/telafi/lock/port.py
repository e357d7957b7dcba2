"""What a job's lock can do, and who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Holder:
    """Who says of itself that it holds a lock: for people to read, never to decide by.

    >>> str(Holder("atlas", 4711, "2026-09-04T10:00:00Z", "report"))
    '4711@atlas'
    """

    host: str
    pid: int
    since: str
    command: str
    inherited_by: int | None = None

    def __str__(self) -> str:
        """Give `pid@host`, and who keeps the lock after that process has ended."""
        text = f"{self.pid}@{self.host}"
        return text if self.inherited_by is None else f"{text} inherited by pid {self.inherited_by}"


class Lock(Protocol):
    """Keeps a second copy of a job away for a moment; that nothing is done twice is the ledger's work."""

    def acquire(self) -> bool:
        """Take it; False at once when another copy has it. Never waits."""

    def release(self) -> None:
        """Give it back; nothing happens where it is not held."""

    def still_mine(self) -> bool:
        """Whether this process still is the one that everybody else sees as the holder."""

    def holder(self) -> Holder | None:
        """Tell who holds it, without taking it: right after `acquire` said False this is who was faster."""
