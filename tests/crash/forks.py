"""The test's side of the warm process: start a scene in a child of its own, listen to it, kill it, wait for its end."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 60.0


class End(NamedTuple):
    """How a child ended: its status (negative: the signal), what it said last, and everything before that."""

    status: int
    kind: str
    value: Any
    told: list[tuple[str, Any]]

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


class Child:
    """One running scene."""

    def __init__(self, forks: "Forks", name: str, arguments: dict[str, Any]) -> None:
        self._forks = forks
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(SECONDS_MAX)
        with theirs:
            self.pid = forks.order("start", [name, arguments], theirs.fileno())
        self._lines = self.socket.makefile("r", encoding="utf-8")
        self._told: list[tuple[str, Any]] = []
        self._end: End | None = None

    def fileno(self) -> int:
        return self.socket.fileno()

    def say(self, value: Any = None) -> None:
        self.socket.sendall(json.dumps(value).encode() + b"\n")

    def read(self) -> tuple[str, Any] | None:
        """Give the next thing it tells; None where it has ended."""
        try:
            line = self._lines.readline()
        except ConnectionResetError:  # killed with something of ours unread
            line = ""
        if not line.endswith("\n"):
            return None
        kind, value = json.loads(line)
        self._told.append((kind, value))
        return kind, value

    def expect(self, kind: str) -> Any:
        """Read until it tells this; fails where it ends before."""
        while (heard := self.read()) is not None:
            if heard[0] == kind:
                return heard[1]
            assert heard[0] != "raised", heard[1][-1]
        raise AssertionError(f"the child ended before it told {kind!r}: {self._told[-3:]}")

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> End:
        """Listen to the end, then wait until the system has let go of everything it held."""
        if self._end is None:
            while self.read() is not None:
                pass
            status = self._forks.order("wait", self.pid)
            self._lines.close()
            self.socket.close()
            kind, value = self._told[-1] if self._told and self._told[-1][0] in ("end", "raised") else ("killed", None)
            self._end = End(status, kind, value, self._told)
        return self._end


class Forks:
    """The warm process."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(SECONDS_MAX)
        with theirs:
            command = [sys.executable, "-m", "tests.crash.child", str(theirs.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT)
        self._answers = self._control.makefile("r", encoding="utf-8")

    def order(self, order: str, value: Any, descriptor: int | None = None) -> int:
        message = json.dumps([order, value]).encode()
        socket.send_fds(self._control, [message], [] if descriptor is None else [descriptor])
        answer: int = json.loads(self._answers.readline())
        return answer

    def start(self, scene: str, /, **arguments: Any) -> Child:
        return Child(self, scene, arguments)

    def run(self, scene: str, /, **arguments: Any) -> End:
        return self.start(scene, **arguments).end()

    def close(self) -> None:
        self._answers.close()
        self._control.close()
        self._process.wait(timeout=SECONDS_MAX)


@contextmanager
def forks() -> Iterator[Forks]:
    process = Forks()
    try:
        yield process
    finally:
        process.close()
