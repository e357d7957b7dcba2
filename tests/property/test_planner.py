"""Properties of the planner: what it plans, together with what is stored, covers everything closed, once."""

from hypothesis import assume, given
from hypothesis import strategies as st

from telafi.errors import NotABoundary, WindowOverlap
from telafi.instants import Span
from telafi.plan.asked import Refusal, plan_window
from telafi.plan.catchup import DONE, DUE, PASSED, Plan, Stored, first_watermark, passing, plan_run
from telafi.plan.every import Every
from telafi.plan.lateness import outlook

STATES = sorted(DUE | PASSED)
GRIDS = st.builds(Every, st.integers(1, 12), st.integers(0, 12))
NEAR = st.integers(0, 80)
UNCAPPED = 10_000


@st.composite
def stored_rows(draw: st.DrawFn) -> list[Stored]:
    """Draw stored windows that do not overlap, in any state, with and without gaps."""
    rows, position = [], draw(st.integers(-10, 20))
    for gap, length, state in draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(1, 14), st.sampled_from(STATES)), max_size=6)
    ):
        rows.append(Stored(position + gap, position + gap + length, state))
        position += gap + length
    return draw(st.permutations(rows))


def newest_boundary(grid: Every, watermark: int, until: int, rows: list[Stored]) -> int:
    edges = [edge for row in rows for edge in (row.start, row.end) if watermark < edge <= until]
    return max([watermark, *edges, *([grid.at_or_before(until)] if grid.at_or_before(until) > watermark else [])])


def covering(instant: int, spans: list[Span]) -> int:
    return sum(span.start <= instant < span.end for span in spans)


def spans_of(rows: list[Stored]) -> list[Span]:
    return [Span(row.start, row.end) for row in rows]


@given(GRIDS, NEAR, NEAR, stored_rows())
def test_planned_and_stored_windows_tile_everything_closed(
    grid: Every, watermark: int, until: int, rows: list[Stored]
) -> None:
    plan = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    everything = spans_of(rows) + list(plan.missing)
    for instant in range(plan.watermark, newest_boundary(grid, plan.watermark, until, rows)):
        assert covering(instant, everything) == 1, instant
    assert all(plan.watermark <= span.start < span.end <= until for span in plan.missing)
    assert plan.remaining == 0


@given(GRIDS, NEAR, NEAR, stored_rows())
def test_no_fire_and_no_edge_lies_inside_a_planned_window(
    grid: Every, watermark: int, until: int, rows: list[Stored]
) -> None:
    plan = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    edges = {edge for row in rows for edge in (row.start, row.end)}
    for span in plan.missing:
        assert grid.after(span.start) >= span.end
        assert not any(span.start < edge < span.end for edge in edges)
        # Its end is a fire, or the start of a stored window: a stub, where the schedule was another one.
        assert grid.at_or_before(span.end) == span.end or span.end in edges


@given(GRIDS, NEAR, NEAR, stored_rows(), st.integers(1, 8))
def test_a_cap_takes_the_oldest_and_counts_the_rest(
    grid: Every, watermark: int, until: int, rows: list[Stored], cap: int
) -> None:
    whole = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    capped = plan_run(grid, watermark, until, rows, windows_max=cap)
    assert list(whole.due) == sorted(whole.due)
    assert capped.due == whole.due[:cap]
    assert capped.missing == tuple(span for span in whole.missing if span in capped.due)
    assert capped.remaining == len(whole.due) - len(capped.due)


@given(GRIDS, NEAR, NEAR, stored_rows())
def test_a_runs_list_is_what_is_due_of_the_stored_and_what_is_missing(
    grid: Every, watermark: int, until: int, rows: list[Stored]
) -> None:
    plan = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    stored = {Span(row.start, row.end) for row in rows if row.state in DUE and plan.watermark < row.end <= until}
    assert set(plan.due) == stored | set(plan.missing)
    assert not stored & set(plan.missing)


@given(NEAR, stored_rows())
def test_passing_stops_at_the_first_thing_unfinished_and_never_goes_back(watermark: int, rows: list[Stored]) -> None:
    passed = passing(watermark, rows)
    assert passed >= watermark
    assert passing(passed, rows) == passed
    finished = [Span(row.start, row.end) for row in rows if row.state in PASSED]
    assert all(covering(instant, finished) == 1 for instant in range(watermark, passed))
    assert covering(passed, finished) == 0


@given(GRIDS, NEAR, NEAR, stored_rows(), NEAR, st.integers(1, 3))
def test_what_is_too_old_is_told_apart_and_nothing_else_changes(
    grid: Every, watermark: int, until: int, rows: list[Stored], oldest: int, cap: int
) -> None:
    plain = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    aged = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED, oldest=oldest)
    assert set(aged.too_old) == {span for span in plain.missing if span.end < oldest}
    assert set(aged.missing) == {span for span in plain.missing if span.end >= oldest}
    capped = plan_run(grid, watermark, until, rows, windows_max=cap, oldest=oldest)
    assert len(capped.too_old) <= 10 * cap
    assert len(capped.due) <= cap
    assert len(capped.too_old) + len(capped.due) + capped.remaining == len(aged.too_old) + len(aged.due)


@given(GRIDS, NEAR, NEAR, stored_rows(), st.integers(1, 4), NEAR)
def test_doing_a_plan_leaves_nothing_and_the_next_plan_goes_on(
    grid: Every, watermark: int, until: int, rows: list[Stored], cap: int, oldest: int
) -> None:
    # What is stored but not closed yet, after the clock went back, would rightly hold the watermark.
    assume(not any(row.state in DUE and (row.start < watermark or row.end > until) for row in rows))
    seen: list[Span] = []
    for _ in range(200):
        plan = plan_run(grid, watermark, until, rows, windows_max=cap, oldest=oldest)
        assert plan.watermark >= watermark
        watermark = plan.watermark
        seen += plan.due
        done = {*plan.due, *plan.too_old}
        rows = [row for row in rows if Span(row.start, row.end) not in done]
        rows += [Stored(span.start, span.end, DONE) for span in done]
        if not plan.due and not plan.remaining:
            break
    else:
        raise AssertionError("it never ends")
    assert len(seen) == len(set(seen))
    assert watermark >= newest_boundary(grid, watermark, until, rows)


@given(GRIDS, NEAR, NEAR, stored_rows(), st.integers(-15, 90))
def test_the_window_that_is_asked_for_overlaps_nothing_and_is_closed(
    grid: Every, watermark: int, until: int, rows: list[Stored], start: int
) -> None:
    first = min((row.start for row in rows), default=None)
    ranges = [row for row in rows if row.state == DONE][:1]
    windows = [row for row in rows if row not in ranges]
    inside = [row for row in rows if row.start <= start < row.end]
    try:
        answer = plan_window(grid, start, until, watermark, rows=windows, ranges=ranges, first_start=first)
    except NotABoundary:
        assert grid.at_or_before(start) != start
        return
    except WindowOverlap:
        assert inside
        assert inside[0].start < start
        return
    if not isinstance(answer, Plan):
        refusal, span = answer
        assert span.start == start
        match refusal:
            case Refusal.KEY_EXISTS:
                assert inside[0] in ranges
            case Refusal.NOT_CLOSED:
                assert span.end > until
            case Refusal.BEFORE_WATERMARK:
                assert start < passing(watermark, rows)
                assert first is None or start < first
        return
    (span,) = answer.due
    assert span.start == start
    if answer.missing:
        assert answer.missing == answer.due
        assert span.end <= until
        assert all(covering(instant, spans_of(rows)) == 0 for instant in range(span.start, span.end))
        assert grid.after(start) >= span.end
    else:
        assert Span(inside[0].start, inside[0].end) == span


@given(GRIDS, st.none() | NEAR, NEAR)
def test_a_first_watermark_is_since_or_a_closed_boundary_with_nothing_behind_it(
    grid: Every, since: int | None, until: int
) -> None:
    first = first_watermark(grid, since, until)
    if since is not None:
        assert first == since
        return
    assert first <= until < first + grid.step_microseconds
    assert plan_run(grid, first, until, [], windows_max=1) == Plan(first)


@given(GRIDS, NEAR, NEAR, stored_rows(), st.integers(1, 40))
def test_the_outlook_says_what_a_run_would_find(
    grid: Every, watermark: int, until: int, rows: list[Stored], late_after: int
) -> None:
    plan = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    seen = outlook(grid, watermark, until, rows)
    assert (seen.watermark, seen.due) == (plan.watermark, len(plan.due))
    assert seen.waiting_since == (plan.due[0].end if plan.due else None)
    assert seen.is_late(until, late_after) == (bool(plan.due) and until - plan.due[0].end > late_after)


@given(GRIDS, NEAR, NEAR, stored_rows())
def test_a_clock_that_went_back_gives_out_nothing_new(
    grid: Every, watermark: int, until: int, rows: list[Stored]
) -> None:
    plan = plan_run(grid, watermark, until, rows, windows_max=UNCAPPED)
    if until <= plan.watermark:
        assert plan == Plan(plan.watermark)
