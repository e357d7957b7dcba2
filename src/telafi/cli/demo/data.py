"""The week of departures: from the file beside this module into the tables of a SQLite database."""

from __future__ import annotations

import csv
import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from telafi.instants import instant_of

TABLES = """
CREATE TABLE departures (
    at TEXT NOT NULL, carrier TEXT NOT NULL, flight INTEGER NOT NULL, origin TEXT NOT NULL, dest TEXT NOT NULL,
    distance INTEGER NOT NULL, cancelled INTEGER NOT NULL
);
CREATE INDEX departures_at ON departures (at);
CREATE TABLE departures_by_hour (hour TEXT NOT NULL, departures INTEGER NOT NULL, cancelled INTEGER NOT NULL);
CREATE TABLE totals (departures INTEGER NOT NULL, cancelled INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
"""
INSERT = "INSERT INTO departures VALUES (:at, :carrier, :flight, :origin, :dest, :distance, :cancelled)"


@dataclass(frozen=True, slots=True)
class Figures:
    """Departures, and how many of them were cancelled."""

    departures: int
    cancelled: int


def rows() -> Iterator[dict[str, str]]:
    """Give the departures of the week in the order of time."""
    source = files("telafi.cli.demo").joinpath("departures.csv.gz")
    with source.open("rb") as compressed, gzip.open(compressed, "rt", encoding="ascii", newline="") as lines:
        yield from csv.DictReader(lines)


def instants() -> list[int]:
    """Give the instant of every departure of the week, in order."""
    return [instant_of(row["at"]) for row in rows()]


def load(database: Path) -> None:
    """Make the demo's tables and fill in the week."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript(TABLES)
        connection.executemany(INSERT, rows())


def figures(database: Path, query: str) -> Figures:
    """Ask the database for two numbers."""
    with closing(sqlite3.connect(database)) as connection:
        departures, cancelled = connection.execute(query).fetchone()
    return Figures(departures, cancelled)
