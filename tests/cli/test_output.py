"""What a run writes where: closed pipes, stuck readers, quiet runs, hostile texts, terminals, and what it loads."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.sample import Shop
from tests.observe.pipes import fill

ON_UNIX = pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
HOSTILE = "no\ntotal\x1b[31m\u2028PROCESSED job=fake\r\x07"


def test_a_hostile_text_stays_on_its_line(shop: Shop) -> None:
    done = shop.telafi("run", "fails", TEXT=HOSTILE)
    assert len(done.stdout.split("\n")) == 3
    assert r'error="no\ntotal\x1b[31m\u2028PROCESSED job=fake\r\x07" attempt=1' in done.stdout
    assert json.loads(shop.telafi("run", "fails", "--json", TEXT=HOSTILE).stdout.splitlines()[1])["error"] == HOSTILE
    listing = shop.telafi("windows", "fails").stdout
    assert len(listing.splitlines()) == 3
    assert "\x1b" not in listing


def test_a_traceback_of_the_job_only_for_those_who_ask(shop: Shop) -> None:
    quiet, loud = shop.telafi("run", "fails"), shop.telafi("run", "fails", "--debug")
    assert "Traceback" not in quiet.stderr + quiet.stdout
    assert 'raise ValueError(os.environ.get("TEXT", "no total"))' in loud.stderr
    assert quiet.returncode == loud.returncode == 1


def test_quiet_unless_failed(shop: Shop) -> None:
    quiet = shop.telafi("run", "sales-summary", "--quiet-unless-failed")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    failed = shop.telafi("run", "sales-summary", "raises-after", "--quiet-unless-failed")
    assert failed.returncode == 1
    assert [line.partition(" ")[0] for line in failed.stdout.splitlines()] == ["IDLE", "PROCESSED", "PROCESSED"]
    assert failed.stderr.startswith("ERROR job=raises-after")


@ON_UNIX
def test_a_closed_pipe_never_stops_the_work(shop: Shop) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        shop.command("run", "sales-summary"), cwd=shop.directory, env=shop.environment(),
        stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == 0
    assert done.stderr == "telafi: 2 lines were dropped: standard output was closed, full or not read\n"
    assert shop.states("sales-summary") == ["done", "done"]


@ON_UNIX
def test_a_reader_that_has_read_enough_of_a_listing_is_no_error(shop: Shop) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for arguments in (["status"], ["windows", "sales-summary"], ["--help"]):
        done = subprocess.run(
            shop.command(*arguments), cwd=shop.directory, env=shop.environment(),
            stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    os.close(writer)


@ON_UNIX
@pytest.mark.slow
def test_a_stuck_reader_never_stops_the_work(shop: Shop) -> None:
    reader, writer = os.pipe()
    fill(writer)
    done = subprocess.run(
        shop.command("run", "sales-summary"), cwd=shop.directory, env=shop.environment(),
        stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(writer)
    os.close(reader)
    assert done.returncode == 0
    assert "2 lines were dropped" in done.stderr
    assert shop.states("sales-summary") == ["done", "done"]


@ON_UNIX
def test_a_terminal_gets_a_bar_below_and_a_file_the_plain_lines(shop: Shop) -> None:
    pytest.importorskip("rich")
    output, screen = on_terminal(shop, "run", "sales-summary")
    assert [line.partition(" ")[0] for line in output.splitlines()] == ["PROCESSED", "PROCESSED"]
    assert "\x1b" not in output
    assert "2/2" in screen


@ON_UNIX
def test_without_a_long_catch_up_there_is_no_bar(shop: Shop) -> None:
    assert on_terminal(shop, "run", "sales-summary", "--max-windows", "1")[1] == ""


@ON_UNIX
def test_a_late_job_is_red_on_a_terminal_unless_colour_is_refused(shop: Shop) -> None:
    shop.now = "2026-09-05T00:07Z"
    for refused, expected in (("", True), ("1", False)):
        screen = on_terminal(shop, "status", "sales-summary", both=True, NO_COLOR=refused)[1]
        assert ("\x1b[31msales-summary" in screen) is expected


def on_terminal(shop: Shop, *arguments: str, both: bool = False, **more: str) -> tuple[str, str]:
    """Run a command whose standard error is a terminal; gives its standard output, and what the terminal got."""
    master, slave = os.openpty()
    environment = shop.environment(TERM="xterm", COLUMNS="120", **more)
    process = subprocess.Popen(
        shop.command(*arguments), cwd=shop.directory, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=slave if both else subprocess.PIPE, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    screen = b""
    try:
        while piece := os.read(master, 65_536):
            screen += piece
    except OSError:  # Linux's answer when the other side is closed
        pass
    output, _ = process.communicate(timeout=60)
    os.close(master)
    assert process.returncode == 0
    return output or "", screen.decode()


def test_a_run_loads_nothing_slow(shop: Shop) -> None:
    shop.telafi("run", "sales-summary")
    command = [sys.executable, "-X", "importtime", "-m", "telafi", "run", "sales-summary"]
    done = subprocess.run(
        command, cwd=shop.directory, env=shop.environment(), capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.stdout.startswith("IDLE")
    assert "telafi.work.run" in loaded
    slow = {"asyncio", "rich", "psycopg", "sqlalchemy", "logging", "msgspec", "tomllib", "subprocess", "ssl"}
    assert loaded & slow == set()
