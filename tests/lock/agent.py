"""A process that does with locks what it is told, one JSON line at a time; its children live until a pipe closes."""

import ctypes
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from telafi.errors import TelafiError
from telafi.lock.file import open_lock
from telafi.lock.machine import host_name
from telafi.lock.port import Holder, Lock
from telafi.lock.process import ProcessLock, sweep

LEASH = int(sys.argv[1]) if __name__ == "__main__" else -1  # children live until it closes
SINCE = "2026-09-04T10:00:00Z"
IDLE = "import os, sys; os.write(1, b'.'); os.read(int(sys.argv[1]), 1)"

locks: dict[str, Lock] = {}
processes: dict[str, ProcessLock] = {}


def lock(path: str) -> Lock:
    return locks.setdefault(path, open_lock(Path(path), Holder(host_name(), os.getpid(), SINCE, "agent")))


def process(place: str) -> ProcessLock:
    return processes.setdefault(place, ProcessLock(Path(place)))


def holder(path: str) -> str | None:
    found = lock(path).holder()
    return None if found is None else str(found)


def fork_with(fork: Callable[[], int], in_child: Callable[[], object] = lambda: None) -> list[Any]:
    """Fork a child that reports what it did, and then lives until the leash is let go."""
    readable, writable = os.pipe()
    pid = fork()
    if pid == 0:
        os.write(writable, json.dumps([os.getpid(), in_child()]).encode())
        os.close(writable)
        os.read(LEASH, 1)
        os._exit(0)
    os.close(writable)
    answer: list[Any] = json.loads(os.read(readable, 4096))
    os.close(readable)
    return answer


def daemonised() -> int:
    os.setsid()
    grandchild: int = fork_with(os.fork)[0]
    return grandchild


def executed(closing: str) -> int:
    close_fds = closing == "close_fds"
    command = [sys.executable, "-c", IDLE, str(LEASH)]
    child = subprocess.Popen(
        command, close_fds=close_fds, pass_fds=[LEASH] if close_fds else [], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.read(1)
    return child.pid


def limited_to_empty_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def swept(place: str, rounds: int) -> None:
    for _ in range(rounds):
        sweep(Path(place), ())


def used(path: str) -> list[bool]:
    """Do to a lock whatever can be done to it."""
    found = [lock(path).still_mine(), lock(path).acquire()]
    lock(path).release()
    return found


def forks_among_threads(path: str, forks: int) -> list[str]:
    """Fork while threads take and give back locks; tell which lock files were open in a child."""
    ended = threading.Event()

    def keep_locking(number: int) -> None:
        while not ended.is_set():
            lock(f"{path}-{number}").acquire()
            lock(f"{path}-{number}").release()

    threads = [threading.Thread(target=keep_locking, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    found = [name for _ in range(forks) for name in fork_with(os.fork, open_lock_files)[1]]
    ended.set()
    for thread in threads:
        thread.join()
    return found


def open_lock_files() -> list[str]:
    names = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            names.append(str(entry.readlink()))
    return [name for name in names if ".lock" in name]


ORDERS: dict[str, Callable[..., object]] = {
    "acquire": lambda path: lock(path).acquire(),
    "release": lambda path: lock(path).release(),
    "still_mine": lambda path: lock(path).still_mine(),
    "holder": holder,
    "take": lambda place: process(place).take().as_text(),
    "release_process": lambda place: process(place).release(),
    "sweep": swept,
    "fork": lambda: fork_with(os.fork),
    "raw_fork": lambda: fork_with(ctypes.PyDLL(None).fork),
    "fork_and_use": lambda path: fork_with(os.fork, lambda: used(path)),
    "fork_and_take": lambda place: fork_with(os.fork, lambda: process(place).take().as_text()),
    "forks_among_threads": forks_among_threads,
    "daemonise": lambda: fork_with(os.fork, daemonised)[1],
    "execute": executed,
    "become": os.seteuid,
    "umask": os.umask,
    "fill": limited_to_empty_files,
}


def main() -> None:
    for line in sys.stdin:
        order, *arguments = json.loads(line)
        try:
            answer = ORDERS[order](*arguments)
        except (OSError, TelafiError) as error:
            answer = f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
