"""Plain aligned tables, with colour on a terminal where a line needs to be seen first."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from telafi.instants import SECOND, instant_text
from telafi.observe.values import escaped

GAP = "  "


def show_table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, red: Sequence[bool] = ()) -> None:
    """Print a table; a row that is marked red is red on a terminal, and each row stays on one line."""
    cells = [[escaped(cell) or "-" for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(titles, *cells, strict=True)]
    click.echo(_line(titles, widths))
    for number, row in enumerate(cells):
        line = _line(row, widths)
        click.echo(click.style(line, fg="red") if number < len(red) and red[number] and in_colour() else line)


def in_colour() -> bool:
    """Say whether standard output is a terminal whose user has not refused colour."""
    return not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def instant_cell(instant: int | None) -> str:
    """Write an instant in whole seconds."""
    return "" if instant is None else instant_text(instant // SECOND * SECOND)


def number_cell(number: int | None) -> str:
    """Write a number, and nothing for none."""
    return "" if not number else str(number)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
