"""Other MCP clients: where each keeps its servers, and how it writes them (`clients.toml`)."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError
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


def folders(cwd: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> dict[str, Path]:
    """What the first characters of places stand for."""
    person = home(environ)
    terminal = Path(environ.get("XDG_CONFIG_HOME") or person / ".config")
    applications = {
        "win32": Path(environ.get("APPDATA") or person / "AppData" / "Roaming"),
        "darwin": person / "Library" / "Application Support",
    }
    return {".": cwd, "~": person, "%": terminal, "@": applications.get(platform, terminal)}


def foreign_files(
    cwd: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> tuple[ForeignFile, ...]:
    """The files that exist, the project's first."""
    known = folders(cwd, environ, platform)
    files = [
        ForeignFile(client.name, file, place[0] == ".")
        for client in clients()
        for place in client.places
        for file in (sorted(known["."].glob(place[2:])) if "*" in place else (known[place[0]] / place[2:],))
    ]
    return tuple(sorted((one for one in files if one.file.is_file()), key=lambda one: not one.project))


def file_of(client: Client, project: bool, cwd: Path, platform: str = sys.platform) -> Path:
    """The file that servers of a client are written to: the first that exists, else the usual one.

    Raises:
        UsageError: it has none of that kind.
    """
    known = folders(cwd, platform=platform)
    places = [place for place in client.places if (place[0] == ".") == project and "*" not in place]
    if not places:
        raise UsageError(f"{client.name} has no file for {'a project' if project else 'a person'} that is known here.")
    # Windows has another folder for what elsewhere is configured beside programs of a terminal.
    places.sort(key=lambda place: platform == "win32" and place[0] == "%")
    files = [known[place[0]] / place[2:] for place in places]
    return next((file for file in files if file.is_file()), files[0])
