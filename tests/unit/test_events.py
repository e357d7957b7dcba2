"""Subscribers: all of them hear everything, and none can harm the work."""

import pytest

from telafi.events import Event, Events, Warned


def broken(event: Event) -> None:
    raise ValueError("no room for this line")


def emit_twice(events: Events) -> None:
    events.emit(Warned("job", "one"))
    events.emit(Warned("job", "two"))


def test_a_subscriber_that_fails_is_warned_of_once_and_the_others_still_hear() -> None:
    events, heard = Events(), list[Event]()
    events.subscribe(broken)
    events.subscribe(heard.append)
    with pytest.warns(RuntimeWarning, match="no room for this line") as warned:
        emit_twice(events)
    assert (len(warned), len(heard), events.dropped) == (1, 2, 2)


@pytest.mark.filterwarnings("error")
def test_not_even_a_warning_that_is_an_error_reaches_the_work() -> None:
    events = Events()
    events.subscribe(broken)
    events.emit(Warned("job", "one"))
    assert events.dropped == 1
