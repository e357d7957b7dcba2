"""The acts of the demo: caught up, run again, killed, started twice, asked again, and the sums at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from telafi.cli.demo import data, jobs, naive, report, timeline
from telafi.cli.demo.processes import Copy
from telafi.cli.demo.stage import COMMAND, Stage

DATABASE: Final = "demo.db"
TUESDAY: Final = "2013-02-05T10:00Z"
KILLED_IN_WINDOW: Final = 10
TWICE_IN_WINDOW: Final = 4

OPENING: Final = """\
One week of real departures from New York, 4 to 10 February 2013, with the snow storm in it. A job counts them
hour by hour, with a plain INSERT and total = total + n, so that an hour done twice would show. The clock is set
to instants of that week: cron starts the job every hour, and now and then something goes wrong. A script without
Telafi, which adds "the last hour from now", is started at the same instants.

Times are UTC. A line with $ stands for one start; the one that is killed and the two copies are real processes."""


def tell(directory: Path, say: Callable[[str], None]) -> bool:
    """Play all acts in the directory; True when Telafi's sums are those of the week."""
    database = directory / DATABASE
    data.load(database)
    clock = jobs.WeekClock(timeline.FIRST)
    tally = naive.run(data.instants(), timeline.starts())
    stage = Stage(database, clock, jobs.application(database, clock), tally, say)
    say(OPENING)
    for act in (caught_up, run_again, cron_to_thursday, killed, cron_to_sunday, started_twice, asked_again, the_rest):
        act(stage)
    sums = report.sums_of(database)
    say("")
    for line in [*report.table(sums, tally), *report.whereabouts(database)]:
        say(line)
    return sums.right


def caught_up(stage: Stage) -> None:
    stage.title(timeline.FIRST, "Act 1. The job is set up; half a week is waiting. The first run catches up.")
    stage.show(stage.run(timeline.FIRST))
    stage.say_without(timeline.SET_UP)


def run_again(stage: Stage) -> None:
    stage.title(timeline.AGAIN, "Act 2. A minute later it is run again. Nothing is due.")
    stage.show(stage.run(timeline.AGAIN))
    stage.say_without(timeline.STARTED_AGAIN)


def cron_to_thursday(stage: Stage) -> None:
    starts = list(timeline.to_thursday())
    stage.title(starts[0].at, "Cron, every hour until Thursday 18:00; that day's start of 14:00 comes 25 minutes late.")
    stage.show(stage.run_all(starts), f"{COMMAND}    # {len(starts)} starts")
    stage.say_without(timeline.STARTED_LATE)


def killed(stage: Stage) -> None:
    """Kill a catch-up after the statements of its tenth window, and run it again."""
    stage.title(timeline.KILLED, "Act 3. The power was off for 21 hours. The run that catches up is killed (SIGKILL).")
    with Copy(stage.database, timeline.KILLED, hold_in_window=KILLED_IN_WINDOW) as copy:
        lines, window = copy.until_it_holds()
        status = copy.kill()
    stage.show(lines)
    stage.say(f"killed (exit status {status}) after INSERT and UPDATE of window={window}")
    stage.say(f"of that window, rows in the table: {stage.rows_of(window)}. Run again, it goes on right there:")
    stage.show(stage.run(timeline.RESTARTED))
    stage.say_without(timeline.POWER_OFF, timeline.RUN_AGAIN)


def cron_to_sunday(stage: Stage) -> None:
    starts = list(timeline.to_sunday())
    stage.title(starts[0].at, "Cron, every hour until Sunday 00:00.")
    stage.show(stage.run_all(starts), f"{COMMAND}    # {len(starts)} starts")


def started_twice(stage: Stage) -> None:
    """Start two copies in processes of their own; the second comes while the first is in its fourth window."""
    stage.title(timeline.TWICE, "Act 4. The machine was down for 12 hours; at boot two copies are started at once.")
    with Copy(stage.database, timeline.TWICE, hold_in_window=TWICE_IN_WINDOW) as first:
        begun, _ = first.until_it_holds()
        with Copy(stage.database, timeline.TWICE) as second:
            shut_out = second.finish()
        stage.show(begun, f"{COMMAND} &  # the first copy")
        stage.show(shut_out, f"{COMMAND}    # the second, while the first is in its window {TWICE_IN_WINDOW}")
        stage.say("and the first goes on:")
        stage.show(first.finish(), "")
    stage.say_without(timeline.MACHINE_DOWN, timeline.TWO_COPIES)


def asked_again(stage: Stage) -> None:
    stage.title(timeline.BY_HAND, "Act 5. Somebody asks for Tuesday 10:00 again, which is done.")
    stage.show(stage.run(timeline.BY_HAND, TUESDAY), f"{COMMAND} --window {TUESDAY}")
    stage.say_without(timeline.STARTED_BY_HAND)


def the_rest(stage: Stage) -> None:
    starts = list(timeline.to_the_end())
    stage.title(starts[0].at, "Cron, every hour until the week is over, and once more.")
    stage.show(stage.run_all(starts), f"{COMMAND}    # {len(starts)} starts")
    stage.show(stage.run(timeline.END))
