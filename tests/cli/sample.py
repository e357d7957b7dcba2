"""A small shop whose jobs do what a test needs, and the command `telafi` run on it in processes of their own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOP = """
import os, signal, sys
from telafi import AsyncTransaction, FixedClock, Run, Telafi, Transaction, Window
from telafi.clock import SystemClock
from telafi.instants import instant_of
from telafi.plan.retry import RetryPolicy


class Standing(FixedClock):
    def boot_seconds(self):
        return None


app = Telafi(
    os.environ["LEDGER"], clock=Standing(instant_of(os.environ["NOW"])), lock_timeout_seconds=0.2,
    retry=RetryPolicy(attempts=2, deadline_seconds=0.5),
)
hourly = {"every": "1h", "grace": "5m", "since": "2026-09-04T10:00Z"}


@app.job(**hourly)
def sales_summary(window: Window, tx: Transaction) -> None:
    pass


@app.job(**hourly)
async def quietly(window: Window, tx: AsyncTransaction) -> None:
    pass


@app.job(**hourly)
def keys(window: Window, tx: Transaction) -> None:
    tx.first_times([f"order:{window.start.hour}", "order:0"])


@app.job(**hourly)
def fails(window: Window, tx: Transaction) -> None:
    print("a print of the job")
    raise ValueError(os.environ.get("TEXT", "no total"))


@app.job(**hourly, on_error="park", attempts=1)
def parks(window: Window, tx: Transaction) -> None:
    raise ValueError("no total")


@app.job(**hourly)
def leaves(window: Window, tx: Transaction) -> None:
    sys.exit(0)


@app.job(**hourly)
def raises_after(window: Window, run: Run) -> None:
    with run.transaction():
        pass
    raise ValueError("too late")


@app.job(**hourly, if_in_doubt="hold")
def outside(window: Window) -> None:
    if os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)


def hold(window: Window) -> None:
    print("HOLDING", window.key, flush=True)
    sys.stdin.readline()


@app.job(**hourly)
def holds(window: Window, tx: Transaction) -> None:
    hold(window)


@app.job(**hourly)
def holds_before(window: Window, run: Run) -> None:
    hold(window)
"""


@dataclass
class Shop:
    """The sample application in a directory, on a ledger, at an instant."""

    directory: Path
    ledger: str
    now: str = "2026-09-04T12:07Z"
    more: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.directory / "shop.py").write_text(SHOP, encoding="utf-8")

    def telafi(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            self.command(*arguments), cwd=self.directory, env=self.environment(**more),
            capture_output=True, text=True, encoding="utf-8", timeout=60, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self, *arguments: str, **more: str) -> "Holding":
        """Start the command on a job that holds in its first window, and wait until it does."""
        process = subprocess.Popen(
            self.command(*arguments), cwd=self.directory, env=self.environment(**more), text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        holding = Holding(process)
        assert holding.line().startswith("HOLDING")
        return holding

    def objects(self, *arguments: str, status: int = 0, **more: str) -> list[dict[str, Any]]:
        """Run a command with --json and read every line."""
        done = self.telafi(*arguments, "--json", **more)
        assert done.returncode == status, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def states(self, job: str) -> list[str]:
        """Give the states of a job's windows, oldest first."""
        return [window["state"] for window in reversed(self.objects("windows", job))]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "telafi", *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        given = {"TELAFI_APP": "shop:app", "LEDGER": self.ledger, "NOW": self.now, "PYTHONUNBUFFERED": ""}
        return {**os.environ, **given, **self.more, **more}


@dataclass
class Holding:
    """A process that stands in the middle of a window until it is let go."""

    process: subprocess.Popen[str]

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def message(self) -> str:
        """Wait for a line on standard error."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def end(self, text: str = "") -> tuple[int, list[str], str]:
        """Let it go as often as there are lines of text, and give its status, its lines and its messages."""
        output, errors = self.process.communicate(text, timeout=60)
        return self.process.returncode, output.splitlines(), errors
