"""Steps on marks: a key is remembered in the same transaction as its effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from telafi.errors import KeyConflict
from telafi.ledger.steps import Statement, Steps


class MarkScope(NamedTuple):
    """Where record keys are kept: the scope, who writes them, and an instant that no other call of theirs has."""

    scope: str
    parent: str
    created_at: int


def first_time(scope: MarkScope, key: str, fingerprint: str | None) -> Steps[bool]:
    """Insert the key first: it waits for another copy's uncommitted mark, and tells a repeat by its own constraint.

    Raises KeyConflict where the key is known with another fingerprint.
    """
    parameters = {
        "scope": scope.scope, "key": key, "fingerprint": fingerprint,
        "parent": scope.parent, "created_at": scope.created_at,
    }  # fmt: skip
    answer = yield Statement("insert_mark", parameters)
    if answer.rowcount == 1:
        return True
    if fingerprint is not None:
        known = yield Statement("read_mark", {"scope": scope.scope, "key": key})
        if known.rows and known.rows[0][0] not in (None, fingerprint):
            raise KeyConflict(f"the key {key!r} of {scope.scope!r} was used before with another payload")
    return False


def first_times(scope: MarkScope, keys: Sequence[str], *, returning: bool) -> Steps[set[str]]:
    """Insert many keys at once, sorted; gives back those that are new.

    One statement; without RETURNING a second one where some keys are new and some are not: what this very call has
    inserted is told by its parent and instant.
    """
    asked = sorted(set(keys))
    parameters = {"scope": scope.scope, "keys": asked, "parent": scope.parent, "created_at": scope.created_at}
    answer = yield Statement("insert_marks", parameters)
    if not returning and 0 < answer.rowcount < len(asked):
        answer = yield Statement("read_new_keys", parameters)
    elif not returning:
        return set(asked) if answer.rowcount else set()
    return {row[0] for row in answer.rows}
