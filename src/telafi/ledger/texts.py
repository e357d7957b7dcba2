"""The texts of the statements: one file each, the same names in every dialect's folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

_HOME: Final = Path(__file__).parent
_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)")
_END_OF_STATEMENT: Final = re.compile(r";\s*(?:\n|$)")


class Texts(dict[str, str]):
    """The statements of one dialect, read from their files on first use.

    A migration's statements go by its name and their number, as in `001_heart#0`.
    """

    def __init__(self, dialect: str, adapt: Callable[[str], str] = str) -> None:
        super().__init__()
        self.dialect = dialect
        self._adapt = adapt

    def __missing__(self, name: str) -> str:
        migration, _, number = name.partition("#")
        if number:
            text = self.migration(migration)[int(number)]
        else:
            text = self._adapt((_HOME / "sql" / self.dialect / f"{name}.sql").read_text("utf-8").strip())
        self[name] = text
        return text

    def migration(self, name: str) -> list[str]:
        """Give the statements of a migration."""
        text = (_HOME / "migrations" / self.dialect / f"{name}.sql").read_text("utf-8")
        return [self._adapt(part.strip()) for part in _END_OF_STATEMENT.split(text) if part.strip()]


class Migration(NamedTuple):
    """One step of the schema, by its number and name."""

    version: int
    name: str


def migrations(dialect: str) -> list[Migration]:
    """List the migrations of a dialect, in order."""
    files = sorted((_HOME / "migrations" / dialect).glob("[0-9]*.sql"))
    return [Migration(int(file.stem.partition("_")[0]), file.stem) for file in files]


def percent_style(text: str) -> str:
    """Write the parameters of a statement as `%(name)s`, for drivers that want them so."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))
