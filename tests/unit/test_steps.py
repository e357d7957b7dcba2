"""The runners of steps, and the call of a user's code."""

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from telafi.clock import FixedClock
from telafi.errors import CoroutineNotAwaited
from telafi.events import Event, Events, Warned
from telafi.ledger.runners import Stopped, aperform, perform, perform_until
from telafi.ledger.steps import Begin, Call, Commit, Rollback, Sleep, Steps


class Silent:
    """A handle that remembers what it was asked to do, and breaks where it is told."""

    def __init__(self, breaks: str = "") -> None:
        self.did: list[str] = []
        self._breaks = breaks

    def __getattr__(self, name: str) -> Any:
        def verb(*_: object) -> None:
            self.did.append(name)
            if name == self._breaks:
                raise OSError(name)

        return verb


class AsyncSilent(Silent):
    def __getattr__(self, name: str) -> Any:
        plain = Silent.__getattr__(self, name)

        async def verb(*arguments: object) -> None:
            plain(*arguments)

        return verb


def unit() -> Steps[str]:
    try:
        yield Begin()
        yield Commit()
        return "done"
    except OSError as error:
        yield Rollback()
        return f"{error} failed"


def test_steps_are_performed_and_their_answer_comes_back() -> None:
    handle: Any = Silent()
    assert perform(unit(), handle) == "done"
    assert handle.did == ["begin", "commit"]


def test_an_error_is_thrown_into_the_steps_at_their_own_line() -> None:
    handle: Any = Silent(breaks="commit")
    assert perform(unit(), handle) == "commit failed"
    assert handle.did == ["begin", "commit", "rollback"]


def test_an_error_that_the_steps_do_not_want_comes_out() -> None:
    handle: Any = Silent(breaks="begin")

    def bare() -> Steps[None]:
        yield Begin()

    with pytest.raises(OSError, match="begin"):
        perform(bare(), handle)


@pytest.mark.parametrize("stop_before", [0, 1, 2])
def test_steps_can_be_stopped_before_any_of_them(stop_before: int) -> None:
    handle: Any = Silent()
    if stop_before < 2:
        with pytest.raises(Stopped):
            perform_until(unit(), handle, stop_before)
    else:
        assert perform_until(unit(), handle, stop_before) == "done"
    assert handle.did == ["begin", "commit"][:stop_before]


async def drive(handle: Any) -> str:
    return await aperform(unit(), handle)


def run_to_end(coroutine: Any) -> Any:
    """Run a coroutine that never really waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def test_the_same_steps_run_with_coroutines() -> None:
    handle = AsyncSilent()
    assert run_to_end(drive(handle)) == "done"
    assert handle.did == ["begin", "commit"]
    broken = AsyncSilent(breaks="commit")
    assert run_to_end(drive(broken)) == "commit failed"
    assert broken.did == ["begin", "commit", "rollback"]


async def coroutine_function() -> None: ...


def generator_function() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("function", [coroutine_function, generator_function])
def test_a_call_that_gives_back_work_to_do_is_an_error(function: Any) -> None:
    with pytest.raises(CoroutineNotAwaited):
        perform(iter_call(lambda _: function()), Any)  # type: ignore[arg-type]


def iter_call(function: Any) -> Steps[Any]:
    return (yield Call(function))


def test_a_call_gives_back_its_answer() -> None:
    handle: Any = object()
    assert perform(iter_call(lambda given: (given, 7)), handle) == (handle, 7)


def leave(_: object) -> None:
    raise GeneratorExit


async def leave_later(_: object) -> None:
    raise GeneratorExit


@pytest.mark.parametrize("function", [leave, leave_later])
def test_a_body_that_raises_GeneratorExit_is_told_to_the_steps(function: Any) -> None:
    handle: Any = object()
    told: list[str] = []

    def steps() -> Steps[None]:
        try:
            yield Call(function)
        except RuntimeError as error:
            told.append(str(error))

    if function is leave:
        perform(steps(), handle)
    run_to_end(aperform(steps(), handle))
    assert set(told) == {"the job raised GeneratorExit"}


def test_a_coroutine_that_is_closed_from_outside_just_ends() -> None:
    told: list[BaseException] = []

    async def wait(_: object) -> None:
        await Forever()

    def steps() -> Steps[None]:
        try:
            yield Call(wait)
        except BaseException as error:
            told.append(error)
            raise

    handle: Any = object()
    running = aperform(steps(), handle)
    running.send(None)
    running.close()
    assert [type(error) for error in told] == [GeneratorExit]


class Forever:
    """Waits for something that never comes."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def test_sleeping_is_the_clocks() -> None:
    clock = FixedClock(0)

    def sleeps() -> Steps[None]:
        yield Sleep(clock, 1.5)

    handle: Any = Silent()
    perform(sleeps(), handle)
    assert clock.now_microseconds() == 1_500_000


def test_a_subscriber_that_fails_harms_nobody() -> None:
    events, told = Events(), list[Event]()

    def broken(event: Event) -> None:
        raise ValueError

    end = events.subscribe(broken)
    events.subscribe(told.append)
    events.emit(Warned("job", "text"))
    end()
    events.emit(Warned("job", "again"))
    assert len(told) == 2
    assert events.dropped == 1
