"""All configuration in force: the person's file, the project's, or the ones named on the command line.

Loading never fails: what is wrong is a `Problem` beside what loaded.
"""

from __future__ import annotations

import hashlib
import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from mcp_studio.config import table
from mcp_studio.config.expand import Lookup, expanded, folder_of
from mcp_studio.config.importers import read_document
from mcp_studio.config.model import Config, Origin, Problem, ServerConfig, Settings, Source, Untrusted
from mcp_studio.config.servers import read_server
from mcp_studio.config.settings import load_answers, read_settings
from mcp_studio.config.table import Table, loads_lenient
from mcp_studio.errors import ConfigError, LimitExceeded
from mcp_studio.jsontext import JsonProblem, mapping
from mcp_studio.paths import Paths, read_object, write_object
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
        try:
            write_object(self._file, {"version": VERSION, "agreed": known})
        except OSError as problem:
            raise ConfigError(f"Cannot be written: {problem.strerror or problem}.", file=str(self._file)) from None
        self._known = known

    def _read(self) -> dict[str, Any]:
        # A damaged or newer store means asking again, which is always safe.
        stored = read_object(self._file)
        return mapping(stored.get("agreed")) if stored.get("version") == VERSION else {}


PROJECT_FILE = ".mcp-studio.toml"
LARGEST = 8 * 1024 * 1024
"""Bytes of a configuration file; a larger one is none."""


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
        if (content := _content(paths.config_file, aside)) is not None:
            done.settings = Settings(secrets=_parsed(paths.config_file, content, "user", aside)[0].secrets)
        for file in files:
            if (content := _content(file, done, required=True)) is not None:
                _add(done, *_parsed(file, content, "file", done))
                done.named = str(file.absolute()) if file.is_file() and file.suffix != ".json" else done.named
    else:
        if (content := _content(paths.config_file, done)) is not None:
            _add(done, *_parsed(paths.config_file, content, "user", done))
        _project(cwd.absolute() / PROJECT_FILE, trusted or TrustStore(paths.trust_file), done)
    if answers := load_answers(paths.answers_file, done.problems):
        done.files.append(str(paths.answers_file))
        done.settings = replace(done.settings, answers=(*answers, *done.settings.answers))
    return done


def _project(file: Path, trusted: TrustStore, done: _Loading) -> None:
    content = _content(file, done)
    if content is None:
        return
    agreed = trusted.agreed(digest(file, content))
    settings, servers = _parsed(file, content, "project", done)
    if agreed:
        # The question that was agreed to names servers: no other program comes from there, and no other place for
        # what the person keeps.
        own = done.settings
        _add(done, replace(settings, editor=own.editor, browser=own.browser, secrets=own.secrets), servers)
    else:
        done.untrusted.append(Untrusted(str(file), digest(file, content), tuple(servers.values())))


def _content(file: Path, done: _Loading, *, required: bool = False) -> bytes | None:
    try:
        if not required and not file.is_file():
            raise FileNotFoundError  # a pipe would be waited for; only a person may name one
        if file.stat().st_size > LARGEST:
            raise OSError("it is larger than 8 MB")
        content = file.read_bytes()
    except FileNotFoundError:
        if required:
            done.problems.append(Problem(str(file), "", "There is no such file."))
        return None
    except OSError as problem:
        done.problems.append(Problem(str(file), "", f"It cannot be read: {problem.strerror or problem}."))
        return None
    done.files.append(str(file))
    return content


def _parsed(file: Path, content: bytes, origin: Origin, done: _Loading) -> tuple[Settings, dict[str, ServerConfig]]:
    source = Source(origin, str(file))
    try:
        text = content.decode("utf-8-sig")
        if file.suffix == ".toml" or (file.suffix != ".json" and not text.lstrip().startswith(("{", "//", "/*"))):
            return _own(table.read(text), source, done)
        return done.settings, read_document(loads_lenient(text), source, done.problems)
    except UnicodeDecodeError:
        done.problems.append(Problem(source.file, "", "It is not UTF-8 text."))
    except tomllib.TOMLDecodeError as problem:
        done.problems.append(Problem(source.file, "", f"It is not valid TOML: {problem}."))
    except RecursionError:
        done.problems.append(Problem(source.file, "", "It is nested too deeply."))
    except (JsonProblem, LimitExceeded) as problem:
        done.problems.append(Problem(source.file, "", f"It is not valid JSON: {problem}."))
    return done.settings, {}


def _own(values: Mapping[str, Any], source: Source, done: _Loading) -> tuple[Settings, dict[str, ServerConfig]]:
    settings = read_settings(values, source.file, done.problems, done.settings)
    entries = Table(values.get("servers", {}), source.file, "servers", done.problems)
    servers = {name: read_server(name, entries.take(name), source, done.problems) for name in entries.keys()}
    return settings, {name: server for name, server in servers.items() if server}


def _add(done: _Loading, settings: Settings, servers: Mapping[str, ServerConfig]) -> None:
    done.settings = settings
    done.servers.update(servers)


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
