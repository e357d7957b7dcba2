"""Telafi makes scheduled jobs and background work safe to run twice."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telafi.app import Telafi
    from telafi.clock import Clock, FixedClock, SystemClock
    from telafi.errors import (
        AlreadyDone,
        KeyConflict,
        LedgerError,
        LockPlaceError,
        NotJoinable,
        TelafiError,
        TransactionAborted,
        TransactionControl,
        WindowOverlap,
        WrongUse,
    )
    from telafi.events import Deferred, Failed, Idle, InDoubt, Outcome, Processed, Skipped
    from telafi.keys import file_key
    from telafi.ledger.transaction import AsyncTransaction, Transaction
    from telafi.plan.retry import RetryPolicy
    from telafi.plan.windows import Window
    from telafi.work.job import Job
    from telafi.work.running import AsyncRun, Run

__version__ = "0.1.0.dev0"

_HOMES = {
    "Telafi": "app",
    "Clock": "clock",
    "FixedClock": "clock",
    "SystemClock": "clock",
    "AlreadyDone": "errors",
    "KeyConflict": "errors",
    "LedgerError": "errors",
    "LockPlaceError": "errors",
    "NotJoinable": "errors",
    "TelafiError": "errors",
    "TransactionAborted": "errors",
    "TransactionControl": "errors",
    "WindowOverlap": "errors",
    "WrongUse": "errors",
    "Deferred": "events",
    "Failed": "events",
    "Idle": "events",
    "InDoubt": "events",
    "Outcome": "events",
    "Processed": "events",
    "Skipped": "events",
    "file_key": "keys",
    "AsyncTransaction": "ledger.transaction",
    "Transaction": "ledger.transaction",
    "RetryPolicy": "plan.retry",
    "Window": "plan.windows",
    "Job": "work.job",
    "AsyncRun": "work.running",
    "Run": "work.running",
}

__all__ = [
    "AlreadyDone",
    "AsyncRun",
    "AsyncTransaction",
    "Clock",
    "Deferred",
    "Failed",
    "FixedClock",
    "Idle",
    "InDoubt",
    "Job",
    "KeyConflict",
    "LedgerError",
    "LockPlaceError",
    "NotJoinable",
    "Outcome",
    "Processed",
    "RetryPolicy",
    "Run",
    "Skipped",
    "SystemClock",
    "Telafi",
    "TelafiError",
    "Transaction",
    "TransactionAborted",
    "TransactionControl",
    "Window",
    "WindowOverlap",
    "WrongUse",
    "file_key",
]


def __getattr__(name: str) -> object:
    """Import a public name from its home on first use, so that `import telafi` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'telafi' has no attribute {name!r}")
    value = getattr(import_module(f"telafi.{home}"), name)
    globals()[name] = value
    return value
