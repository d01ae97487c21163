"""The `mcp.json` files of other clients, in the shapes that are about:

    {"mcpServers": {NAME: {command, args, env} or {url, headers}}}         Claude, Cursor, Windsurf and most others
    {"servers": {NAME: {type, command, …}}, "inputs": […]}                 VS Code; in its settings under "mcp"
    {"context_servers": {NAME: {…}}}                                       Zed

Keys that mean nothing to us are ignored: these files belong to other programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_studio.config.expand import folder_of
from mcp_studio.config.foreign_auth import read_foreign_auth
from mcp_studio.config.model import Auth, Problem, ServerConfig, Source
from mcp_studio.config.servers import check_target
from mcp_studio.config.table import Table
from mcp_studio.jsontext import Json

SHAPES = ("mcpServers", "servers", "context_servers")
_SOCKET = ("ws", "wss", "websocket")
_REMOTE = (
    *("http", "https", "sse", "streamable-http", "streamable_http", "streamableHttp", "streamablehttp", "remote"),
    *_SOCKET,
)
_KINDS = ("stdio", "local", *_REMOTE)
_URLS = ("url", "serverUrl", "httpUrl", "endpoint")


def servers_of(document: Json) -> tuple[str, Mapping[str, Json]] | None:
    """Where in a parsed file the servers are, and they; None when the file has no known shape."""
    if not isinstance(document, dict):
        return None
    for shape in SHAPES:
        if isinstance(inner := document.get(shape), dict):
            return shape, inner
    if isinstance(inner := document.get("mcp"), dict) and (found := servers_of(inner)):
        return f"mcp.{found[0]}", found[1]
    return None


def read_document(document: Json, source: Source, problems: list[Problem]) -> dict[str, ServerConfig]:
    """All servers of a parsed file, as they are written; problems are noted."""
    found = servers_of(document)
    if found is None:
        problems.append(Problem(source.file, "", "has no servers: neither `mcpServers` nor `servers` is an object."))
        return {}
    where, entries = found
    servers = {name: read_entry(name, values, source, where, problems) for name, values in entries.items()}
    return {name: server for name, server in servers.items() if server}


def read_entry(name: str, values: Json, source: Source, where: str, problems: list[Problem]) -> ServerConfig | None:
    """One server as it is written; None, with problems noted, where it cannot be used."""
    before = len(problems)
    table = Table(values, source.file, f"{where}.{name}", problems)
    url = next((url for key in _URLS if (url := table.take_text(key))), "")
    kind = table.take_text("type", choices=_KINDS) or table.take_text("transport", choices=_KINDS)
    command, args = _command(table)
    remote = bool(url) and (kind in _REMOTE or not command)
    server = ServerConfig(
        name,
        # Some clients write both and go by the type.
        command="" if kind in _REMOTE and url else command,
        args=args,
        env={**_env_file(table, source), **table.take_pairs("env")},
        cwd=table.take_text("cwd"),
        url="" if kind in ("stdio", "local") and command else _socket_url(url) if kind in _SOCKET else url,
        headers=table.take_pairs("headers"),
        # What is called http is tried both ways by those who wrote such files: the newer first.
        transport="sse" if kind == "sse" and url else "",
        # Who signs in where there is nobody to sign in to means nothing to a program.
        auth=read_foreign_auth(table) if remote else Auth(),
        enabled=table.take_flag("enabled", True) and not table.take_flag("disabled"),
        source=source,
    )
    if len(problems) == before:
        check_target(server, table)
    return server if len(problems) == before else None


def _socket_url(url: str) -> str:
    """The address of a WebSocket; some write it as that of a page, and say the kind beside it."""
    return f"ws{url[4:]}" if url.startswith(("http://", "https://")) else url


def _command(table: Table) -> tuple[str, tuple[str, ...]]:
    """Command and arguments; some clients write one list, Zed a table `{path, args}`."""
    given = table.take("command")
    if isinstance(given, list) and given and all(isinstance(part, str) for part in given):
        return given[0], (*given[1:], *table.take_texts("args"))
    if isinstance(given, dict):
        inner = table.inner("command")
        return inner.take_text("path"), inner.take_texts("args")
    return table.take_text("command"), table.take_texts("args")


def _env_file(table: Table, source: Source) -> dict[str, str]:
    """The variables of VS Code's `envFile`: lines `NAME=value`."""
    given = table.take_text("envFile")
    if not given:
        return {}
    try:
        file = Path(given.replace("${workspaceFolder}", folder_of(source.file))).expanduser()
        lines = (Path(source.file).absolute().parent / file).read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError, RuntimeError) as problem:  # ValueError: a NUL; RuntimeError: a `~name` of nobody
        table.problem("envFile", f"cannot be read: {getattr(problem, 'strerror', '') or str(problem).rstrip('.')}.")
        return {}
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if not line.startswith("#"))
    # Values are literal in such files: what looks like a reference is none.
    return {name.strip(): value.strip().strip("\"'").replace("${", "$${") for name, sign, value in pairs if sign}


def bare_entries(document: Json) -> Mapping[str, Json] | None:
    """A snippet without its frame: `{NAME: {command…}}`, as documentation often shows it."""
    if not isinstance(document, dict) or not document:
        return None
    usable = all(isinstance(entry, dict) and {"command", *_URLS} & entry.keys() for entry in document.values())
    return document if usable else None
