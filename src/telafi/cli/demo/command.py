"""`telafi demo`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click


@click.command(short_help="See it work, on a week of real departures.", epilog="Example: telafi demo --directory demo")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to keep the demo's files (default: a new temporary directory).",
)
def demo(directory: Path | None) -> None:
    """See it work: a job that is started late, twice and by hand, and killed in the middle, and stays right.

    It counts one week of real departures, in a few seconds, beside a script that does it the usual way.
    """
    from telafi.cli.demo import story

    try:
        place = Path(tempfile.mkdtemp(prefix="telafi-demo-")) if directory is None else directory.absolute()
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        where = error.filename or tempfile.gettempdir()
        raise click.UsageError(
            f"{where} cannot be made ({error.strerror}): name another place with --directory"
        ) from error
    if (place / story.DATABASE).exists():
        raise click.UsageError(f"{place} holds a demo already: name another directory")
    if not story.tell(place, click.echo):
        sys.exit(1)
