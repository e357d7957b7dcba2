"""What `status`, `windows` and `db` show."""

import sqlite3
from contextlib import closing

import pytest

from tests.cli.sample import Shop


def test_status_before_any_run(shop_anywhere: Shop) -> None:
    found = {job["job"]: job for job in shop_anywhere.objects("status")}
    assert found["sales-summary"] == {
        "job": "sales-summary",
        "state": "new",
        "late": False,
        "paused": False,
        "watermark": None,
        "due": 2,
        "waiting_since": "2026-09-04T11:00:00Z",
        "last_success": None,
        "next": "2026-09-04T13:05:00Z",
        "lock": None,
        "lock_skips": None,
        "parked": 0,
        "in_doubt": 0,
    }


def test_status_shows_late_jobs_first(shop_anywhere: Shop) -> None:
    shop_anywhere.telafi("run", "parks", "sales-summary")
    shop_anywhere.now = "2026-09-05T00:07Z"
    shop_anywhere.telafi("run", "parks", "--max-windows", "100")
    found = shop_anywhere.objects("status", "parks", "sales-summary")
    assert [(job["job"], job["state"], job["due"], job["parked"]) for job in found] == [
        ("sales-summary", "late", 12, 0),
        ("parks", "parked", 0, 14),
    ]
    assert found[0]["last_success"] == "2026-09-04T12:07:00Z"
    assert found[0]["waiting_since"] == "2026-09-04T13:00:00Z"
    assert found[1]["next"] == "2026-09-05T01:05:00Z"


def test_status_as_a_table(shop: Shop) -> None:
    shop.telafi("run", "parks", "sales-summary")
    titles, *rows = shop.telafi("status", "parks", "sales-summary").stdout.splitlines()
    assert titles.split("  ")[0] == "JOB"
    assert [" ".join(row.split()) for row in rows] == [
        "parks parked 2026-09-04T12:00:00Z 0 - 2026-09-04T13:05:00Z - - 2 -",
        "sales-summary ok 2026-09-04T12:00:00Z 0 2026-09-04T12:07:00Z 2026-09-04T13:05:00Z - - - -",
    ]


def test_windows_newest_first(shop_anywhere: Shop) -> None:
    shop_anywhere.telafi("run", "keys", "fails")
    newest, oldest = shop_anywhere.objects("windows", "keys")
    assert newest == {
        "job": "keys",
        "window": {"start": "2026-09-04T11:00:00Z", "end": "2026-09-04T12:00:00Z"},
        "state": "done",
        "kind": "live",
        "attempts": 0,
        "new": 1,
        "repeated": 1,
        "effects": newest["effects"],
        "ms": 0,
        "reason": None,
        "error": None,
        "finished": "2026-09-04T12:07:00Z",
    }
    assert oldest["kind"] == "catch-up"
    failed = shop_anywhere.objects("windows", "fails")[1]
    assert (failed["state"], failed["attempts"], failed["reason"]) == ("planned", 1, "ValueError")
    assert failed["error"] == "no total"
    assert "ValueError: no total" in shop_anywhere.telafi("windows", "fails").stdout


def test_windows_says_that_there_are_more(shop: Shop) -> None:
    shop.telafi("run", "sales-summary")
    done = shop.telafi("windows", "sales-summary", "--limit", "1")
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == "telafi: there are older windows: --limit 10 shows more\n"


def test_windows_that_were_compacted_are_one_line(shop: Shop) -> None:
    shop.telafi("run", "sales-summary")
    shop.now = "2028-01-01T00:07Z"
    shop.telafi("run", "sales-summary", "--max-windows", "1")
    assert shop.objects("windows", "sales-summary")[-1] == {
        "job": "sales-summary",
        "window": {"start": "2026-09-04T10:00:00Z", "end": "2026-09-04T13:00:00Z"},
        "state": "compacted",
        "windows": 3,
    }
    assert "3 windows compacted" in shop.telafi("windows", "sales-summary").stdout


def test_db_upgrade_and_status_without_an_application(shop: Shop, ledger_url: str) -> None:
    shop.more = {"TELAFI_APP": ""}
    assert shop.objects("db", "status", "--db", ledger_url, status=1)[0]["found"] == 0
    assert "run `telafi db upgrade`" in shop.telafi("db", "status", "--db", ledger_url).stdout
    assert shop.objects("db", "upgrade", "--db", ledger_url)[0]["applied"] == ["001_heart"]
    assert "nothing to do" in shop.telafi("db", "upgrade", "--db", ledger_url).stdout
    assert shop.objects("db", "status", "--db", ledger_url)[0]["pending"] == []
    assert "up to date" in shop.telafi("db", "status", "--db", ledger_url).stdout


def test_db_upgrade_in_a_schema_of_its_own(shop: Shop, postgresql_url: str) -> None:
    where = ("--db", postgresql_url, "--schema", "orders")
    assert shop.objects("db", "upgrade", *where)[0]["applied"] == ["001_heart"]
    assert shop.objects("db", "status", *where)[0]["pending"] == []
    assert shop.objects("db", "status", "--db", postgresql_url, status=1)[0]["found"] == 0
    assert "CREATE TABLE orders.windows" in shop.telafi("db", "sql", *where).stdout


def test_a_ledger_of_a_newer_release_is_left_alone(shop: Shop) -> None:
    url = f"sqlite:///{shop.directory}/newer.db"
    shop.objects("db", "upgrade", "--db", url)
    with closing(sqlite3.connect(shop.directory / "newer.db")) as connection, connection:
        connection.execute("INSERT INTO telafi_versions VALUES (99, '099_later', 0)")
    done = shop.telafi("db", "upgrade", "--db", url)
    assert (done.returncode, "upgrade Telafi" in done.stderr) == (75, True)
    assert shop.objects("db", "status", "--db", url, status=1)[0]["found"] == 99


def test_looking_creates_no_ledger(shop: Shop) -> None:
    shop.objects("db", "status", "--db", f"sqlite:///{shop.directory}/typo.db", status=1)
    assert not (shop.directory / "typo.db").exists()


@pytest.mark.parametrize("url", ["sqlite:///:memory:", "sqlite:///sales.db?mode=ro"])
def test_a_url_that_would_mean_another_file_is_refused(shop: Shop, url: str) -> None:
    assert shop.telafi("db", "status", "--db", url).returncode == 2


def test_db_sql_prints_every_statement(shop: Shop) -> None:
    done = shop.telafi("db", "sql")
    assert done.stdout.count("CREATE TABLE") >= 5
    assert done.stdout.rstrip().endswith(";")
