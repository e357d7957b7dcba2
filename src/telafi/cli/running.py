"""A one-shot run of several jobs: one that fails never stops the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from telafi.cli.exit_status import Verdict, report
from telafi.cli.stopping import Stopping
from telafi.events import Deferred
from telafi.instants import instant_of

if TYPE_CHECKING:
    from telafi.app import Telafi
    from telafi.cli.output import Output


def run_jobs(
    app: Telafi, names: Sequence[str], output: Output, *, window: str | None, max_windows: int | None, debug: bool
) -> Verdict:
    """Run the jobs and tell what came of them; raises WrongUse before the first one where a name is unknown."""
    for name in names:
        app.jobs.get(name)
    if window is not None:
        instant_of(window)
    verdict, stopping = Verdict(), Stopping()
    ends = [app.subscribe(verdict), app.subscribe(output)]
    try:
        with stopping.on_signals():
            for name in names:
                if stopping():
                    app.events.emit(Deferred(name, "hand-back"))
                    continue
                try:
                    app.jobs.run(name, window=window, max_windows=max_windows, stopping=stopping)
                except Exception as error:  # noqa: BLE001 - it ends this job's run, and the next one has its turn
                    output.clear()
                    report(error, debug=debug)
                    verdict.add(error)
                output.clear()
    except KeyboardInterrupt as interruption:
        verdict.add(interruption)
    finally:
        output.clear()
        for end in ends:
            end()
    return verdict
