"""The acts of the demo: caught up, run again, killed, started twice, asked again, and the sums at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from telafi.cli.demo import data, jobs, naive, report, timeline
from telafi.cli.demo.processes import Copy
from telafi.cli.demo.stage import COMMAND, Stage

DATABASE = "demo.db"
ASKED_AGAIN = "2013-02-05T10:00Z"
KILLED_IN_WINDOW = 10
TWICE_IN_WINDOW = 4

OPENING = """\
One week of real departures from New York, 4 to 10 February 2013, with the snow storm in it. A job counts them hour by
hour, with a plain INSERT and total = total + n, so that an hour done twice would show. Its clock is set to instants of
that week: cron starts it every hour, and now and then something goes wrong. A script without Telafi, which adds "the
last hour from now", is started at the same instants.

All times are UTC; a line with $ is one start."""


def tell(directory: Path, say: Callable[[str], None]) -> bool:
    """Play all acts in the directory; True when Telafi's sums are those of the week."""
    database = directory / DATABASE
    data.load(database)
    clock = jobs.WeekClock(timeline.FIRST)
    stage = Stage(database, clock, jobs.application(database, clock), say)
    say(OPENING)
    for act in (caught_up, run_again, cron_to_thursday, killed, started_twice, asked_again, cron_to_the_end):
        act(stage)
    sums = report.sums_of(database)
    say("")
    for line in report.table(sums, naive.run(data.instants(), timeline.starts())):
        say(line)
    for line in report.whereabouts(database):
        say(line)
    return sums.right


def caught_up(stage: Stage) -> None:
    stage.title(timeline.FIRST, "Act 1. The job is set up; half a week is waiting. The first run catches up.")
    stage.show(stage.run(timeline.FIRST))


def run_again(stage: Stage) -> None:
    stage.title(timeline.AGAIN, "Act 2. A minute later it is run again. Nothing is due.")
    stage.show(stage.run(timeline.AGAIN))


def cron_to_thursday(stage: Stage) -> None:
    stage.title(
        timeline.FIRST + timeline.HOUR, "Cron, every hour until Thursday 18:00; one start comes 25 minutes late."
    )
    stage.show(stage.run_all(timeline.to_thursday()))


def killed(stage: Stage) -> None:
    """Kill a catch-up after the statements of its tenth window, and run it again."""
    stage.title(timeline.KILLED, "Act 3. The power was off for 21 hours. The run that catches up is killed (SIGKILL).")
    copy = Copy(stage.database, timeline.KILLED, hold_in_window=KILLED_IN_WINDOW)
    lines, window = copy.until_it_holds()
    status = copy.kill()
    stage.show(lines)
    stage.say(f"killed, status {status}, in window={window} after its INSERT and UPDATE")
    stage.say(f"rows of that window in the table: {stage.rows_of(window)}")
    stage.say("Run again, it goes on exactly there:")
    stage.show(stage.run(timeline.RESTARTED))
    stage.say("Cron, every hour until Sunday 00:00:")
    stage.show(stage.run_all(timeline.to_sunday()))


def started_twice(stage: Stage) -> None:
    """Start two copies in processes of their own; the second comes while the first is in its fourth window."""
    stage.title(timeline.TWICE, "Act 4. The machine was down for 12 hours; at boot two copies are started at once.")
    first = Copy(stage.database, timeline.TWICE, hold_in_window=TWICE_IN_WINDOW)
    begun, _ = first.until_it_holds()
    second = Copy(stage.database, timeline.TWICE).finish()
    stage.show(begun, f"{COMMAND} &  # the first copy")
    stage.show(second, f"{COMMAND}    # the second, while the first is in its window {TWICE_IN_WINDOW}")
    stage.say("and the first goes on:")
    stage.show(first.finish(), "")


def asked_again(stage: Stage) -> None:
    stage.title(timeline.BY_HAND, "Act 5. Somebody asks for Tuesday 10:00 again, which is done.")
    stage.show(stage.run(timeline.BY_HAND, ASKED_AGAIN), f"{COMMAND} --window {ASKED_AGAIN}")


def cron_to_the_end(stage: Stage) -> None:
    stage.title(timeline.TWICE + timeline.HOUR, "Cron, every hour until the week is over, and once more.")
    stage.show(stage.run_all(timeline.to_the_end()))
    stage.show(stage.run(timeline.END))
