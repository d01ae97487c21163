"""The four kinds of databases, each opened so that the database itself refuses to write.

Every operation has a connection of its own, so that no setting of one call lasts until the next.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.limits import MB
from mcp_studio.redact import Redactor
from mcp_studio.servers.toolserver import cancelled

SECONDS = 30.0
"""The most seconds that one statement may take."""
_CONNECT = 10
_VALUE = 16 * MB
"""The most bytes of a value that SQLite creates."""
Parameters = Sequence[Any] | dict[str, Any] | None


class Engine:
    """One database.

    Args:
        name: the name of the connection.
        address: its URL or file.
        writable: whether `execute` may change it.
        redactor: knows the secrets in the address.
    """

    kind: ClassVar[str]
    mark: ClassVar[str] = "?"
    """The placeholder of a parameter in its SQL."""
    quote: ClassVar[str] = '"'
    schema: ClassVar[str] = ""
    """SQL that returns the schema of a table that is named without one."""
    tables: ClassVar[str] = (
        "SELECT table_schema, table_name, lower(replace(table_type, 'BASE ', '')) FROM information_schema.tables"
        " WHERE table_schema NOT IN ('information_schema', 'pg_catalog', 'mysql', 'performance_schema', 'sys')"
        " ORDER BY table_schema, table_name"
    )
    """SQL that returns schema, name and kind of each table."""
    columns: ClassVar[str]
    """SQL that returns name, type, nullable, default and primary key of each column; parameters: schema and table."""
    explain: ClassVar[str] = "EXPLAIN "
    """The prefix of a statement that explains."""
    risk: ClassVar[str] = ""
    """SQL that returns a row if the role can do more than the database can refuse."""

    def __init__(self, name: str, address: str, writable: bool, redactor: Redactor) -> None:
        self.name, self.address, self.writable = name, address, writable
        self._redactor = redactor
        try:
            self._driver = self._load()
        except ImportError as problem:
            hint = f"Install it: pip install 'mcp-studio[{self.kind.lower().replace('postgresql', 'postgres')}]'"
            raise UsageError(f"{self.kind} needs the package {problem.name}.", hint=hint) from None

    @contextmanager
    def opened(self, writing: bool = False) -> Generator[Any]:
        """A connection in a transaction, which can change the database only with `writing`.

        Raises:
            StudioError: the database cannot be reached, or refuses; the error has its words, without secrets.
        """
        try:
            with closing(self._connect(writing)) as database, self._watched(database) as interruption:
                try:
                    yield database
                except self._driver.Error:
                    if why := interruption():
                        raise StudioError(why) from None
                    raise
                if why := interruption():  # an interrupted function may return a result all the same
                    raise StudioError(why)
                if writing:
                    database.commit()
        except (self._driver.Error, OSError) as problem:
            text = str(problem.args[-1] if problem.args else problem).strip()
            text = self._redactor.text(text.replace(self.address, self.name))[:2_000]
            raise StudioError(f"{self.kind} at {self.name}: {text.rstrip('.')}.") from None

    @contextmanager
    def _watched(self, database: Any) -> Generator[Callable[[], str]]:
        """Interrupt a statement that takes too long or whose call was cancelled; yields a function that returns why."""
        finished, why, gone, began = threading.Event(), list[str](), cancelled(), time.monotonic()

        def watch() -> None:
            while not finished.wait(0.1):
                if gone() or time.monotonic() - began > SECONDS:
                    why.append("The call was cancelled." if gone() else f"It took more than {SECONDS:.0f} seconds.")
                    with suppress(self._driver.Error, OSError):
                        self._interrupt(database)
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield lambda: "".join(why)
        finally:
            finished.set()
            watcher.join()

    def _load(self) -> Any:
        raise NotImplementedError

    def _connect(self, writing: bool) -> Any:
        raise NotImplementedError

    def _interrupt(self, database: Any) -> None:
        database.interrupt()

    @contextmanager
    def selected(self, database: Any, sql: str, parameters: Parameters) -> Generator[Any]:
        """A cursor on the rows of one statement, which come as they are fetched."""
        cursor = self._cursor(database, sql)
        try:
            self._select(database, cursor, sql, parameters)
            yield cursor
        finally:
            with suppress(self._driver.Error):
                cursor.close()

    def _cursor(self, database: Any, sql: str) -> Any:
        return database.cursor()

    def _select(self, database: Any, cursor: Any, sql: str, parameters: Parameters) -> None:
        cursor.execute(sql, parameters or ())

    def stop(self, database: Any) -> None:
        """Called before a cursor is closed whose rows were not all fetched."""

    def change(self, database: Any, sql: str, parameters: Parameters) -> int:
        """Execute one statement; returns how many rows it affected, -1 if unknown."""
        return database.execute(sql, parameters or ()).rowcount

    def type_of(self, column: Sequence[Any]) -> str:
        """The type of a column in a cursor's description."""
        return str(column[1] or "").lower()

    def named(self, table: str) -> str:
        """A table's name, perhaps with its schema, quoted for SQL."""
        return ".".join(f"{self.quote}{part.replace(self.quote, self.quote * 2)}{self.quote}"
                        for part in filter(None, table.partition(".")[::2]))  # fmt: skip

    def rows(self, sql: str, *parameters: Any) -> list[Sequence[Any]]:
        """All rows of one of our own statements."""
        with self.opened() as database, self.selected(database, sql, parameters) as cursor:
            return list(cursor.fetchall())

    def described(self, table: str) -> list[Sequence[Any]]:
        """The columns of a table."""
        schema, dot, name = table.partition(".")
        if not dot:
            schema, name = self.rows(self.schema)[0][0] if self.schema else "main", table
        return self.rows(self.columns, schema, name)


_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list", "data_version"}


def _reads(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """The authorizer of SQLite for statements that read."""
    fine = action in _READING and second != "load_extension"
    fine |= action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS
    # SQLite authorizes declaring a virtual table like this; really updating this table requires a pragma that is
    # refused.
    fine |= action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
    return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY


def _stays(action: int, *_: str | None) -> int:
    """The authorizer of SQLite for statements that write: it only forbids other files."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


class Sqlite(Engine):
    """A file of SQLite: opened read-only, with an authorizer that only allows reading."""

    kind, explain = "SQLite", "EXPLAIN QUERY PLAN "
    tables = (
        "SELECT 'main', name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%'"
        " ESCAPE '\\' ORDER BY name"
    )
    columns = 'SELECT name, type, NOT "notnull", dflt_value, pk > 0 FROM pragma_table_xinfo(?2, ?1)'

    def _load(self) -> Any:
        return sqlite3

    def _connect(self, writing: bool) -> Any:
        file = f"file:{quote(self.address)}?mode={'rw' if writing else 'ro'}"
        database = sqlite3.connect(file, uri=True, timeout=5, check_same_thread=False)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.set_authorizer(_stays if writing else _reads)
        return database


class DuckDb(Engine):
    """A file of DuckDB: opened read-only, without access to other files and the network."""

    kind = "DuckDB"
    schema = "SELECT current_schema()"
    columns = (
        "SELECT c.column_name, c.data_type, c.is_nullable, c.column_default,"
        " coalesce(list_contains(k.constraint_column_names, c.column_name), false) FROM duckdb_columns() c"
        " LEFT JOIN duckdb_constraints() k ON k.table_oid = c.table_oid AND k.constraint_type = 'PRIMARY KEY'"
        " WHERE c.schema_name = ? AND c.table_name = ? ORDER BY c.column_index"
    )

    def _load(self) -> Any:
        import duckdb

        return duckdb

    def _connect(self, writing: bool) -> Any:
        config = {"enable_external_access": "false", "lock_configuration": "true", "memory_limit": "1GB"}
        database = self._driver.connect(self.address, read_only=not writing, config=config)
        database.begin()
        return database

    def _cursor(self, database: Any, sql: str) -> Any:
        return database  # a cursor would be another connection

    def _select(self, database: Any, cursor: Any, sql: str, parameters: Parameters) -> None:
        if len(statements := database.extract_statements(sql)) != 1:
            raise StudioError("Send one statement at a time.")
        database.execute(statements[0], parameters or ())

    def change(self, database: Any, sql: str, parameters: Parameters) -> int:
        self._select(database, database, sql, parameters)
        rows = database.fetchall()
        return rows[0][0] if len(rows) == 1 and isinstance(rows[0][0], int) else -1


class Postgres(Engine):
    """PostgreSQL: a read-only transaction, and a server-side cursor, which only accepts queries."""

    kind, mark = "PostgreSQL", "%s"
    schema = "SELECT current_schema()"
    columns = (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, pg_get_expr(d.adbin, d.adrelid),"
        " coalesce(a.attnum = ANY(i.indkey), false) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
        " LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary"
        " WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
    risk = (
        "SELECT 1 FROM pg_roles WHERE pg_has_role(current_user, oid, 'member') AND (rolsuper OR rolname IN"
        " ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))"
    )

    def _load(self) -> Any:
        import psycopg

        return psycopg

    def _connect(self, writing: bool) -> Any:
        database = self._driver.connect(self.address, connect_timeout=_CONNECT)
        database.read_only = not writing
        # This also takes the transaction's snapshot, after which nothing can make the transaction writable.
        database.execute("SELECT set_config('statement_timeout', %s, true)", [f"{SECONDS:.0f}s"])
        return database

    def _interrupt(self, database: Any) -> None:
        database.cancel_safe(timeout=_CONNECT)

    def _cursor(self, database: Any, sql: str) -> Any:
        return database.cursor("" if sql.startswith(self.explain) else "reading")

    def _select(self, database: Any, cursor: Any, sql: str, parameters: Parameters) -> None:
        # A server-side cursor does not accept EXPLAIN; preparing also ensures a single statement.
        prepared = {"prepare": True} if sql.startswith(self.explain) else {}
        cursor.execute(sql, parameters or None, **prepared)

    def change(self, database: Any, sql: str, parameters: Parameters) -> int:
        return database.execute(sql, parameters or None, prepare=True).rowcount

    def type_of(self, column: Sequence[Any]) -> str:
        known = self._driver.adapters.types.get(column[1])
        return known.name if known else "unknown"


class MySql(Engine):
    """MySQL and MariaDB: a read-only transaction, and only statements that the database can explain."""

    kind, mark, quote = "MySQL", "%s", "`"
    schema = "SELECT DATABASE()"
    columns = (
        "SELECT column_name, column_type, is_nullable = 'YES', column_default, column_key = 'PRI'"
        " FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"
    )
    risk = (
        "SELECT 1 FROM information_schema.user_privileges WHERE privilege_type IN ('FILE', 'SUPER')"
        " AND grantee = concat('''', replace(current_user(), '@', '''@'''), '''')"
    )

    def _load(self) -> Any:
        import pymysql

        return pymysql

    def _connect(self, writing: bool) -> Any:
        from pymysql.cursors import SSCursor

        parts = urlsplit(self.address)
        more: dict[str, Any] = dict(parse_qsl(parts.query))
        if "unix_socket" in more or parts.hostname in ("localhost", "127.0.0.1", "::1"):
            more = {"ssl_disabled": True, **more}  # loading all certificates takes 60 ms
        plain = partial(unquote, errors="replace")
        database = self._driver.connect(
            host=parts.hostname, port=parts.port or 3306, user=plain(parts.username or ""),
            password=plain(parts.password or ""), database=plain(parts.path.strip("/")) or None, charset="utf8mb4",
            connect_timeout=_CONNECT, read_timeout=SECONDS + 10, cursorclass=SSCursor, **more,
        )  # fmt: skip
        if not writing:
            database.query("SET SESSION TRANSACTION READ ONLY")
        database.query(f"START TRANSACTION READ {'WRITE' if writing else 'ONLY'}")
        return database

    def _interrupt(self, database: Any) -> None:
        with closing(self._connect(writing=False)) as other:
            other.query(f"KILL QUERY {database.thread_id()}")

    def _select(self, database: Any, cursor: Any, sql: str, parameters: Parameters) -> None:
        if not sql.startswith(self.explain):
            cursor.execute(self.explain + sql, parameters or None)
            cursor.fetchall()
        cursor.execute(sql, parameters or None)

    def stop(self, database: Any) -> None:
        self._interrupt(database)  # otherwise closing the cursor fetches all rows

    def change(self, database: Any, sql: str, parameters: Parameters) -> int:
        return database.cursor().execute(sql, parameters or None)

    def type_of(self, column: Sequence[Any]) -> str:
        from pymysql.constants import FIELD_TYPE

        return next((name.lower() for name, code in vars(FIELD_TYPE).items() if code == column[1]), "unknown")


_SCHEMES = {"sqlite": Sqlite, "duckdb": DuckDb, "postgresql": Postgres, "postgres": Postgres, "mysql": MySql,
            "mariadb": MySql}  # fmt: skip
_SUFFIXES = {".sqlite": Sqlite, ".sqlite3": Sqlite, ".db": Sqlite, ".duckdb": DuckDb, ".ddb": DuckDb}


def engine(name: str, address: str, writable: bool, redactor: Redactor) -> Engine:
    """The engine of a database's address: a file, or a URL.

    Raises:
        UsageError: the address is invalid, or its driver is missing.
    """
    scheme, colon, rest = address.partition("://")
    found = _SCHEMES.get(scheme.lower()) if colon else _SUFFIXES.get(Path(address).suffix.lower())
    if found is None:
        hint = "There are FILE.sqlite, FILE.db, FILE.duckdb, sqlite://FILE, duckdb://FILE, postgresql://…, mysql://…"
        raise UsageError(f"The connection {name} has no address of a database.", hint=hint)
    if found in (Sqlite, DuckDb):
        address = str(Path(rest if colon else address).expanduser())
        if not Path(address).is_file():
            raise UsageError(f"The connection {name}: there is no file `{address}`.")
    elif password := urlsplit(address).password:
        redactor.learn(unquote(password))
        redactor.learn(password)
    return found(name, address, writable, redactor)
