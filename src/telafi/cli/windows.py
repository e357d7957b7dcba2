"""`telafi windows`: the windows of one job, newest first."""

from __future__ import annotations

import json

import click

from telafi.cli.invocation import Invocation, application_options
from telafi.cli.table import show_table
from telafi.instants import Span, instant_text
from telafi.ledger.rows import ListedRange, ListedWindow

TITLES = ("WINDOW", "STATE", "KIND", "FAILURES", "NEW", "REPEATED", "MS", "REASON")


@click.command(
    short_help="List the windows of a job, newest first.", epilog="Example: telafi windows sales-summary --limit 200"
)
@click.argument("job")
@click.option("--limit", metavar="N", type=click.IntRange(1, 1_000_000), default=50, help="At most so many (50).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@application_options
@click.pass_obj
def windows(invocation: Invocation, *, job: str, limit: int, as_json: bool) -> None:
    """List the windows of JOB, newest first: what came of each, and why.

    Finished windows are never forgotten; old ones are compacted, and listed as one line.
    """
    listing = invocation.application().jobs.windows(job, rows_max=limit)
    found: list[ListedWindow | ListedRange] = [*listing.windows, *listing.ranges]
    found.sort(key=lambda item: item.start, reverse=True)
    if as_json:
        for item in found:
            click.echo(json.dumps(as_object(job, item)))
        return
    show_table(TITLES, [as_row(item) for item in found], red=[_is_red(item) for item in found])
    if listing.more:
        click.echo(f"telafi: there are older windows: --limit {limit * 10} shows more", err=True)


def as_row(item: ListedWindow | ListedRange) -> list[str]:
    """Write one window, or a compacted stretch, as the cells of the table."""
    window = Span(item.start, item.end).text
    if isinstance(item, ListedRange):
        return [window, f"{item.windows} windows compacted", "", "", "", "", "", ""]
    why = ": ".join(part for part in (item.reason, item.error) if part)
    numbers = (item.new, item.repeated, item.milliseconds)
    counts = ["" if number is None else str(number) for number in numbers]
    return [window, item.state, item.kind or "", str(item.attempts), *counts, why]


def as_object(job: str, item: ListedWindow | ListedRange) -> dict[str, object]:
    """Write one window, or a compacted stretch, as JSON."""
    window = {"start": instant_text(item.start), "end": instant_text(item.end)}
    if isinstance(item, ListedRange):
        return {"job": job, "window": window, "state": "compacted", "windows": item.windows}
    finished = None if item.finished_at is None else instant_text(item.finished_at)
    return {
        "job": job, "window": window, "state": item.state, "kind": item.kind, "attempts": item.attempts,
        "new": item.new, "repeated": item.repeated, "effects": item.effects, "ms": item.milliseconds,
        "reason": item.reason, "error": item.error, "finished": finished,
    }  # fmt: skip


def _is_red(item: ListedWindow | ListedRange) -> bool:
    return isinstance(item, ListedWindow) and item.state in ("parked", "in-doubt")
