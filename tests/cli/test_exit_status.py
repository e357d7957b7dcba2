"""Every exit status of a one-shot run, brought about for real, and which one wins."""

import signal
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.cli.sample import Shop

FAILED = "FAILED job=fails window=2026-09-04T10:00:00Z/2026-09-04T11:00:00Z reason=ValueError"


def test_a_failed_window_is_1(shop_anywhere: Shop) -> None:
    done = shop_anywhere.telafi("run", "fails")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["a print of the job", f'{FAILED} error="no total" attempt=1']
    assert done.stderr == ""
    assert 'error="no total" attempt=2' in shop_anywhere.telafi("run", "fails").stdout


def test_a_parked_window_is_1_and_the_job_goes_on(shop: Shop) -> None:
    done = shop.telafi("run", "parks")
    assert done.returncode == 1
    assert [line.endswith("attempt=1/1 parked=yes") for line in done.stdout.splitlines()] == [True, True]
    assert shop.states("parks") == ["parked", "parked"]


def test_a_body_that_exits_with_0_has_failed(shop: Shop) -> None:
    done = shop.telafi("run", "leaves")
    assert done.returncode == 1
    assert "reason=SystemExit" in done.stdout
    assert shop.states("leaves")[0] == "planned"


def test_an_error_after_the_commit_is_1_and_the_window_is_done(shop: Shop) -> None:
    done = shop.telafi("run", "raises-after", "--max-windows", "1")
    assert done.returncode == 1
    assert done.stdout.startswith("PROCESSED job=raises-after")
    window = "window=2026-09-04T10:00:00Z/2026-09-04T11:00:00Z"
    assert done.stderr == f'ERROR job=raises-after {window} reason=raised-after-commit error="too late"\n'


@pytest.mark.crash
def test_a_window_in_doubt_is_3(shop: Shop) -> None:
    died = shop.telafi("run", "outside", DIES="yes")
    assert died.returncode == -signal.SIGKILL if sys.platform != "win32" else died.returncode != 0
    done = shop.telafi("run", "outside")
    assert done.returncode == 3
    window = "window=2026-09-04T10:00:00Z/2026-09-04T11:00:00Z"
    assert done.stdout == f"IN-DOUBT job=outside {window} reason=no-end\n"
    assert shop.states("outside") == ["in-doubt", "planned"]


@pytest.mark.parametrize(
    ("ledger", "answer"),
    [
        ("postgresql://somebody:secret@127.0.0.1:1/shop", "cannot be reached: "),
        ("sqlite:////nowhere/at/all/ledger.db", "the directory /nowhere/at/all does not exist: create it"),
    ],
)
def test_a_ledger_out_of_reach_is_75(shop: Shop, ledger: str, answer: str) -> None:
    shop.ledger = ledger
    for command in (["run", "sales-summary"], ["status"], ["windows", "sales-summary"], ["db", "status"]):
        done = shop.telafi(*command)
        assert done.returncode == 75
        assert done.stderr.startswith("telafi: the ") or answer in done.stderr
        assert answer in done.stderr
        assert "secret" not in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


def test_a_ledger_that_stays_busy_is_75(shop: Shop, tmp_path: Path) -> None:
    shop.telafi("run", "sales-summary", "--max-windows", "1")
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    done = shop.telafi("run", "sales-summary")
    other.close()
    assert done.returncode == 75
    assert "stayed busy beyond the limit" in done.stderr.splitlines()[-1]
    assert shop.telafi("run", "sales-summary").returncode == 0


def test_a_place_for_locks_that_cannot_be_used_is_75(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "ledger.db.telafi").write_text("in the way", encoding="utf-8")
    done = shop.telafi("run", "sales-summary")
    assert done.returncode == 75
    assert done.stderr.startswith(f"telafi: {tmp_path}/ledger.db.telafi ")


def test_one_job_that_fails_never_stops_the_others(shop: Shop) -> None:
    done = shop.telafi("run", "fails", "sales-summary", "--max-windows", "1")
    words = [line.partition(" ")[0] for line in done.stdout.splitlines()]
    assert words == ["a", "FAILED", "PROCESSED", "DEFERRED"]
    assert done.returncode == 1


@pytest.mark.crash
def test_in_doubt_comes_before_failed(shop: Shop) -> None:
    shop.telafi("run", "outside", DIES="yes")
    assert shop.telafi("run", "fails", "outside", "fails").returncode == 3


def test_wrong_use_comes_before_failed_and_the_others_still_run(shop: Shop) -> None:
    shop.telafi("run", "fails")
    done = shop.telafi("run", "fails", "sales-summary", "--window", "2026-09-04T10:30Z")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    assert "telafi: no window starts at 2026-09-04T10:30:00Z (every 1h)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["run", "sales-sumary"], "there is no job 'sales-sumary'; this application has: fails, holds,"),
        (["run", "sales-summary", "sales-sumary"], "there is no job 'sales-sumary'"),
        (["windows", "nothing"], "there is no job 'nothing'"),
        (["status", "nothing"], "there is no job 'nothing'"),
        (["run", "fails", "--window", "yesterday"], "'yesterday' is not an instant: write it like 2026-09-04T10:00Z"),
        (["run", "fails", "--window", "2026-09-04T10:00"], "has no time zone"),
        (["run", "fails", "--max-windows", "0"], "invalid value for '--max-windows'"),
        (["run", "fails", "--exit-code-on-lock", "256"], "invalid value for '--exit-code-on-lock'"),
        (["run"], "missing argument 'JOB...'; see telafi run --help"),
        (["walk"], "no such command 'walk'; see telafi --help"),
        (["run", "--fast", "fails"], "no such option '--fast'; see telafi run --help"),
        (["db", "status", "--schema", "other"], "--schema belongs to --db"),
        (["db", "status", "--db", "mysql://somewhere/x"], "'mysql://…' is not the URL of a ledger"),
    ],
)
def test_wrong_use_is_2_and_one_clear_line(shop: Shop, arguments: list[str], answer: str) -> None:
    done = shop.telafi(*arguments)
    assert done.returncode == 2
    assert answer in done.stderr
    assert done.stderr.startswith("telafi: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
