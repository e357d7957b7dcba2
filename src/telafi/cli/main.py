"""The command `telafi`: its sub-commands by name, each imported when it is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from telafi.cli.exit_status import report, status_of
from telafi.cli.invocation import Invocation, application_options

COMMANDS = {
    "run": "telafi.cli.run:run",
    "status": "telafi.cli.status:status",
    "windows": "telafi.cli.windows:windows",
    "db": "telafi.cli.db:db",
    "demo": "telafi.cli.demo.command:demo",
}


class Commands(click.Group):
    """A group whose commands are imported by name on first use."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Name the commands in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        home = COMMANDS.get(name)
        if home is None:
            return None
        module, attribute = home.split(":")
        command = getattr(import_module(module), attribute)
        return command if isinstance(command, click.Command) else None


def _say_version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - a callback of click
    if asked and not context.resilient_parsing:
        from telafi import __version__

        click.echo(f"telafi {__version__}")
        context.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: telafi -A shop.jobs:app run sales-summary",
)
@application_options
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help="Show the version."
)
def telafi() -> None:
    """Make scheduled jobs safe to run twice: what is due is done once, whatever dies in between."""


def answer(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit status; every error ends here, in one line on standard error."""
    invocation = Invocation()
    try:
        if "_TELAFI_COMPLETE" in os.environ:
            telafi.main(list(arguments), "telafi", complete_var="_TELAFI_COMPLETE")
        with telafi.make_context("telafi", list(arguments), obj=invocation) as context:
            telafi.invoke(context)
        status = invocation.status
    except click.exceptions.Exit as end:
        status = end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = error.exit_code
    except BrokenPipeError:
        status = invocation.status  # whoever read our listing has read enough
    except BaseException as error:  # noqa: BLE001 - the one place where every error becomes a line and a status
        report(error, debug=invocation.debug)
        status = status_of(error)
    _flush()
    return status


def _flush() -> None:
    """Write out what is left; where nobody reads any more, let it go without a complaint of the interpreter."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
