"""The shipped data: what the README files say of it is so, and it is made again from rows like the source's."""

import csv
import gzip
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from telafi.cli.demo import data
from telafi.cli.demo.timeline import WEEK
from telafi.instants import instant_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "demo_data.py"
WEEK_FILE = Path("src/telafi/cli/demo/departures.csv.gz")
YEAR_FILE = Path("bench/data/departures-2013-per-minute.csv.gz")
HEAD = "year,month,day,dep_time,sched_dep_time,carrier,flight,origin,dest,distance,time_hour\n"
STORM = "2013,2,8,NA,1505,UA,1,EWR,SFO,2565,2013-02-08T20:00:00Z\n"
SUMMER = "2013,7,1,600,600,AA,2,JFK,MIA,1089,2013-07-01T10:00:00Z\n"
LAST = "2013,12,31,2359,2359,B6,3,JFK,SJU,1598,2014-01-01T04:00:00Z\n"


def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("ascii").splitlines()


def year() -> Iterator[dict[str, str]]:
    yield from csv.DictReader(lines_of(ROOT / YEAR_FILE))


def test_the_week_has_its_departures_in_order() -> None:
    rows = list(data.rows())
    assert (len(rows), sum(int(row["cancelled"]) for row in rows)) == (6_099, 926)
    instants = data.instants()
    assert instants == sorted(instants)
    assert WEEK.start <= instants[0] <= instants[-1] < WEEK.end


def test_the_weeks_text_sorts_as_the_windows_bounds_do() -> None:
    assert all(len(row["at"]) == len("2013-02-04T10:15:00Z") and row["at"].endswith(":00Z") for row in data.rows())


def test_the_year_has_every_departure() -> None:
    rows = list(year())
    assert len(rows) == 6_936
    assert sum(int(row["departures"]) for row in rows) == 336_776
    assert sum(int(row["cancelled"]) for row in rows) == 8_255


def test_the_minutes_add_up_to_the_hours() -> None:
    for row in year():
        counts = [int(minute.partition(":")[2] or 1) for minute in row["minutes"].split()]
        assert sum(counts) == int(row["departures"])


def test_the_year_of_new_york_is_8760_windows_and_that_of_utc_leaves_88_out() -> None:
    start, end = instant_of("2013-01-01T05:00Z"), instant_of("2014-01-01T05:00Z")
    assert (end - start) // 3_600_000_000 == 8_760
    assert all(start <= instant_of(row["hour"]) < end for row in year())
    assert sum(int(row["departures"]) for row in year() if row["hour"].startswith("2014")) == 88


def test_the_week_is_the_years_week() -> None:
    inside = [row for row in year() if WEEK.start <= instant_of(row["hour"]) < WEEK.end]
    assert sum(int(row["departures"]) for row in inside) == 6_099


def make(flights: Path, root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(flights), "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("packed", [False, True], ids=["csv", "zip"])
def test_the_script_makes_both_files(tmp_path: Path, packed: bool) -> None:  # noqa: FBT001
    flights = tmp_path / "flights.csv"
    flights.write_text(HEAD + LAST + STORM + SUMMER, encoding="utf-8")
    if packed:
        with zipfile.ZipFile(tmp_path / "flights.csv.zip", "w") as archive:
            archive.write(flights, "flights.csv")
        flights = tmp_path / "flights.csv.zip"
    done = make(flights, tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines_of(tmp_path / WEEK_FILE)[1:] == ["2013-02-08T20:05:00Z,UA,1,EWR,SFO,2565,1"]
    assert lines_of(tmp_path / YEAR_FILE)[1:] == [
        "2013-02-08T20:00:00Z,1,1,5",
        "2013-07-01T10:00:00Z,1,0,0",
        "2014-01-01T04:00:00Z,1,0,59",
    ]
    assert done.stdout.splitlines()[1] == "of these outside 2013 in UTC: 1 departures, 0 of them cancelled"


def test_the_script_refuses_an_hour_that_is_not_utc(tmp_path: Path) -> None:
    flights = tmp_path / "flights.csv"
    flights.write_text(HEAD + SUMMER.replace("T10:", "T06:"), encoding="utf-8")
    done = make(flights, tmp_path)
    assert done.returncode == 1
    assert "is not (2013, 7, 1, 6, 0) in New York" in done.stderr
