"""`telafi db`: the ledger's tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from telafi.cli.invocation import Invocation, application_options

if TYPE_CHECKING:
    from telafi.ledger.verbs import Ledger

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(epilog="Example: telafi db status --db postgresql://user@host/database")
@application_options
def db() -> None:
    """Look at the ledger's tables, and bring them up to this release."""


def ledger_options(command: Command) -> Command:
    """Give a command the options that name a ledger without an application."""
    command = click.option("--schema", metavar="NAME", help="The ledger's schema on that server (default: telafi).")(
        command
    )
    command = click.option("--db", "url", metavar="URL", help="This ledger instead of the application's.")(command)
    return application_options(command)


@db.command(epilog="Example: telafi db upgrade --db postgresql://user@host/database")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@ledger_options
@click.pass_obj
def upgrade(invocation: Invocation, *, url: str | None, schema: str | None, as_json: bool) -> None:
    """Create the ledger's tables, or bring them up to this release; nothing happens where they are.

    All in one transaction: two at once take turns, and one that is killed leaves nothing half done.
    """
    ledger = _ledger(invocation, url, schema)
    applied = list(ledger.upgrade())
    if as_json:
        click.echo(json.dumps({"ledger": ledger.url, "applied": applied}))
    elif applied:
        click.echo(f"{ledger.url}: applied {', '.join(applied)}")
    else:
        click.echo(f"{ledger.url}: nothing to do, the tables are those of this release")


@db.command(epilog="Example: telafi db status --json")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@ledger_options
@click.pass_obj
def status(invocation: Invocation, *, url: str | None, schema: str | None, as_json: bool) -> None:
    """Compare the ledger's tables with those of this release; exit status 1 where they differ."""
    ledger = _ledger(invocation, url, schema)
    found, wanted, pending = ledger.status()
    invocation.status = 0 if found == wanted and not pending else 1
    if as_json:
        state = {"ledger": ledger.url, "found": found, "wanted": wanted, "pending": list(pending)}
        click.echo(json.dumps(state))
        return
    if found > wanted:
        advice = "the ledger is newer than this Telafi: upgrade Telafi"
    else:
        advice = f"run `telafi db upgrade` to apply {', '.join(pending)}" if pending else "up to date"
    click.echo(f"{ledger.url}: schema version {found}, this release has {wanted}; {advice}")


@db.command(epilog="Example: telafi db sql --db postgresql://user@host/database > ledger.sql")
@ledger_options
@click.pass_obj
def sql(invocation: Invocation, *, url: str | None, schema: str | None) -> None:
    """Print the SQL of every migration, for people who apply it by their own tools."""
    click.echo(_ledger(invocation, url, schema).sql(), nl=False)


def _ledger(invocation: Invocation, url: str | None, schema: str | None) -> Ledger:
    if url is None:
        if schema is not None:
            raise click.UsageError("--schema belongs to --db: give the ledger's URL too", click.get_current_context())
        return invocation.application().ledger
    from telafi.app import Telafi

    return (Telafi(url) if schema is None else Telafi(url, schema=schema)).ledger
