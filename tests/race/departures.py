"""The departures of 2013, per hour of UTC, as rows that the races count."""

import csv
import gzip
from pathlib import Path

from telafi.instants import SECOND, instant_of

HOUR = 3_600 * SECOND
DATA = Path(__file__).resolve().parents[2] / "bench" / "data" / "departures-2013-per-minute.csv.gz"
YEAR = instant_of("2013-01-01T05:00Z")  # midnight in New York, where all of them took off
YEAR_HOURS = 8_760
MONTH = instant_of("2013-03-01T05:00Z")
MONTH_HOURS = 744


def read(start: int, hours: int) -> list[tuple[int, int]]:
    """Give each hour's start and its departures, hours without any included."""
    counted = dict.fromkeys(range(start, start + hours * HOUR, HOUR), 0)
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = instant_of(row["hour"])
            if at in counted:
                counted[at] = int(row["departures"])
    return list(counted.items())
