"""Every rule on every file of the package."""

import subprocess
import sys
from pathlib import Path

import pytest

import telafi
from tests.architecture import rules

SOURCES = [rules.Source.read(path) for path in sorted(rules.PACKAGE.rglob("*.py"))]
SQL = rules.PACKAGE / "ledger" / "sql"
SQL_FILES = sorted(SQL.glob("*/*.sql"))
PAGES = [*sorted(rules.ROOT.glob("*.md")), *sorted((rules.ROOT / "docs").rglob("*.md"))]
PUBLIC_NAMES = (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split()
REQUIREMENTS = sorted((rules.ROOT / "requirements").glob("*.txt"))

LOADED = """
import sys
before = set(sys.modules)
import telafi
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - set(sys.stdlib_module_names) - {"telafi"}))
"""


def below_root(path: Path) -> str:
    return path.relative_to(rules.ROOT).as_posix()


@pytest.mark.parametrize("rule", rules.FILE_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.path)
def test_file(source: rules.Source, rule: rules.Rule) -> None:
    assert list(rule(source)) == [], f"{source.path}: {rule.__name__}"


def test_half_of_the_files_are_short() -> None:
    assert list(rules.median_length(SOURCES)) == []


def test_folders_are_named_by_what_happens() -> None:
    assert list(rules.folder_names([path.name for path in rules.PACKAGE.rglob("*") if path.is_dir()])) == []


def test_allowances_name_files_that_need_them() -> None:
    named = {*rules.LONG_FILES_ALLOWED, *rules.REGISTRIES_ALLOWED}
    assert named <= {source.path for source in SOURCES}
    assert all(source.lines > 250 for source in SOURCES if source.path in rules.LONG_FILES_ALLOWED)


def test_every_dialect_has_the_same_statements() -> None:
    folders = [folder for folder in SQL.glob("*") if folder.is_dir() and not folder.name.startswith("_")]
    names = {folder.name: {path.name for path in folder.glob("*.sql")} for folder in folders}
    assert list(rules.same_sql_files(names)) == []


@pytest.mark.parametrize("path", SQL_FILES, ids=below_root)
def test_one_statement_a_file(path: Path) -> None:
    assert list(rules.one_statement(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", REQUIREMENTS, ids=below_root)
def test_requirements_are_pinned_and_carry_no_addresses(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [*rules.addresses(text), *rules.unpinned(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=below_root)
def test_links_lead_somewhere(page: Path) -> None:
    assert list(rules.broken_links(page)) == []


def test_public_names_are_as_written_down() -> None:
    assert list(rules.public_names(telafi.__all__, PUBLIC_NAMES)) == []
    assert sorted(telafi.__all__) == sorted(set(telafi.__all__))


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_name_can_be_imported(name: str) -> None:
    assert getattr(telafi, name) is not None


def test_importing_telafi_loads_nothing_from_others() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_module_map_is_up_to_date() -> None:
    command = [sys.executable, str(rules.ROOT / "scripts" / "module_map.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
