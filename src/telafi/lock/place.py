"""The directory of the lock files: where it lies, whether it can be trusted, and its identity."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from telafi.errors import LockPlaceError
from telafi.ledger.mounts import is_network, mount_of
from telafi.lock.descriptors import close_here, open_here
from telafi.lock.refusals import insist_on_own, insist_on_private_file, my_user, refusal

_IDENTITY_FILE: Final = "place.id"
_IDENTITY: Final = re.compile(r"[0-9a-f]{32}")


def default_place() -> Path:
    """Choose the state directory of this user on this operating system."""
    try:
        return _state_directory(sys.platform) / "telafi"
    except RuntimeError as error:
        raise LockPlaceError("this user has no home directory: set HOME, or name a place for the locks") from error


def place_beside(ledger: Path) -> Path:
    """Name the place that belongs to a SQLite file, the same one through every link to it."""
    file = Path(os.path.realpath(ledger))
    return file.with_name(f"{file.name}.telafi")


def prepare(place: Path, *, allow_network: bool = False, mountinfo: str | None = None) -> str:
    """Make the directory if it is missing, check that locks hold there, and give its identity.

    Raises LockPlaceError. `mountinfo` stands in for the text of /proc/self/mountinfo.
    """
    place = place.absolute()
    if not allow_network:
        _insist_on_this_machine(place, mountinfo)
    try:
        _make(place)
        _insist_on_own_directory(place)
        return read_identity(place) or _give_identity(place)
    except OSError as error:
        raise refusal(place, error) from error


def read_identity(place: Path) -> str | None:
    """Read the identity; None where there is none that can be read."""
    try:
        descriptor = open_here(place / _IDENTITY_FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 64).decode("ascii", "replace").strip()
    except OSError:
        return None
    finally:
        close_here(descriptor)
    return text if _IDENTITY.fullmatch(text) else None


def _state_directory(platform: str) -> Path:
    if platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if my_user() == 0:
        return Path("/var/lib")
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG specification wants relative paths there ignored.
    return Path(state) if state.startswith("/") else Path.home() / ".local" / "state"


def _insist_on_this_machine(place: Path, mountinfo: str | None) -> None:
    mount = mount_of(place, mountinfo)
    if mount is not None and is_network(mount.file_system):
        raise LockPlaceError(
            f"{place} lies on {mount.file_system} (mounted at {mount.point}), where a lock does not keep other "
            "machines away: name one on a local disk with Telafi(url, place=...), or trust it with network_allowed=True"
        )


def _make(place: Path) -> None:
    missing = [] if os.path.lexists(place) else [place]
    missing += [parent for parent in place.parents if not parent.exists()]
    for directory in reversed(missing):
        with suppress(FileExistsError):  # made by another process at the same moment
            directory.mkdir(0o700)
            if stat.S_IMODE(directory.lstat().st_mode) & stat.S_IRWXU != stat.S_IRWXU:  # a strict umask
                directory.chmod(0o700)


def _insist_on_own_directory(place: Path) -> None:
    found = place.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise LockPlaceError(
            f"{place} is a symbolic link, which another user may have planted: name the directory itself, or remove it"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise LockPlaceError(f"{place} is no directory: move it away")
    insist_on_own(place, found)
    if not os.access(place, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        code = errno.EROFS if sys.platform != "win32" and os.statvfs(place).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(code, os.strerror(code))


def _give_identity(place: Path) -> str:
    target = place / _IDENTITY_FILE
    ours = place / f"{_IDENTITY_FILE}.{os.urandom(8).hex()}"
    try:
        _write_durably(ours, os.urandom(16).hex())
        try:
            # Linking is the one step that makes it known, whole, and only if nobody was faster.
            os.link(ours, target)
        except FileExistsError:
            pass
        except OSError:
            ours.rename(target)  # file systems without links have no users either; the last one wins
    finally:
        ours.unlink(missing_ok=True)
    identity = read_identity(place)
    if identity is None:
        raise LockPlaceError(f"{target} cannot be read, or is damaged: remove it while no process of Telafi runs")
    return identity


def _write_durably(path: Path, text: str) -> None:
    descriptor = open_here(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        insist_on_private_file(path, descriptor)
        os.write(descriptor, f"{text}\n".encode())
        os.fsync(descriptor)
    finally:
        close_here(descriptor)
