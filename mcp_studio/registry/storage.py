"""Storages for records: a protocol, a JSON file, a SQLite file, and PostgreSQL for several machines."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, loads_or, mapping
from mcp_studio.limits import MB
from mcp_studio.paths import write_atomically
from mcp_studio.registry.record import ToolRecord, record_of
from mcp_studio.vault.base import file_lock

ENTRY_POINTS = "mcp_studio.registry"
"""The entry points that packages offer: the scheme of an address, and a callable that makes a `Storage` of an address.
"""
FORMAT = 1
LARGEST = 512 * MB
"""Bytes of the largest JSON file that is read."""


class StorageProblem(StudioError):
    """A storage cannot be opened, read or written; the message says which and why, the hint what to do."""


class Uses(NamedTuple):
    """Calls to add to the stored count."""

    calls: int
    last: float


class Storage(Protocol):
    """Stores records. A package adds a storage by the group of entry points `mcp_studio.registry`.

    Several processes may share a storage: every method does all or nothing, and undoes no change of another process to
    other tools. All methods block; they are called from any thread, one at a time.

    All methods raise:
        StorageProblem: the storage cannot be reached, read or written.
    """

    place: str
    """The name of the storage in sentences, without secrets."""

    def load_all(self) -> Sequence[ToolRecord]:
        """All records, by name."""
        ...

    def save(self, records: Sequence[ToolRecord]) -> None:
        """Write at most 10,000 records, replacing those of the same names. Use counts never decrease."""
        ...

    def delete(self, names: Collection[str]) -> None:
        """Delete tools; missing ones do not matter."""
        ...

    def count(self, uses: Mapping[str, Uses]) -> None:
        """Add calls to the counts; missing tools do not matter."""
        ...

    def revision(self) -> int:
        """A number that each change by `save`, `delete` or `count` increases by one; quick."""
        ...


class MemoryStorage:
    """Stores nothing: the records of a registry end with it."""

    place = "memory"

    def load_all(self) -> Sequence[ToolRecord]:
        return ()

    def save(self, records: Sequence[ToolRecord]) -> None:
        """Nothing is kept."""

    def delete(self, names: Collection[str]) -> None:
        """There is nothing."""

    def count(self, uses: Mapping[str, Uses]) -> None:
        """There is nothing to count for."""

    def revision(self) -> int:
        return 0


def used(record: ToolRecord, uses: Uses) -> ToolRecord:
    """The record with further calls."""
    return replace(record, uses=record.uses + uses.calls, last_used=max(record.last_used, uses.last))


def merged(old: ToolRecord | None, new: ToolRecord) -> ToolRecord:
    """The new record, with the higher counts where another process has counted meanwhile."""
    if old is None or (old.uses <= new.uses and old.last_used <= new.last_used):
        return new
    return replace(new, uses=max(old.uses, new.uses), last_used=max(old.last_used, new.last_used))


class JsonStorage:
    """A JSON file that is replaced as a whole, with a lock between processes: good for some thousands of tools."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.place = str(file)
        self._turn = threading.RLock()
        self._stamp: tuple[int, ...] | None = None
        self._records: dict[str, ToolRecord] = {}
        self._revision = 0

    def load_all(self) -> Sequence[ToolRecord]:
        with self._turn:
            self._look()
            return tuple(self._records.values())

    def save(self, records: Sequence[ToolRecord]) -> None:
        with self._change() as now:
            now.update({record.name: merged(now.get(record.name), record) for record in records})

    def delete(self, names: Collection[str]) -> None:
        with self._change() as now:
            for name in names:
                now.pop(name, None)

    def count(self, uses: Mapping[str, Uses]) -> None:
        with self._change() as now:
            now.update({name: used(now[name], one) for name, one in uses.items() if name in now})

    def revision(self) -> int:
        with self._turn:
            self._look()
            return self._revision

    @contextmanager
    def _change(self) -> Generator[dict[str, ToolRecord]]:
        """Change the file's records, alone among threads and processes."""
        try:
            with self._turn, file_lock(self.file, self.place):
                self._look()
                now = dict(self._records)
                yield now
                if now != self._records:
                    self._write(now)
        except OSError as problem:
            raise self._problem("written", problem.strerror or str(problem)) from None

    def _write(self, records: dict[str, ToolRecord]) -> None:
        tools: list[Json] = [record.as_json() for _, record in sorted(records.items())]
        value = {"version": FORMAT, "revision": self._revision + 1, "tools": tools}
        write_atomically(self.file, dumps(value))
        self._records, self._stamp, self._revision = records, self._stamped(), self._revision + 1

    def _look(self) -> None:
        """Read the file if it has changed."""
        try:
            if (stamp := self._stamped()) == self._stamp:
                return
            if stamp and stamp[1] > LARGEST:
                raise self._problem("read", f"it is larger than {LARGEST // MB} MB")
            value = mapping(loads(self.file.read_bytes())) if stamp else {}
        except OSError as problem:
            raise self._problem("read", problem.strerror or str(problem)) from None
        except JsonProblem as problem:
            raise self._problem("read", f"it is not JSON, {problem}") from None
        version, revision = value.get("version", FORMAT), value.get("revision", 0)
        if not isinstance(version, int) or version > FORMAT or not isinstance(revision, int):
            raise self._problem("read", f"its format is {version}, and this version knows {FORMAT} alone")
        self._records = {record.name: record for record in readable(items_of(value.get("tools")))}
        self._stamp, self._revision = stamp, revision

    def _stamped(self) -> tuple[int, ...]:
        """A value that changes with the file, because every writer replaces it; empty where there is no file."""
        try:
            status = os.stat(self.file)
        except FileNotFoundError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _problem(self, done: str, why: str) -> StorageProblem:
        hint = f"{'Move it away, or name' if done == 'read' else 'Name'} another one by [registry] storage."
        return StorageProblem(f"The registry {self.place} cannot be {done}: {why}.", hint=hint)


def readable(values: Iterable[Json]) -> Generator[ToolRecord]:
    """The records among stored values; invalid values are left out."""
    for value in values:
        try:
            yield record_of(value)
        except ValueError:
            continue


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
"""The first statement of every change: other writers wait for it, and readers see complete changes only."""


class SqlStorage:
    """Stores records in two tables, `registry_tools` and `registry_state`.

    Every operation is a transaction on a connection of its own, so that a restart of the database fails only the
    operations of that moment.

    Args:
        place: the name of the database in sentences.
        connect: opens a connection (DB-API 2).
        error: the class of the database's exceptions.
        mark: the placeholder for a value in its SQL.
        alone: a statement that locks out others while the tables are created, where creating them twice would fail.
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
        # The columns hold the true counts; the data has none.
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
            reason = str(problem).strip().partition("\n")[0]
            hint = "Is it there, does it run, and may you use it? [registry] storage names another one."
            raise StorageProblem(f"The registry {self.place} cannot be used: {reason}.", hint=hint) from None

    def _prepare(self, cursor: Any) -> None:
        """Create the tables once; refuse those of a newer format."""
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
    """A SQLite file; the file and its folder are created if missing."""

    def connect() -> sqlite3.Connection:
        file.parent.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(file, timeout=30)

    return SqlStorage(str(file), connect, sqlite3.Error)


def postgres_storage(address: str) -> SqlStorage:
    """A PostgreSQL database, by its `postgresql://` address.

    Raises:
        StorageProblem: the package psycopg is not installed.
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


def open_storage(address: str | Path) -> Storage:
    """Open the storage of an address: a file (`.json`, `.sqlite`, `.db`), `postgresql://…`, or what a package adds.

    Raises:
        StorageProblem: a package that it needs is missing, or cannot open it.
        UsageError: there is no such kind of storage.
    """
    text = str(address)
    scheme, colon, _ = text.partition(":")
    if scheme in ("postgresql", "postgres") and colon:
        return postgres_storage(text)
    if Path(text).suffix in (".sqlite", ".sqlite3", ".db"):
        return sqlite_storage(Path(text).expanduser())
    if Path(text).suffix == ".json" or isinstance(address, Path):
        return JsonStorage(Path(text).expanduser())
    from importlib import metadata

    for point in metadata.entry_points(group=ENTRY_POINTS, name=scheme):
        try:
            return point.load()(text)
        except StorageProblem:
            raise
        except Exception as problem:  # foreign code
            message = f"The storage {scheme!r} of a package cannot be opened: {type(problem).__name__}: {problem}"
            raise StorageProblem(message) from None
    hint = "There are FILE.json, FILE.sqlite, postgresql://HOST/DATABASE, and what packages add."
    raise UsageError(f"There is no storage for {scheme!r}.", hint=hint)
