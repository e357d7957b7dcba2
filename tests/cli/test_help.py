"""Every command explains itself, with one example."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from telafi import __version__
from telafi.cli.main import COMMANDS, telafi


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(commands(telafi)), ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(telafi, [*path, "--help"], prog_name="telafi")
    assert answer.exit_code == 0
    assert "Example: telafi " in answer.output
    assert " ".join(["Usage: telafi", *path]) in answer.output


def test_the_first_lines_of_all_commands_fit_on_a_screen() -> None:
    answer = CliRunner().invoke(telafi, ["--help"])
    assert "..." not in answer.output.partition("Commands:")[2].partition("Example")[0]
    assert all(name in answer.output for name in COMMANDS)


def test_the_version() -> None:
    assert CliRunner().invoke(telafi, ["--version"]).output == f"telafi {__version__}\n"
