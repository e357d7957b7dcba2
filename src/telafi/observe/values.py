"""Values on one line: quoted where they need it, escaped where they could do harm, and never endless."""

from __future__ import annotations

from typing import Final

CHARACTERS_MAX: Final = 1_000
CUT: Final = "…"
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_NEEDS_QUOTES: Final = frozenset(' "=')


def quoted(value: object) -> str:
    r"""Write a value for a `key=value` line.

    >>> print(quoted("atlas"), quoted("no such table"), quoted('line 1\nsays "2"'))
    atlas "no such table" "line 1\nsays \"2\""
    """
    text = str(value)
    shown = escaped(text)
    if text and shown == text and _NEEDS_QUOTES.isdisjoint(text):
        return text
    return '"' + shown.replace('"', '\\"') + '"'


def escaped(text: str, characters_max: int = CHARACTERS_MAX) -> str:
    r"""Write what cannot be printed as an escape: line breaks, terminal codes, separators, directions of writing.

    >>> print(escaped("\x1b[31mred\u2028"))
    \x1b[31mred\u2028
    """
    if len(text) <= characters_max and text.isprintable() and "\\" not in text:
        return text
    pieces: list[str] = []
    room = characters_max
    for character in text:
        piece = character if character.isprintable() and character != "\\" else _escape(character)
        room -= len(piece)
        if room < 0:
            return "".join(pieces) + CUT
        pieces.append(piece)
    return "".join(pieces)


def cut(text: str) -> str:
    """Keep the beginning of a text that is too long."""
    return text if len(text) <= CHARACTERS_MAX else text[:CHARACTERS_MAX] + CUT


def _escape(character: str) -> str:
    named = _NAMED.get(character)
    if named is not None:
        return named
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - the width of an escape's number
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the same
