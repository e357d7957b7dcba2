"""Whether a job is late: a closed window has waited too long, whatever the watermark says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from telafi.plan.catchup import Stored, plan_run
from telafi.plan.schedule import Schedule


class Outlook(NamedTuple):
    """How a job stands at an instant; `waiting_since` is when the oldest unfinished window closed."""

    watermark: int
    due: int
    waiting_since: int | None
    next_boundary: int

    def is_late(self, now: int, late_after: int) -> bool:
        """Say whether a closed window has waited longer than allowed."""
        return self.waiting_since is not None and now - self.waiting_since > late_after


def outlook(schedule: Schedule, watermark: int, until: int, stored: Sequence[Stored]) -> Outlook:
    """Look at what a run would find now, without planning anything."""
    plan = plan_run(schedule, watermark, until, stored, windows_max=1)
    since = plan.due[0].end if plan.due else None
    return Outlook(plan.watermark, len(plan.due) + plan.remaining, since, schedule.after(plan.watermark))
