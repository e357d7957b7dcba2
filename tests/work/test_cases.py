"""Public bug reports as cases: jobs over windows and their locks. Cases of cron schedules come with cron schedules."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import telafi
from telafi import Telafi, Transaction, Window
from telafi.lock.file import lock_path
from tests.work.stage import DAY, WAIT_SECONDS, InThread, Stage, lines

CHECKOUT = Path(__file__).parents[2]
SOURCE = Path(telafi.__file__).parents[1]


class Copy:
    """A copy of the job in its own process, standing before its start."""

    def __init__(self, stage: Stage, *, recipients: int, fails: int = 0, locked: bool = True) -> None:
        arguments = [stage.url, str(stage.place), f"{DAY}T12:00Z", str(recipients), str(fails)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.work.copy", *arguments, "locked" if locked else "unlocked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{CHECKOUT}"},
        )

    def ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def told(self) -> list[str]:
        out, _ = self._process.communicate(timeout=WAIT_SECONDS)
        assert self._process.returncode == 0
        return out.splitlines()


def test_T1_03_ticks_behind_a_run_that_hangs_pile_nothing_up(stage: Stage) -> None:
    inside, go = Event(), Event()

    def hangs(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        inside.set()
        assert go.wait(WAIT_SECONDS)

    def minutely(app: Telafi, body: Any) -> None:
        app.job(name="minutely", every="1m", since=f"{DAY}T12:00Z")(body)

    minutely(stage.app, hangs)
    stage.set("12:01")
    first = InThread(lambda: stage.run("minutely"))
    assert inside.wait(WAIT_SECONDS)
    tick = stage.another()
    minutely(tick, hangs)
    before = stage.rows("minutely")
    for minute in range(2, 31):
        stage.set(f"12:{minute:02}")
        assert stage.run("minutely", app=tick) == ["SKIPPED lock"]
    assert stage.rows("minutely") == before
    go.set()
    assert first.answer() == ["PROCESSED 12:00-12:01 live"]
    stage.set("12:31")
    told = stage.run("minutely", app=tick)
    assert [text.split()[1][:5] for text in told] == [f"12:{minute:02}" for minute in range(1, 31)]
    if not stage.is_server:
        return
    assert stage.execute("SELECT skips FROM telafi.lock_skips") == [(29,)]


def test_T1_03_a_catch_up_that_was_called_off_blocks_no_later_request(stage: Stage) -> None:
    stage.hourly()
    stage.set("16:00")
    asked = [False, True]
    assert stage.run(stopping=lambda: asked.pop(0)) == ["PROCESSED 10:00-11:00 catch-up", "DEFERRED hand-back 5"]
    assert stage.run(window="14:00") == ["PROCESSED 14:00-15:00 catch-up"]
    assert len(stage.run()) == 4
    assert len(stage.effects()) == len(set(stage.effects())) == 6


@pytest.mark.parametrize("locked", [True, False], ids=["one machine", "as on four machines"])
def test_T1_04_four_processes_and_one_tick_send_each_mail_once(stage: Stage, locked: bool) -> None:  # noqa: FBT001
    stage.perform(iter_nothing())
    copies = [Copy(stage, recipients=3, locked=locked) for _ in range(4)]
    for copy in copies:
        copy.ready()
    for copy in copies:
        copy.go()
    told = [text for copy in copies for text in copy.told()]
    assert [text for text in told if text.startswith("PROCESSED")] == ["PROCESSED 11:00-12:00 live new=3 repeated=0"]
    assert {text for text in told if not text.startswith("PROCESSED")} <= {
        "SKIPPED lock",
        "SKIPPED 11:00-12:00 lock",
        "SKIPPED 11:00-12:00 key-exists",
        "IDLE 12:00 next=13:00",
    }
    assert stage.effects() == ["1", "2", "3"]


@pytest.mark.parametrize("locked", [True, False], ids=["locked", "no lock"])
def test_T1_06_two_servers_and_a_recipient_that_fails_twice(stage: Stage, locked: bool) -> None:  # noqa: FBT001
    # The mails are rows here: sending for real belongs to effects, which come later.
    stage.perform(iter_nothing())
    copies = [Copy(stage, recipients=10, fails=2, locked=locked) for _ in range(2)]
    for copy in copies:
        copy.ready()
    for copy in copies:
        copy.go()
    told = [text for copy in copies for text in copy.told()]
    assert sum(text.startswith("PROCESSED") for text in told) <= 1
    if not any(text.startswith("PROCESSED") for text in told):
        # Both gave up while the other held the lock: the next tick finds the window as it was.
        last = Copy(stage, recipients=10)
        last.ready()
        last.go()
        assert last.told() == ["PROCESSED 11:00-12:00 live new=10 repeated=0"]
    assert stage.effects() == sorted(str(number) for number in range(1, 11))


def iter_nothing() -> Any:
    """Open the ledger once, so that it is there before the copies start."""
    return
    yield


def test_T1_32_one_start_after_a_long_weekend_is_enough(stage: Stage) -> None:
    inside, go = Event(), Event()

    def daily(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        inside.set()
        assert go.wait(WAIT_SECONDS)

    apps = [stage.app, stage.another()]
    for app in apps:
        app.job(every="1d", since="2026-10-09T00:00Z")(daily)
    stage.set("2026-10-12T07:30")
    first = InThread(lambda: stage.run("daily"))
    assert inside.wait(WAIT_SECONDS)
    assert stage.run("daily", app=apps[1]) == ["SKIPPED lock"]
    go.set()
    days = [text.split()[1][:10] for text in first.answer()]
    assert days == ["2026-10-09", "2026-10-10", "2026-10-11"]
    stage.set("2026-10-12T07:32")
    assert stage.run("daily", app=apps[1])[0].startswith("IDLE")
    told = stage.run("daily", app=apps[1], window="2026-10-10T00:00Z")
    assert told == ["SKIPPED 2026-10-10T00:00:00Z-2026-10-11T00:00:00Z key-exists"]


def test_T1_37_started_twice_after_the_clocks_went_back(stage: Stage) -> None:
    def daily(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)

    stage.app.job(every="1d", since="2026-10-23T00:00Z")(daily)
    stage.set("2026-10-26T15:00")
    assert [text.split()[1][:10] for text in stage.run("daily")] == ["2026-10-23", "2026-10-24", "2026-10-25"]
    for again in ("2026-10-26T15:00:00.2", "2026-10-26T16:00"):
        stage.set(again)
        assert stage.run("daily")[0].startswith("IDLE 2026-10-26")
    assert len(stage.effects()) == 3


def test_T2_01_a_number_in_the_lock_file_locks_nothing(stage: Stage) -> None:
    stage.locks.mkdir(mode=0o700, parents=True)
    lock = lock_path(stage.locks, "hourly")
    lock.write_text("1\n")
    lock.chmod(0o600)
    seen = []

    def body(window: Window, tx: Transaction) -> None:
        seen.append(json.loads(lock.read_text())["pid"])

    stage.hourly(body)
    assert len(stage.run()) == 2
    assert seen == [os.getpid()] * 2


def test_T2_15_reading_the_lock_file_does_not_free_it(stage: Stage) -> None:
    other = stage.another()
    stage.hourly(app=other)
    told = []

    def body(window: Window, tx: Transaction) -> None:
        lock_path(stage.locks, "hourly").read_bytes()
        told.extend(lines(other.jobs.run("hourly")))

    stage.hourly(body)
    stage.run()
    assert told == ["SKIPPED lock"] * 2


def test_T2_18_no_lock_lives_longer_than_its_transaction(postgresql_stage: Stage) -> None:
    stage = postgresql_stage
    seen: list[tuple[Any, ...]] = []

    def body(window: Window) -> None:
        # Between two transactions of ours, as a pooler would see the connection.
        seen.extend(
            stage.execute(
                "SELECT count(*) FILTER (WHERE locktype = 'advisory'), count(*) FILTER (WHERE mode LIKE 'Row%%') "
                "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE application_name = 'telafi'"
            )
        )

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T11:00Z")(body)
    assert stage.run() == ["PROCESSED 11:00-12:00 live"]
    assert seen == [(0, 0)]
