"""The rows of the ledger as values."""

from __future__ import annotations

from typing import NamedTuple


class JobRow(NamedTuple):
    """A job's row: where its watermark stands."""

    watermark: int | None
    paused: bool
    wall_at: int | None
    boot_at: int | None
    boot: str | None


class WindowRow(NamedTuple):
    """One window's state and who holds it."""

    state: str
    claim: str | None
    run: str | None
    token: int
    outside: bool
    attempts: int
    reason: str | None


class RunRow(NamedTuple):
    """A run that has not closed its record."""

    id: str
    plan: str
    owner: str


class ListedWindow(NamedTuple):
    """One window as the listing shows it."""

    start: int
    end: int
    state: str
    kind: str | None
    attempts: int
    reason: str | None
    error: str | None
    new: int | None
    repeated: int | None
    effects: int | None
    milliseconds: int | None
    finished_at: int | None


class ListedRange(NamedTuple):
    """A stretch of done windows that were compacted."""

    start: int
    end: int
    windows: int
