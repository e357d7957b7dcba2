"""A process of its own whose job forks in its body: `python -m tests.ledger.forking URL PLACE KIND WAY`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from telafi import Run, Transaction, TransactionControl, Window
from telafi.errors import ForkedConnection
from tests.ledger.kinds import KINDS, Kind, Pen, driven, hourly, waited
from tests.work.stage import DAY, Stage

EXITED = 7
REFUSED = 9


class Forking:
    """Forks once; the parent remembers how the child has ended."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.parent = os.getpid()
        self.ends: list[int] = []

    def in_child(self) -> bool:
        """Fork and wait for the child's end; True in the child."""
        if self.ends:
            return False
        child = os.fork()
        if child:
            self.ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return not child


def declare(stage: Stage, kind: Kind, forking: Forking) -> None:
    async def body(pen: Pen, window: Window) -> None:
        await pen.write("before")
        if forking.in_child():
            if kind.is_async:
                os._exit(await use_up(pen.tx))  # a loop cannot be unwound in a child: it shares its parent's epoll
            await misuse(pen.tx)
            if forking.way == "exits":
                sys.exit(EXITED)
            return
        await pen.write("after")

    hourly(stage, kind, body, max_windows=1)


async def misuse(tx: Any) -> None:
    """The child cannot write on its parent's connection by Telafi's verbs."""
    for verb, argument in ((tx.execute, "SELECT 1"), (tx.first_time, "order:1")):
        try:
            await waited(verb(argument))
        except TransactionControl:
            continue
        raise AssertionError("a child wrote on its parent's connection")


async def use_up(tx: Any) -> int:
    """Say to the handle what unwinding says; in a child nothing of it waits, so nothing may hang."""
    await misuse(tx)
    handle = tx._handle
    calls: list[Coroutine[Any, Any, object]] = [handle.commit(), handle.flush(), handle.begin(None)]
    for call in calls:
        try:
            driven(call)
        except ForkedConnection:
            continue
        return 1
    driven(handle.rollback())
    driven(handle.close())
    return EXITED


def declare_block(stage: Stage, forking: Forking) -> None:
    def job(window: Window, run: Run) -> None:
        with run.transaction() as tx:
            stage.note(tx, window)
            if forking.in_child():
                sys.exit(EXITED)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", max_windows=1)(job)


def declare_group(stage: Stage, forking: Forking) -> None:
    def job(window: Window, tx: Transaction) -> None:
        stage.note(tx, window)
        if forking.in_child():
            sys.exit(EXITED)

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", group=10)(job)


def main(url: str, place: str, kind_name: str, way: str) -> None:
    kind = next(kind for kind in KINDS if kind.name == kind_name)
    stage, forking = Stage(url, Path(place)), Forking(way)
    match way:
        case "block":
            declare_block(stage, forking)
        case "group":
            declare_group(stage, forking)
        case _:
            declare(stage, kind, forking)
    try:
        told = stage.run()
    except ForkedConnection:
        sys.exit(REFUSED)
    answer = {"told": told, "effects": stage.effects(), "rows": stage.rows(), "ends": forking.ends}
    sys.stdout.write(f"{json.dumps(answer)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
