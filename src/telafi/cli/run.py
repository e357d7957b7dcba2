"""`telafi run`: each job in turn, whatever is due, once."""

from __future__ import annotations

import click

from telafi.cli.invocation import Invocation, application_options

HELP = """Run what is due of each JOB, oldest window first, each window once.

Safe at any moment and any number of times: from cron, from a timer, by hand, twice at once.

\b
Exit status, the first that applies:
  2      wrong use
  128+n  a second signal (the first one finishes the running window and ends with 0)
  75     the ledger or the place of the locks cannot be reached
  3      a window is IN-DOUBT: a person has to decide
  1      a window FAILED; it comes again with the next run
  0      everything that was due is done, skipped or deferred
"""


@click.command(
    help=HELP,
    short_help="Run what is due, each window once.",
    epilog="Example: telafi run sales-summary --window 2026-09-04T10:00Z",
)
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.option("--window", metavar="START", help="Only the window that starts then, such as 2026-09-04T10:00Z.")
@click.option("--max-windows", metavar="N", type=click.IntRange(min=1), help="At most so many windows of each job.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of the log's lines.")
@click.option("--quiet-unless-failed", is_flag=True, help="Nothing on standard output unless something failed.")
@click.option(
    "--exit-code-on-lock",
    metavar="N",
    type=click.IntRange(0, 255),
    default=0,
    help="The exit status where another copy is running (default: 0).",
)
@application_options
@click.pass_obj
def run(
    invocation: Invocation,
    *,
    jobs: tuple[str, ...],
    window: str | None,
    max_windows: int | None,
    as_json: bool,
    quiet_unless_failed: bool,
    exit_code_on_lock: int,
) -> None:
    from telafi.cli.output import Output
    from telafi.cli.running import run_jobs

    app = invocation.application()
    output = Output(as_json=as_json, held_back=quiet_unless_failed, debug=invocation.debug)
    verdict = run_jobs(app, jobs, output, window=window, max_windows=max_windows, debug=invocation.debug)
    invocation.status = verdict.status(exit_code_on_lock)
    output.end(failed=verdict.status() != 0)
