"""A page of the documentation as a script: its files are written, its commands run, its outputs compared."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r"<!-- now: (?P<now>\S+) -->|^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
CHANGING = [
    (re.compile(r"\bms=\d+"), "ms=N"),
    (re.compile(r"holder=\d+@\S+"), "holder=PID@HOST"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]
# Sets the wall clock of every process that a page starts, so that its outputs can be written down.
SITE = """
import os
import telafi.clock
from telafi.instants import instant_of

if os.environ.get("PAGE_NOW"):
    telafi.clock.SystemClock.now_microseconds = lambda self: instant_of(os.environ["PAGE_NOW"])
    telafi.clock.SystemClock.boot_seconds = lambda self: None  # else a page that moves on is a clock that jumped
"""


@dataclass(frozen=True)
class Block:
    """One fence of a page, with the instant at which it is read."""

    language: str
    file: str | None
    body: str
    now: str


def blocks(text: str) -> Iterator[Block]:
    now = ""
    for found in FENCE.finditer(text):
        if found["now"]:
            now = found["now"]
            continue
        file = re.search(r"file=(\S+)", found["info"])
        yield Block(found["language"], file[1] if file else None, found["body"], now)


def run_page(text: str, directory: Path, environment: dict[str, str]) -> None:
    (directory / ".site").mkdir()
    (directory / ".site" / "sitecustomize.py").write_text(SITE)
    for block in blocks(text):
        if block.file is not None:
            (directory / block.file).write_text(block.body)
        elif block.language == "console":
            for command, expected in commands(block.body):
                answer = run(command, directory, environment | {"PAGE_NOW": block.now})
                assert settled(answer) == settled(expected), f"$ {command}\n{answer}"
        elif block.language == "python":
            compile(block.body, "page", "exec")


def commands(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def run(command: str, directory: Path, environment: dict[str, str]) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=directory,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(directory / ".site"), "COLUMNS": "120"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout


def settled(text: str) -> str:
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text.strip()
