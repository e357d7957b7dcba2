"""Windows' mandatory locks, on one byte far behind the record so that it stays readable; tested through a fake only."""

from __future__ import annotations

from typing import Final, Protocol

FAR_BYTE: Final = 0x7FFF_FFFE

# EACCES at once, EDEADLOCK after Windows' own ten tries: as numbers, since 36 means something else on other systems.
_BUSY: Final = frozenset({13, 36})


class Api(Protocol):
    """The two calls of Windows that are needed; both name the byte, so the file's position never matters."""

    def lock(self, descriptor: int, offset: int, *, shared: bool) -> None:
        """Lock the byte at once, or raise OSError."""

    def unlock(self, descriptor: int, offset: int) -> None:
        """Unlock the byte."""


class FarByte:
    """The verbs of Windows."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
        """Lock, or give False at once when another has it; any other trouble is an OSError."""
        try:
            self._api.lock(descriptor, FAR_BYTE, shared=shared)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def unlock(self, descriptor: int) -> None:
        """Unlock the same byte."""
        self._api.unlock(descriptor, FAR_BYTE)
