"""The lock of Windows through a fake of its two calls: mandatory, by handle, and on exactly one byte."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from telafi.errors import LockPlaceError
from telafi.lock.far_byte import FAR_BYTE, FarByte
from telafi.lock.file import FileLock, lock_path
from telafi.lock.record import RECORD_BYTES_MAX
from tests.lock.agents import me


@dataclass
class FakeWindows:
    """Remembers who has locked which byte of which file, and refuses as Windows does."""

    busy_errno: int = 13
    held: dict[tuple[int, int], int] = field(default_factory=dict)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def lock(self, descriptor: int, offset: int, *, shared: bool) -> None:
        self.calls.append(("lock", offset))
        if (os.fstat(descriptor).st_ino, offset) in self.held:
            raise OSError(self.busy_errno, "busy")
        self.held[os.fstat(descriptor).st_ino, offset] = descriptor

    def unlock(self, descriptor: int, offset: int) -> None:
        self.calls.append(("unlock", offset))
        if self.held.pop((os.fstat(descriptor).st_ino, offset), None) != descriptor:
            raise PermissionError(13, "not locked by this handle")


@pytest.mark.parametrize("busy_errno", [13, 36])
def test_T2_09_both_busy_errors_of_windows_mean_false(tmp_path: Path, busy_errno: int) -> None:
    api, path = FakeWindows(busy_errno), lock_path(tmp_path, "report")
    first, second = FileLock(path, me(), FarByte(api)), FileLock(path, me(), FarByte(api))
    assert first.acquire() is True
    assert second.acquire() is False
    assert not second.still_mine()
    first.release()
    assert second.acquire() is True


def test_T2_09_any_other_error_of_windows_is_told(tmp_path: Path) -> None:
    api, path = FakeWindows(5), lock_path(tmp_path, "report")
    assert FileLock(path, me(), FarByte(api)).acquire() is True
    with pytest.raises(LockPlaceError, match="report"):
        FileLock(path, me(), FarByte(api)).acquire()


def test_T2_11_the_same_byte_is_unlocked_however_much_was_written(tmp_path: Path) -> None:
    api, path = FakeWindows(), lock_path(tmp_path, "report")
    lock = FileLock(path, me(), FarByte(api))
    for _ in range(3):
        assert lock.acquire() is True
        lock.release()
    assert api.calls == [("lock", FAR_BYTE), ("unlock", FAR_BYTE)] * 3
    assert api.held == {}
    assert FileLock(path, me(), FarByte(api)).acquire() is True


def test_T2_13_the_record_lies_outside_the_locked_byte(tmp_path: Path) -> None:
    api, path = FakeWindows(), lock_path(tmp_path, "report")
    assert FileLock(path, me(), FarByte(api)).acquire() is True
    assert FileLock(path, me(), FarByte(api)).holder() == me()
    assert path.stat().st_size <= RECORD_BYTES_MAX < FAR_BYTE


def test_a_process_lock_is_probed_on_the_same_byte(tmp_path: Path) -> None:
    api = FakeWindows()
    path = tmp_path / "process"
    path.touch()
    with path.open() as owner, path.open() as observer:
        assert FarByte(api).try_lock(owner.fileno()) is True
        assert FarByte(api).try_lock(observer.fileno(), shared=True) is False
        FarByte(api).unlock(owner.fileno())
        assert FarByte(api).try_lock(observer.fileno(), shared=True) is True
