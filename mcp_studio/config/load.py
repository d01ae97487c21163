"""All configuration in force: the person's file, the project's, or the ones named on the command line.

Loading never fails: what is wrong is a `Problem` beside what loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from mcp_studio.config.expand import Lookup, expanded, folder_of
from mcp_studio.config.importers import read_document
from mcp_studio.config.model import Config, Origin, Problem, ServerConfig, Settings, Source, Untrusted
from mcp_studio.config.servers import read_server
from mcp_studio.config.settings import load_answers, read_settings
from mcp_studio.config.table import Document, Table, read_file
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths, write_atomically
from mcp_studio.record import record
from mcp_studio.vault import keyring

VERSION = 1
"""Version of the format: {"version": 1, "agreed": {digest: {"file", "time"}}}."""


def digest(file: Path, content: bytes) -> str:
    """What agreeing is remembered under: SHA-256 over absolute path and content.

    The path counts because an entry may start a program by a relative path.
    """
    return hashlib.sha256(str(file.absolute()).encode("utf-8", "surrogatepass") + b"\0" + content).hexdigest()


class TrustStore:
    """The agreed digests, kept in one JSON file that is read when it is first asked."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, Any] | None = None

    def agreed(self, digest: str) -> bool:
        """Whether the person has agreed to exactly this."""
        if self._known is None:
            self._known = self._read()
        return digest in self._known

    def agree(self, digest: str, file: str = "") -> None:
        """Remember that the person agreed; `file` is noted for people who read the store.

        Raises:
            ConfigError: it cannot be written.
        """
        known = {**self._read(), digest: {"file": file, "time": int(time.time())}}
        text = json.dumps({"version": VERSION, "agreed": known}, indent=2) + "\n"
        try:
            write_atomically(self._file, text.encode())
        except OSError as problem:
            raise ConfigError(f"Cannot be written: {problem.strerror or problem}.", file=str(self._file)) from None
        self._known = known

    def _read(self) -> dict[str, Any]:
        # A damaged or newer store means asking again, which is always safe.
        try:
            stored = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        good = isinstance(stored, dict) and stored.get("version") == VERSION and isinstance(stored.get("agreed"), dict)
        return stored["agreed"] if good else {}


PROJECT_FILE = ".mcp-studio.toml"


@record()
class _Loading:
    """What has been read so far."""

    settings: Settings = Settings()
    servers: dict[str, ServerConfig] = field(default_factory=dict[str, ServerConfig])
    problems: list[Problem] = field(default_factory=list[Problem])
    untrusted: list[Untrusted] = field(default_factory=list[Untrusted])
    files: list[str] = field(default_factory=list[str])
    named: str = ""

    def config(self) -> Config:
        """All of it, frozen."""
        return Config(
            self.settings, self.servers, tuple(self.problems), tuple(self.untrusted), tuple(self.files), self.named
        )


def load(
    paths: Paths,
    cwd: Path,
    *,
    files: Sequence[Path] = (),
    trusted: TrustStore | None = None,
    environ: Mapping[str, str] = os.environ,
    secrets: Lookup | None = None,
) -> Config:
    """Read all configuration that is there; a later file overrides an earlier one server by server.

    Args:
        files: read only these (`--config`), in any shape, and neither the person's nor the project's file; only where
            secrets are kept is said by the person's file, as far as these do not say it.
        trusted: which project files were agreed to; the person's store by default.
        secrets: gives the value of `${keyring:NAME}`, instead of where secrets are kept; called only for servers that
            ask for one.
    """
    done = _read(paths, cwd, files, trusted)
    keyring.use(done.settings.secrets, paths.state)
    done.servers = expand_all(done.servers, environ, secrets or keyring.session(), done.problems)
    return done.config()


def written(paths: Paths, cwd: Path, *, files: Sequence[Path] = ()) -> Config:
    """What `load` reads, with the entries as they are written: no variable and no secret is asked for."""
    done = _read(paths, cwd, files, None)
    keyring.use(done.settings.secrets, paths.state)
    return done.config()


def _read(paths: Paths, cwd: Path, files: Sequence[Path], trusted: TrustStore | None) -> _Loading:
    done = _Loading()
    if files:
        aside = _Loading()
        _add(aside, paths.config_file, "user")
        done.settings = Settings(secrets=aside.settings.secrets)
        for file in files:
            _add(done, file, "file", required=True)
            done.named = str(file.absolute()) if file.is_file() and file.suffix != ".json" else done.named
    else:
        _add(done, paths.config_file, "user")
        _project(cwd.absolute() / PROJECT_FILE, trusted or TrustStore(paths.trust_file), done)
    if answers := load_answers(paths.answers_file, done.problems):
        done.files.append(str(paths.answers_file))
        done.settings = replace(done.settings, answers=(*answers, *done.settings.answers))
    return done


def _add(done: _Loading, file: Path, origin: Origin, *, required: bool = False) -> None:
    if document := read_file(file, done.problems, required=required):
        done.files.append(str(file))
        done.settings, servers = _parsed(document, Source(origin, str(file)), done)
        done.servers.update(servers)


def _project(file: Path, trusted: TrustStore, done: _Loading) -> None:
    document = read_file(file, done.problems)
    if document is None:
        return
    done.files.append(str(file))
    settings, servers = _parsed(document, Source("project", str(file)), done)
    known = digest(file, document.content)
    if trusted.agreed(known):
        # The question that was agreed to names servers: no other program comes from there, and no other place for
        # what the person keeps.
        own = done.settings
        done.settings = replace(settings, editor=own.editor, browser=own.browser, secrets=own.secrets)
        done.servers.update(servers)
    else:
        done.untrusted.append(Untrusted(str(file), known, tuple(servers.values())))


def _parsed(document: Document, source: Source, done: _Loading) -> tuple[Settings, dict[str, ServerConfig]]:
    if not document.is_toml:
        return done.settings, read_document(document.values, source, done.problems)
    settings = read_settings(document.values, source.file, done.problems, done.settings)
    entries = Table(document.values.get("servers", {}), source.file, "servers", done.problems)
    servers = {name: read_server(name, entries.take(name), source, done.problems) for name in entries.keys()}
    return settings, {name: server for name, server in servers.items() if server}


def expand_all(
    servers: Mapping[str, ServerConfig], environ: Mapping[str, str], keyring: Lookup, problems: list[Problem]
) -> dict[str, ServerConfig]:
    """All entries with `${…}` replaced; those where that fails are left out with a problem noted."""
    done: dict[str, ServerConfig] = {}
    for name, server in servers.items():
        file = server.source.file
        try:
            done[name] = expanded(server, environ, keyring, folder_of(file) if file else "")
        except ConfigError as problem:
            key = f"servers.{name}" + (f".{problem.key}" if problem.key else "")
            problems.append(Problem(file, key, problem.message, problem.hint))
    return done
