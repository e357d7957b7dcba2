"""The directory of the lock files."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from telafi.errors import LockPlaceError
from telafi.lock import place as places
from telafi.lock.file import lock_path, open_lock
from telafi.lock.place import default_place, place_beside, prepare, read_identity
from tests.lock.agents import agents, me

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that other users can reach, which pytest's own they cannot."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_I12_a_missing_place_is_made_for_us_alone_with_its_parents(tmp_path: Path, umask: int) -> None:
    place = tmp_path / "state" / "telafi"
    with agents(1) as [agent]:
        agent.ask("umask", umask)
        assert agent.ask("take", place).startswith("{")
    assert [mode(directory) for directory in (place, place.parent)] == [0o700, 0o700]
    assert mode(place / "place.id") == 0o600
    assert {mode(file) for file in place.iterdir()} == {0o600}


def test_the_identity_is_given_once(tmp_path: Path) -> None:
    place = tmp_path / "telafi"
    assert read_identity(place) is None
    identity = prepare(place)
    assert [prepare(place), read_identity(place)] == [identity, identity]
    assert prepare(tmp_path / "other") != identity
    assert [file.name for file in place.iterdir()] == ["place.id"]


def test_two_at_once_agree_on_the_identity(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        for number in range(20):
            place = tmp_path / str(number) / "telafi"
            assert len(set(threads.map(lambda _, place=place: prepare(place), range(16)))) == 1
            assert [file.name for file in place.iterdir()] == ["place.id"]


def test_a_file_system_without_links_has_identities_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert prepare(tmp_path) == prepare(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["place.id"]


def test_a_damaged_identity_is_told(tmp_path: Path) -> None:
    (tmp_path / "place.id").write_text("rubbish")
    with pytest.raises(LockPlaceError, match="damaged: remove it"):
        prepare(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["place.id"]


def test_I13_a_planted_link_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "telafi").symlink_to(target)
    with pytest.raises(LockPlaceError, match="telafi is a symbolic link"):
        prepare(tmp_path / "telafi")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(LockPlaceError, match="dangling is a symbolic link"):
        prepare(tmp_path / "dangling")
    assert list(target.iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_I13_a_planted_link_in_the_place_of_the_lock_file_is_refused(tmp_path: Path) -> None:
    target, path = tmp_path / "target", lock_path(tmp_path, "report")
    target.write_text("precious")
    path.symlink_to(target)
    with pytest.raises(LockPlaceError, match="symbolic link"):
        open_lock(path, me()).acquire()
    path.unlink()
    path.hardlink_to(target)
    with pytest.raises(LockPlaceError, match="second name"):
        open_lock(path, me()).acquire()
    assert target.read_text() == "precious"


def test_I13_a_pipe_in_the_place_of_the_lock_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    os.mkfifo(path)
    with pytest.raises(LockPlaceError, match="no regular file"):
        open_lock(path, me()).acquire()
    assert open_lock(path, me()).holder() is None


@as_root
def test_I13_the_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "telafi"
    place.mkdir()
    os.chown(place, NOBODY, -1)
    with pytest.raises(LockPlaceError, match=f"telafi belongs to user {NOBODY}, we are user 0: run as that user"):
        prepare(place)


@as_root
def test_I13_the_lock_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    path.touch()
    os.chown(path, NOBODY, -1)
    with pytest.raises(LockPlaceError, match=f"lock belongs to user {NOBODY}"):
        open_lock(path, me()).acquire()


@as_root
def test_I12_a_place_that_we_may_not_write_is_refused(open_path: Path) -> None:
    prepare(open_path)
    path = lock_path(open_path, "report")
    assert open_lock(path, me()).acquire()
    with agents(1) as [agent]:
        agent.ask("become", NOBODY)
        for order, file in (("take", open_path), ("take", open_path / "inner"), ("acquire", path)):
            answer = agent.ask(order, file)
            assert answer.startswith(f"LockPlaceError: {file} cannot be used for locks (Permission denied")
            assert answer.endswith(
                "run as the user it belongs to, or name another directory for the locks: Telafi(url, place=...)"
            )


@as_root
def test_I13_what_root_has_made_for_everybody_is_trusted(open_path: Path) -> None:
    open_path.chmod(0o1777)
    with agents(1) as [agent]:
        agent.ask("become", NOBODY)
        assert agent.ask("take", open_path).startswith("{")
        assert agent.ask("acquire", lock_path(open_path, "report")) is True


def test_I12_a_missing_place_is_told_when_a_lock_is_taken(tmp_path: Path) -> None:
    with pytest.raises(LockPlaceError, match=r"No such file or directory.*create the directory"):
        open_lock(lock_path(tmp_path / "missing", "report"), me()).acquire()


def test_I12_a_file_where_a_directory_is_needed_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LockPlaceError, match="file is no directory"):
        prepare(tmp_path / "file")
    with pytest.raises(LockPlaceError, match="a file stands where a directory is needed"):
        prepare(tmp_path / "file" / "telafi")


def test_I12_a_disk_that_takes_no_more_is_told_and_nothing_stays_locked(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "report")
    with agents(1) as [agent]:
        agent.ask("fill")
        assert agent.ask("acquire", path).startswith(f"LockPlaceError: {path} cannot be used for locks (File too large")
        assert open_lock(path, me()).acquire() is True


def test_I12_a_full_disk_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LockPlaceError, match=r"No space left on device.*make room"):
        prepare(tmp_path / "telafi")
    assert list((tmp_path / "telafi").iterdir()) == []


def test_the_place_beside_a_ledger_is_one_through_every_link(tmp_path: Path) -> None:
    real, link = tmp_path / "data" / "app.db", tmp_path / "app.db"
    real.parent.mkdir()
    link.symlink_to(real)
    assert place_beside(link) == place_beside(real) == real.parent / "app.db.telafi"


@pytest.mark.parametrize(
    ("platform", "user", "variables", "expected"),
    [
        ("linux", 0, {"XDG_STATE_HOME": "/srv/state"}, "/var/lib/telafi"),
        ("linux", 1000, {"XDG_STATE_HOME": "/srv/state"}, "/srv/state/telafi"),
        ("linux", 1000, {"XDG_STATE_HOME": "relative"}, "/home/ayşe/.local/state/telafi"),
        ("linux", 1000, {}, "/home/ayşe/.local/state/telafi"),
        ("darwin", 501, {}, "/home/ayşe/Library/Application Support/telafi"),
        ("win32", 0, {"LOCALAPPDATA": "/local"}, "/local/telafi"),
        ("win32", 0, {}, "/home/ayşe/AppData/Local/telafi"),
    ],
)
def test_default_places(
    monkeypatch: pytest.MonkeyPatch, platform: str, user: int, variables: dict[str, str], expected: str
) -> None:
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**variables, "HOME": "/home/ayşe"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(places, "my_user", lambda: user)
    assert places._state_directory(platform) / "telafi" == Path(expected)


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(places, "my_user", lambda: 1000)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(LockPlaceError, match="set HOME"):
        default_place()
