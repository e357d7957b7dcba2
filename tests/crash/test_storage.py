"""SQLite's file on a disk that is full, damaged, read-only, replaced, or not the kind that it needs."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from telafi import Deferred, Failed, LedgerError, Processed, Telafi, Transaction, Window
from telafi.events import Event, Planned
from telafi.ledger.texts import Texts
from tests.crash.forks import Forks
from tests.crash.hourly import Hourly, styled, write
from tests.crash.scenes import HOUR, SINCE
from tests.crash.state import check, execute, prepare, query, read
from tests.crash.test_points import RUN, hours, outcomes

pytestmark = [pytest.mark.crash, pytest.mark.slow]

LIMITED = "tests.crash.scenes:run_with_file_limit"
AS_NOBODY = "tests.crash.scenes:run_as_nobody"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    prepare(f"sqlite:///{tmp_path}/ledger.db")
    return tmp_path / "ledger.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


# ----------------------------------------------------------------------------------------------------------- disk full


@pytest.mark.parametrize("swallowed", ["", "swallowed"], ids=["raised", "swallowed"])
@pytest.mark.parametrize("style", ["inside", "group", "end", "write"])
def test_full_at_insert(url: str, tmp_path: Path, style: str, swallowed: str) -> None:
    """F01: SQLite rolls back by itself; the full disk stays the cause, and nothing is written in part."""

    def inside(window: Window, tx: Transaction) -> None:
        write(tx, window, url)
        [(pages,)] = tx.execute("PRAGMA page_count").fetchall()
        tx.execute(f"PRAGMA max_page_count = {pages}")
        try:
            tx.execute("INSERT INTO effects (at) VALUES (zeroblob(200000))")
        except sqlite3.OperationalError:
            if not swallowed:
                raise

    given: dict[str, Any] = {"windows": 2, "group": 2 if style == "group" else 1}
    [outcome] = Hourly(url, tmp_path, styled(style, inside), **given).run()
    assert isinstance(outcome, Failed)
    if not swallowed:
        assert "full" in outcome.error
        assert "cannot rollback" not in outcome.error
        assert outcome.out_of_reach
    state = read(url)
    assert (state.effects, state.total, state.runs) == ([], 0, [])
    assert set(state.windows.values()) == {"planned"}

    def again(window: Window, tx: Transaction) -> None:
        write(tx, window, url)

    assert Hourly(url, tmp_path, again, windows=3).outcomes() == ["Processed"] * 3
    check(read(url), hours(3))


@pytest.mark.parametrize("style", ["inside", "end", "write"])
def test_full_at_every_point(file: Path, tmp_path: Path, warm: Forks, style: str) -> None:
    """F01: no file may grow beyond ever more bytes: at the plan, at COMMIT, in the aftercare; then all is right."""
    kept = tmp_path / "kept.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(file, kept)
    said: set[str] = set()
    for limit in range(0, 120_000, 4_096):
        for leftover in tmp_path.glob("ledger.db*"):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        shutil.copy(kept, file)
        url, place = f"sqlite:///{file}", f"{tmp_path}/place-{limit}"
        given = {"url": url, "place": place, "style": style}
        end = warm.run(LIMITED, bytes_max=limit, now=SINCE + 2 * HOUR, **given)
        assert end.status == 0
        if end.kind == "raised":
            assert end.value[0] in ("LedgerError", "LockPlaceError"), end.value
            assert "\n" not in end.value[1]
            said.add(end.value[0])
        else:
            said |= {outcome["outcome"] for outcome in end.value["outcomes"]}
        done = len(read(url).effects)
        clean = warm.run(RUN, now=SINCE + 3 * HOUR, **given)
        assert outcomes(clean) == ["Processed"] * (3 - done)
        check(read(url), hours(3))
        if end.kind == "end" and outcomes(end) == ["Processed"] * 2 and "Warned" not in {kind for kind, _ in end.told}:
            break
    assert {"LedgerError", "Processed"} <= said
    assert said & {"Deferred", "Failed"}


def test_full_at_first_use(tmp_path: Path, warm: Forks) -> None:
    for limit in range(0, 60_000, 8_192):
        url, place = f"sqlite:///{tmp_path}/{limit}.db", f"{tmp_path}/place-{limit}"
        given = {"url": url, "place": place, "style": "inside", "now": SINCE}
        end = warm.run(LIMITED, bytes_max=limit, **given)
        if end.kind == "raised":
            assert end.value[0] in ("LedgerError", "LockPlaceError"), end.value
            assert "\n" not in end.value[1]
        assert outcomes(warm.run(RUN, **given)) == ["Idle"]


# ------------------------------------------------------------------------------------------------- damaged and replaced


def spoil(file: Path, how: str) -> None:
    content = file.read_bytes()
    page = 4_096
    file.write_bytes(
        {
            "not a database": b"sales of September\n" * 500,
            "header": b"\0" * 100 + content[100:],
            "pages": content[:page] + os.urandom(len(content) - page),
            "truncated": content[: len(content) // page // 2 * page],
            "cut in a page": content[: len(content) // 2 + 100],
        }[how]
    )


@pytest.mark.parametrize("how", ["not a database", "header", "pages", "truncated", "cut in a page"])
def test_damaged(file: Path, url: str, tmp_path: Path, how: str) -> None:
    """F05, F08: said with the path, and the file left as it is: a ledger that begins anew would do everything again."""

    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, url)

    assert Hourly(url, tmp_path, body, windows=3).outcomes() == ["Processed"] * 3
    execute(url, "PRAGMA wal_checkpoint(TRUNCATE)")
    spoil(file, how)
    before = file.read_bytes()
    with pytest.raises(LedgerError) as refused:
        Hourly(url, tmp_path, body, windows=4).run()
    assert str(file) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert file.read_bytes() == before


def test_copied_without_its_wal(file: Path, url: str, tmp_path: Path) -> None:
    """F05: what only the WAL held is lost, effect and mark together: it is done again, once in the new history."""

    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, url)

    assert Hourly(url, tmp_path, body, windows=2).outcomes() == ["Processed"] * 2
    execute(url, "PRAGMA wal_checkpoint(TRUNCATE)")
    with closing(sqlite3.connect(file)) as open_reader:  # keeps the WAL from being taken over into the file
        open_reader.execute("BEGIN")
        open_reader.execute("SELECT * FROM effects").fetchall()
        assert Hourly(url, tmp_path, body, windows=4).outcomes() == ["Processed"] * 2
        shutil.copy(file, tmp_path / "copy.db")
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"ledger.db{suffix}").unlink(missing_ok=True)
    (tmp_path / "copy.db").rename(file)
    assert len(read(url).effects) == 2
    assert Hourly(url, tmp_path, body, windows=5).outcomes() == ["Processed"] * 3
    check(read(url), hours(5))


@pytest.mark.parametrize("style", ["inside", "group", "end", "write"])
def test_replaced_while_open(file: Path, url: str, tmp_path: Path, style: str) -> None:
    """F06: the next unit sees it before it writes; neither the old file nor the new one gets anything."""
    old = tmp_path / "old.db"

    def heard(event: Event) -> None:
        if isinstance(event, Planned):
            shutil.copy(file, tmp_path / "new.db")
            os.link(file, old)
            (tmp_path / "new.db").replace(file)

    def inside(window: Window, tx: Transaction) -> None:
        write(tx, window, url)

    given: dict[str, Any] = {"windows": 2, "group": 2 if style == "group" else 1}
    [outcome] = Hourly(url, tmp_path, styled(style, inside), heard=heard, **given).run()
    assert isinstance(outcome, Deferred)
    assert outcome.out_of_reach
    assert "replaced" in str(outcome.error)
    assert query(f"sqlite:///{old}", "SELECT * FROM effects") == []
    assert query(url, "SELECT * FROM effects") == []


def test_taken_away_while_open(file: Path, url: str, tmp_path: Path) -> None:
    def heard(event: Event) -> None:
        if isinstance(event, Planned):
            file.unlink()

    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, url)

    [outcome] = Hourly(url, tmp_path, body, windows=2, heard=heard).run()
    assert isinstance(outcome, Deferred)
    assert outcome.out_of_reach
    assert "gone" in str(outcome.error)
    assert not file.exists()


# ------------------------------------------------------------------------------------------ rights, file systems, forks


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="telafi-rights-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def give_to_nobody(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, "nobody")


@pytest.mark.parametrize("what", ["file", "folder", "new in folder"])
def test_read_only(open_folder: Path, warm: Forks, what: str) -> None:
    """F07: said with the path, in one line."""
    inside, place = open_folder / "inside", open_folder / "place"
    inside.mkdir()
    place.mkdir(mode=0o700)
    give_to_nobody(place)
    file = inside / "ledger.db"
    if what != "new in folder":
        prepare(f"sqlite:///{file}")
        execute(f"sqlite:///{file}", "PRAGMA wal_checkpoint(TRUNCATE)")
        give_to_nobody(file)
    if what == "file":
        give_to_nobody(inside)
        file.chmod(0o444)
    else:
        inside.chmod(0o555)
    end = warm.run(AS_NOBODY, url=f"sqlite:///{file}", place=str(place), style="inside", now=SINCE + HOUR)
    inside.chmod(0o755)
    assert end.kind == "raised", end.value
    name, text, _ = end.value
    assert name == "LedgerError"
    assert str(file) in text
    assert "\n" not in text


MOUNTINFO = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
99 22 0:50 / {point} rw,relatime shared:2 - {kind} server:/home rw,vers=4.2
"""


@pytest.mark.parametrize("kind", ["nfs4", "nfs", "cifs", "smb3", "9p", "fuse.sshfs", "overlay"])
def test_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """F03, T4-08: refused before anything is made there, with the way out; the one that trusts it may."""
    monkeypatch.setattr("telafi.ledger.mounts._mountinfo", lambda: MOUNTINFO.format(point=tmp_path, kind=kind))
    url = f"sqlite:///{tmp_path}/ledger.db"
    if kind == "overlay":
        Telafi(url).ledger.upgrade()
        return
    with pytest.raises(LedgerError, match=kind) as refused:
        Telafi(url).ledger.upgrade()
    assert "postgresql://" in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    Telafi(url, network_allowed=True).ledger.upgrade()


def test_fork_with_a_connection(ledger_url: str, tmp_path: Path, warm: Forks) -> None:
    """F10: the child is refused, the parent's connection goes on."""
    prepare(ledger_url)
    end = warm.run("tests.crash.scenes:fork_with_a_connection", url=ledger_url, place=f"{tmp_path}/place")
    assert end.value == ["ForkedConnection"]


def test_fork_in_the_body(ledger_url: str, tmp_path: Path, warm: Forks) -> None:
    """F10: the child comes back from the body too: it commits nothing, and leaves the parent's transaction alone."""
    prepare(ledger_url)
    given = {"url": ledger_url, "place": f"{tmp_path}/place", "now": SINCE + 3 * HOUR}
    assert outcomes(warm.run("tests.crash.scenes:fork_in_the_body", **given)) == ["Processed"] * 3
    check(read(ledger_url), hours(3))


# ---------------------------------------------------------------------------------------------- SQLite's own surprises


def test_readers_that_write_later(url: str, tmp_path: Path, warm: Forks) -> None:
    """T4-01: two processes read a counter and write it again, two hundred times each: no error, nothing lost."""
    execute(url, "CREATE TABLE counter AS SELECT 0 AS number")
    given = {"url": url, "place": f"{tmp_path}/place", "rounds": 200}
    runners = [warm.start("tests.crash.scenes:count_up", name=name, **given) for name in ("one", "two")]
    for runner in runners:
        assert outcomes(runner.end()) == ["Processed"] * 200
    assert query(url, "SELECT number FROM counter") == [(400,)]


def test_readers_that_write_later_without_telafi(file: Path, url: str) -> None:
    """C09, T4-01, the control: a plain BEGIN is refused at once, however long it would wait."""
    execute(url, "CREATE TABLE counter AS SELECT 0 AS number")
    with closing(sqlite3.connect(file, isolation_level=None, timeout=60)) as slow:
        slow.execute("BEGIN")
        slow.execute("SELECT number FROM counter").fetchall()
        execute(url, "UPDATE counter SET number = 1")
        with pytest.raises(sqlite3.OperationalError) as refused:
            slow.execute("UPDATE counter SET number = 2")
    assert refused.value.sqlite_errorcode == sqlite3.SQLITE_BUSY_SNAPSHOT


def test_the_wal_stays_small(file: Path, url: str, tmp_path: Path) -> None:
    """T4-10: hundreds of windows, with people looking on: no reader stays, so the WAL is used again and again."""
    sizes: list[int] = []

    def heard(event: Event) -> None:
        if isinstance(event, Processed):
            sizes.append(Path(f"{file}-wal").stat().st_size)
            if len(sizes) % 50 == 0:
                hourly.app.jobs.status()
                hourly.app.jobs.windows("hourly")

    def body(window: Window, tx: Transaction) -> None:
        write(tx, window, url)
        tx.execute("CREATE TABLE IF NOT EXISTS ballast (content BLOB)")
        tx.execute("INSERT INTO ballast VALUES (zeroblob(20000))")

    hourly = Hourly(url, tmp_path, body, windows=400, heard=heard, max_windows=400)
    assert hourly.outcomes() == ["Processed"] * 400
    assert max(sizes) < 8_000_000  # SQLite begins anew after a thousand pages, plus what one transaction adds
    assert not Path(f"{file}-wal").exists()


@pytest.mark.parametrize("version", ["3.22.0", "3.23.1", "3.24.0", "3.31.1", "3.40.1"])
def test_old_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """T4-11, F09: refused at the start with both versions, not by a syntax error in the night."""
    monkeypatch.setattr(sqlite3, "sqlite_version", version)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", tuple(map(int, version.split("."))))
    url = f"sqlite:///{tmp_path}/ledger.db"
    if sqlite3.sqlite_version_info >= (3, 24):
        Telafi(url).ledger.upgrade()
        return
    with pytest.raises(LedgerError, match=rf"{version}.*3\.24"):
        Telafi(url).ledger.upgrade()
    assert not Path(tmp_path, "ledger.db").exists()


def test_no_statement_needs_a_newer_sqlite() -> None:
    """T4-11: RETURNING, and ON CONFLICT DO UPDATE without its target, came with 3.35."""
    folder = Path(Texts.__init__.__code__.co_filename).parent
    for file in folder.glob("*/sqlite/*.sql"):
        words = file.read_text(encoding="utf-8").upper().split()
        assert "RETURNING" not in words, file.name
        assert "CONFLICT DO UPDATE" not in " ".join(words), file.name


@pytest.mark.parametrize(("every", "windows"), [("24h", 1), ("1h", 24), ("1m", 1_440)])
def test_money_is_exact(url: str, tmp_path: Path, every: str, windows: int) -> None:
    """T4-13: a thousand orders of 0.10 make 100.00 in one window, in a day's, and in one each, as whole cents."""
    execute(
        url,
        "CREATE TABLE orders (at INTEGER, cents INTEGER)",
        f"""WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999)
            INSERT INTO orders SELECT {SINCE // 1_000_000} + n * 60, 10 FROM numbers""",
        "CREATE TABLE sales (day TEXT PRIMARY KEY, cents INTEGER)",
    )

    def body(window: Window, tx: Transaction) -> None:
        bounds = window.params("epoch")
        tx.execute(
            """INSERT INTO sales SELECT 'all', COALESCE(SUM(cents), 0) FROM orders WHERE at >= :start AND at < :end
               ON CONFLICT (day) DO UPDATE SET cents = sales.cents + excluded.cents""",
            bounds,
        )

    given: dict[str, Any] = {"every": every, "anchor": "2026-09-04T10:00Z", "max_windows": windows}
    hourly = Hourly(url, tmp_path, body, windows=24, **given)
    assert hourly.outcomes() == ["Processed"] * windows
    assert query(url, "SELECT cents FROM sales") == [(10_000,)]
