"""Starts agents, asks them, kills them; nothing outlives the block."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import telafi
from telafi.lock.machine import host_name
from telafi.lock.port import Holder

HERE = Path(__file__).parent
SOURCE = Path(telafi.__file__).parent.parent
SINCE = "2026-09-04T10:00:00Z"


def me() -> Holder:
    return Holder(host_name(), os.getpid(), SINCE, "test")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


class Agent:
    def __init__(self, leash: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "agent.py"), str(leash)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[leash],
            text=True,
            env=environment(),
        )
        self.pid = self._process.pid

    def send(self, order: str, *arguments: object) -> None:
        assert self._process.stdin is not None
        print(json.dumps([order, *map(plain, arguments)]), file=self._process.stdin, flush=True)

    def receive(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, order: str, *arguments: object) -> Any:
        self.send(order, *arguments)
        return self.receive()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def plain(argument: object) -> object:
    return str(argument) if isinstance(argument, Path) else argument


@contextmanager
def agents(count: int) -> Iterator[list[Agent]]:
    """Give agents; their children end with the block, since they read from a pipe that closes then."""
    with ExitStack() as stack:
        readable, writable = os.pipe()
        stack.callback(os.close, readable)
        started = []
        for _ in range(count):
            agent = Agent(readable)
            stack.callback(agent.close)
            started.append(agent)
        stack.callback(os.close, writable)
        yield started
