"""Tables of figures, and what is to be said of the machine they come from."""

import os
import platform
import sqlite3
from collections.abc import Sequence
from statistics import median


def machine() -> str:
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} CPUs, load {load}"
    )


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    print(f"\n{title}")
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Give the median, with the smallest and the largest."""
    return f"{median(values):,.{digits}f} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"
