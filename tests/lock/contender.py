"""A process that takes a lock many times, and says how often somebody else was inside as well."""

import json
import os
import random
import sys
from pathlib import Path

from telafi.lock.file import open_lock
from telafi.lock.port import Holder


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def inode_at(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def main(path: Path, rounds: int, mode: str) -> None:
    chance = random.Random(os.getpid())
    lock = open_lock(path, Holder("host", os.getpid(), "2026-09-04T10:00:00Z", "contender"))
    entered = collisions = 0
    say("ready")
    sys.stdin.readline()
    while entered + collisions < rounds:
        if not lock.acquire():
            os.sched_yield()
            continue
        # Where a foreign process deletes the file there may be two holders, but never two whose lock is still theirs:
        # the file is never given back its old inode while somebody holds it, so who sees it at the path has it alone.
        inode = inode_at(path)
        if mode == "deleter" and not lock.still_mine():
            lock.release()
            continue
        inside = path.with_name(f"inside-{inode}" if mode == "deleter" else "inside")
        try:
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            collisions += 1
        else:
            entered += 1
            inside.unlink()
        if mode == "unlinking" and chance.random() < 0.3:
            path.unlink()
        lock.release()
    say(json.dumps([entered, collisions]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
