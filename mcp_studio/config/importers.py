"""Servers in the formats of other MCP clients, and names for servers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mcp_studio.config.clients import client_of, is_personal
from mcp_studio.config.expand import folder_of, located
from mcp_studio.config.model import Auth, Problem, ServerConfig, Source
from mcp_studio.config.secrets import map_texts
from mcp_studio.config.servers import check_target, read_inner
from mcp_studio.config.table import Table
from mcp_studio.jsontext import Json, items_of, mapping

_METADATA = r"(https://.+)/\.well-known/(?:oauth-authorization-server|openid-configuration)\Z"
"""The address of an issuer's metadata, with the issuer as its group (RFC 8414 3; OpenID Connect Discovery 4)."""


def _auth(table: Table) -> Auth:
    """Read the sign-in settings that we know; other programs own the rest, which raises no problem."""
    sections = table.take("oauth"), table.take("auth")
    if any(one is False for one in sections):
        return Auth(kind="none")
    values = {name.replace("_", "").lower(): value for one in sections for name, value in mapping(one).items()}
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    scopes = values.get("scopes", values.get("scope"))
    words = scopes.split() if isinstance(scopes, str) else items_of(scopes)
    port = port if type(port := values.get("callbackport")) is int and 0 < port < 65_536 else 0
    issuer = re.match(_METADATA, texts.get("authservermetadataurl", ""))
    return Auth(
        issuer=texts.get("issuer") or (issuer[1] if issuer else ""),
        client_id=texts.get("clientid", ""),
        client_secret=texts.get("clientsecret", "") if texts.get("clientid") else "",
        scopes=tuple(dict.fromkeys(word for word in words if isinstance(word, str) and word and " " not in word)),
        redirect_port=port,
        # Clients with a fixed port are registered with http://localhost:PORT/callback.
        redirect_host="localhost" if port else "127.0.0.1",
    )


_LOOSE = ("mcp", "extensions")
"""Keys that count only where all their members are objects, because other programs use the same keys."""
_SOCKET = ("ws", "wss", "websocket")
_REMOTE = (*"http https sse streamable-http streamable_http streamableHttp streamablehttp remote".split(), *_SOCKET)
_KINDS = ("stdio", "local", *_REMOTE)
_URLS = ("httpUrl", "url", "serverUrl", "endpoint", "uri")
NO_SERVERS = "has no servers: neither `mcpServers` nor `servers` is an object."


def servers_of(document: Json) -> tuple[str, Mapping[str, Json]] | None:
    """The key of the servers in a parsed file, and the servers; None when the file has no known shape."""
    if not isinstance(document, dict):
        return None
    if found := servers_of(document.get("mcp")):
        return f"mcp.{found[0]}", found[1]
    for shape in ("mcpServers", "servers", "context_servers", "mcp_servers", *_LOOSE):
        inner = document.get(shape)
        if isinstance(inner, list) and inner and all(isinstance(mapping(one).get("name"), str) for one in inner):
            inner = {mapping(one)["name"]: one for one in inner}
        loose = shape in _LOOSE and not (inner and all(isinstance(one, dict) for one in mapping(inner).values()))
        if isinstance(inner, dict) and not loose:
            return shape, inner
    return None


def read_document(document: Json, source: Source, problems: list[Problem]) -> dict[str, ServerConfig]:
    """All servers of a parsed file, unexpanded; problems are added to the list."""
    folder, found = folder_of(source.file), servers_of(document)
    # The person's own file belongs to no workspace.
    scopes = [(*found, folder, "" if is_personal(source.file) else folder)] if found else []
    # Claude Code keeps the servers of the person's projects in the same file, by the projects' folders.
    for project, values in mapping(mapping(document).get("projects")).items():
        if entries := mapping(mapping(values).get("mcpServers")):
            scopes.append((f"projects.{project}", entries, project, project))
    if not scopes:
        problems.append(Problem(source.file, "", NO_SERVERS))
    servers: dict[str, ServerConfig] = {}
    for where, entries, *folders in scopes:
        for name, values in entries.items():
            table = Table(values, source.file, f"{where}.{name}", [])
            server = _read_entry(name, table, source, *folders)
            problems += table.problems
            if server and servers.setdefault(name, server) != server:
                problems.append(Problem(source.file, f"{where}.{name}", "has the name of another server in this file."))
    return servers


def _read_entry(name: str, table: Table, source: Source, folder: str, workspace: str) -> ServerConfig | None:
    """One unexpanded server with absolute paths; None, with problems added, where the entry cannot be used."""
    client = client_of(source.file)
    key, url = next(((key, url) for key in _URLS if (url := table.take_text(key))), ("", ""))
    kind = table.take_word("type", "", _KINDS) or table.take_word("transport", "", _KINDS)
    if client.url_is_sse and key == "url" and not kind:
        kind = "sse"
    command, args = _command(table)
    remote = bool(url) and (kind in _REMOTE or not command)
    server = ServerConfig(
        name,
        # Some clients write both and obey the type. A WebSocket's address may be written with http.
        command="" if kind in _REMOTE and url else command,
        args=args,
        env=table.take_pairs("env", "environment", "envs"),
        # Codex may have tables among the names, for variables of another machine.
        inherit_env=tuple(row.take_text("name") for key in ("env_vars", "env_keys") for row in table.rows(key, "name")),
        cwd=table.take_text("cwd"),
        url="" if kind in ("stdio", "local") and command else re.sub("^http", "ws", url) if kind in _SOCKET else url,
        headers=_headers(table),
        # For `http` both transports are tried, Streamable HTTP first, because older files mean either of them.
        transport="sse" if kind == "sse" and url else "",
        # Sign-in settings have no meaning for a local program.
        auth=_auth(table) if remote else Auth(),
        sandbox=read_inner(table, "sandbox"),
        enabled=table.take_flag("enabled", True) and not table.take_flag("disabled"),
        source=source,
    )
    if not table.problems:
        check_target(server, table)
    if table.problems:
        return None
    places = {"${workspaceFolder}": workspace, "${workspaceFolderBasename}": os.path.basename(workspace)}

    def text(key: str, written: str) -> str:
        text = client.plain(written)
        for reference, place in places.items():
            text = text.replace(reference, place or reference.replace("{", "{client:"))
        path = key == "cwd" or key.startswith("sandbox.paths[") or (key == "command" and "/" in text)
        return located(text, folder) if path and text[0] not in "~$" else text

    server = map_texts(server, text)
    # A missing variable does not cost the server: the problem tells the person which file to repair.
    return replace(server, env={**_env_file(table, source, workspace), **server.env})


def _headers(table: Table) -> dict[str, str]:
    """The headers of an entry; Codex takes some from variables, Continue nests them in a table."""
    headers = table.take_pairs("headers", "http_headers")
    if "requestOptions" in table.keys():
        headers |= table.inner("requestOptions").take_pairs("headers")
    headers |= {name: f"${{{variable}}}" for name, variable in table.take_pairs("env_http_headers").items()}
    token = table.take_text("bearer_token_env_var")
    return headers | ({"Authorization": f"Bearer ${{{token}}}"} if token else {})


def _command(table: Table) -> tuple[str, tuple[str, ...]]:
    """Command and arguments; some clients write one list, or a table `{path, args}`, or use the key `cmd`."""
    command_line = table.take("command")
    if isinstance(command_line, list) and command_line and all(isinstance(part, str) for part in command_line):
        return command_line[0], (*command_line[1:], *table.take_texts("args"))
    if isinstance(command_line, dict):
        inner = table.inner("command")
        return inner.take_text("path"), inner.take_texts("args")
    return table.take_text("command") or table.take_text("cmd"), table.take_texts("args")


def _env_file(table: Table, source: Source, workspace: str) -> dict[str, str]:
    """The variables of VS Code's `envFile`: lines `NAME=value`."""
    if not (location := table.take_text("envFile")):
        return {}
    try:
        file = Path(location.replace("${workspaceFolder}", workspace or "${workspaceFolder}")).expanduser()
        lines = (Path(source.file).absolute().parent / file).read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError, RuntimeError) as problem:  # ValueError: a NUL; RuntimeError: a `~name` of nobody
        reason = getattr(problem, "strerror", "") or str(problem).rstrip(".")
        table.problem("envFile", f"`{location}` cannot be read: {reason}.")
        return {}
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if not line.startswith("#"))
    # Values in such a file are literal, so a text that looks like a reference is none.
    return {name.strip(): value.strip().strip("\"'").replace("${", "$${") for name, sign, value in pairs if sign}


_RUNNERS = frozenset(
    "npx bunx pnpx uvx pipx uv npm pnpm yarn bun deno node python python3 py poetry hatch docker podman run exec tool"
    " dlx x create env sudo cmd sh bash".split()
)
_TELLING = r"(?i)mcp|server"
_DECORATION = r"(?i)^(?:mcp[-_]?)?(?:server[-_])?|(?:[-_]mcp)?(?:[-_]server)?(?:[-_]mcp)?$"


def suggest_name(server: ServerConfig) -> str:
    """A short name for a server, from its command or its address: `npx -y @scope/server-git` gives `git`."""
    word = _host(server.url) if server.url else _program(server)
    last = re.split(r"[/\\]", word.rstrip("/\\"))[-1]
    last = re.sub(r"(?<=.)@.*$|:[\w.-]*$|\.(?:py|js|mjs|cjs|ts|exe|cmd|sh)$", "", last)
    return re.sub(r"[^A-Za-z0-9_-]+", "-", re.sub(_DECORATION, "", last) or last).strip("-_") or "server"


def _host(url: str) -> str:
    host = re.sub(r"^(?:https?|wss?)://(?:[^/@]*@)?|:[0-9]+(?=/|$)", "", url).partition("/")[0]
    address = re.fullmatch(r"[0-9.]+|[^.]+", host)
    parts = [part for part in host.split(".")[:-1] if not address and part not in ("www", "mcp", "api")]
    return parts[-1] if parts else host


def _program(server: ServerConfig) -> str:
    """The first word that looks like a server's name, else the first that is neither an option nor a runner."""
    words = [os.path.basename(server.command), *server.args]
    names = [word for word in words if not word.startswith("-") and word not in _RUNNERS]
    return next(iter((*(one for one in names if re.search(_TELLING, one)), *names)), words[0])
