"""Keys: the deterministic identity of a unit or a record, and the fingerprint of what came with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from telafi.errors import KeyNotUsable

SCOPE_BYTES_MAX: Final = 200
KEY_BYTES_MAX: Final = 500
RESERVED: Final = "telafi:"


def checked_scope(scope: str) -> str:
    """Give the scope back if users may use it; raises KeyNotUsable (semantics §2)."""
    _check("scope", scope, SCOPE_BYTES_MAX)
    if scope.startswith(RESERVED):
        raise KeyNotUsable(f"scope {scope!r} is Telafi's own: choose one that does not start with {RESERVED!r}")
    return scope


def checked_key(key: str) -> str:
    """Give the key back if it can be stored; raises KeyNotUsable (semantics §2).

    >>> checked_key("order:17")
    'order:17'
    """
    _check("key", key, KEY_BYTES_MAX)
    return key


def checked_keys(keys: Iterable[str]) -> list[str]:
    """Give many keys back if every one can be stored; raises KeyNotUsable for the first that cannot."""
    listed = list(keys)
    if not {str}.issuperset(map(type, listed)) or not all(map(str.strip, listed)):
        return [checked_key(key) for key in listed]
    together = "".join(listed)
    longest = max(map(len, listed), default=0)
    # A character has four bytes at most: short keys without NUL or surrogates need no look at each of them.
    if longest * 4 > KEY_BYTES_MAX or "\0" in together or not _is_unicode(together):
        return [checked_key(key) for key in listed]
    return listed


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(what: str, text: object, bytes_max: int) -> None:
    if not isinstance(text, str):
        raise KeyNotUsable(f"the {what} {text!r} is not a text: build one such as f'order:{{id}}'")
    if not text.strip():
        raise KeyNotUsable(f"the {what} is empty: a key made from nothing would match every other")
    if "\0" in text:
        raise KeyNotUsable(f"the {what} {text!r} contains NUL, which PostgreSQL cannot store")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise KeyNotUsable(f"the {what} {text!r} is not valid Unicode: it has a lone surrogate") from None
    if size > bytes_max:
        raise KeyNotUsable(f"the {what} has {size} bytes of UTF-8, {bytes_max} at most: store a digest of it")


def fingerprint(payload: object) -> str:
    """Digest a payload in its canonical form: JSON, sorted names, exact integers, decimals as text.

    >>> fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    True
    """
    import msgspec

    return hashlib.sha256(msgspec.json.encode(payload, order="deterministic")).hexdigest()


def file_key(path: str | Path) -> str:
    """Make a key of a file's name and content, so that the same file under one name is done once.

    Raises OSError where the file cannot be read.
    """
    file = Path(path)
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return f"{file.name}:{digest}"
