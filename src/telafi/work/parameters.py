"""What a job asks for, read from its annotations: this decides where its transaction lies."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from telafi.errors import CannotGive
from telafi.ledger.kinds import KINDS

Where: TypeAlias = Literal["inside", "end", "outside"]

_OURS: Final[Mapping[str, tuple[str, bool | None]]] = {
    "telafi.plan.windows.Window": ("window", None),
    "telafi.ledger.transaction.Transaction": ("transaction", False),
    "telafi.ledger.transaction.AsyncTransaction": ("transaction", True),
    "telafi.work.running.Run": ("run", False),
    "telafi.work.running.AsyncRun": ("run", True),
}


class Asked(NamedTuple):
    """The parameters of a job: each name with what is given for it."""

    names: Mapping[str, str]
    where: Where
    guest: str | None
    is_async: bool


def asked_by(function: Callable[..., Any], dialect: str) -> Asked:
    """Read what a job asks for; raises CannotGive, naming the parameter, the reason and the fix."""
    label = getattr(function, "__qualname__", repr(function))
    is_async = inspect.iscoroutinefunction(function)
    hints = _hints(function, label)
    names: dict[str, str] = {}
    guest: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise CannotGive(f"job {label}: parameter *{name} is open-ended, name what the job needs")
        if name not in hints:
            if parameter.default is not parameter.empty:
                continue
            raise CannotGive(f"job {label}: parameter {name!r} has no annotation; {_OFFER}")
        wanted = _wanted(hints[name], name, label, dialect, is_async=is_async)
        if wanted is None:
            if parameter.default is not parameter.empty:
                continue
            raise CannotGive(f"job {label}: nobody can give {name}: {_shown(hints[name])}; {_OFFER}")
        if wanted not in ("window", "transaction", "run"):
            if guest not in (None, wanted):
                raise CannotGive(
                    f"job {label}: asks for two connections, {guest} and {wanted}: one transaction has one"
                )
            guest, wanted = wanted, "guest"
        names[name] = wanted
    return Asked(names, _where(set(names.values())), guest, is_async)


_OFFER: Final = (
    "annotate it as Window, Transaction, Run, sqlite3.Connection, psycopg.Connection or sqlalchemy.orm.Session "
    "(AsyncTransaction, AsyncRun and the async classes in `async def`), or give it a default"
)


def _hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(function))
    except NameError as error:
        raise CannotGive(
            f"job {label}: the annotation {error.name!r} cannot be resolved when the job is registered; "
            "import it outside of `if TYPE_CHECKING:`"
        ) from None


def _wanted(hint: Any, name: str, label: str, dialect: str, *, is_async: bool) -> str | None:
    hint = typing.get_origin(hint) or hint  # psycopg.Connection[Any] is a psycopg.Connection
    hint = typing.get_origin(hint) or hint
    if not inspect.isclass(hint):
        return None
    ours = _OURS.get(_shown(hint))
    if ours is not None:
        wanted, needs_async = ours
        _same_colour(name, hint, label, needs_async=needs_async, is_async=is_async)
        return wanted
    # The very class, not one below it: what is lent would lack whatever a subclass adds.
    kind = KINDS.get(_shown(hint))
    if kind is None:
        return None
    _same_colour(name, hint, label, needs_async=kind.is_async, is_async=is_async)
    if kind.dialect not in (None, dialect):
        raise CannotGive(f"job {label}: {name} is a {_shown(hint)}, but the ledger is on {dialect}")
    return kind.lent


def _same_colour(name: str, hint: type, label: str, *, needs_async: bool | None, is_async: bool) -> None:
    if needs_async is None or needs_async == is_async:
        return
    if is_async:
        raise CannotGive(
            f"job {label}: an `async def` must not block on {_shown(hint)} ({name}): ask for its async kind"
        )
    raise CannotGive(f"job {label}: {_shown(hint)} ({name}) needs `async def`")


def _where(given: set[str]) -> Where:
    if given & {"transaction", "guest"}:
        return "inside"
    return "end" if "run" in given else "outside"


def _shown(hint: Any) -> str:
    return f"{hint.__module__}.{hint.__qualname__}" if inspect.isclass(hint) else str(hint)
