"""Process locks: who lives."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from telafi.lock.file import lock_path, open_lock
from telafi.lock.machine import boot_id, host_name, started
from telafi.lock.owner import Owner, process_file
from telafi.lock.process import ProcessLock, is_gone, sweep
from telafi.lock.verbs import native
from tests.lock.agents import agents, me


def test_taking_it_twice_gives_the_same_owner_to_every_thread(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "telafi")
    with ThreadPoolExecutor(8) as threads:
        owners = set(threads.map(lambda _: lock.take(), range(64)))
    assert len(owners) == 1
    owner = lock.take()
    assert (owner.host, owner.boot, owner.pid) == (host_name(), boot_id(), os.getpid())
    assert lock.still_mine()
    assert is_gone(tmp_path / "telafi", owner) is False
    lock.release()


def test_owners_are_written_and_read() -> None:
    owner = Owner("place", "host", "boot", "0" * 32, 17, "4711")
    assert owner.as_text() == (
        f'{{"boot":"boot","host":"host","name":"{"0" * 32}","pid":17,"place":"place","started":"4711"}}'
    )
    assert Owner.from_text(owner.as_text()) == owner


def test_many_may_ask_at_once(tmp_path: Path) -> None:
    with agents(1) as [agent]:
        owner = Owner.from_text(agent.ask("take", tmp_path))
        agent.kill()
    with process_file(tmp_path, owner.name).open() as file:
        assert native().try_lock(file.fileno(), shared=True) is True
        assert is_gone(tmp_path, owner) is True
        sweep(tmp_path, ())
    assert not process_file(tmp_path, owner.name).exists()


@pytest.mark.parametrize("text", ["", "1", "{}", "null", Owner("", "", "", "../../x", 1, "").as_text()])
def test_text_that_names_no_process_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Owner.from_text(text)


def test_D06_a_killed_process_is_gone_and_a_living_one_is_not(tmp_path: Path) -> None:
    with agents(2) as [first, second]:
        one, two = (Owner.from_text(agent.ask("take", tmp_path)) for agent in (first, second))
        assert [is_gone(tmp_path, owner) for owner in (one, two)] == [False, False]
        first.kill()
        assert [is_gone(tmp_path, owner) for owner in (one, two)] == [True, False]
        # The number of a process says nothing while its file is there: somebody else may have it by now.
        assert is_gone(tmp_path, replace(one, pid=second.pid)) is True
        assert is_gone(tmp_path, replace(two, pid=first.pid)) is False


def test_D06_every_start_has_a_name_of_its_own(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path)
    first = lock.take()
    lock.release()
    second = lock.take()
    assert first.name != second.name
    assert is_gone(tmp_path, second) is False
    lock.release()
    assert not process_file(tmp_path, second.name).exists()


def test_a_process_whose_file_is_missing_is_judged_by_its_number_and_start(tmp_path: Path) -> None:
    with agents(1) as [agent]:
        owner = Owner.from_text(agent.ask("take", tmp_path))
        process_file(tmp_path, owner.name).unlink()
        ticks, _, namespace = owner.started.partition("@")
        assert is_gone(tmp_path, owner) is False
        assert is_gone(tmp_path, replace(owner, boot="another")) is True
        assert is_gone(tmp_path, replace(owner, started=f"{int(ticks) + 1}@{namespace}")) is True
        assert is_gone(tmp_path, replace(owner, started=f"{ticks}@1")) is None  # a number in another container
        assert is_gone(tmp_path, replace(owner, started="")) is None
        assert is_gone(tmp_path, replace(owner, boot="")) is None
        assert is_gone(tmp_path, replace(owner, host="elsewhere")) is None
        assert is_gone(tmp_path, replace(owner, host="elsewhere", boot="another")) is None
        assert is_gone(tmp_path, replace(owner, pid=0)) is None
        assert is_gone(tmp_path, replace(owner, pid=2**40)) is None
        agent.kill()
        assert is_gone(tmp_path, owner) is True


def test_another_place_or_an_unknown_name_is_never_judged(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "telafi")
    owner = lock.take()
    lock.release()
    assert is_gone(tmp_path / "telafi", replace(owner, place="0" * 32)) is None
    assert is_gone(tmp_path / "nowhere", owner) is None
    assert is_gone(tmp_path / "telafi", replace(owner, name="../x")) is None


def test_a_zombie_does_not_run() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as child:
        assert started(os.getpid())
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert started(child.pid) is None


@pytest.mark.parametrize("fork", ["fork", "daemonise"])
def test_I10_a_forked_child_does_not_keep_its_parent_alive(tmp_path: Path, fork: str) -> None:
    with agents(1) as [agent]:
        owner = Owner.from_text(agent.ask("take", tmp_path))
        assert agent.ask(fork)
        agent.kill()
        assert is_gone(tmp_path, owner) is True


def test_I10_a_forked_child_takes_its_own(tmp_path: Path) -> None:
    with agents(1) as [agent]:
        parent = Owner.from_text(agent.ask("take", tmp_path))
        pid, text = agent.ask("fork_and_take", tmp_path)
        child = Owner.from_text(text)
        assert child.name != parent.name
        assert child.pid == pid
        assert [is_gone(tmp_path, owner) for owner in (parent, child)] == [False, False]
        agent.kill()
        assert [is_gone(tmp_path, owner) for owner in (parent, child)] == [True, False]


def test_a_sweep_takes_only_what_is_free_and_unreferenced(tmp_path: Path) -> None:
    job = lock_path(tmp_path, "process")
    assert open_lock(job, me()).acquire() is True
    with agents(3) as [first, second, third]:
        dead, named, alive = (Owner.from_text(agent.ask("take", tmp_path)) for agent in (first, second, third))
        first.kill()
        second.kill()
        sweep(tmp_path, [named.name])
        assert not process_file(tmp_path, dead.name).exists()
        assert process_file(tmp_path, named.name).exists()
        assert process_file(tmp_path, alive.name).exists()
        assert [is_gone(tmp_path, owner) for owner in (dead, named, alive)] == [True, True, False]
    assert job.exists()
    assert (tmp_path / "place.id").exists()


def test_a_sweep_of_nothing_is_no_error(tmp_path: Path) -> None:
    sweep(tmp_path / "nowhere", ())
    (tmp_path / f"process-{'0' * 32}.lock").mkdir()
    sweep(tmp_path, ())


@pytest.mark.slow
def test_a_process_is_never_swept_while_it_takes_its_lock(tmp_path: Path) -> None:
    with agents(4) as sweepers, ThreadPoolExecutor(8) as threads:
        for sweeper in sweepers:
            sweeper.send("sweep", tmp_path, 1_500)

        def live(_: int) -> list[object]:
            lock = ProcessLock(tmp_path)
            owner = lock.take()
            found: list[object] = [lock.still_mine(), is_gone(tmp_path, owner)]
            sweep(tmp_path, ())
            found += [lock.still_mine(), is_gone(tmp_path, owner)]
            lock.release()
            return found

        assert {tuple(found) for found in threads.map(live, range(400))} == {(True, False, True, False)}
        assert [sweeper.receive() for sweeper in sweepers] == [None] * 4
    sweep(tmp_path, ())
    assert [file.name for file in tmp_path.iterdir()] == ["place.id"]
