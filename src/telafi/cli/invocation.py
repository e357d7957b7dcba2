"""One call of the command line: what was asked of all commands alike, and how it will end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from telafi.settings import application_setting, load_application

if TYPE_CHECKING:
    from telafi.app import Telafi

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Invocation:
    """What the options `--app` and `--debug` say, wherever they stand, and the exit status so far."""

    app: str | None = None
    debug: bool = False
    status: int = 0

    def application(self) -> Telafi:
        """Load the application that is meant; raises WrongUse.

        One that a parent's pyproject.toml names is run from there: a relative path to a ledger would else mean another
        file in every directory, and so would every window be done again.
        """
        directory = Path.cwd()
        setting = application_setting(self.app, os.environ, directory)
        if setting.directory is not None and setting.directory != directory:
            directory = setting.directory
            os.chdir(directory)
        return load_application(setting, directory)


def application_options(command: Command) -> Command:
    """Give a command the options that may stand before or behind its name."""
    command = click.option("--debug", is_flag=True, expose_value=False, callback=_note_debug, help="Show tracebacks.")(
        command
    )
    return click.option(
        "-A",
        "--app",
        metavar="MODULE:NAME",
        expose_value=False,
        callback=_note_app,
        help="The application, such as shop.jobs:app (default: $TELAFI_APP, then [tool.telafi] in pyproject.toml).",
    )(command)


def _note_app(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.ensure_object(Invocation).app = value


def _note_debug(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - a callback of click
    if value:
        context.ensure_object(Invocation).debug = True
