"""Wrapped errors: the driver's own error below the one that an ORM raised."""

from __future__ import annotations

from collections.abc import Iterator


def causes(error: BaseException) -> Iterator[BaseException]:
    """Walk from an error down to what caused it, through `__cause__` and SQLAlchemy's `orig`."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        below = getattr(current, "orig", None)
        current = below if isinstance(below, BaseException) else current.__cause__
