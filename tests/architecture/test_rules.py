"""Every rule can fail: a bad sample for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import rules

LONG_FUNCTION = "def long() -> None:\n" + "    pass\n" * 50
WIDE_CLASS = "class Wide:\n" + "".join(f"    def verb_{letter}(self): ...\n" for letter in "abcdefghijklm")

BAD = [
    (rules.file_length, "src/telafi/plan/every.py", "\n" * 251),
    (rules.file_length, "src/telafi/app.py", "\n" * 151),
    (rules.function_length, "src/telafi/x.py", LONG_FUNCTION),
    (rules.public_methods, "src/telafi/x.py", WIDE_CLASS),
    (rules.module_name, "src/telafi/utils.py", ""),
    (rules.module_name, "src/telafi/core/x.py", ""),
    (rules.module_docstring, "src/telafi/x.py", ""),
    (rules.module_docstring, "src/telafi/x.py", '"""No full stop"""'),
    (rules.clock_read, "src/telafi/x.py", "import time\ntime.time()"),
    (rules.clock_read, "src/telafi/x.py", "import datetime\ndatetime.datetime.now()"),
    (rules.clock_read, "src/telafi/x.py", "from datetime import date\ndate.today()"),
    (rules.clock_read, "src/telafi/x.py", "from time import sleep"),
    (rules.clock_read, "src/telafi/x.py", "import asyncio\nawait_me = asyncio.sleep"),
    (rules.module_registry, "src/telafi/x.py", "jobs = {}"),
    (rules.module_registry, "src/telafi/x.py", "JOBS: dict[str, int] = dict()"),
    (rules.module_registry, "src/telafi/x.py", "_seen: set[str] = set()"),
    (rules.module_registry, "src/telafi/x.py", "names = ['a']"),
    (rules.yield_outside_steps, "src/telafi/plan/x.py", "def rows():\n    yield 1"),
    (rules.yield_outside_steps, "src/telafi/host/x.py", "def rows():\n    yield from other()"),
    (rules.full_words, "src/telafi/x.py", "def get_cfg(): ..."),
    (rules.full_words, "src/telafi/x.py", "class JobMgr: ..."),
    (rules.full_words, "src/telafi/x.py", "def run(conn): ..."),
    (rules.full_words, "src/telafi/x.py", "num_rows = 3"),
    (rules.silenced_checks, "src/telafi/x.py", "x = 1  # type: " + "ignore[misc]  because of this"),
    (rules.silenced_checks, "src/telafi/x.py", "x = 1  # no" + "qa"),
    (rules.silenced_checks, "src/telafi/x.py", "x = 1  # no" + "qa: S101"),
]

GOOD = [
    (rules.clock_read, "src/telafi/clock.py", "import time\ntime.time()"),
    (rules.clock_read, "src/telafi/x.py", "clock.now()\nsource.time.time_zone()"),
    (rules.module_registry, "src/telafi/x.py", "WORDS = {'a': 1}\n__all__ = ['x']\nname: str\ncount = 3"),
    (rules.yield_outside_steps, "src/telafi/ledger/marks.py", "def mark():\n    yield 1"),
    (rules.yield_outside_steps, "src/telafi/plan/x.py", "def rows() -> Iterator[int]:\n    yield 1"),
    (rules.yield_outside_steps, "src/telafi/x.py", "@contextlib.contextmanager\ndef held():\n    yield 1"),
    (rules.full_words, "src/telafi/x.py", "def connection(number, current, index, params): ..."),
    (rules.silenced_checks, "src/telafi/x.py", "x = 1  # no" + "qa: S101 - narrows the type"),
]


@pytest.mark.parametrize(("rule", "path", "text"), BAD)
def test_bad_sample_is_flagged(rule: rules.Rule, path: str, text: str) -> None:
    assert list(rule(rules.Source(path, text))) != []


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_good_sample_passes(rule: rules.Rule, path: str, text: str) -> None:
    assert list(rule(rules.Source(path, text))) == []


def test_every_file_rule_has_a_bad_sample() -> None:
    assert {rule for rule, _, _ in BAD} == set(rules.FILE_RULES)


@pytest.mark.parametrize(
    "problems",
    [
        rules.median_length([rules.Source("a.py", "\n" * 101)]),
        rules.folder_names(["plan", "helpers"]),
        rules.same_sql_files({"sqlite": {"claim.sql"}, "postgresql": set()}),
        rules.one_statement("SELECT 1; SELECT 2;"),
        rules.one_statement("-- nothing; here"),
        rules.addresses("--index-" + "url somewhere"),
        rules.addresses("click @ https" + "://somewhere/click.whl"),
        rules.unpinned("click==8.1"),
        rules.public_names(["Telafi", "new"], ["Telafi"]),
        rules.public_names(["Telafi"], ["Telafi", "gone"]),
    ],
)
def test_bad_collection_is_flagged(problems: Iterator[str]) -> None:
    assert list(problems) != []


def test_a_semicolon_in_a_text_or_comment_does_not_count() -> None:
    sql = "-- one; two\nSELECT ';', \";\", $$a;b$$ /* ; */ FROM jobs;\n"
    assert list(rules.one_statement(sql)) == []


def test_broken_links_are_flagged(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[here](page.md#top) [outside](https:" + "//example.org) `[code](none.md)` [broken](none.md)\n")
    assert list(rules.broken_links(page)) == ["links to none.md, which does not exist"]
