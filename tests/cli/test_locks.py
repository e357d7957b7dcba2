"""Two copies at once: what the second one says, and what status shows of the first."""

import os
import signal
import sys

import pytest

from tests.cli.sample import Shop

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who holds a lock")


def test_a_second_copy_says_who_holds_the_lock(shop: Shop) -> None:
    holding = shop.start("run", "holds-before", "--max-windows", "1")
    done = shop.telafi("run", "holds-before")
    coded = shop.telafi("run", "holds-before", "--exit-code-on-lock", "9")
    worse = shop.telafi("run", "holds-before", "fails", "--exit-code-on-lock", "9")
    assert done.stdout == f"SKIPPED job=holds-before reason=lock holder={holding.pid}@{os.uname().nodename}\n"
    assert (done.returncode, coded.returncode, worse.returncode) == (0, 9, 1)
    assert holding.end("go on\n")[0] == 0
    skips = shop.objects("status", "holds-before")[0]["lock_skips"]
    assert skips["count"] == 3
    assert skips["holder"] == f"{holding.pid}@{os.uname().nodename}"
    assert skips["last"] == "2026-09-04T12:07:00Z"


@ON_LINUX
def test_status_shows_who_holds_the_lock_while_it_is_held(shop: Shop) -> None:
    holding = shop.start("run", "holds-before")
    me = f"{holding.pid}@{os.uname().nodename}"
    lock = shop.objects("status", "holds-before")[0]["lock"]
    assert (lock["held"], lock["holder"], lock["since"]) == (True, me, "2026-09-04T12:07:00Z")
    assert me in shop.telafi("status", "holds-before").stdout
    assert holding.end("go on\n" * 2)[0] == 0
    assert shop.objects("status", "holds-before")[0]["lock"] is None


@ON_LINUX
@pytest.mark.crash
def test_a_lock_whose_holder_was_killed_is_not_shown_as_held(shop: Shop) -> None:
    holding = shop.start("run", "holds-before")
    holding.signal(signal.SIGKILL)
    holding.end()
    lock = shop.objects("status", "holds-before")[0]["lock"]
    assert lock["held"] is False
    assert str(holding.pid) not in shop.telafi("status", "holds-before").stdout


def test_looking_at_a_lock_never_takes_it(shop: Shop) -> None:
    shop.telafi("run", "sales-summary")
    place = next(shop.directory.glob("*.telafi"))
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    shop.telafi("status")
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before
