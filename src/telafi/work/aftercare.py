"""What follows a run that processed something: its warnings, and history made small."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from telafi.events import Warned
from telafi.instants import datetime_of
from telafi.ledger.compaction import compact
from telafi.ledger.runs import forget_settled_charges, read_owners
from telafi.ledger.steps import Begin, Call, Commit, Steps
from telafi.ledger.watermarks import read_job
from telafi.ledger.windows import read_last_effects
from telafi.plan.windows import written
from telafi.work.attempts import rolled_back
from telafi.work.context import RunContext

WAL_BYTES_MAX: Final = 64 << 20


def after_run(context: RunContext, now: int, *, charged: bool) -> Steps[None]:
    """Warn of empty successes and late records, and compact one batch; a failure here never fails the run."""
    try:
        _warn_large_wal(context)
        yield from _warn_without_effect(context)
        yield from _warn_late_rows(context)
        yield from compact(context.job.name, now - context.job.options.remember)
        if charged:
            yield Begin()  # with its limit on waiting for locks
            yield from forget_settled_charges(context.job.name)
            yield Commit()
        left = context.leftovers()
        if left:
            context.sweep((yield from read_owners()), left)
    except Exception as error:  # noqa: BLE001 - the run's work is committed, its aftercare comes again
        yield from rolled_back(error)
        context.emit(Warned(context.job.name, f"the work is done, but its aftercare failed: {error}"))


def _warn_large_wal(context: RunContext) -> None:
    """Warn where a reader that stays open keeps SQLite's log from being folded back into the file."""
    file = context.engine.file()
    if file is None:
        return
    with suppress(OSError):
        size = file.with_name(f"{file.name}-wal").stat().st_size
        if size > WAL_BYTES_MAX:
            text = f"the log {file.name}-wal has grown to {size >> 20} MiB: some reader keeps a transaction open"
            context.emit(Warned(context.job.name, text))


def _warn_without_effect(context: RunContext) -> Steps[None]:
    limit = context.job.options.must_have_effect
    if limit is None:
        return
    effects = yield from read_last_effects(context.job.name, limit)
    if len(effects) == limit and not any(effects):
        context.emit(Warned(context.job.name, f"the last {limit} windows were processed without writing anything"))


def _warn_late_rows(context: RunContext) -> Steps[None]:
    query = context.job.options.late_rows
    if query is None:
        return
    row = yield from read_job(context.job.name)
    if row is None or row.watermark is None:
        return
    watermark = written(datetime_of(row.watermark), context.engine.style)
    is_async = context.job.asked.is_async
    count = yield Call(lambda handle: (_acount if is_async else _count)(handle.connection, query, watermark))
    if count:
        context.emit(Warned(context.job.name, f"{count} records arrived in windows that are finished already"))


def _count(connection: Any, query: str, watermark: object) -> Any:
    return connection.execute(query, {"watermark": watermark}).fetchone()[0]


async def _acount(connection: Any, query: str, watermark: object) -> Any:
    cursor = await connection.execute(query, {"watermark": watermark})
    return (await cursor.fetchone())[0]
