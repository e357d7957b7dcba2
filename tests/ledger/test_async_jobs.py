"""`async def` jobs: the same units, spoken to by coroutines."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from telafi import AsyncRun, AsyncTransaction, LedgerError, Telafi, Window
from telafi.errors import ForkedConnection
from telafi.ledger.runners import aperform
from telafi.ledger.steps import AsyncHandle, Begin, Commit, Rollback, Statement
from tests.work.stage import DAY, Stage, lines

HOURS = ["PROCESSED 10:00-11:00 catch-up", "PROCESSED 11:00-12:00 live"]


@pytest.fixture
def stage(ledger_url: str, tmp_path: Path) -> Stage:
    """An application at 12:07 on a fresh ledger, once on each engine; no ORM here."""
    return Stage(ledger_url, tmp_path / "locks")


def declare(stage: Stage, function: Any, **options: Any) -> None:
    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", **options)(function)


def insert(stage: Stage) -> str:
    return stage.sql("INSERT INTO effects VALUES (?, 1)")


def test_a_transaction_by_arun_and_by_run(stage: Stage) -> None:
    async def job(window: Window, tx: AsyncTransaction) -> None:
        assert await tx.first_time(f"{window.start:%H}")
        await tx.execute(insert(stage), (f"{window.start:%H:%M}",))

    declare(stage, job)
    assert lines(asyncio.run(stage.app.jobs.arun("hourly", max_windows=1)))[0] == f"{HOURS[0]} new=1 repeated=0"
    assert stage.run() == [f"{HOURS[1]} new=1 repeated=0"]
    assert stage.effects() == ["10:00", "11:00"]


def test_many_windows_may_share_a_transaction(stage: Stage) -> None:
    async def job(window: Window, tx: AsyncTransaction) -> None:
        await tx.execute(insert(stage), (f"{window.start:%H:%M}",))

    declare(stage, job, group=10)
    assert stage.run() == HOURS
    assert stage.effects() == ["10:00", "11:00"]
    assert stage.watermark() == "12:00"


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_writes_in_its_block_at_the_end(stage: Stage, *, fails: bool) -> None:
    async def job(window: Window, run: AsyncRun) -> None:
        async with run.transaction() as tx:
            await tx.execute(insert(stage), (run.key[11:16],))
            if fails:
                raise RuntimeError

    declare(stage, job)
    assert stage.run() == (["FAILED 10:00-11:00 RuntimeError 1"] if fails else HOURS)
    assert stage.effects() == ([] if fails else ["10:00", "11:00"])


def test_a_run_repeats_only_what_it_writes(stage: Stage) -> None:
    async def job(window: Window, run: AsyncRun) -> None:
        async def write(tx: AsyncTransaction) -> None:
            await tx.execute(insert(stage), (f"{window.start:%H:%M}",))

        await run.write(write)

    declare(stage, job)
    assert stage.run() == HOURS
    assert stage.effects() == ["10:00", "11:00"]


def test_nothing_but_a_window_is_an_effect_outside(stage: Stage) -> None:
    seen: list[str] = []

    async def job(window: Window) -> None:
        seen.append(f"{window.start:%H:%M}")

    declare(stage, job)
    assert stage.run() == HOURS
    assert seen == ["10:00", "11:00"]


def test_a_cancelled_job_leaves_nothing_and_no_thread(stage: Stage) -> None:
    threads = threading.active_count()

    async def main() -> None:
        inside = asyncio.Event()

        async def job(window: Window, tx: AsyncTransaction) -> None:
            await tx.execute(insert(stage), ("10:00",))
            inside.set()
            await asyncio.Event().wait()

        declare(stage, job)
        running = asyncio.ensure_future(stage.app.jobs.arun("hourly"))
        await inside.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert stage.effects() == []
    assert stage.rows() == ["10:00-11:00 planned", "11:00-12:00 planned"]
    assert threading.active_count() == threads


def test_a_job_that_raises_GeneratorExit_fails_like_any_other(stage: Stage) -> None:
    async def job(window: Window, tx: AsyncTransaction) -> None:
        await tx.execute(insert(stage), ("10:00",))
        raise GeneratorExit

    declare(stage, job)
    assert stage.run() == ["FAILED 10:00-11:00 RuntimeError 1"]
    assert stage.effects() == []
    assert stage.execute(f"SELECT COUNT(*) FROM {stage.table('runs')}") == [(0,)]


def test_runs_of_two_jobs_share_a_loop(stage: Stage) -> None:
    async def one(window: Window, tx: AsyncTransaction) -> None:
        await tx.execute(insert(stage), (f"one {window.start:%H}",))

    async def two(window: Window, tx: AsyncTransaction) -> None:
        await tx.execute(insert(stage), (f"two {window.start:%H}",))

    for function in (one, two):
        stage.app.job(every="1h", since=f"{DAY}T10:00Z")(function)

    async def main() -> None:
        await asyncio.gather(stage.app.jobs.arun("one"), stage.app.jobs.arun("two"))

    asyncio.run(main())
    assert stage.effects() == ["one 10", "one 11", "two 10", "two 11"]


def test_a_busy_handle_can_be_opened_thrown_away_and_opened_again(stage: Stage) -> None:
    async def main() -> None:
        async with stage.app.ledger.aopened() as handle:
            await handle.begin(None)
            assert handle.transaction_state() == "open"
            await handle.reconnect()
            assert handle.transaction_state() == "none"
            await handle.rollback()
            await aperform(_read(), handle)

    asyncio.run(main())


def _read() -> Any:
    yield Begin()
    yield Statement("read_ledger")
    yield Commit()
    yield Rollback()


def test_a_forked_child_cannot_use_its_parents_connection(stage: Stage) -> None:
    async def main() -> int:
        async with stage.app.ledger.aopened() as handle:
            child = os.fork()
            if child == 0:
                # The loop is the parent's too: the child only asks, and must be refused before anything is awaited.
                os._exit(17 if refuses(handle) else 1)
            status = ended(child)
            await handle.begin(None)
            await handle.rollback()
            return status

    assert asyncio.run(main()) == 17


def refuses(handle: AsyncHandle) -> bool:
    try:
        handle.begin(None).send(None)
    except ForkedConnection:
        return True
    except Exception:  # noqa: BLE001 - a child must not raise into its parent's loop
        return False
    return False


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_file_that_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("this is no database, but it is long enough to be taken for one " * 20)
    app = Telafi(f"sqlite:///{tmp_path}/ledger.db", place=tmp_path / "locks")
    threads = threading.active_count()

    async def main() -> None:
        with pytest.raises(LedgerError, match="is not a SQLite database"):
            async with app.ledger.aopened():
                pass

    asyncio.run(main())
    assert threading.active_count() == threads


def test_the_file_is_the_owners_only(tmp_path: Path) -> None:
    app = Telafi(f"sqlite:///{tmp_path}/ledger.db", place=tmp_path / "locks")

    async def main() -> None:
        async with app.ledger.aopened():
            pass

    asyncio.run(main())
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600


def test_a_server_that_is_away_is_told_in_one_line(tmp_path: Path) -> None:
    app = Telafi("postgresql://nobody:secret@127.0.0.1:1/nothing", place=tmp_path / "locks")

    async def main() -> None:
        with pytest.raises(LedgerError, match="cannot be reached") as told:
            async with app.ledger.aopened():
                pass
        assert "secret" not in str(told.value)

    asyncio.run(main())
