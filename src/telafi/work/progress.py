"""How far one unit has come: what has been claimed, written, committed, and what went wrong on the way."""

from __future__ import annotations

from typing import Final

from telafi.errors import SecondTransaction, TransactionControl
from telafi.events import Kind, Processed
from telafi.instants import Span
from telafi.ledger.causes import causes
from telafi.ledger.marks import MarkScope
from telafi.ledger.port import Fault
from telafi.ledger.steps import AsyncHandle, Handle
from telafi.ledger.tally import Tally
from telafi.ledger.transaction import AsyncTransaction, Transaction
from telafi.ledger.windows import Claim, Claimed, Result
from telafi.work.attempts import Attempts
from telafi.work.context import RunContext


def _nowhere() -> MarkScope:
    raise TransactionControl("a record key needs an open unit")


_BLANK: Final = Tally(_nowhere, returning=False)


class Progress:
    """One unit on its way from planned to done; `claim` is drawn once and kept over all its attempts."""

    def __init__(self, context: RunContext, span: Span, kind: Kind, *, by_name: bool = False) -> None:
        job = context.job
        self.context = context
        self.kind: Kind = kind
        outside = job.asked.where == "outside"
        self.span = span
        number = f"{context.run}.{next(context.numbers)}"  # as random as its run
        self.claim = Claim(job.name, span, number, context.run, kind, outside, by_name)
        self.began = context.clock.monotonic_seconds()
        self.claimed: Claimed | None = None
        self.tally = _BLANK
        self.entered = False
        self.claiming = False
        self.in_body = False
        self.open = False
        self.committing = False
        self.unknown = False
        self.split = False
        self.lost = False
        self.done = False
        self.failure: BaseException | None = None
        self.fault: Fault | None = None
        self._asked_at: float | None = None
        self._attempts: Attempts | None = None
        context.budget.count_unit(self.began)

    @property
    def attempts(self) -> Attempts:
        """Give the count of this unit's attempts, from its first claim on."""
        if self._attempts is None:
            self._attempts = self.context.attempts(self.claim.span, began=self._asked_at)
        return self._attempts

    def alone(self) -> Progress:
        """Give a member of a group that did not commit as a unit of its own; its claim tells if it did after all."""
        unit = Progress(self.context, self.span, self.kind)
        unit.claim, unit.unknown, unit.tally = self.claim, self.unknown, self.tally
        return unit

    def restart(self) -> None:
        """Forget the attempt before: its transaction is gone, whatever became of it."""
        self.claimed = None
        self.claiming = self.in_body = self.open = self.committing = self.split = self.lost = False
        self.failure = None

    def ask(self) -> None:
        """Note that the row is asked for: from the first time on, the time for repeats is counted."""
        self.restart()
        self.claiming = True
        if self._asked_at is None:
            self._asked_at = self.context.clock.monotonic_seconds()

    def hold(self, claimed: Claimed, *, grouped: bool = False) -> None:
        """Note the claim; what was counted before it counts no more."""
        self.claimed = claimed
        self.claiming, self.open = False, True
        self.unknown = False  # whatever the COMMIT before did: this claim could be had, so it did not happen
        self.tally = Tally(self._mark_scope, returning=self.context.engine.is_server, grouped=grouped)

    def enter(self) -> None:
        """Open the unit's one block; raises SecondTransaction on a second, or where the job has a Transaction."""
        if self.entered:
            raise SecondTransaction
        if self.context.job.asked.where == "inside":
            raise SecondTransaction("this job asked for a transaction, so its whole body runs inside it already")
        self.entered = True

    def own_error(self, error: BaseException) -> bool:
        """Say whether an error of the body may have come from the unit's own connection."""
        if self.tally.lent or self.context.job.asked.guest is not None:
            return True
        return self.tally.met is not None and any(cause is self.tally.met for cause in causes(error))

    def transaction(self, handle: Handle) -> Transaction:
        """Make the transaction that the job is given."""
        return Transaction(handle, self.tally, getattr(handle, "connection", None))

    def async_transaction(self, handle: AsyncHandle) -> AsyncTransaction:
        """Make the transaction that an `async def` job is given."""
        return AsyncTransaction(handle, self.tally, getattr(handle, "connection", None))

    def result(self) -> Result:
        """Give what the advance stores beside the mark."""
        tally = self.tally
        return {
            "new": tally.new if tally.keyed else None,
            "repeated": tally.repeated if tally.keyed else None,
            "effects": tally.effects,
            "milliseconds": self._milliseconds(),
            "finished_at": self.context.clock.now_microseconds(),
        }

    def processed(self) -> Processed:
        """Say that mark, effect and advance have committed."""
        tally = self.tally
        new, repeated = (tally.new, tally.repeated) if tally.keyed else (None, None)
        return Processed(self.claim.job, self.span, self.kind, self._milliseconds(), new, repeated)

    def _milliseconds(self) -> int:
        return round((self.context.clock.monotonic_seconds() - self.began) * 1_000)

    def _mark_scope(self) -> MarkScope:
        parent = f"{self.claim.job} {self.span.start}/{self.span.end}"
        return MarkScope(self.claim.job, parent, self.context.clock.now_microseconds())
