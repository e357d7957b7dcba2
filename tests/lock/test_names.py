"""The name of a job's lock file."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from telafi.lock.file import lock_path, open_lock
from tests.lock.agents import me

NAMES = [
    "a/b", "a\\b", "..", ".", "", "/etc/passwd", "../../etc/passwd", "x" * 300, "x" * 301, "\0", "\ud800", "a b",
    "a  b", "günlük özet", "gunluk ozet", "ışık", "IŞIK", "İŞİK", "Report", "report", "con", "NUL.txt",
    "com1", "-rf", ".hidden", "report-1f", "process-0123456789abcdef0123456789abcdef",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_I12_every_name_gives_a_file_inside_the_place(tmp_path: Path, name: str) -> None:
    path = lock_path(tmp_path, name)
    assert path.parent == tmp_path
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,61}-[0-9a-f]{10}\.lock", path.name)
    assert path.name[0] not in ".-"
    lock = open_lock(path, me())
    assert lock.acquire() is True
    lock.release()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_I12_no_two_names_share_a_file_even_where_case_does_not_count() -> None:
    files = [lock_path(Path(), name).name.lower() for name in NAMES]
    assert not [pair for pair in combinations(files, 2) if pair[0] == pair[1]]


@pytest.mark.parametrize("name", ["con", "NUL.txt", "com1.x", "aux"])
def test_no_file_is_named_like_a_device_of_windows(name: str) -> None:
    assert lock_path(Path(), name).name.startswith("_")


def test_a_name_stays_readable() -> None:
    assert lock_path(Path(), "daily.sales-summary_2").name.startswith("daily.sales-summary_2-")
