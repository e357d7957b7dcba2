"""The script without Telafi: what each oddity costs, and the same figures by counting one departure at a time."""

from collections import Counter

from telafi.cli.demo import data, naive, timeline
from telafi.cli.demo.naive import AFTERWARDS, Harm
from telafi.cli.demo.timeline import HOUR, MINUTE, Start

QUARTERS = list(range(0, 4 * HOUR, 15 * MINUTE))  # four hours with four departures each


def starts(*minutes: int) -> list[Start]:
    return [Start(minute * MINUTE, f"at {minute}") for minute in minutes]


def test_it_is_right_while_every_start_comes_on_the_hour() -> None:
    tally = naive.run(QUARTERS, starts(60, 120, 180, 240))
    assert (tally.total, tally.lost, tally.again, tally.by_cause) == (16, 0, 0, {})


def test_a_departure_on_the_hour_belongs_to_the_later_start_only() -> None:
    assert naive.run([HOUR], starts(60, 120)).total == 1


def test_a_late_start_loses_what_lies_before_and_repeats_what_comes_after() -> None:
    tally = naive.run(QUARTERS, [Start(HOUR), Start(2 * HOUR + 30 * MINUTE, "late"), Start(3 * HOUR), Start(4 * HOUR)])
    assert tally.by_cause == {"late": Harm(lost=2, again=2)}


def test_a_missed_start_loses_its_hour() -> None:
    tally = naive.run(QUARTERS, starts(60, 180, 240))
    assert tally.by_cause == {"at 180": Harm(lost=4)}


def test_a_second_start_counts_again_and_a_third_once_more() -> None:
    tally = naive.run(QUARTERS, starts(60, 60, 61, 120, 180, 240))
    assert tally.by_cause == {"at 60": Harm(again=4), "at 61": Harm(again=3), "at 120": Harm(again=1)}
    assert tally.total == 16 + 8


def test_what_comes_after_the_last_start_is_lost() -> None:
    assert naive.run(QUARTERS, starts(60)).by_cause == {AFTERWARDS: Harm(lost=12)}


def test_the_cost_of_several_causes_is_their_sum() -> None:
    tally = naive.run(QUARTERS, starts(60, 60, 180, 180, 240))
    assert tally.cost_of("at 60", "at 180", "never heard of") == Harm(lost=4, again=8)


def test_the_weeks_figures_are_those_of_counting_one_by_one() -> None:
    departures = data.instants()
    times: Counter[int] = Counter()
    for start in timeline.starts():
        times.update(number for number, at in enumerate(departures) if start.at - HOUR <= at < start.at)
    tally = naive.run(departures, timeline.starts())
    assert tally.total == times.total() == len(departures) - tally.lost + tally.again
    assert tally.lost == len(departures) - len(times) == 2_819
    assert tally.again == sum(count - 1 for count in times.values()) == 232


def test_each_oddity_of_the_week_does_harm() -> None:
    odd = [start.why for start in timeline.starts() if start.why]
    assert list(naive.run(data.instants(), timeline.starts()).by_cause) == odd


def test_the_starts_are_in_order_and_end_with_the_week() -> None:
    instants = [start.at for start in timeline.starts()]
    assert instants == sorted(instants)
    assert instants[-1] == timeline.WEEK.end
