"""Keys and fingerprints as values."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from telafi.errors import KeyNotUsable
from telafi.keys import checked_key, checked_scope, fingerprint


@pytest.mark.parametrize("text", ["a", " a ", "\u0130", "\u0131", "e\u0301", "\u00e9", "\U0001f600", "a\nb", "a" * 500])
def test_a_key_is_given_back_as_it_is(text: str) -> None:
    assert checked_key(text) is text


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "is empty"),
        ("a\0", "contains NUL"),
        ("\ud800", "lone surrogate"),
        ("a" * 501, "501 bytes"),
        ("\u015f" * 251, "502 bytes"),
        ("\U0001f600" * 126, "504 bytes"),
        (None, "is not a text"),
        (17, "is not a text"),
        (b"a", "is not a text"),
    ],
)
def test_T3_19_G06_a_key_that_cannot_be_stored_says_why(key: Any, reason: str) -> None:
    with pytest.raises(KeyNotUsable, match=reason):
        checked_key(key)


@pytest.mark.parametrize("key", ["   ", "\t", "\n"])
def test_T3_19_a_blank_key_is_refused(key: str) -> None:
    with pytest.raises(KeyNotUsable):
        checked_key(key)


@pytest.mark.parametrize("scope", ["telafi:", "telafi:jobs", "\u015f" * 101, "", "a\0b"])
def test_a_scope_that_is_not_the_users(scope: str) -> None:
    with pytest.raises(KeyNotUsable):
        checked_scope(scope)


def test_G04_the_four_letters_i_are_four_keys() -> None:
    letters = ["I", "i", "\u0130", "\u0131", "i\u0307"]
    assert len({checked_key(letter).encode() for letter in letters}) == 5


SAME: list[tuple[Any, Any]] = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"x": {"a": [1, 2], "b": None}}, {"x": {"b": None, "a": [1, 2]}}),
    (Decimal("10.50"), "10.50"),
    ({3, 1, 2}, {1, 2, 3}),
    ((1, 2), [1, 2]),
]
OTHER: list[tuple[Any, Any]] = [
    ({"amount": 200}, {"amount": 500}),
    (1, "1"),
    (None, ""),
    ([1, 2], [2, 1]),
    (Decimal("10.5"), Decimal("10.50")),
    (2**63 - 1, 2**63 - 2),
    (10**17 + 1, float(10**17)),
    ("\u00e9", "e\u0301"),
    (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
    ([["a"], "b"], ["a", ["b"]]),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_payloads_that_are_the_same(left: Any, right: Any) -> None:
    assert fingerprint(left) == fingerprint(right)


@pytest.mark.parametrize(("left", "right"), OTHER)
def test_payloads_that_are_not(left: Any, right: Any) -> None:
    assert fingerprint(left) != fingerprint(right)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 + 1, 2**64 - 1])
def test_integers_are_exact(number: int) -> None:
    assert fingerprint({"n": number}) != fingerprint({"n": number - 1})
