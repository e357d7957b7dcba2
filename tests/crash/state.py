"""What a ledger and its effects look like from outside, read with the plain drivers."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from telafi import Telafi
from telafi.instants import Span
from tests.crash.scenes import connect

FILLED = ("effects", *(f"telafi.{name}" for name in ("jobs", "windows", "ranges", "runs", "lock_skips", "marks")))


class State(NamedTuple):
    """Everything that a rerun may not get wrong."""

    effects: list[str]
    total: int
    marks: list[str]
    windows: dict[tuple[int, int], str]
    ranges: list[tuple[int, int, int]]
    runs: list[Any]
    watermark: int | None

    @property
    def finished(self) -> int:
        """Count what is done, each window in a range too."""
        return sum(state == "done" for state in self.windows.values()) + sum(count for _, _, count in self.ranges)

    def done(self) -> list[Span]:
        """Give what is done, ranges as one."""
        windows = [Span(*bounds) for bounds, state in self.windows.items() if state == "done"]
        return sorted([*windows, *(Span(start, end) for start, end, _ in self.ranges)])


def table(url: str, name: str) -> str:
    return f"telafi_{name}" if url.startswith("sqlite") else f"telafi.{name}"


def query(url: str, text: str) -> list[Any]:
    with closing(connect(url)) as connection:
        rows: list[Any] = connection.execute(text).fetchall()
        return rows


def execute(url: str, *statements: str) -> None:
    with closing(connect(url)) as connection:
        for text in statements:
            connection.execute(text)


def read(url: str) -> State:
    with closing(connect(url)) as connection:

        def select(text: str) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = connection.execute(text).fetchall()
            return rows

        watermarks = select(f"SELECT watermark FROM {table(url, 'jobs')}")
        windows = select(f"SELECT start_at, end_at, state FROM {table(url, 'windows')} ORDER BY start_at")
        return State(
            [at for (at,) in select("SELECT at FROM effects ORDER BY id")],
            select("SELECT total FROM totals")[0][0],
            [key for (key,) in select(f"SELECT mark_key FROM {table(url, 'marks')} ORDER BY mark_key")],
            {(start, end): state for start, end, state in windows},
            [
                (start, end, count)
                for start, end, count in select(f"SELECT start_at, end_at, windows FROM {table(url, 'ranges')}")
            ],
            select(f"SELECT id, charged_start FROM {table(url, 'runs')}"),
            watermarks[0][0] if watermarks else None,
        )


def check(state: State, spans: Sequence[Span], *, at_least_once: bool = False) -> None:
    """Every window's effect once and in order, its mark, and nothing left over of any run before."""
    keys = [span.text for span in spans]
    if at_least_once:
        assert sorted(set(state.effects)) == keys
        assert len(state.effects) <= len(keys) + 1  # only the window at which it died
    else:
        assert state.effects == keys
        assert state.total == sum(map(len, keys))
    assert state.watermark == spans[-1].end
    assert all(mark == "done" for mark in state.windows.values()), state.windows
    assert [start for start, _ in state.done()[1:]] == [end for _, end in state.done()[:-1]]  # no gap
    assert (state.done()[0].start, state.done()[-1].end) == (spans[0].start, spans[-1].end)
    assert len(state.windows) + sum(count for _, _, count in state.ranges) == len(spans)
    assert state.runs == []


def prepare(url: str) -> None:
    """Make the ledger's tables and those of the effects."""
    Telafi(url).ledger.upgrade()
    identity = "INTEGER PRIMARY KEY" if url.startswith("sqlite") else "bigint GENERATED ALWAYS AS IDENTITY"
    execute(
        url,
        f"CREATE TABLE effects (id {identity}, at text NOT NULL)",
        "CREATE TABLE totals (total bigint NOT NULL)",
        "INSERT INTO totals VALUES (0)",
    )


class Fresh:
    """A ledger that is made anew for each point at which a process may die."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder
        self._number = 0
        prepare(url)
        if url.startswith("sqlite"):
            self._template = Path(url.removeprefix("sqlite:///"))
            execute(url, "PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def again(self) -> Iterator[tuple[str, str]]:
        """Give its URL and its place for locks."""
        self._number += 1
        folder = self._folder / f"point-{self._number}"
        folder.mkdir()
        if self.url.startswith("sqlite"):
            shutil.copy(self._template, folder / "ledger.db")
            yield f"sqlite:///{folder}/ledger.db", f"{folder}/place"
        else:
            yield self.url, f"{folder}/place"
            execute(self.url, *(f"DELETE FROM {name}" for name in FILLED), "UPDATE totals SET total = 0")
        shutil.rmtree(folder)
