"""The file lock between real processes."""

import os
import stat
from pathlib import Path

import pytest

from telafi.errors import LockPlaceError
from telafi.lock.file import FileLock, lock_path, open_lock
from telafi.lock.machine import host_name
from telafi.lock.record import RECORD_BYTES_MAX, decode, encode
from tests.lock.agents import agents, me


def test_C07_a_busy_lock_is_answered_with_its_holder(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    with agents(1) as [other]:
        assert other.ask("acquire", path) is True
        lock = open_lock(path, me())
        assert lock.acquire() is False
        assert str(lock.holder()) == f"{other.pid}@{host_name()}"
        assert not lock.still_mine()


def test_T2_01_text_in_the_file_is_diagnostics_only(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    path.write_text("1")
    lock = open_lock(path, me())
    assert lock.holder() is None
    assert lock.acquire() is True
    assert lock.holder() == me()
    assert f'"pid": {os.getpid()}' in path.read_text()


@pytest.mark.parametrize(
    "text",
    ["", "1", "\0\0", "[" * 9_000, '{"pid": 1}', '{"host": "", "pid": true, "since": 1, "command": ""}', "null", "é\n"],
)
def test_no_text_is_an_error(tmp_path: Path, text: str) -> None:
    path = lock_path(tmp_path, "report")
    path.write_text(text)
    assert open_lock(path, me()).holder() is None
    path.write_bytes(b"\xff\xfe" + text.encode())
    assert open_lock(path, me()).holder() is None


def test_a_holder_whose_record_is_unreadable_is_still_found(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    with agents(1) as [other]:
        assert other.ask("acquire", path) is True
        path.write_text("rubbish")
        with path.open():  # a reader is no holder
            holder = open_lock(path, me()).holder()
        assert holder is not None
        assert holder.pid == other.pid
        assert holder.inherited_by is None


def test_a_reader_of_a_free_lock_is_no_holder(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    path.touch()
    with path.open():
        assert open_lock(path, me()).holder() is None


def test_T2_03_nothing_is_left_to_clean_after_a_kill(tmp_path: Path) -> None:
    # The half-done window of this case is the ledger's part and is tested there.
    path = lock_path(tmp_path, "report")
    with agents(2) as [first, second]:
        assert first.ask("acquire", path) is True
        assert second.ask("acquire", path) is False
        first.kill()
        assert second.ask("acquire", path) is True
        assert second.ask("holder", path) == f"{second.pid}@{host_name()}"


def test_a_normal_end_frees_it_too(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    with agents(1) as [other]:
        assert other.ask("acquire", path) is True
        other.end()
        assert open_lock(path, me()).acquire() is True


def test_T2_15_the_same_process_may_read_the_file(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    lock = open_lock(path, me())
    assert lock.acquire() is True
    for _ in range(3):
        assert str(os.getpid()) in path.read_text()
        assert lock.holder() == me()
    with agents(1) as [other]:
        assert other.ask("acquire", path) is False
    assert open_lock(path, me()).acquire() is False
    assert lock.still_mine()


def test_taking_twice_and_giving_back_twice_are_harmless(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    lock, second = open_lock(path, me()), open_lock(path, me())
    assert lock.acquire() is True
    assert lock.acquire() is True
    lock.release()
    lock.release()
    assert second.acquire() is True
    lock.release()
    assert second.still_mine()
    assert path.exists()


def test_a_free_lock_names_nobody(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    lock = open_lock(path, me())
    assert lock.holder() is None
    assert lock.acquire() is True
    lock.release()
    assert lock.holder() is None


@pytest.mark.parametrize("deed", ["delete", "replace", "delete and make anew"])
def test_I11_a_holder_notices_that_its_file_is_gone(tmp_path: Path, deed: str) -> None:
    path = lock_path(tmp_path, "report")
    lock = open_lock(path, me())
    assert lock.acquire() is True
    if deed == "replace":
        (tmp_path / "other").touch()
        (tmp_path / "other").rename(path)
    else:
        path.unlink()
    if deed == "delete and make anew":
        path.touch()
    assert lock.still_mine() is False
    assert lock.acquire() is True  # anew, on the file that everybody sees
    assert lock.still_mine() is True
    with agents(1) as [other]:
        assert other.ask("acquire", path) is False


def test_I11_a_file_deleted_between_opening_and_locking_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lock_path(tmp_path, "report")
    times = iter(range(3))

    class Deleting:
        def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
            if next(times, None) is not None:
                path.unlink()
            return True

        def unlock(self, descriptor: int) -> None: ...

    lock = FileLock(path, me(), Deleting())
    assert lock.acquire() is True
    assert lock.still_mine() is True
    lock.release()
    times = iter(range(1_000))
    with pytest.raises(LockPlaceError, match="again and again"):
        lock.acquire()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_I13_nobody_else_may_read_or_write_the_file(tmp_path: Path, umask: int) -> None:
    path = lock_path(tmp_path, "report")
    with agents(1) as [other]:
        other.ask("umask", umask)
        assert other.ask("acquire", path) is True
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_others_may_write_is_put_right(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    path.touch()
    path.chmod(0o666)
    assert open_lock(path, me()).acquire() is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_long_command_is_cut_so_that_the_record_can_be_read(tmp_path: Path) -> None:
    holder = me()
    long = type(holder)(holder.host, holder.pid, holder.since, "ü" * 100_000)
    data = encode(long)
    assert len(data) < RECORD_BYTES_MAX
    read = decode(data)
    assert read is not None
    assert read.command == "ü" * 1_000
