"""Other MCP clients: the files in which they keep servers, and the format of those files (`clients.toml`)."""

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mcp_studio.errors import UsageError, nearest
from mcp_studio.jsontext import Json
from mcp_studio.paths import home


class ForeignClient(NamedTuple):
    """Another MCP client; `clients.toml` explains the fields."""

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
    own: str = ""

    def plain(self, text: str) -> str:
        """Rewrite references of the client as `${NAME}`, and those that only it can resolve as `${client:…}`."""
        reference = re.escape("$%s" if self.bare else self.reference)
        pattern = reference.replace(r"\ ", r"\s*").replace("%s", r"([A-Za-z_]\w*)")
        text = re.sub(pattern, r"${\1}", text) if pattern else text
        return re.sub(self.own, _foreign, text, flags=re.DOTALL) if self.own else text


def _foreign(found: re.Match[str]) -> str:
    # A reference of ours holds no braces.
    return "${client:" + re.sub(r"\A\$?\{+\s*|\s*\}+\Z|[{}]", "", found[0]) + "}"


class ForeignFile(NamedTuple):
    """A configuration file of another client; `config.load.load(files=[file])` reads it."""

    client: str
    file: Path
    project: bool
    """Whether the file belongs to a project folder rather than to the person."""


@cache
def clients() -> tuple[ForeignClient, ...]:
    """All clients of `clients.toml`."""
    table = tomllib.loads(Path(__file__).with_name("clients.toml").read_text("utf-8"))
    return tuple(ForeignClient(name, **values) for name, values in table.items())


def client_named(word: str) -> ForeignClient:
    """The client of that name; case, spaces and dashes do not matter.

    Raises:
        UsageError: no client has the name.
    """
    known = {re.sub(r"\W+", "-", client.name.lower()): client for client in clients()}
    plain = re.sub(r"[\W_]", "", word.lower())
    if found := [client for name, client in known.items() if name.replace("-", "") == plain]:
        return found[0]
    raise UsageError(f"No client is known as `{word}`.", hint=nearest(word, known) or f"Known are {', '.join(known)}.")


def client_of(file: str) -> ForeignClient:
    """The client that a file belongs to, by the file's name and folder; a nameless client where none fits."""
    path = Path(file).absolute()
    return next((one for one in clients() if any(path.match(place[2:]) for place in one.places)), ForeignClient())


def is_personal(file: str) -> bool:
    """Whether a client's file belongs to the person and not to a project."""
    path = Path(file).absolute()
    kinds = {place[0] for place in client_of(file).places if path.match(place[2:])}
    return (bool(kinds) and "." not in kinds) or path in [one.file for one in places(path.parent) if not one.project]


def places(cwd: Path, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> tuple[ForeignFile, ...]:
    """All files in which clients look for servers, whether the files exist or not."""
    person = home(env)
    terminal = Path(env.get("XDG_CONFIG_HOME") or person / ".config")
    roaming, local = (Path(env.get(name) or person / "AppData" / last) for name, last in _WINDOWS.items())
    applications = {"win32": roaming, "darwin": person / "Library" / "Application Support"}.get(platform, terminal)
    windows = {"#": roaming, "&": local} if platform == "win32" else {}
    named = {f"${name}": Path(value) for name, value in env.items() if value}
    folders = {".": cwd, "~": person, "%": terminal, "@": applications, **windows, **named}
    return tuple(
        ForeignFile(client.name, file, root == ".")
        for client in clients()
        for root, _, path in (place.partition("/") for place in client.places)
        if (folder := folders.get(root))
        for file in (sorted(folder.glob(path)) if "*" in path else (folder / path,))
    )


_WINDOWS = {"APPDATA": "Roaming", "LOCALAPPDATA": "Local"}


def targets(cwd: Path) -> dict[tuple[str, bool], Path]:
    """The file into which each client's servers are written, by the client's name and whether the file is a project's.

    The first existing file is chosen, else the first.
    """
    found: dict[tuple[str, bool], Path] = {}
    for one in sorted(places(cwd), key=lambda one: not one.file.is_file()):
        found.setdefault((one.client, one.project), one.file)
    return found


def foreign_files(cwd: Path, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[ForeignFile]:
    """The clients' files that exist, those of the project first."""
    return sorted((one for one in places(cwd, env, platform) if one.file.is_file()), key=lambda one: not one.project)
