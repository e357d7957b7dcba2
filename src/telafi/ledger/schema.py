"""Steps on the ledger's schema: what is there, what is missing, and the upgrade in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from telafi.clock import Clock
from telafi.errors import SchemaError
from telafi.ledger.port import Engine
from telafi.ledger.steps import Begin, Commit, Rollback, Statement, Steps
from telafi.ledger.texts import Migration, Texts, migrations


class SchemaStatus(NamedTuple):
    """The version that the ledger has and the one that this release needs."""

    found: int
    wanted: int
    pending: tuple[str, ...]


def read_status(engine: Engine) -> Steps[SchemaStatus]:
    """Compare the ledger with this release."""
    return status_of(engine, (yield from _versions()))


def status_of(engine: Engine, present: Collection[int]) -> SchemaStatus:
    """Compare the versions that are present, none in a ledger that is not there yet, with this release."""
    known = migrations(engine.dialect)
    pending = tuple(migration.name for migration in known if migration.version not in present)
    return SchemaStatus(max(present, default=0), known[-1].version, pending)


def ensure(engine: Engine, clock: Clock) -> Steps[None]:
    """See that the schema fits; a SQLite ledger creates or upgrades itself. Raises SchemaError."""
    status = yield from read_status(engine)
    _refuse_newer(engine, status.found, status.wanted)
    if not status.pending:
        return
    if engine.is_server:
        state = "has no tables of Telafi" if status.found == 0 else f"has schema version {status.found}"
        raise SchemaError(f"the ledger {engine.describe()} {state}: run `telafi db upgrade`")
    yield from upgrade(engine, clock)


def _refuse_newer(engine: Engine, found: int, wanted: int) -> None:
    if found > wanted:
        raise SchemaError(
            f"the ledger {engine.describe()} has schema version {found}, this Telafi knows {wanted}: "
            "upgrade Telafi, or give it the URL of another ledger"
        )


def upgrade(engine: Engine, clock: Clock) -> Steps[Sequence[str]]:
    """Bring the schema up to this release and give back what was applied.

    All in one transaction under a lock: two at once take turns, one that is killed leaves nothing half done, and the
    version is written last.
    """
    yield Statement("prepare_database")
    yield Begin()
    try:
        yield Statement("lock_schema")
        yield Statement("create_schema")
        yield Statement("create_versions")
        present = yield from _versions()
        _refuse_newer(engine, max(present, default=0), migrations(engine.dialect)[-1].version)
        applied = [item for item in migrations(engine.dialect) if item.version not in present]
        for migration in applied:
            yield from _apply(engine, migration, clock)
    except BaseException:
        yield Rollback()
        raise
    yield Commit()
    return [migration.name for migration in applied]


def script(engine: Engine, clock: Clock) -> str:
    """Write what `upgrade` does to an empty database as one SQL script, the version's record included."""
    now = clock.now_microseconds()
    parts = [engine.texts["create_schema"], engine.texts["create_versions"]]
    for migration in migrations(engine.dialect):
        parts += engine.texts.migration(migration.name)
        if migration.version == 1:
            parts.append(_filled(engine.texts["insert_ledger"], {"ledger": secrets.token_hex(16), "created_at": now}))
        record: dict[str, str | int] = {"version": migration.version, "name": migration.name, "applied_at": now}
        parts.append(_filled(engine.texts["insert_version"], record))
    body = ";\n\n".join(part for part in parts if not part.endswith("SELECT 1"))
    return f"BEGIN;\n\n{body};\n\nCOMMIT;\n"


def _filled(text: str, values: Mapping[str, str | int]) -> str:
    """Put literals of our own into a statement; nothing of a user's ever comes here."""
    for name, value in values.items():
        literal = f"'{value}'" if isinstance(value, str) else str(value)
        text = text.replace(f"%({name})s", literal).replace(f":{name}", literal)
    return text


def _apply(engine: Engine, migration: Migration, clock: Clock) -> Steps[None]:
    now = clock.now_microseconds()
    for number in range(len(Texts(engine.dialect).migration(migration.name))):
        yield Statement(f"{migration.name}#{number}")
    if migration.version == 1:
        yield Statement("insert_ledger", {"ledger": secrets.token_hex(16), "created_at": now})
    yield Statement("insert_version", {"version": migration.version, "name": migration.name, "applied_at": now})


def _versions() -> Steps[set[int]]:
    found = yield Statement("find_versions")
    if not found.rows[0][0]:
        return set()
    answer = yield Statement("read_versions")
    return {row[0] for row in answer.rows}
