"""Writes the module map in ARCHITECTURE.md from the modules' docstrings: `make map`; `--check` only compares."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "telafi"
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN = "<!-- module map: written by `make map`, do not edit -->"
END = "<!-- end of module map -->"


def main(arguments: list[str]) -> int:
    before = PAGE.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    after = "\n".join([head + BEGIN, "", *map_lines(), "", END + tail])
    if before == after:
        return 0
    if "--check" in arguments:
        print("ARCHITECTURE.md is not up to date: run `make map`")
        return 1
    PAGE.write_text(after, encoding="utf-8")
    return 0


def map_lines() -> Iterator[str]:
    yield "| module | what it is |"
    yield "|---|---|"
    for path in sorted(PACKAGE.rglob("*.py"), key=reading_order):
        name = path.relative_to(PACKAGE).as_posix()
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first_line = docstring.partition("\n")[0].replace("|", "\\|")
        yield f"| `{name.removesuffix('__init__.py') or '__init__.py'}` | {first_line} |"


def reading_order(path: Path) -> tuple[object, ...]:
    """Put a folder's own page first, then its files, then its folders."""
    *folders, name = path.relative_to(PACKAGE).parts
    return (*((1, folder) for folder in folders), (0, name != "__init__.py", name))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
