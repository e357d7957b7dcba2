"""A stream of lines that never fails and never stalls the work: what cannot be written is dropped and counted."""

from __future__ import annotations

import errno
import io
import os
import select
from typing import Final, TextIO

WAITS_MAX: Final = 5
WAIT_SECONDS: Final = 1.0
_PIECE_BYTES: Final = 4_096  # a pipe that is ready takes so much without blocking
_GONE: Final = frozenset({errno.EPIPE, errno.EBADF, errno.ECONNRESET})


class LineStream:
    """Writes whole lines to a stream; a reader that is gone or stuck costs lines and, once, a few seconds."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._descriptor = _descriptor_of(stream)
        self._waits = WAITS_MAX
        self._gone = stream is None
        self._torn = False
        self.dropped = 0

    def write(self, line: str) -> None:
        """Write a line, or count it."""
        try:
            sent = not self._gone and self._send(f"{line}\n")
        except ValueError:  # a closed file object
            self._gone, sent = True, False
        except OSError as error:
            self._gone, sent = error.errno in _GONE, False
        self.dropped += not sent

    def _send(self, text: str) -> bool:
        if self._stream is None:
            return False
        if self._descriptor is None:
            self._stream.write(text)
            self._stream.flush()
            return True
        if not self._ready(self._descriptor):
            return False
        self._stream.flush()  # what a job has printed comes first
        return self._send_bytes(self._descriptor, text.encode(self._stream.encoding or "utf-8", "backslashreplace"))

    def _send_bytes(self, descriptor: int, data: bytes) -> bool:
        """Write past Python's buffer: bytes that a broken pipe refused must not come up again at exit."""
        if self._torn:
            data = b"\n" + data
        start = 0
        while start < len(data):
            if not self._ready(descriptor):
                return False
            start += os.write(descriptor, data[start : start + _PIECE_BYTES])
            self._torn = start < len(data)
        return True

    def _ready(self, descriptor: int) -> bool:
        """Wait a moment where the reader is slow; one that has used up our patience is not waited for again."""
        _, ready, _ = select.select([], [descriptor], [], WAIT_SECONDS if self._waits else 0)
        if not ready and self._waits:
            self._waits -= 1
        return bool(ready)


def _descriptor_of(stream: TextIO | None) -> int | None:
    """Find the descriptor below a stream; None where there is none, or where it cannot be waited for (Windows)."""
    if stream is None or os.name == "nt":
        return None
    try:
        return stream.fileno()
    except (io.UnsupportedOperation, ValueError, OSError):
        return None
