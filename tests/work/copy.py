"""One copy of a job in a process of its own: says that it is ready, waits for a line, runs, and prints its lines."""

import sys
from typing import Any

from telafi import FixedClock, Telafi, Transaction, Window
from telafi.instants import instant_of
from tests.work.stage import lines

url, place, now, recipients, fails, locked = sys.argv[1:]
app = Telafi(url, place=place, clock=FixedClock(instant_of(now)), locked=locked == "locked")
failures = [ConnectionError("the mail server is busy")] * int(fails)


def send(tx: Any, recipient: str) -> None:
    """Note a mail; the seventh fails as often as it is told."""
    if recipient == "7" and failures:
        raise failures.pop()
    mark = "?" if url.startswith("sqlite") else "%s"
    tx.execute(f"INSERT INTO effects VALUES ({mark}, 1)", (recipient,))


@app.job(every="1h", since="2026-09-04T11:00Z")
def digest(window: Window, tx: Transaction) -> None:
    for recipient in range(1, int(recipients) + 1):
        if tx.first_time(f"{window.key} {recipient}"):
            send(tx, str(recipient))


sys.stdout.write("ready\n")
sys.stdout.flush()
sys.stdin.readline()
told = []
for _ in range(4):
    told += lines(app.jobs.run(digest))
    if told[-1].partition(" ")[0] in {"PROCESSED", "IDLE"}:
        break
sys.stdout.write("\n".join(told) + "\n")
