"""Children of a holder: who keeps the lock, and who does not."""

from pathlib import Path

import pytest

from telafi.lock.file import lock_path, open_lock
from telafi.lock.machine import host_name
from tests.lock.agents import agents, me


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return lock_path(tmp_path, "report")


@pytest.mark.parametrize("closing", ["close_fds", "nothing"])
@pytest.mark.parametrize("end", ["killed", "released"])
def test_T2_04_a_command_that_was_started_keeps_nothing(path: Path, closing: str, end: str) -> None:
    with agents(1) as [holder]:
        assert holder.ask("acquire", path) is True
        assert holder.ask("execute", closing) > 0
        assert open_lock(path, me()).acquire() is False
        if end == "killed":
            holder.kill()
        else:
            holder.ask("release", path)
        assert open_lock(path, me()).acquire() is True


@pytest.mark.parametrize("children", ["fork", "daemonise"])
def test_I10_a_forked_child_keeps_nothing(path: Path, children: str) -> None:
    # Case T2-04 (b) wants the child to hold it. Semantics §4 stands: a forked child neither keeps nor releases it.
    with agents(1) as [holder]:
        assert holder.ask("acquire", path) is True
        assert holder.ask(children)
        assert open_lock(path, me()).acquire() is False
        holder.kill()
        assert open_lock(path, me()).acquire() is True


def test_I10_a_forked_child_gives_nothing_back(path: Path) -> None:
    with agents(1) as [holder]:
        assert holder.ask("acquire", path) is True
        child, [still_mine, acquired] = holder.ask("fork_and_use", path)
        assert child != holder.pid
        assert still_mine is False
        assert acquired is False
        assert open_lock(path, me()).acquire() is False
        assert holder.ask("still_mine", path) is True
        assert holder.ask("holder", path) == f"{holder.pid}@{host_name()}"


def test_a_forked_child_may_take_what_is_free_under_its_own_name(path: Path) -> None:
    with agents(1) as [parent]:
        assert parent.ask("acquire", path) is True
        parent.ask("release", path)
        _, [still_mine, acquired] = parent.ask("fork_and_use", path)
        assert [still_mine, acquired] == [False, True]
        assert parent.ask("acquire", path) is True


def test_I10_a_fork_at_any_moment_carries_no_lock_file(path: Path) -> None:
    with agents(1) as [parent]:
        assert parent.ask("forks_among_threads", path, 60) == []


def test_T2_04_a_child_forked_past_the_hooks_is_named(path: Path) -> None:
    with agents(1) as [holder]:
        assert holder.ask("acquire", path) is True
        child, _ = holder.ask("raw_fork")
        holder.kill()
        lock = open_lock(path, me())
        assert lock.acquire() is False
        assert str(lock.holder()) == f"{holder.pid}@{host_name()} inherited by pid {child}"


def test_T2_04_a_normal_end_frees_it_whoever_has_a_copy(path: Path) -> None:
    with agents(1) as [holder]:
        assert holder.ask("acquire", path) is True
        assert holder.ask("raw_fork")
        holder.ask("release", path)
        assert open_lock(path, me()).acquire() is True
