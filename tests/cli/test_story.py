"""What the command line says from the first run on: the story that the documentation tells."""

from tests.cli.sample import Shop

TEN = "window=2026-09-04T10:00:00Z/2026-09-04T11:00:00Z"
ELEVEN = "window=2026-09-04T11:00:00Z/2026-09-04T12:00:00Z"


def test_the_story_of_a_first_run(shop_anywhere: Shop) -> None:
    first = shop_anywhere.telafi("run", "sales-summary")
    assert first.stdout.splitlines() == [
        f"PROCESSED job=sales-summary {TEN} kind=catch-up ms=0",
        f"PROCESSED job=sales-summary {ELEVEN} kind=live ms=0",
    ]
    again = shop_anywhere.telafi("run", "sales-summary")
    assert again.stdout == "IDLE job=sales-summary watermark=2026-09-04T12:00:00Z next=2026-09-04T13:05:00Z\n"
    by_name = shop_anywhere.telafi("run", "sales-summary", "--window", "2026-09-04T10:00Z")
    assert by_name.stdout == f"SKIPPED job=sales-summary {TEN} reason=key-exists\n"
    assert [done.returncode for done in (first, again, by_name)] == [0, 0, 0]
    assert [done.stderr for done in (first, again, by_name)] == ["", "", ""]


def test_record_keys_are_counted(shop: Shop) -> None:
    assert shop.telafi("run", "keys").stdout.splitlines() == [
        f"PROCESSED job=keys {TEN} kind=catch-up new=2 repeated=0 ms=0",
        f"PROCESSED job=keys {ELEVEN} kind=live new=1 repeated=1 ms=0",
    ]


def test_an_async_job_runs_as_any_other(shop_anywhere: Shop) -> None:
    done = shop_anywhere.telafi("run", "quietly")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == f"PROCESSED job=quietly {ELEVEN} kind=live ms=0"


def test_a_window_that_is_not_closed_waits(shop: Shop) -> None:
    done = shop.telafi("run", "sales-summary", "--window", "2026-09-04T12:00Z")
    window = "window=2026-09-04T12:00:00Z/2026-09-04T13:00:00Z"
    assert (done.returncode, done.stdout) == (0, f"DEFERRED job=sales-summary {window} reason=not-closed\n")


def test_a_cap_leaves_the_rest_for_later(shop: Shop) -> None:
    done = shop.telafi("run", "sales-summary", "--max-windows", "1")
    assert done.stdout.splitlines()[1:] == ["DEFERRED job=sales-summary reason=cap remaining=1"]
    assert done.returncode == 0


def test_lines_as_json(shop: Shop) -> None:
    assert shop.objects("run", "sales-summary", "--max-windows", "1") == [
        {
            "outcome": "PROCESSED",
            "job": "sales-summary",
            "window": {"start": "2026-09-04T10:00:00Z", "end": "2026-09-04T11:00:00Z"},
            "kind": "catch-up",
            "new": None,
            "repeated": None,
            "ms": 0,
        },
        {
            "outcome": "DEFERRED",
            "job": "sales-summary",
            "window": None,
            "reason": "cap",
            "remaining": 1,
            "error": None,
        },
    ]
