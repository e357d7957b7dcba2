"""The operating system's two verbs: try to lock an open file, and unlock it."""

from __future__ import annotations

import sys
from typing import Protocol


class Verbs(Protocol):
    """Locks that belong to an open file and end with the process, however it ends."""

    def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
        """Lock, or give False at once when another has it; any other trouble is an OSError."""

    def unlock(self, descriptor: int) -> None:
        """Unlock for every copy of the descriptor, a forked child's too."""


if sys.platform == "win32":

    def native() -> Verbs:
        """Give the verbs of this operating system."""
        from telafi.lock.far_byte import FarByte
        from telafi.lock.windows_api import Kernel32

        return FarByte(Kernel32())

else:
    import fcntl

    class Flock:
        """BSD locks: unlike record locks they survive that other code of this process reads the same file."""

        def try_lock(self, descriptor: int, *, shared: bool = False) -> bool:
            """Lock, or give False at once when another has it; any other trouble is an OSError."""
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        def unlock(self, descriptor: int) -> None:
            """Unlock for every copy of the descriptor, a forked child's too."""
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def native() -> Verbs:
        """Give the verbs of this operating system."""
        return Flock()
