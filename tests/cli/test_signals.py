"""Signals for real: the first one finishes the running window, the second one rolls it back."""

import signal
import subprocess
import sys

import pytest

from tests.cli.sample import Shop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process of Windows gets no such signals")

FIRST = "window=2026-09-04T10:00:00Z/2026-09-04T11:00:00Z kind=catch-up"
NUMBERS = [signal.SIGTERM, signal.SIGINT] + ([signal.SIGHUP] if sys.platform != "win32" else [])


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_signal_finishes_the_running_window_and_hands_back_the_rest(
    shop: Shop, number: signal.Signals
) -> None:
    holding = shop.start("run", "holds", "sales-summary")
    holding.signal(number)
    message = holding.message()
    status, lines, _ = holding.end("go on\n")
    assert status == 0
    assert lines == [
        f"PROCESSED job=holds {FIRST} ms=0",
        "DEFERRED job=holds reason=hand-back remaining=1",
        "DEFERRED job=sales-summary reason=hand-back",
    ]
    assert message.startswith(f"telafi: {number.name}: stopping after the running window")
    assert shop.states("holds") == ["done", "planned"]


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("job", ["holds", "holds-before"])
def test_the_second_signal_rolls_back_at_once(shop: Shop, number: signal.Signals, expected: int, job: str) -> None:
    holding = shop.start("run", job, "sales-summary")
    holding.signal(signal.SIGTERM)
    holding.message()
    holding.signal(number)
    status, lines, errors = holding.end()
    assert (status, lines) == (expected, [])
    assert "Traceback" not in errors
    windows = shop.objects("windows", job)
    assert [(window["state"], window["attempts"]) for window in windows] == [("planned", 0), ("planned", 0)]
    assert shop.objects("status", job)[0]["lock"] is None
    again = shop.start("run", job)
    status, lines, _ = again.end("go on\n" * 2)
    assert status == 0
    assert [line.partition(" ")[0] for line in lines if not line.startswith("HOLDING")] == ["PROCESSED", "PROCESSED"]


def test_a_run_without_a_signal_ends_with_its_own_status(shop: Shop) -> None:
    status, lines, errors = shop.start("run", "holds").end("go on\n" * 2)
    assert (status, errors) == (0, "")
    assert [line.partition(" ")[0] for line in lines] == ["PROCESSED", "HOLDING", "PROCESSED"]


def test_a_signal_that_the_parent_ignores_stays_ignored(shop: Shop) -> None:
    ignoring = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *shop.command("run", "holds", "--max-windows", "1")]
    process = subprocess.Popen(
        ignoring, cwd=shop.directory, env=shop.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    output, errors = process.communicate("go on\n", timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert [line.partition(" ")[0] for line in output.splitlines()] == ["PROCESSED", "DEFERRED"]
    assert "reason=cap" in output
