"""Converts a server's entry into the value of a form and back; builds the JSON Schema of that form. Pure.

The names are those of the `[servers.NAME]` table: the keys that start or reach the server are under `connect`, all
others under `advanced`. The roots are missing, because they have a dialog of their own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from mcp_studio.config import servers
from mcp_studio.config.importers import NO_SERVERS, suggest_name
from mcp_studio.config.load import read_text
from mcp_studio.config.model import Problem, ServerConfig, Source
from mcp_studio.config.secrets import offers
from mcp_studio.config.table import place_of, words_of
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, SchemaProblem, errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import pointer

Value = dict[str, Json]
_CONNECT = ("command", "args", "env", "url", "headers")
_SECRET = "stands in the file in clear: ${keyring:NAME} hides it"
_NOTES = {
    "inherit_env": "Extra environment variables to pass through.",
    "cwd": "The folder that the command is started in.",
    "capabilities": "Capabilities to declare instead of those that the studio has.",
    "client_info": "The client info to send: name, version, title.",
    "enabled": "Whether the studio starts it.",
    "start": "demand: the first call starts it, not the studio.",
    "watch": "It restarts when such files change: **/*.py, from its folder.",
    "trust": "Trust this server's annotations.",
    "cache_ttl": "Seconds for which a resource is cached, whatever the server says; 0 is for ever.",
    "filter": "Secrets and personal data in results. mark: count them; mask: also put marks in their place.",
    "group": "Servers of one group stand in for one another, by priority.",
    "auth.kind": "Omitted: a person signs in with a browser where the server requires it.",
    "auth.client_id": "The id of a client that was registered beforehand.",
    "auth.scopes": "Scopes to request besides those that the server names.",
    "auth.account": "A name that tells several accounts at one address apart.",
    "auth.key": "The private key, or the file it is in.",
    "auth.assertion": "The workload's JWT, or the file it is in.",
    "auth.idp_id_token": "The identity token, or the file it is in.",
    "auth.dpop": "Bind tokens to a key of this machine (DPoP).",
    "auth.assume_pkce": "Go on where the authorization server does not declare PKCE.",
    "sandbox.network": "Off, the program has no network; where that cannot be enforced, it is not started.",
    "sandbox.files": "What the program may do with `paths`; it sees no other files of yours. Omitted: it may use all.",
    "sandbox.paths": "Files and folders; a relative one is relative to the configuration file's folder.",
    "tls.ca": "A file or folder with authorities to trust besides.",
    "tls.cert": "The client certificate, as a file.",
    "tls.key": "Its private key, where it is in another file.",
    "tls.insecure": "Any certificate is accepted: whoever is on the way reads everything.",
}
_EXAMPLES: dict[str, Json] = {
    "command": ["npx", "uvx", "docker"], "url": ["https://example.com/mcp"], "uri": ["~/project", "file:///srv/data"],
}  # fmt: skip
_TEXT: Value = {"type": "string"}


def table_schema(record: object, names: Iterable[str], required: tuple[str, ...] = (), where: str = "") -> Value:
    """The schema of a table, derived from the default values of its record."""
    properties: Value = {name: _property(record, name, where) for name in names}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def _property(record: object, name: str, where: str) -> Value:
    default = getattr(record, name)
    if name in servers.INNER:
        return table_schema(default, servers.INNER[name], where=f"{name}.")
    match default:
        case bool():
            kind: Value = {"type": "boolean", "default": default}
        case int():
            kind = {"type": "integer", "default": default}
        case float():
            kind = {"type": "number", "minimum": 0}
        case str():
            words = words_of(type(record)).get(name)
            kind = {"enum": [*words]} if words else {**_TEXT}
            kind |= {"default": default} if default else {}
        case tuple():
            kind = {"type": "array", "items": _TEXT}
        case None:
            kind = {"type": "number", "exclusiveMinimum": 0} if where == "timeouts." else {"type": "object"}
        case _:
            kind = {"type": "object", "additionalProperties": _TEXT}
    texts: Value = {"description": _NOTES.get(f"{where}{name}"), "examples": _EXAMPLES.get(name)}
    return kind | {word: text for word, text in texts.items() if text}


_BARE = ServerConfig("")
SCHEMA: Value = {
    **table_schema(_BARE, (), ("name", "connect")),
    "properties": {
        "name": _TEXT,
        "connect": {
            "oneOf": [
                {**table_schema(_BARE, _CONNECT[:3], ("command",)), "title": "command"},
                {**table_schema(_BARE, _CONNECT[3:], ("url",)), "title": "URL"},
            ]
        },
        "advanced": table_schema(_BARE, [key for key in servers.KEYS if key not in (*_CONNECT, "roots")]),
    },
}
"""The schema of the whole entry."""


@cache
def server_form() -> Form:
    return build(SCHEMA, strict=True)


def value_of(server: ServerConfig) -> Value:
    """The form's value for an entry: as it was written, with `${…}` not replaced, and without default values."""
    entry = server.written or server
    advanced: Value = servers.to_table(entry)
    advanced.pop("roots", None)
    whole: Value = {"connect": {key: advanced.pop(key) for key in _CONNECT if key in advanced}}
    return ({"name": entry.name} if entry.name else {}) | whole | ({"advanced": advanced} if advanced else {})


def server_of(value: Json, base: ServerConfig) -> ServerConfig:
    """The entry that the form describes; members that the form does not show are taken from `base`.

    Raises:
        ConfigError: a value cannot be used; `key` is its JSON pointer.
    """
    sound(server_form(), value)
    old, table = base.written or base, _table(value)
    name = str(mapping(value)["name"])
    if (not name or name != old.name) and not re.fullmatch(r"[\w-][\w -]{0,79}", name := name.strip()):
        raise ConfigError("The name is made of letters, digits, - and _.", key="/name")
    if re.match(r"(?:https?|wss?)://|\$\{[^}]+\}/", table.get("command", "")):
        raise ConfigError("This is a URL: choose URL above it.", key="/connect/command")
    for part in ("env", "headers"):
        for key in table.get(part, ()):
            if not key or re.search(r"\s", key):
                raise ConfigError("A name has no spaces in it.", key=pointer("connect", part, key))
    if null := place_of(table, "", lambda item: item is None)[1:]:
        raise ConfigError("null cannot stand here: the file has no way to say it.", key=pointer_of(null))
    problems: list[Problem] = []
    server = servers.read_server(name, table, old.source, problems)
    if server is None:
        wrong = problems[0]
        key = wrong.key.removeprefix(f"servers.{name}").lstrip(".")
        raise ConfigError(f"{key or 'The entry'} {wrong.message}", key=pointer_of(key) or "/connect", hint=wrong.hint)
    return replace(server, roots=old.roots, secrets=old.secrets, keep_session=old.keep_session)


def sound(form: Form, value: Json) -> None:
    """Check that the value has the shape of the form's schema.

    Raises:
        ConfigError: the value does not have that shape.
    """
    for problem in errors(quick(form, value)):
        raise ConfigError(f"{problem.sentence}.", key=problem.pointer)


def _table(value: Json) -> dict[str, Any]:
    """The value of the form as a `[servers.NAME]` table."""
    whole = mapping(value)
    table: dict[str, Any] = {**mapping(whole.get("connect")), **mapping(whole.get("advanced"))}
    for key in ("command", "url", "cwd"):
        if isinstance(table.get(key), str):
            table[key] = table[key].strip()
    return table


def has_program(server: ServerConfig) -> bool:
    """Whether there is a program for the server's command, as far as can be told before `${…}` is replaced."""
    if "$" in server.command or "PATH" in server.env:
        return True
    command = os.path.join(server.cwd or ".", server.command) if "/" in server.command else server.command
    return not command or shutil.which(os.path.expanduser(command)) is not None


def secret_warnings(value: Json) -> tuple[SchemaProblem, ...]:
    """Warnings at the values that look secret and would stand in the file in clear."""
    server = servers.read_server("server", _table(value), Source("argument"), [])
    places = dict.fromkeys(pointer_of(one.key) for one in offers(server)) if server else ()
    return tuple(SchemaProblem(place, _SECRET, "warning") for place in places)


def pointer_of(key: str) -> str:
    """The JSON pointer in the form for a key of the table, such as `env.TOKEN`, `args[2]` or `auth.key`."""
    if key[:1] == "/" or not key:
        return key
    first, _, rest = key.partition(".")
    if first in ("env", "headers"):
        return pointer("connect", first, *([rest] if rest else []))
    path = [part for part in re.split(r"[.\[\]]", key) if part]
    return pointer("connect" if path[0] in _CONNECT else "advanced", *path)


def merged(filled: Json, now: Json, new: Json) -> Json:
    """The pasted value, with the person's own edits of everything that the paste does not mention.

    Args:
        filled: the value with which the form was last filled.
        now: the present value of the form.
        new: the pasted value.
    """
    if not isinstance(now, dict) or not isinstance(new, dict) or {"command", "url"} <= {*now, *new}:
        return new  # members of a command and of a URL do not fit together
    whole, before = {**new}, mapping(filled)
    for key, value in now.items():
        if isinstance(value, dict) and isinstance(new.get(key), dict):
            whole[key] = merged(before.get(key), value, new[key])
        elif value != before.get(key) and (key == "name" or key not in new or new[key] == before.get(key)):
            whole[key] = value
    return whole


def pasted_servers(text: str) -> list[ServerConfig]:
    """The servers that a pasted text describes, as written: a document, a URL, a command line, or another client's
    command for adding a server.

    Raises:
        ConfigError: the text describes no server; the message says what is wrong.
    """
    line = re.sub(r"\\\r?\n", " ", text).strip().removeprefix("$ ")
    if not line:
        raise ConfigError("Nothing was pasted.", hint="Paste a command, a URL, or an mcp.json snippet.")
    if re.match(r'\{|"[^"\n]*"\s*:\s*\{', text.strip()) or re.search(r"^\[[\w.\"' -]+\]\s*(#.*)?$", text, re.MULTILINE):
        return _from_document(text.strip())
    if re.match(r"[A-Za-z][\w+.-]*://\S+\Z", line):
        if wrong := servers.wrong_address(line):
            raise ConfigError(f"`{line[:60]}` {wrong}.")
        return [_named(ServerConfig("", url=line, source=Source("argument")))]
    adding = re.match(r"\w+ mcp add (.+)", line, re.DOTALL)
    if adding is None and "\n" in line:
        raise ConfigError("A command is one line.", hint="Several lines are read only as JSON or TOML.")
    try:
        words = shlex.split(adding[1] if adding else line, posix=bool(adding) or os.name != "nt")
    except ValueError as problem:
        raise ConfigError(f"The command cannot be read: {str(problem).lower()}.") from None
    return [_from_client(words) if adding else _from_command(words)]


def _named(server: ServerConfig) -> ServerConfig:
    return replace(server, name=suggest_name(server))


def _from_document(text: str) -> list[ServerConfig]:
    """The servers of a document, which may lack the frame around an entry, as documentation often does."""
    whole = text if text[0] != '"' else "{" + text.rstrip(",") + "\n}"
    problems: list[Problem] = []
    found = list(read_text(whole, problems).values())
    if problems and problems[0].message == NO_SERVERS:
        framed, alone = f'{{"mcpServers": {whole}\n}}', f'{{"mcpServers": {{"server": {whole}\n}}}}'
        found = list(read_text(framed, problems).values())
        found = found or [_named(server) for server in read_text(alone, problems).values()]
    if found:
        return found
    wrong = problems[-1] if problems else Problem("", "", "There is no server in it.")
    raise ConfigError(f"{wrong.key} {wrong.message}".strip(), key=wrong.key, hint=wrong.hint)


def _from_command(words: list[str]) -> ServerConfig:
    """`NAME=value … COMMAND ARGS…`."""
    env: dict[str, str] = {}
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    if not words or not words[0].strip():
        raise ConfigError("There is no command in it.")
    return _named(ServerConfig("", command=words[0], args=tuple(words[1:]), env=env, source=Source("argument")))


def _from_client(words: list[str]) -> ServerConfig:
    """`claude mcp add --transport http NAME URL --header 'K: V'`, `… NAME --env K=V -- COMMAND ARGS…`."""
    operands: list[str] = []
    options: dict[str, list[str]] = {}
    while words:
        word = words.pop(0)
        if word == "--" or (len(operands) == 1 and word[:1] != "-" and "://" not in word):  # the rest is the command
            operands += words if word == "--" else [word, *words]
            break
        if word[:1] == "-":
            options.setdefault(word.lstrip("-")[:1].lower(), []).append(words.pop(0) if words else "")
        else:
            operands.append(word)
    if len(operands) < 2:
        raise ConfigError("The name or the command is missing: `claude mcp add NAME COMMAND ARGS…`.")
    name, target, *args = operands
    if "://" in target:
        headers = {key.strip(): value.strip() for key, _, value in (one.partition(":") for one in options.get("h", ()))}
        return ServerConfig(name, url=target, headers=headers, transport="sse" if "sse" in options.get("t", ()) else "")
    env = {key: value for key, _, value in (one.partition("=") for one in options.get("e", ()))}
    return ServerConfig(name, target, tuple(args), env)
