"""The database server: its tools, and the schemas of its databases as resources."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Iterable
from datetime import date, datetime
from datetime import time as time_of_day
from functools import partial
from math import isfinite
from typing import Annotated, Any, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from mcp_studio.catalog.catalog import suggestion
from mcp_studio.config.expand import Expander
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping, printable
from mcp_studio.limits import KB, MB, size_text
from mcp_studio.protocol.versions import INVALID_PARAMS
from mcp_studio.redact import Redactor
from mcp_studio.servers.database.engines import Engine, Parameters, engine
from mcp_studio.servers.toolserver import Answer, RequestError, ToolServer, Turn, run, tool
from mcp_studio.vault.keyring import lookup

_ROWS = 1_000
_BYTES = MB
"""The most bytes of the rows in one answer."""
_VALUE = 64 * KB
"""The most characters of one value in an answer."""
_TABLES = 1_000
_STORED = {int: "integer", float: "real", str: "text"}
_SCHEME = "database://"
_TEMPLATE: dict[str, Json] = {
    "uriTemplate": "database://{connection}/{table}", "name": "table", "title": "Columns of a table",
    "mimeType": "application/json",
}  # fmt: skip
_INSTRUCTIONS = """\
Databases that can be read. list_connections names them and the placeholder of parameters in the SQL of each (`?` or \
`%s`); `connection` is optional if there is only one. Answers are bounded, and `truncated` says so.
"""

Connection = Annotated[str, Field(description="The connection's name; optional if there is only one")]
Statement = Annotated[str, Field(min_length=1, max_length=100_000, description="One statement")]
_SCALARS = ["string", "number", "boolean", "null"]
Value = Annotated[Any, WithJsonSchema({"type": [*_SCALARS, "array"], "items": {"type": _SCALARS}})]
Given = Annotated[
    list[Value] | dict[str, Value] | None,
    Field(description="Values for the placeholders of list_connections, in order"),
]
Limit = Annotated[int, Field(ge=1, le=_ROWS)]
TableName = Annotated[str, Field(description="`table` or `schema.table`")]
Cut = Annotated[str, Field(description="Why the answer is incomplete; empty if it is complete")]


class Known(TypedDict):
    """One database."""

    name: str
    kind: str
    placeholder: Annotated[str, Field(description="The placeholder of a parameter in its SQL")]
    writable: bool
    warning: NotRequired[str]


class Connections(TypedDict):
    """The databases."""

    connections: list[Known]


class Table(TypedDict):
    """A table or view."""

    schema: str
    name: str
    kind: str


class Tables(TypedDict):
    """The tables of a database."""

    tables: list[Table]
    truncated: Cut


class Column(TypedDict):
    """One column of a table."""

    name: str
    type: str
    nullable: bool
    default: str | None
    primary_key: bool


class Description(TypedDict):
    """A table and its columns."""

    table: str
    columns: list[Column]


class Kind(TypedDict):
    """The name and type of a column in a result."""

    name: str
    type: str


class Rows(TypedDict):
    """The rows of a result."""

    columns: list[Kind]
    rows: list[list[Any]]
    truncated: Cut
    ms: float


class Plan(TypedDict):
    """The plan by which a database would execute a statement."""

    content: str
    ms: float


class Changed(TypedDict):
    """The effect of a statement."""

    rows: Annotated[int, Field(description="Rows that were changed; -1 if the database does not say")]
    ms: float


class DatabaseTools:
    """The tools of the database server."""

    def __init__(self, engines: Iterable[Engine]) -> None:
        self.engines = {one.name: one for one in engines}

    def engine(self, name: str) -> Engine:
        """The database with a name.

        Raises:
            StudioError: there is no such database, or no name and several databases.
        """
        if not name and len(self.engines) == 1:
            return next(iter(self.engines.values()))
        if name not in self.engines:
            hint = f"There are {', '.join(self.engines)}.{suggestion(name, self.engines)}"
            raise StudioError(f"There is no connection `{name}`." if name else "Which connection?", hint=hint)
        return self.engines[name]

    @tool("List the connections")
    def list_connections(self) -> Connections:
        """List the databases, and what each of them requires."""
        rows = list[Known]()
        for one in self.engines.values():
            entry = Known(name=one.name, kind=one.kind, placeholder=one.mark, writable=one.writable)
            try:
                if one.risk and one.rows(one.risk):
                    entry["warning"] = (
                        "Its role may do more than read and write tables: functions of the database reach files of its"
                        " computer. Connect as a role with SELECT alone."
                    )
            except StudioError as problem:
                entry["warning"] = problem.message
            rows.append(entry)
        return Connections(connections=rows)

    @tool("List the tables")
    def list_tables(self, connection: Connection = "") -> Tables:
        """List the tables and views of a database."""
        engine = self.engine(connection)
        rows = engine.rows(f"{engine.tables} LIMIT {_TABLES + 1}")
        tables = [Table(schema=str(schema), name=str(name), kind=str(kind)) for schema, name, kind in rows[:_TABLES]]
        return Tables(tables=tables, truncated=f"ended after {_TABLES:,} tables" if len(rows) > _TABLES else "")

    @tool("Describe a table")
    def describe_table(self, table: TableName, connection: Connection = "") -> Description:
        """Describe the columns of a table or view."""
        columns = [
            Column(name=str(name), type=str(kind), nullable=bool(null), default=None if default is None
                   else str(default), primary_key=bool(key))
            for name, kind, null, default, key in self.engine(connection).described(table)
        ]  # fmt: skip
        if not columns:
            raise StudioError(f"There is no table `{table}`.", hint="list_tables names all of them.")
        return Description(table=table, columns=columns)

    @tool("Query a database")
    def query(
        self, sql: Statement, parameters: Given = None, connection: Connection = "", limit: Limit = _ROWS
    ) -> Rows:  # fmt: skip
        """Return the rows of a statement. The database itself refuses every change, whatever the statement says."""
        return self._rows_of(self.engine(connection), sql, parameters, limit)

    @tool("Explain a query")
    def explain(self, sql: Statement, parameters: Given = None, connection: Connection = "") -> Plan:
        """Show how the database would execute a statement."""
        engine = self.engine(connection)
        plan = self._rows_of(engine, f"{engine.explain}{sql}", parameters, _ROWS)
        rows = (row[-1:] if engine.kind == "SQLite" else row for row in plan["rows"])
        lines = ("\t".join("" if value is None else str(value) for value in row) for row in rows)
        return Plan(content="\n".join(lines), ms=plan["ms"])

    @tool("Look at some rows")
    def sample(self, table: TableName, connection: Connection = "", limit: Limit = 10) -> Rows:
        """Return some rows of a table."""
        engine = self.engine(connection)
        return self._rows_of(engine, f"SELECT * FROM {engine.named(table)} LIMIT {limit}", None, limit)

    @tool("Change a database", changes=True, destroys=True)
    def execute(self, sql: Statement, parameters: Given = None, connection: Connection = "") -> Changed:
        """Execute a statement that changes something, as a whole or not at all. The person has to approve it first."""
        engine, began = self.engine(connection), time.monotonic()
        if not engine.writable:
            raise StudioError(f"{engine.name} can only be read.", hint=f"--allow-write {engine.name} allows changes.")
        with engine.opened(writing=True) as database:
            rows = engine.change(database, sql, parameters)
        return Changed(rows=rows, ms=_ms(began))

    def _rows_of(self, engine: Engine, sql: str, parameters: Parameters, limit: int) -> Rows:
        began, rows, room, cut = time.monotonic(), list[list[Any]](), _BYTES, ""
        with engine.opened() as database, engine.selected(database, sql, parameters) as cursor:
            columns = [Kind(name=str(one[0]), type=engine.type_of(one)) for one in cursor.description or ()]
            while (row := cursor.fetchone()) is not None:
                values = list(map(_plain, row))
                room -= len(repr(values))  # the JSON has about this length
                if len(rows) == limit or room < 0:
                    cut = f"ended after {len(rows):,} rows" + (f", {size_text(_BYTES)}" if room < 0 else "")
                    engine.stop(database)
                    break
                rows.append(values)
        for at, column in enumerate(columns):
            if not column["type"]:  # SQLite has types of values, not of columns
                column["type"] = next((_STORED.get(type(row[at]), "blob") for row in rows if row[at] is not None), "")
        return Rows(columns=columns, rows=rows, truncated=cut, ms=_ms(began))


def _ms(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 2)


def _plain(value: Any) -> Any:
    """A database value as JSON, cut if it is long."""
    kind = type(value)  # most values are of these types
    if kind is int or value is None or (kind is str and len(value) <= _VALUE) or (kind is float and isfinite(value)):
        return value
    if isinstance(value, str) and len(value) > _VALUE:
        return f"{value[:_VALUE]}… {size_text(len(value) - _VALUE)} more"
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        return {"base64": base64.b64encode(data[:_VALUE]).decode(), "bytes": len(data)}
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, datetime | date | time_of_day):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float) else _plain(str(value))


class _Handlers:
    """The handlers besides the tools: schemas as resources, and the approval of a change."""

    def __init__(self, tools: DatabaseTools) -> None:
        self._tools = tools

    async def approve(self, turn: Turn) -> None:
        """Ask the person to approve a change of a database that may be changed, if the client supports that.

        Raises:
            StudioError: the person did not approve.
        """
        params, arguments = turn.request.params, mapping(turn.request.params.get("arguments"))
        if not str(params.get("name")).endswith("execute") or "elicitation" not in turn.capabilities:
            return
        engine = self._tools.engine(str(arguments.get("connection") or ""))
        message = f"Change the database {engine.name}?\n\n{arguments.get('sql')}"
        message += f"\n\nParameters: {printable(given, indent=None)}" if (given := arguments.get("parameters")) else ""
        wish: dict[str, Json] = {"message": message[:10_000], "requestedSchema": {"type": "object", "properties": {}}}
        if engine.writable and (await turn.ask("elicitation/create", wish)).get("action") != "accept":
            raise StudioError("The person did not allow it. Nothing was changed.")

    async def list_resources(self, turn: Turn) -> Answer:
        """List the schemas of the databases."""
        return {"resources": [
            {"uri": f"{_SCHEME}{one}", "name": one, "title": f"Tables of {one}", "mimeType": "application/json"}
            for one in self._tools.engines
        ]}  # fmt: skip

    async def list_templates(self, turn: Turn) -> Answer:
        return {"resourceTemplates": [_TEMPLATE]}

    async def read(self, turn: Turn) -> Answer:
        """Read the tables of a database, or the columns of one table."""
        uri = str(turn.request.params.get("uri"))
        connection, _, table = uri.removeprefix(_SCHEME).partition("/")
        try:
            if not uri.startswith(_SCHEME):
                raise StudioError("That is no database:// address.")
            tools = self._tools
            work = partial(tools.describe_table, table) if table else tools.list_tables
            text = printable(await asyncio.to_thread(work, connection))
        except StudioError as problem:
            code = INVALID_PARAMS if turn.modern else -32002
            raise RequestError(code, f"{problem.message} {problem.hint}".strip(), {"uri": uri}) from None
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]}


def build(connections: Iterable[str], writable: Iterable[str] = (), names: str = "plain") -> ToolServer:
    """Build the server of some databases.

    Args:
        connections: `NAME=ADDRESS` each; secrets as `${keyring:NAME}` or `${VARIABLE}`.
        writable: the names of databases that may be changed.
        names: `harness` puts `db_` before the names of the tools.

    Raises:
        UsageError: a connection is invalid.
        ConfigError: a secret does not exist.
    """
    redactor, engines, writable = Redactor(), dict[str, Engine](), set(writable)
    for text in connections:
        name, equals, address = text.partition("=")
        if not equals or not name.replace("-", "_").isidentifier() or name in engines:
            raise UsageError(f"--connect: `{name}` is no new name with an address.", hint="--connect NAME=ADDRESS")
        expander = Expander(os.environ, lookup)
        address = expander.text(address)
        for secret in expander.secrets:
            redactor.learn(secret)
        engines[name] = engine(name, address, name in writable, redactor)
    if not engines:
        raise UsageError("Which database?", hint="mcp-studio serve-db --connect shop=shop.sqlite")
    if unknown := sorted(writable - engines.keys()):
        raise UsageError(f"--allow-write: there is no connection `{unknown[0]}`.{suggestion(unknown[0], engines)}")
    tools = DatabaseTools(engines.values())
    server = ToolServer("mcp-studio-database", "Databases", _INSTRUCTIONS)
    server.add(tools, prefix="db_" if names == "harness" else "", changes=bool(writable))
    handlers = _Handlers(tools)
    server.prepare = handlers.approve
    server.handlers |= {"resources/list": handlers.list_resources, "resources/read": handlers.read,
                        "resources/templates/list": handlers.list_templates}  # fmt: skip
    server.greeting["capabilities"] = {"tools": {}, "resources": {}}
    return server


def start(connections: Iterable[str], writable: Iterable[str], names: str, port: int | None) -> int:
    """Serve until the client leaves (stdio) or the process is told to end (HTTP); returns the exit code.

    Args:
        port: a port of 127.0.0.1, 0 for any free one; None is standard input and output.

    Raises:
        StudioError: as `build`.
    """
    return run(build(connections, writable, names), port)
