"""A job's lock on Windows: the same as elsewhere with other verbs; tested through a fake of Windows' calls only."""

from __future__ import annotations

from pathlib import Path

from telafi.lock.far_byte import Api, FarByte
from telafi.lock.file import FileLock
from telafi.lock.port import Holder
from telafi.lock.verbs import Verbs, native


class WindowsFileLock(FileLock):
    """The lock file's holder stays readable, because the locked byte lies far behind the record."""

    def __init__(self, path: Path, me: Holder, api: Api | None = None) -> None:
        verbs: Verbs = native() if api is None else FarByte(api)
        super().__init__(path, me, verbs)
