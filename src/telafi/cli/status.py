"""`telafi status`: how the jobs stand, the late ones first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from telafi.cli.invocation import Invocation, application_options
from telafi.cli.table import instant_cell, number_cell, show_table

if TYPE_CHECKING:
    from telafi.work.overview import JobStatus, LockView

TITLES = ("JOB", "STATE", "WATERMARK", "DUE", "LAST SUCCESS", "NEXT", "LOCK", "LOCK SKIPS", "PARKED", "IN DOUBT")


@click.command(
    short_help="Show how the jobs stand, the late ones first.", epilog="Example: telafi status sales-summary --json"
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@application_options
@click.pass_obj
def status(invocation: Invocation, *, jobs: tuple[str, ...], as_json: bool) -> None:
    """Show how each JOB stands (default: all of them): the late ones first, in red on a terminal.

    A job is late when a closed window has waited longer than its late_after. NEXT is when its next window is due.
    """
    found = invocation.application().jobs.status(jobs)
    if as_json:
        for job in found:
            click.echo(json.dumps(as_object(job)))
        return
    show_table(TITLES, [as_row(job) for job in found], red=[job.late for job in found])


def as_row(job: JobStatus) -> list[str]:
    """Write one job as the cells of the table."""
    return [
        job.job,
        _state(job),
        instant_cell(job.watermark),
        str(job.due),
        instant_cell(job.last_success),
        instant_cell(job.next_at),
        _lock(job.lock),
        _skips(job),
        number_cell(job.parked),
        number_cell(job.in_doubt),
    ]


def as_object(job: JobStatus) -> dict[str, object]:
    """Write one job as JSON; every key is always there."""
    from telafi.instants import instant_text

    def text(instant: int | None) -> str | None:
        return None if instant is None else instant_text(instant)

    holder, skips = job.lock.holder, job.skips
    return {
        "job": job.job,
        "state": _state(job),
        "late": job.late,
        "paused": job.paused,
        "watermark": text(job.watermark),
        "due": job.due,
        "waiting_since": text(job.waiting_since),
        "last_success": text(job.last_success),
        "next": text(job.next_at),
        "lock": None
        if holder is None
        else {"held": job.lock.held, "holder": str(holder), "since": holder.since, "command": holder.command},
        "lock_skips": None
        if skips is None
        else {"count": skips.runs, "last": text(skips.last_at), "holder": skips.holder},
        "parked": job.parked,
        "in_doubt": job.in_doubt,
    }


def _state(job: JobStatus) -> str:
    if job.paused:
        return "paused"
    if job.in_doubt:
        return "in-doubt"
    if job.late:
        return "late"
    if job.failing:
        return "failing"
    if job.watermark is None:
        return "new"
    if job.due:
        return "due"
    return "parked" if job.parked else "ok"


def _lock(lock: LockView) -> str:
    if lock.holder is None or lock.held is False:
        return ""
    return str(lock.holder) if lock.held else f"last held by {lock.holder}"


def _skips(job: JobStatus) -> str:
    if job.skips is None:
        return ""
    by = f" by {job.skips.holder}" if job.skips.holder else ""
    return f"{job.skips.runs}, last {instant_cell(job.skips.last_at)}{by}"
