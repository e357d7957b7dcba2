"""The call of a job's function: each parameter with what it asked for."""

from __future__ import annotations

from typing import Any

from telafi.plan.windows import window_of
from telafi.work.progress import Progress
from telafi.work.running import AsyncRun, Run
from telafi.work.unit import Body


def body_of(progress: Progress) -> Body:
    """Make the body of a unit: a function of the handle that the runner speaks to."""
    job, engine = progress.context.job, progress.context.engine
    window = window_of(progress.span, progress.kind, engine.style)

    def given(wanted: str, handle: Any) -> Any:
        match wanted:
            case "window":
                return window
            case "transaction":
                return progress.async_transaction(handle) if job.asked.is_async else progress.transaction(handle)
            case "run":
                return (AsyncRun if job.asked.is_async else Run)(progress, handle, window)
            case _:
                return handle.lend()

    def body(handle: Any) -> Any:
        return job.function(**{name: given(wanted, handle) for name, wanted in job.asked.names.items()})

    return body
