"""The demo as a user starts it: five acts with real processes, and sums that are right."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from telafi.cli.demo import report, story
from telafi.cli.demo.command import demo
from telafi.cli.demo.data import Figures
from telafi.cli.demo.naive import Tally
from telafi.cli.demo.processes import Copy
from telafi.cli.demo.report import Sums
from telafi.cli.demo.stage import shortened
from telafi.cli.demo.timeline import FIRST

LIMIT_SECONDS = 120
RIGHT = Sums(Figures(6_099, 926), Figures(6_099, 926), Figures(6_099, 926), Figures(168, 168))

pytestmark = [pytest.mark.slow, pytest.mark.crash]


def start(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "utf8", "-m", "telafi", "demo", "--directory", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT_SECONDS, check=False)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    directory = tmp_path_factory.mktemp("demo") / "new"
    return directory, start(directory)


@pytest.fixture
def output(played: tuple[Path, subprocess.CompletedProcess[str]]) -> str:
    return played[1].stdout


def part(output: str, first: str, beyond: str) -> str:
    return output[output.index(first) : output.index(beyond)]


def test_it_ends_well_and_says_nothing_on_standard_error(
    played: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    assert (played[1].returncode, played[1].stderr) == (0, "")


def test_it_fits_a_terminal(output: str) -> None:
    assert max(len(line) for line in output.splitlines() if not line.startswith("The job")) <= 120


def test_act_1_catches_up(output: str) -> None:
    act = part(output, "Act 1.", "Act 2.")
    head = "PROCESSED job=departures-per-hour window="
    assert f"{head}2013-02-04T00:00:00Z/2013-02-04T01:00:00Z kind=catch-up ms=" in act
    assert "… 56 more …" in act
    assert f"{head}2013-02-06T11:00:00Z/2013-02-06T12:00:00Z kind=live ms=" in act


def test_act_2_finds_nothing(output: str) -> None:
    line = "IDLE job=departures-per-hour watermark=2013-02-06T12:00:00Z next=2013-02-06T13:00:00Z"
    assert line in part(output, "Act 2.", "Cron,")


def test_act_3_is_killed_without_a_trace_and_goes_on_there(output: str) -> None:
    act = part(output, "Act 3.", "Act 4.")
    killed, again = act.split("it goes on right there:")
    window = "window=2013-02-08T03:00:00Z/2013-02-08T04:00:00Z"
    assert f"after INSERT and UPDATE of {window}" in killed
    assert "rows in the table: 0." in killed
    assert again.splitlines()[2].startswith(f"PROCESSED job=departures-per-hour {window} kind=catch-up")
    if sys.platform != "win32":
        assert "killed (exit status -9)" in killed


def test_act_4_shuts_the_second_copy_out(output: str) -> None:
    act = part(output, "Act 4.", "Act 5.")
    assert re.search(r"^SKIPPED job=departures-per-hour reason=lock", act, re.MULTILINE)
    assert "window=2013-02-10T11:00:00Z/2013-02-10T12:00:00Z kind=live" in act


def test_act_5_has_it_done_already(output: str) -> None:
    line = "SKIPPED job=departures-per-hour window=2013-02-05T10:00:00Z/2013-02-05T11:00:00Z reason=key-exists"
    assert line in part(output, "Act 5.", "Cron, every hour until the week is over")


def test_the_sums_are_right_and_the_scripts_are_not(output: str) -> None:
    sums = r"in the week +6,099 +926\nTelafi: the running total +6,099 +926\nTelafi: 168 hours in the table +6,099 +926"
    assert re.search(sums, output)
    assert "Telafi: lost 0, counted again 0. The script: lost 2,819, counted again 232." in output


def test_the_files_are_kept_where_it_says(played: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    directory, done = played
    database = directory / story.DATABASE
    assert f"The database: {database}" in done.stdout
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT COUNT(*), COUNT(DISTINCT hour), SUM(departures), SUM(cancelled) FROM departures_by_hour"
        assert connection.execute(query).fetchone() == (168, 168, 6_099, 926)
        assert connection.execute("SELECT departures, cancelled FROM totals").fetchall() == [(6_099, 926)]


def test_a_directory_that_holds_a_demo_is_refused(played: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    done = start(played[0])
    assert done.returncode == 2
    assert "holds a demo already: name another directory" in done.stderr


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = start(tmp_path / "file" / "demo")
    assert done.returncode == 2
    assert "cannot be made (Not a directory): name another place with --directory" in done.stderr


def test_without_a_directory_it_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Path] = []

    def tell(directory: Path, _say: object) -> bool:
        told.append(directory)
        return True

    monkeypatch.setattr(story, "tell", tell)
    assert CliRunner().invoke(demo, []).exit_code == 0
    assert told[0].is_dir()
    told[0].rmdir()


def test_wrong_sums_are_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(story, "tell", lambda _directory, _say: False)
    assert CliRunner().invoke(demo, ["--directory", str(tmp_path)]).exit_code == 1


@pytest.mark.parametrize("wrong", ["added_up", "by_hour", "hours"])
def test_sums_are_wrong_when_one_of_them_is(wrong: str) -> None:
    sums = replace(RIGHT, **{wrong: Figures(169, 168)})
    assert (RIGHT.right, sums.right) == (True, False)
    assert any(line.startswith("Telafi: WRONG.") for line in report.table(sums, Tally()))


def test_a_copy_that_fails_is_told_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "file" / "demo.db"
    nowhere.parent.touch()
    with Copy(nowhere, FIRST) as copy, pytest.raises(RuntimeError, match="ended with status 1"):
        copy.finish()
    with Copy(nowhere, FIRST, hold_in_window=1) as copy, pytest.raises(RuntimeError, match="before it could be held"):
        copy.until_it_holds()


def test_five_lines_are_not_shortened() -> None:
    lines = ["1", "2", "3", "4", "5"]
    assert shortened(lines) == lines
    assert shortened([*lines, "6"]) == ["1", "2", "3", "… 2 more …", "6"]
