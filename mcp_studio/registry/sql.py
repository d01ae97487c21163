"""Records in a database: a SQLite file, or PostgreSQL for several machines."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mcp_studio.jsontext import dumps, loads_or
from mcp_studio.registry.record import ToolRecord
from mcp_studio.registry.storage import FORMAT, StorageProblem, Uses, readable, used

_TABLES = (
    "CREATE TABLE IF NOT EXISTS registry_state (id INTEGER PRIMARY KEY, version INTEGER, revision BIGINT)",
    "CREATE TABLE IF NOT EXISTS registry_tools (name TEXT PRIMARY KEY, uses BIGINT, last_used DOUBLE PRECISION,"
    " data TEXT)",
    f"INSERT INTO registry_state VALUES (1, {FORMAT}, 0) ON CONFLICT (id) DO NOTHING",
)
_SAVE = (
    "INSERT INTO registry_tools (name, uses, last_used, data) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
    " data = excluded.data,"
    " uses = CASE WHEN excluded.uses > registry_tools.uses THEN excluded.uses ELSE registry_tools.uses END,"
    " last_used = CASE WHEN excluded.last_used > registry_tools.last_used THEN excluded.last_used"
    " ELSE registry_tools.last_used END"
)
_COUNT = (
    "UPDATE registry_tools SET uses = uses + ?,"
    " last_used = CASE WHEN last_used > ? THEN last_used ELSE ? END WHERE name = ?"
)
_TURN = "UPDATE registry_state SET revision = revision + 1 WHERE id = 1"
"""Comes first in what changes something: it makes other writers wait, and readers see what is complete."""


class SqlStorage:
    """Two tables, `registry_tools` and `registry_state`. Every operation is a transaction on a connection of its own,
    so that a database that was started anew costs nothing but what was asked of it meanwhile.

    Args:
        place: what it is called in sentences.
        connect: makes a connection (DB-API 2).
        error: the class of what the database raises.
        mark: what stands for a value in its SQL.
        alone: a statement that makes others wait while the tables are made, where making them twice would fail.
    """

    def __init__(
        self, place: str, connect: Callable[[], Any], error: type[Exception], mark: str = "?", alone: str = ""
    ) -> None:
        self.place = place
        self._connect = connect
        self._error = error
        self._mark = mark
        self._statements = (*filter(None, (alone,)), *_TABLES)
        self._ready = False

    def load_all(self) -> Sequence[ToolRecord]:
        with self._transaction() as cursor:
            cursor.execute("SELECT data, uses, last_used, name FROM registry_tools ORDER BY name")
            rows = [(loads_or(data), Uses(uses, last)) for data, uses, last, _ in cursor.fetchall()]
        # The counts in the columns are the true ones; the data is without.
        return tuple(used(record, uses) for value, uses in rows for record in readable((value,)))

    def save(self, records: Sequence[ToolRecord]) -> None:
        rows = [(one.name, one.uses, one.last_used, _data(one)) for one in sorted(records, key=lambda one: one.name)]
        self._change(_SAVE, rows)

    def delete(self, names: Collection[str]) -> None:
        self._change("DELETE FROM registry_tools WHERE name = ?", [(name,) for name in names])

    def count(self, uses: Mapping[str, Uses]) -> None:
        self._change(_COUNT, [(one.calls, one.last, one.last, name) for name, one in sorted(uses.items())])

    def revision(self) -> int:
        with self._transaction() as cursor:
            cursor.execute("SELECT revision FROM registry_state")
            return int(cursor.fetchall()[0][0])

    def _change(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        with self._transaction() as cursor:
            cursor.execute(_TURN)
            cursor.executemany(statement.replace("?", self._mark), rows)

    @contextmanager
    def _transaction(self) -> Generator[Any]:
        try:
            with closing(self._connect()) as database:
                cursor = database.cursor()
                self._prepare(cursor)
                yield cursor
                database.commit()
        except (self._error, OSError) as problem:
            said = str(problem).strip().partition("\n")[0]
            hint = "Is it there, does it run, and may you use it? [registry] storage names another one."
            raise StorageProblem(f"The registry {self.place} cannot be used: {said}.", hint=hint) from None

    def _prepare(self, cursor: Any) -> None:
        """Make the tables, once; refuse those of a newer version."""
        if self._ready:
            return
        for statement in self._statements:
            cursor.execute(statement)
        cursor.execute("SELECT version FROM registry_state")
        if (version := cursor.fetchall()[0][0]) > FORMAT:
            message = f"The registry {self.place} has format {version}, and this version knows {FORMAT} alone."
            raise StorageProblem(message, hint="Use the newer mcp-studio that has written it.")
        self._ready = True


def _data(record: ToolRecord) -> str:
    value = {key: item for key, item in record.as_json().items() if key not in ("uses", "lastUsed")}
    return dumps(value).decode()


def sqlite_storage(file: Path) -> SqlStorage:
    """A SQLite file; it and its folder are made where they are missing."""

    def connect() -> sqlite3.Connection:
        file.parent.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(file, timeout=30)

    return SqlStorage(str(file), connect, sqlite3.Error)


def postgres_storage(address: str) -> SqlStorage:
    """A database of PostgreSQL, by its `postgresql://` address.

    Raises:
        StorageProblem: the package for it is not installed.
    """
    try:
        import psycopg
    except ImportError:
        hint = "Install it: pip install 'mcp-studio[postgres]'"
        raise StorageProblem("A registry in PostgreSQL needs the package psycopg.", hint=hint) from None
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    place = f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"  # without user, password and options
    connect = partial(psycopg.connect, address, connect_timeout=10)
    return SqlStorage(place, connect, psycopg.Error, "%s", "SELECT pg_advisory_xact_lock(7310518)")
