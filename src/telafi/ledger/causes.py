"""Wrapped errors: the driver's own error below the one that an ORM raised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_CODES: Final = ("sqlstate", "sqlite_errorcode")


def causes(error: BaseException) -> Iterator[BaseException]:
    """Walk from an error down to what caused it, through `__cause__` and SQLAlchemy's `orig`."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        below = getattr(current, "orig", None)
        current = below if isinstance(below, BaseException) else current.__cause__


def told_by_driver(error: BaseException) -> bool:
    """Say whether a database has answered with a code; a broken connection and a user's own error have none."""
    return any(getattr(cause, code, None) is not None for cause in causes(error) for code in _CODES)
