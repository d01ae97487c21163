"""Other MCP clients: where each keeps its servers, and how it writes them (`clients.toml`)."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.config.expand import REFERENCE, expanded, folder_of
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.secrets import texts
from mcp_studio.config.servers import to_table
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import home


class Client(NamedTuple):
    """Another client; `clients.toml` says what the fields mean."""

    name: str = ""
    places: Sequence[str] = ()
    reference: str = ""
    bare: bool = False
    types: Sequence[str] = ("stdio", "http", "sse")
    key: str = "mcpServers"
    names: Mapping[str, str] = {}
    variables: str = ""
    more: Mapping[str, Json] = {}
    url_is_sse: bool = False

    def plain(self, text: str) -> str:
        """A text of its files with `${NAME}` for its references."""
        reference = re.escape("$%s" if self.bare else self.reference)
        pattern = reference.replace(r"\ ", r"\s*").replace("%s", r"([A-Za-z_]\w*)")
        return re.sub(pattern, r"${\1}", text) if pattern else text


class ForeignFile(NamedTuple):
    """A configuration file of another client; `config.load.load(files=[file])` reads it."""

    client: str
    file: Path
    project: bool
    """Whether it belongs to a project folder rather than to the person."""


@cache
def clients() -> tuple[Client, ...]:
    """All that are known."""
    table = tomllib.loads(Path(__file__).with_name("clients.toml").read_text("utf-8"))
    return tuple(Client(name, **values) for name, values in table.items())


def client_named(word: str) -> Client:
    """The client of that name, however its case, spaces and dashes are written.

    Raises:
        UsageError: none has it.
    """
    known = {re.sub(r"\W", "", client.name.lower()): client for client in clients()}
    if found := known.get(re.sub(r"[\W_]", "", word.lower())):
        return found
    hint = nearest(word, [client.name for client in clients()])
    raise UsageError(f"No client is known as `{word}`.", hint=hint or f"Known are {', '.join(known)}.")


def client_of(file: str) -> Client:
    """Whose file it is, by its name and folder."""
    path = Path(file).absolute()
    return next((one for one in clients() if any(path.match(place[2:]) for place in one.places)), Client())


def places(cwd: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> tuple[ForeignFile, ...]:
    """All files in which clients look for servers, whether they exist or not."""
    person = home(environ)
    terminal = Path(environ.get("XDG_CONFIG_HOME") or person / ".config")
    roaming = Path(environ.get("APPDATA") or person / "AppData" / "Roaming")
    applications = {"win32": roaming, "darwin": person / "Library" / "Application Support"}.get(platform, terminal)
    folders = {".": cwd, "~": person, "%": terminal, "@": applications}
    if platform == "win32":
        folders["#"] = roaming
    return tuple(
        ForeignFile(client.name, file, place[0] == ".")
        for client in clients()
        for place in client.places
        if (folder := folders.get(place[0]))
        for file in (sorted(folder.glob(place[2:])) if "*" in place else (folder / place[2:],))
    )


def foreign_files(
    cwd: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> tuple[ForeignFile, ...]:
    """The files that exist, the project's first."""
    found = (one for one in places(cwd, environ, platform) if one.file.is_file())
    return tuple(sorted(found, key=lambda one: not one.project))


_CONNECTION = ("command", "args", "env", "cwd", "url", "headers")
_OURS = ("enabled", "era", "group", "inherit_env", "priority", "start", "transport", "trust")
"""Keys that mean something to us alone, or are written in another way."""


def entry_for(client: Client, server: ServerConfig) -> tuple[dict[str, Any], list[str]]:
    """The entry of a server as a client writes it, and the keys that have no place there. References stay references.

    Raises:
        ConfigError: the client could not use it: why.
    """

    def secret(name: str) -> str:
        raise ConfigError(f"refers to the stored secret `{name}`, which {client.name} cannot read")

    kind = dict(zip(("stdio", "http", "sse"), client.types, strict=False)).get(server.kind)
    if kind is None:
        raise ConfigError(f"is of the kind {server.kind}, which {client.name} does not know")
    entry, reference = server.written or server, client.reference or "${%s}"
    used = REFERENCE.findall(" ".join(text for _, text in texts(entry)))
    variables = {name: reference % name for _, scheme, name, _ in used if scheme in ("", "env")}
    ready = expanded(entry, {**variables, "HOME": str(home())}, secret, folder_of(entry.source.file))
    table = to_table(replace(ready, written=None))
    table["env"] = {name: reference % name for name in ready.inherit_env} | dict(ready.env)
    shown: dict[str, Any] = {"type": kind} if kind else {}
    if client.variables:
        shown[client.variables] = [name for name, text in table["env"].items() if text == f"${{{name}}}"]
        for name in shown[client.variables]:
            del table["env"][name]
    if client.name == "Codex":  # it has keys for headers, too, instead of references
        for name, text in dict(table.get("headers", {})).items():
            if found := re.fullmatch(r"(Bearer )?\$\{(\w+)\}", text):
                del table["headers"][name]
                at, key = (
                    (shown, "bearer_token_env_var") if found[1] else (shown.setdefault("env_http_headers", {}), name)
                )
                at[key] = found[2]
    known = [key for key in _CONNECTION if key != "cwd" or "cwd" in client.names]
    shown |= {client.names.get(key, key): table.pop(key) for key in known if table.get(key)}
    if not client.reference and (unset := re.search(r"\$\{\w+\}", str(shown))):
        raise ConfigError(f"refers to {unset[0]}, which {client.name} does not replace")
    if client.url_is_sse and server.kind == "http":
        shown["httpUrl"] = shown.pop("url")
    if client.name == "opencode" and "command" in shown:
        shown["command"] = [shown["command"], *shown.pop("args", ())]
    if client.name == "Continue":
        shown = (
            {"name": server.name}
            | ({"requestOptions": {"headers": shown.pop("headers")}} if "headers" in shown else {})
            | shown
        )
    defaults = [f"the default of {name}" for _, _, name, default in used if default]
    return {**shown, **client.more}, [*(key for key in table if table[key] and key not in _OURS), *defaults]
