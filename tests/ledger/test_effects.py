"""What counts as an effect of a unit, on every driver."""

from __future__ import annotations

import pytest

from telafi import Transaction, Window
from telafi.events import Warned
from tests.ledger.kinds import RAW_KINDS, Kind, Pen, hourly, only, waited
from tests.work.stage import DAY, Stage


def counted(stage: Stage) -> list[int]:
    return [row[0] for row in stage.execute(f"SELECT effects FROM {stage.table('windows')} ORDER BY start_at")]


async def rows_of(pen: Pen, sql: str) -> list[int]:
    cursor = await waited(pen.tx.execute(sql))
    return [row[0] for row in await waited(cursor.fetchall())]


def test_a_write_that_gives_back_rows_is_one(stage: Stage, kind: Kind) -> None:
    async def body(pen: Pen, window: Window) -> None:
        assert await rows_of(pen, "INSERT INTO effects VALUES ('a', 1), ('b', 2) RETURNING amount") == [1, 2]
        await waited(pen.tx.execute("UPDATE effects SET amount = 5"))
        await pen.first_time("order:1")
        text = "/* odd */ WITH many AS (SELECT 2 AS least) DELETE FROM effects WHERE amount > 2 RETURNING amount"
        assert await rows_of(pen, text) == [5, 5]

    hourly(stage, kind, body, max_windows=1, must_have_effect=1)
    stage.run()
    assert counted(stage) == [2 + 2 + 1 + 2]
    assert stage.told(Warned) == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE effects SET amount = 2 WHERE place = 'nowhere' RETURNING amount",
        "SELECT 1 AS deleted",
        "WITH one AS (SELECT 1 AS n) SELECT n FROM one",
    ],
)
def test_what_wrote_no_row_is_none(stage: Stage, kind: Kind, sql: str) -> None:
    async def body(pen: Pen, window: Window) -> None:
        await rows_of(pen, sql)

    hourly(stage, kind, body, max_windows=1, must_have_effect=1)
    stage.run()
    assert counted(stage) == [0]
    assert len(stage.told(Warned)) == 1


@only([kind for kind in RAW_KINDS if not kind.is_async])
def test_in_a_group_each_window_has_its_own(stage: Stage, kind: Kind) -> None:
    amounts = iter([2, 3])

    def body(window: Window, tx: Transaction) -> None:
        for place in range(next(amounts)):
            tx.execute(f"INSERT INTO effects VALUES ('{place}', 1) RETURNING amount").fetchone()

    stage.app.job(name="hourly", every="1h", since=f"{DAY}T10:00Z", group=10)(body)
    stage.run()
    assert counted(stage) == [2, 3]
