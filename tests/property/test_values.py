"""Properties of the values: grids, instants, keys, waits."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telafi.errors import KeyNotUsable, MalformedInstant, NaiveInstant
from telafi.instants import SECOND, Span, datetime_of, duration_of, duration_text, instant_of, instant_text
from telafi.keys import KEY_BYTES_MAX, SCOPE_BYTES_MAX, checked_key, checked_scope, fingerprint
from telafi.plan.every import Every
from telafi.plan.retry import FREE_RETRIES, WINDOW_SECONDS, Backoff, RetryBudget
from telafi.plan.windows import window_of

FIRST = instant_of(datetime(1, 1, 1, tzinfo=UTC))
LAST = instant_of(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
INSTANTS = st.integers(FIRST, LAST)
ZONES = st.integers(-1_439, 1_439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
GRIDS = st.builds(Every, st.integers(1, 40), st.integers(-50, 50))
NEAR = st.integers(-200, 200)


# --------------------------------------------------------------------------------------------------------- grids


@given(GRIDS, NEAR)
def test_at_or_before_and_after_enclose_an_instant_by_one_step(grid: Every, instant: int) -> None:
    before, after = grid.at_or_before(instant), grid.after(instant)
    assert before <= instant < after
    assert after - before == grid.step_microseconds
    assert (before - grid.anchor) % grid.step_microseconds == 0
    assert grid.at_or_before(before) == before
    assert grid.after(before) == after


@given(GRIDS, NEAR, NEAR)
def test_count_counts_what_after_walks_over(grid: Every, start: int, end: int) -> None:
    walked, position = 0, start
    while (position := grid.after(position)) <= end:
        walked += 1
    assert grid.count(start, end) == walked


@given(GRIDS, st.tuples(NEAR, NEAR, NEAR))
def test_counts_add_up(grid: Every, instants: tuple[int, int, int]) -> None:
    first, second, third = sorted(instants)
    assert grid.count(first, second) + grid.count(second, third) == grid.count(first, third)


@given(st.integers(1, 3_660 * 86_400), INSTANTS, INSTANTS)
def test_grids_are_exact_at_the_ends_of_time(seconds: int, anchor: int, instant: int) -> None:
    grid = Every(seconds * SECOND, anchor)
    assert grid.at_or_before(instant) <= instant < grid.after(instant)
    assert grid.count(instant, instant) == 0
    assert grid.count(instant, grid.after(instant)) == 1


# ------------------------------------------------------------------------------------------------------ instants


@given(INSTANTS)
def test_an_instant_is_what_its_text_says(instant: int) -> None:
    assert instant_of(instant_text(instant)) == instant
    assert instant_of(datetime_of(instant)) == instant
    assert instant_text(instant).endswith("Z")


@given(INSTANTS, INSTANTS)
def test_texts_of_whole_seconds_sort_like_their_instants(left: int, right: int) -> None:
    left, right = left // SECOND * SECOND, right // SECOND * SECOND
    assert (left < right) == (instant_text(left) < instant_text(right))


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), ZONES)  # noqa: DTZ001 - zone comes
def test_every_zone_tells_the_same_instant(local: datetime, zone: timezone) -> None:
    aware = local.replace(tzinfo=zone)
    assert instant_of(aware) == instant_of(aware.isoformat()) == instant_of(aware.astimezone(UTC))
    assert datetime_of(instant_of(aware)) == aware


@given(st.datetimes())
def test_E11_every_naive_datetime_is_refused(naive: datetime) -> None:
    for value in (naive, naive.isoformat()):
        with pytest.raises(NaiveInstant):
            instant_of(value)


@given(st.integers().filter(lambda instant: not FIRST <= instant <= LAST))
def test_E06_beyond_the_calendar_is_an_error_of_ours(instant: int) -> None:
    with pytest.raises(MalformedInstant):
        instant_text(instant)


@given(st.text())
def test_any_text_is_an_instant_or_an_error_of_ours(text: str) -> None:
    with suppress(MalformedInstant, NaiveInstant):
        assert isinstance(instant_of(text), int)


@given(st.integers(0, 10**9))
def test_durations_are_what_their_text_says(milliseconds: int) -> None:
    assert duration_of(duration_text(milliseconds * 1_000), "x") == milliseconds * 1_000
    assert duration_of(timedelta(milliseconds=milliseconds), "x") == milliseconds * 1_000


@given(INSTANTS, INSTANTS)
def test_two_windows_have_one_key_only_if_they_are_one(left: int, right: int) -> None:
    one, two = Span(min(left, right), max(left, right) + 0), Span(left, LAST)
    assert (one.text == two.text) == (one == two)
    assert window_of(one, "live", "iso").key == one.text


# ---------------------------------------------------------------------------------------------------------- keys


@given(st.text(max_size=200))
def test_G06_a_key_is_stored_as_it_is_or_refused(text: str) -> None:
    fits = 0 < len(text.encode()) <= KEY_BYTES_MAX and "\0" not in text and bool(text.strip())
    if fits:
        assert checked_key(text) is text
    else:
        with pytest.raises(KeyNotUsable):
            checked_key(text)


@given(st.sampled_from(["a", "\u0131", "\u20ac", "\U0001f600"]), st.integers(1, 600))
def test_G06_the_limits_are_bytes_of_utf8(letter: str, count: int) -> None:
    size = len((letter * count).encode())
    for check, most in ((checked_key, KEY_BYTES_MAX), (checked_scope, SCOPE_BYTES_MAX)):
        if size <= most:
            assert check(letter * count) == letter * count
        else:
            with pytest.raises(KeyNotUsable, match=f"{size} bytes of UTF-8, {most} at most"):
                check(letter * count)


@given(st.text(max_size=20), st.integers(0xD800, 0xDFFF), st.text(max_size=20))
def test_G04_a_lone_surrogate_is_refused_wherever_it_stands(before: str, surrogate: int, after: str) -> None:
    with pytest.raises(KeyNotUsable):
        checked_key(before + chr(surrogate) + after)


@given(st.text(max_size=20), st.text(max_size=20))
def test_G04_NUL_is_refused_wherever_it_stands(before: str, after: str) -> None:
    with pytest.raises(KeyNotUsable):
        checked_key(f"{before}\0{after}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.randoms(use_true_random=False))
def test_a_fingerprint_does_not_know_the_order_of_names(payload: dict[str, object], random: Random) -> None:
    names = list(payload)
    random.shuffle(names)
    assert fingerprint({name: payload[name] for name in names}) == fingerprint(payload)


@given(JSON, JSON)
def test_two_payloads_have_one_fingerprint_only_if_they_are_equal(left: object, right: object) -> None:
    assert (fingerprint(left) == fingerprint(right)) == (repr_of(left) == repr_of(right))


def repr_of(value: object) -> str:
    """Write a value so that 1 and True differ and the order of names does not count."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name!r}:{repr_of(value[name])}" for name in sorted(value)) + "}"
    return "[" + ",".join(map(repr_of, value)) + "]" if isinstance(value, list) else repr(value)


# --------------------------------------------------------------------------------------------------------- waits


@given(st.floats(0.001, 10), st.floats(0.001, 60), st.integers(1, 10_000), st.integers())
def test_a_wait_lies_between_nothing_and_its_bounds(base: float, cap: float, attempt: int, seed: int) -> None:
    delay = Backoff(base, cap).delay_seconds(attempt, Random(seed))
    assert 0 <= delay <= cap
    assert delay <= base * 2.0 ** min(attempt, 100)


@given(st.lists(st.tuples(st.floats(0, 30), st.booleans()), max_size=300))
def test_retries_stay_within_their_share_of_any_ten_seconds(events: list[tuple[float, bool]]) -> None:
    budget = RetryBudget()
    units: list[float] = []
    retries: list[float] = []
    for now, is_unit in sorted(events):
        if is_unit:
            budget.count_unit(now)
            units.append(now)
        recent = sum(moment >= now - WINDOW_SECONDS for moment in units)
        spent = sum(moment >= now - WINDOW_SECONDS for moment in retries)
        allowed = budget.allows_retry(now)
        assert allowed == (spent < FREE_RETRIES + 0.2 * recent)
        if allowed:
            retries.append(now)
