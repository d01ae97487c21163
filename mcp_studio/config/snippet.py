"""What people paste to add a server: a command line, a URL, or a piece of somebody's configuration."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from dataclasses import replace

from mcp_studio.config.foreign import bare_entries, read_document, read_entry, servers_of
from mcp_studio.config.jsonc import loads_lenient
from mcp_studio.config.model import Problem, ServerConfig, Source
from mcp_studio.config.servers import read_server
from mcp_studio.config.target import suggest_name
from mcp_studio.errors import ConfigError, LimitExceeded
from mcp_studio.jsontext import JsonProblem

_SOURCE = Source("argument")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def parse_paste(text: str) -> list[ServerConfig]:
    """The servers that a pasted text describes, as they are written: `${…}` is not replaced yet.

    Raises:
        ConfigError: it describes none; says what is wrong with it.
    """
    text = text.strip()
    if not text:
        raise ConfigError("Nothing was pasted.", hint="Paste a command, a URL, or an mcp.json snippet.")
    if text[0] == "{" or re.match(r'"[^"\n]*"\s*:\s*\{', text):
        return _from_json(text)
    if re.search(r"^\[[\w.\"' -]+\]\s*(#.*)?$", text, re.MULTILINE):
        return _from_toml(text)
    if re.match(r"(?:https?|wss?)://", text) and not re.search(r"\s", text):
        return [_named(ServerConfig("", url=text, source=_SOURCE))]
    return [_from_line(text)]


def _from_json(text: str) -> list[ServerConfig]:
    try:
        document = loads_lenient(text if text[0] == "{" else "{" + text.rstrip().rstrip(",") + "}")
    except (JsonProblem, LimitExceeded) as problem:
        raise ConfigError(f"This looks like JSON, but is not valid: {problem}.") from None
    problems: list[Problem] = []
    if servers_of(document) is None and (entries := bare_entries(document)):
        document = {"mcpServers": entries}
    if servers_of(document):
        servers = list(read_document(document, _SOURCE, problems).values())
    else:
        entry = read_entry("server", document, _SOURCE, "", problems)
        servers = [_named(entry)] if entry else []
    return _or_raise(servers, problems)


def _from_toml(text: str) -> list[ServerConfig]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"This looks like TOML, but is not valid: {problem}.") from None
    problems: list[Problem] = []
    own, other = document.get("servers"), document.get("mcp_servers")
    if isinstance(own, dict):
        found = [read_server(name, values, _SOURCE, problems) for name, values in own.items()]
        return _or_raise([server for server in found if server], problems)
    if isinstance(other, dict):
        return _or_raise(list(read_document({"servers": other}, _SOURCE, problems).values()), problems)
    raise ConfigError("This TOML has no [servers.NAME] table.")


def _or_raise(servers: list[ServerConfig], problems: list[Problem]) -> list[ServerConfig]:
    if servers:
        return servers
    first = problems[0] if problems else Problem("", "", "There is no server in it.")
    where = f"{first.key} " if first.key.strip(".") else ""
    raise ConfigError(where + first.message, key=first.key, hint=first.hint)


def _from_line(text: str) -> ServerConfig:
    line = re.sub(r"\\\r?\n", " ", text).removeprefix("$ ")
    if "\n" in line:
        raise ConfigError("A command is one line.", hint="Several lines are read only as JSON or TOML.")
    try:
        words = shlex.split(line, posix=os.name != "nt")
    except ValueError as problem:
        raise ConfigError(f"The command cannot be read: {str(problem).lower()}.") from None
    env: dict[str, str] = {}
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    if not words or not words[0].strip():
        raise ConfigError("There is no command in it.")
    return _named(ServerConfig("", command=words[0], args=tuple(words[1:]), env=env, source=_SOURCE))


def _named(server: ServerConfig) -> ServerConfig:
    return replace(server, name=suggest_name(server))
