"""Every page that shows commands is run, in an empty directory, and says what really happens."""

from pathlib import Path

import pytest

from tests.docs.page import ROOT, run_page

FOLDERS = ("docs/tutorial", "docs/how-to", "docs/concepts", "docs/reference", "docs/operations")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    environment = {"DATABASE_URL": request.getfixturevalue("postgresql_url")} if "DATABASE_URL" in text else {}
    run_page(text, tmp_path, environment)


def test_a_page_that_lies_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="echo one"):
        run_page("```console\n$ echo one\ntwo\n```\n", tmp_path, {})
