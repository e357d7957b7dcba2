"""A year of departures, three runners at once, two hundred of them killed: `python -m bench.race_year`."""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.crash.forks import forks
from tests.postgresql_server import Unavailable, start_server
from tests.race.departures import YEAR, YEAR_HOURS, read
from tests.race.race import race

HEAD = ("engine", "lock", "groups", "windows", "kills", "runners", "departures", "doubles", "lost", "seconds")
RACES: tuple[tuple[bool, Sequence[int]], ...] = ((True, (1, 1, 1)), (False, (1, 1, 1)), (False, (1, 20, 20)))


@contextmanager
def ledgers(folder: Path) -> Iterator[list[tuple[str, list[str]]]]:
    """Give a fresh ledger for each race on each engine that can be had."""
    made = [("sqlite", [f"sqlite:///{folder}/race-{number}/ledger.db" for number in range(len(RACES))])]
    try:
        server = start_server()
    except Unavailable as reason:
        print(f"without PostgreSQL: {reason}")
        yield made
        return
    made.append(("postgresql", [server.create_database() for _ in RACES]))
    try:
        yield made
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--hours", type=int, default=YEAR_HOURS)
    parser.add_argument("--seed", type=int, default=2013)
    options = parser.parse_args()
    source = read(YEAR, options.hours)
    print(f"seed={options.seed}")
    print(("{:>11}" * len(HEAD)).format(*HEAD), flush=True)
    with tempfile.TemporaryDirectory(prefix="telafi-race-") as name, forks() as warm, ledgers(Path(name)) as engines:
        for engine, urls in engines:
            for number, (url, (locked, groups)) in enumerate(zip(urls, RACES, strict=True)):
                folder = Path(name, f"race-{number}")
                folder.mkdir(exist_ok=True)
                began = time.perf_counter()
                result, contest = race(
                    warm, url, folder, source, seed=options.seed, kills=options.kills, locked=locked, groups=groups
                )
                row = (
                    engine, "on" if locked else "off", "/".join(map(str, groups)), result.states["done"],
                    contest.kills, result.runners, result.total, result.doubles, result.lost,
                    f"{time.perf_counter() - began:.1f}",
                )  # fmt: skip
                print(("{:>11}" * len(row)).format(*row), flush=True)


if __name__ == "__main__":
    main()
