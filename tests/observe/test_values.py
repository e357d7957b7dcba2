from hypothesis import given
from hypothesis import strategies as st

from telafi.observe.values import CHARACTERS_MAX, CUT, cut, escaped, quoted


def test_a_plain_value_stays_as_it_is() -> None:
    assert quoted("4711@atlas") == "4711@atlas"
    assert quoted(12) == "12"
    assert quoted("günlük-özet") == "günlük-özet"


def test_a_value_with_spaces_quotes_or_equals_signs_is_quoted() -> None:
    assert quoted("no such table") == '"no such table"'
    assert quoted('say "no"') == r'"say \"no\""'
    assert quoted("a=b") == '"a=b"'
    assert quoted("") == '""'


def test_a_backslash_is_doubled_so_that_an_escape_can_be_told_from_text() -> None:
    assert quoted(r"C:\n") == r'"C:\\n"'


def test_line_breaks_terminal_codes_and_directions_of_writing_are_escaped() -> None:
    assert quoted("a\nFAILED job=b") == r'"a\nFAILED job=b"'
    assert quoted("\x1b[2J") == r'"\x1b[2J"'
    assert quoted("a\u2028b\u2029c\x85d") == r'"a\u2028b\u2029c\x85d"'
    assert quoted("\u202ereversed") == r'"\u202ereversed"'
    assert quoted("\U000e0001") == r'"\U000e0001"'
    assert quoted("\udcff") == r'"\udcff"'


def test_a_long_value_is_cut_and_never_in_the_middle_of_an_escape() -> None:
    assert escaped("x" * 2_000) == "x" * CHARACTERS_MAX + CUT
    assert escaped("\u2028" * 2_000, 10) == r"\u2028" + CUT
    assert cut("x" * 2_000) == "x" * CHARACTERS_MAX + CUT
    assert cut("short") == "short"


@given(st.text())
def test_whatever_it_is_it_is_one_printable_line(text: str) -> None:
    shown = quoted(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) == 1
    assert len(shown) <= 2 * CHARACTERS_MAX + len(CUT) + 2
