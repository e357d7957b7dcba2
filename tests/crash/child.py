"""A warm process that forks children: each runs one scene, tells what happens, and may be killed at any moment.

It never opens a database or a lock itself, so what a child opens is the child's own, and a killed child is a real one.
"""

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any


class Talk:
    """The child's end of a line to the test: JSON, one value a line, in both directions."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._lines = end.makefile("r", encoding="utf-8")

    def tell(self, kind: str, value: Any = None) -> None:
        self._end.sendall(json.dumps([kind, value]).encode() + b"\n")

    def hear(self) -> Any:
        line = self._lines.readline()
        if not line:
            os._exit(3)  # the test has gone
        return json.loads(line)


Scene = Callable[..., Any]


def scene_named(name: str) -> Scene:
    module, _, function = name.partition(":")
    scene: Scene = getattr(import_module(module), function)
    return scene


def play(name: str, arguments: dict[str, Any], end: socket.socket) -> None:
    talk = Talk(end)
    try:
        talk.tell("end", scene_named(name)(talk, **arguments))
    except BaseException as error:  # noqa: BLE001 the test decides what a scene may raise
        shown = "".join(traceback.format_exception(error))
        talk.tell("raised", [type(error).__name__, str(error), shown])


def serve(control: socket.socket) -> None:
    children: set[int] = set()
    try:
        while True:
            message, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
            if not message:
                return
            order, value = json.loads(message)
            answer = 0
            if order == "start":
                name, arguments = value
                answer = start(name, arguments, descriptors[0], control)
                children.add(answer)
            elif order == "wait":
                answer = os.waitstatus_to_exitcode(os.waitpid(value, 0)[1])
                children.discard(value)
            control.sendall(json.dumps(answer).encode() + b"\n")
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def start(name: str, arguments: dict[str, Any], descriptor: int, control: socket.socket) -> int:
    scene_named(name)  # imported once, before the first fork
    child = os.fork()
    if child:
        os.close(descriptor)
        return child
    control.close()
    play(name, arguments, socket.socket(fileno=descriptor))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
