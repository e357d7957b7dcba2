"""Walking through steps by hand: one request at a time, so that two runners meet wherever a test wants them to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from telafi import Telafi
from telafi.ledger.steps import Batch, Handle, Request, Statement, Steps

T = TypeVar("T")


def name_of(request: Request) -> str:
    """Name a request: a statement by its file, everything else by what it is."""
    return request.name if isinstance(request, Statement | Batch) else type(request).__name__


class Walk(Generic[T]):
    """Steps on a handle of their own, standing before their next request."""

    def __init__(self, steps: Steps[T], handle: Handle) -> None:
        self._steps, self._handle = steps, handle
        self.did: list[str] = []
        self.ended = False
        self.answer: T | None = None
        self.request: Request | None = None
        self._advance(steps.send, None)

    def _advance(self, how: Any, value: object) -> None:
        try:
            self.request = how(value)
        except StopIteration as end:
            self.ended, self.answer, self.request = True, end.value, None

    def step(self) -> None:
        """Do the next request."""
        assert self.request is not None
        request = self.request
        self.did.append(name_of(request))
        try:
            value = request.do(self._handle)
        except BaseException as error:  # noqa: BLE001 - the steps decide
            self._advance(self._steps.throw, error)
        else:
            self._advance(self._steps.send, value)

    def until(self, name: str, times: int = 1) -> "Walk[T]":
        """Go on until the next request has that name, for the n-th time from here."""
        while True:
            assert self.request is not None, f"{name} never came: {self.did}"
            if name_of(self.request) == name:
                times -= 1
                if not times:
                    return self
            self.step()

    def finish(self) -> T:
        """Go on to the end."""
        while not self.ended:
            self.step()
        return self.answer  # type: ignore[return-value]


@contextmanager
def walk_run(app: Telafi, job: str = "hourly", window: str | None = None) -> Iterator[Walk[Any]]:
    """Walk through a whole run of a job."""
    found = app.jobs.get(job)
    with app.jobs._moment.held(job) as holder, app.ledger.opened(found.asked.guest) as handle:
        assert holder is None
        yield Walk(app.jobs._steps(found, window, None, None), handle)
