"""Real processes for the acts with a kill and with two copies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from telafi.cli.demo import child


class Copy:
    """One start of the job in its own process; it can be stopped in the middle of its n-th window."""

    def __init__(self, database: Path, now: int, *, hold_in_window: int = 0) -> None:
        command = [sys.executable, "-X", "utf8", "-m", child.__name__, str(database), str(now), str(hold_in_window)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process and no pipe behind, whatever went wrong."""
        with self._process:
            self._process.kill()  # does nothing where it has ended

    def until_it_holds(self) -> tuple[list[str], str]:
        """Wait until the copy stands still; gives its lines so far, and the window in whose middle it stands."""
        lines: list[str] = []
        for line in self._lines():
            if line.startswith(child.HOLDING):
                return lines, line.removeprefix(child.HOLDING).strip()
            lines.append(line)
        raise RuntimeError(f"the copy ended with status {self._process.wait()} before it could be held: {lines}")

    def kill(self) -> int:
        """Kill it with SIGKILL (on Windows TerminateProcess), and give its exit status."""
        self._process.kill()
        self._process.communicate()
        return self._process.returncode

    def finish(self) -> list[str]:
        """Let it go on, wait for its end, and give the rest of its lines."""
        # It has not written since the line by which it was held, so the reader's buffer is empty.
        output, _ = self._process.communicate("go on\n")
        if self._process.returncode:
            raise RuntimeError(f"the copy ended with status {self._process.returncode}: {output}")
        return output.splitlines()

    def _lines(self) -> Iterator[str]:
        if self._process.stdout is None:
            raise RuntimeError("the copy was started without a pipe")
        while line := self._process.stdout.readline():
            yield line.rstrip("\n")
