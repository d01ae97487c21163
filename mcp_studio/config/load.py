"""The configuration in force: the person's file and the project's, or the files named on the command line.

Loading never fails: each problem is reported beside everything that loaded.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mcp_studio.config.expand import Environ, Lookup, effective
from mcp_studio.config.importers import read_document
from mcp_studio.config.model import Config, Origin, Problem, ServerConfig, Settings, Source, Untrusted
from mcp_studio.config.servers import read_server
from mcp_studio.config.settings import load_answers, read_settings
from mcp_studio.config.table import Document, Table, parse, read_file
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import Paths, read_object
from mcp_studio.vault import keyring
from mcp_studio.vault.base import change_object

VERSION = 1
"""Version of the trust store's format: {"version": 1, "agreed": {digest: {"file", "time"}}}."""


def digest(file: Path, content: bytes) -> str:
    """The key under which the store remembers an agreement: SHA-256 over absolute path and content.

    The path counts because an entry may start a program by a relative path.
    """
    return hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass") + b"\0" + content).hexdigest()


class TrustStore(NamedTuple):
    """The project files that the person has agreed to, by digest, in one JSON file."""

    file: Path

    def agreed(self, digest: str) -> bool:
        """Whether the person has agreed to the file with this digest."""
        return digest in _agreements(read_object(self.file))

    def agree(self, digest: str, file: str = "") -> None:
        """Remember that the person agreed; `file` is stored for people who read the file.

        Raises:
            ConfigError: the store cannot be written.
        """
        new = {digest: {"file": file, "time": int(time.time())}}
        change_object(self.file, lambda stored: {"version": VERSION, "agreed": {**_agreements(stored), **new}})


def _agreements(stored: dict[str, Json]) -> dict[str, Json]:
    # After a damaged or newer store the person is asked again, which is always safe.
    return mapping(stored.get("agreed")) if stored.get("version") == VERSION else {}


PROJECT_FILE = ".mcp-studio.toml"


def load(
    paths: Paths, cwd: Path, *, files: Sequence[Path] = (), environ: Environ = os.environ, secrets: Lookup | None = None
) -> Config:
    """Read all configuration files; a later file overrides an earlier one server by server.

    Args:
        files: read only these (`--config`), in any shape, and neither the person's nor the project's file; the person's
        file still says where secrets are stored, unless these files say it.
        secrets: returns the value of `${keyring:NAME}` instead of the secret store; called only for servers that refer
        to a secret.
    """
    read, ask = written(paths, cwd, files=files), secrets or keyring.session()
    servers, problems = dict[str, ServerConfig](), [*read.problems]
    for name, server in read.servers.items():
        try:
            servers[name] = effective(server, environ, ask)
        except ConfigError as error:
            problems.append(Problem(server.source.file, f"servers.{name}.{error.key}", error.message, error.hint))
    return replace(read, servers=servers, problems=tuple(problems))


def read_text(text: str, problems: list[Problem]) -> dict[str, ServerConfig]:
    """The unexpanded servers of a document without a file, in any known shape."""
    document = parse(text.encode("utf-8", "surrogatepass"), problems)
    return _parsed(document, Source("argument"), Settings(), problems)[1] if document else {}


def written(paths: Paths, cwd: Path, *, files: Sequence[Path] = ()) -> Config:
    """Read what `load` reads without expanding entries: neither variables nor secrets are needed."""
    settings, servers, named = Settings(), dict[str, ServerConfig](), ""
    problems, untrusted, read = list[Problem](), list[Untrusted](), list[str]()
    places: list[tuple[Origin, Path]] = [("file", file) for file in files]
    if not places:
        places = [("user", paths.config_file), ("project", cwd.absolute() / PROJECT_FILE)]
    elif own := read_file(paths.config_file, []):
        settings = Settings(secrets=_parsed(own, Source("user"), settings, [])[0].secrets)
    for origin, file in places:
        if (document := read_file(file, problems, required=origin == "file")) is None:
            continue
        read.append(str(file))
        found, entries = _parsed(document, Source(origin, str(file)), settings, problems)
        if origin == "project":
            known = digest(file, document.content)
            if not TrustStore(paths.trust_file).agreed(known):
                untrusted.append(Untrusted(str(file), known, tuple(entries.values())))
                continue
            found = _of_project(found, settings, str(file), problems)
        elif origin == "file" and file.is_file() and document.ours:
            named = str(file.absolute())
        settings = found
        servers.update(entries)
    if answers := load_answers(paths.answers_file, problems):
        read.append(str(paths.answers_file))
        settings = replace(settings, answers=(*answers, *settings.answers))
    keyring.use(settings.secrets, paths.state)
    return Config(settings, servers, tuple(problems), tuple(untrusted), tuple(read), named)


_OWN = ("editor", "browser", "secrets", "registry_storage", "tools", "answers", "filter", "limits", "record")


def _of_project(found: Settings, own: Settings, file: str, problems: list[Problem]) -> Settings:
    """The settings of a project's file, limited to those that a project may set: the person agreed to its servers only.

    A project's file names no other programs and no other places for the person's data, and weakens no server of the
    person: its rules may only ask and deny.
    """
    strict = [rule for rule in found.policy[len(own.policy) :] if rule.verdict != "allow"]
    limited = replace(found, policy=(*own.policy, *strict), **{name: getattr(own, name) for name in _OWN})
    ignored = [name for name in ("policy", *_OWN) if getattr(limited, name) != getattr(found, name)]
    problems += [Problem(file, name, "counts in your own file only; rules may ask and deny.") for name in ignored]
    return limited


def _parsed(
    document: Document, source: Source, base: Settings, problems: list[Problem]
) -> tuple[Settings, dict[str, ServerConfig]]:
    if not document.ours:
        return base, read_document(document.values, source, problems)
    settings = read_settings(document.values, source.file, problems, base)
    entries = Table(document.values.get("servers", {}), source.file, "servers", problems)
    servers = (read_server(name, entries.take(name), source, problems) for name in entries.keys())
    return settings, {server.name: server for server in servers if server}
