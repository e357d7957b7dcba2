"""Every exception of Telafi; a class's docstring is its default message."""

from __future__ import annotations


class TelafiError(Exception):
    """Telafi could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


# Wrong use: the caller must change something. The command line answers with exit status 2.


class WrongUse(TelafiError):
    """Telafi was asked for something that cannot be given."""


class NaiveInstant(WrongUse, TypeError):
    """An instant without a time zone is ambiguous: give one with an offset, such as 2026-09-04T10:00:00Z."""


class MalformedInstant(WrongUse, ValueError):
    """This is not an instant."""


class MalformedUrl(WrongUse, ValueError):
    """This is not the URL of a ledger: write sqlite:///path/to/file.db or postgresql://user@host/database."""


class ScheduleError(WrongUse, ValueError):
    """This schedule cannot be used."""


class UnknownJob(WrongUse):
    """There is no job of that name in this application."""


class DuplicateJob(WrongUse):
    """Two jobs have the same name: give one of them another with name=."""


class CannotGive(WrongUse, TypeError):
    """A job asks for a parameter that nobody can give."""


class NotABoundary(WrongUse, ValueError):
    """No window of this job starts at that instant."""


class WindowOverlap(WrongUse):
    """The window that was asked for overlaps one that is stored already."""


class KeyNotUsable(WrongUse, ValueError):
    """This key cannot be stored."""


class KeyConflict(WrongUse):
    """The same key was used before with another payload."""


class MissingDriver(WrongUse, ImportError):
    """A driver is not installed."""


class NotJoinable(WrongUse):
    """Telafi cannot join the transaction of this connection."""


# Out of reach: the world must change something. The command line answers with exit status 75.


class OutOfReach(TelafiError):
    """The ledger or the lock place cannot be reached or written."""


class LedgerError(OutOfReach):
    """The ledger cannot be reached, read or written."""


class LedgerBusy(LedgerError):
    """The ledger stayed busy beyond the budget: another writer holds it."""


class SchemaError(LedgerError):
    """The ledger's schema does not fit this version of Telafi."""


class LockPlaceError(OutOfReach):
    """The directory for lock files cannot be used."""


class ForkedConnection(LedgerError):
    """A connection was carried over a fork: open a new one in the child."""


# What a unit may meet.


class TransactionControl(TelafiError):
    """A unit's transaction belongs to Telafi: COMMIT, ROLLBACK and executescript are refused inside it."""


class TransactionAborted(TelafiError):
    """The transaction was aborted by an earlier error that the code swallowed: nothing was written."""


class CoroutineNotAwaited(TelafiError):
    """The job returned a coroutine or a generator that nobody ran: write `async def`, or await it inside."""


class SecondTransaction(TelafiError):
    """A unit has one transaction: a second block would split the mark from the effect."""


class AlreadyDone(BaseException):
    """Another copy has done, or is doing, this unit: nothing is left to do.

    A BaseException, so that `except Exception` in a job does not swallow it by accident.
    """
