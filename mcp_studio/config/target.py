"""Servers that are not in any file: a URL or a command, from the command line or a paste."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_studio.config.expand import effective, secret_places
from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import UsageError

NAME = "target"
"""What a server given on the command line is called."""
REMOTE: tuple[Kind, ...] = ("http", "sse", "websocket")
"""How a server at a URL can be spoken to."""


def from_url(
    url: str, headers: Mapping[str, str] | Sequence[tuple[str, str]] = (), transport: str = ""
) -> ServerConfig:
    """A server at a URL; `${NAME}` in header values is replaced. `transport` is one of `REMOTE`, or empty.

    Raises:
        UsageError: it is no URL of http, https, ws or wss.
        ConfigError: a header names an environment variable that is not set.
    """
    if not re.match(r"(?:https?|wss?)://[^\s/]", url):
        raise UsageError(f"`{url}` is no URL of a server.", hint="It begins with http://, https://, ws:// or wss://.")
    kind = next((kind for kind in REMOTE if kind == transport), "")
    if transport and not kind:
        raise UsageError(
            f"`{transport}` is no transport of a server at a URL.", hint=f"It is one of {', '.join(REMOTE)}."
        )
    if kind and (kind == "websocket") != url.startswith("ws"):
        begin = "ws:// or wss://" if kind == "websocket" else "http:// or https://"
        raise UsageError(f"The transport {kind} needs a URL that begins with {begin}.")
    # Only headers may have references: a URL from a shell is meant as it stands.
    given = effective(ServerConfig(NAME, headers=dict(headers)))
    server = replace(given, url=url, transport=kind, written=None)
    return replace(server, secrets=tuple(dict.fromkeys((*given.secrets, *secret_places(server)))))


def from_command(argv: Sequence[str]) -> ServerConfig:
    """A server started by a command; the words are taken as they are: a shell has been over them already.

    Raises:
        UsageError: there is no command.
    """
    if not argv or not argv[0]:
        raise UsageError("There is no command after --.")
    server = ServerConfig(NAME, command=argv[0], args=tuple(argv[1:]))
    return replace(server, secrets=tuple(secret_places(server)))


_RUNNERS = frozenset(
    "npx bunx pnpx uvx pipx uv npm pnpm yarn bun deno node python python3 py poetry hatch docker podman run exec tool"
    " dlx x create env sudo cmd sh bash".split()
)
_PYTHON = re.compile(r"python3\.\d+")
_WITH_VALUE = frozenset(
    "-p --package --from --with --directory --python -e --env -v --volume --name --network --mount".split()
)
_DECORATION = re.compile(r"^(?:mcp[-_]?)?(?:server[-_])?|(?:[-_]mcp)?(?:[-_]server)?(?:[-_]mcp)?$", re.IGNORECASE)


def suggest_name(server: ServerConfig) -> str:
    """A short name for a server, from what it runs or where it is: `npx -y @scope/server-git` gives `git`."""
    return _clean(_host(server.url) if server.url else _program(server))


def _host(url: str) -> str:
    host = re.sub(r"^(?:https?|wss?)://(?:[^/@]*@)?|:[0-9]+(?=/|$)", "", url).partition("/")[0]
    if re.fullmatch(r"[0-9.]+|[^.]+", host):
        return host
    parts = [part for part in host.split(".")[:-1] if part not in ("www", "mcp", "api")]
    return parts[-1] if parts else host


def _program(server: ServerConfig) -> str:
    words = [os.path.basename(server.command), *server.args]
    skip = False
    for word in words:
        if skip or word.startswith("-") or word in _RUNNERS or _PYTHON.fullmatch(word):
            skip = not skip and word in _WITH_VALUE
            continue
        return word
    return words[0]


def _clean(text: str) -> str:
    last = re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    last = re.sub(r"(?<=.)@.*$|:[\w.-]*$|\.(?:py|js|mjs|cjs|ts|exe|cmd|sh)$", "", last)
    short = _DECORATION.sub("", last) or last
    return re.sub(r"[^A-Za-z0-9_-]+", "-", short).strip("-_") or "server"
