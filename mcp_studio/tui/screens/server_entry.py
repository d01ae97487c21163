"""A server's entry as the value of a form, and back; the JSON Schema of that form. Pure.

The names are those of the `[servers.NAME]` table: what starts or reaches the server is under `connect`, everything else
under `advanced`. The roots are not there: they have a dialog of their own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, cast

from mcp_studio.config import servers
from mcp_studio.config.importers import REMOTE, parse_paste
from mcp_studio.config.model import Auth, Problem, ServerConfig, Source, Tls
from mcp_studio.config.secrets import offers
from mcp_studio.config.table import place_of
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, SchemaProblem, errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import get_or_none, pointer

Value = dict[str, Json]
_CONNECT = ("command", "args", "env", "url", "headers")
_SECRET = "stands in the file in clear: ${keyring:NAME} hides it"
_TEXT: Value = {"type": "string"}
_TEXTS: Value = {"type": "array", "items": _TEXT}
_PAIRS: Value = {"type": "object", "additionalProperties": _TEXT}
_FLAG: Value = {"type": "boolean"}
_ANY: Value = {"type": "object"}
_SECONDS: Value = {"type": "number", "exclusiveMinimum": 0}


def _object(properties: Value, *required: str, **more: Json) -> Value:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _open(**properties: Json) -> Value:
    """What the specification may give further properties."""
    return {"type": "object", "properties": properties}


def _of(record: object, words: Mapping[str, Sequence[str]], notes: Mapping[str, str], *names: str) -> Value:
    """Properties for fields of a record, by their defaults; `words` are all that one can be, `notes` describe it."""
    found: Value = {}
    for name in names or [item.name for item in fields(cast("Any", record))]:
        default = getattr(record, name)
        kind: Value = (
            _FLAG if isinstance(default, bool) else {"type": "integer"} if isinstance(default, int)
            else _TEXTS if isinstance(default, tuple) else {"enum": list(words[name])} if name in words else _TEXT
        )  # fmt: skip
        said: Value = {"description": notes[name]} if name in notes else {}
        found[name] = kind | said | ({"default": default} if isinstance(default, (str, int)) and default != "" else {})
    return found


_AUTH = _of(
    Auth(),
    {
        "kind": servers.AUTH_KINDS, "method": servers.METHODS, "algorithm": servers.ALGORITHMS,
        "redirect_host": servers.HOSTS,
    },
    {
        "kind": "Left out, a person signs in with a browser where the server asks.",
        "client_id": "Of a client that was registered beforehand.",
        "scopes": "To ask for besides what the server names.",
        "account": "A word of yours that tells several accounts at one address apart.",
        "key": "The private key, or the file it is in.",
        "assertion": "The workload's JWT, or the file it is in.",
        "idp_id_token": "The identity token, or the file it is in.",
        "dpop": "Tokens are bound to a key of ours.",
        "assume_pkce": "Go on where it is not said that PKCE is known.",
    },
)  # fmt: skip
_TLS = _of(
    Tls(),
    {},
    {
        "ca": "A file or folder with authorities to trust besides.",
        "cert": "The client certificate, as a file.",
        "key": "Its private key, where it is in another file.",
        "insecure": "Any certificate is accepted: whoever is on the way reads everything.",
    },
)
_CAPABILITIES = _open(
    roots=_open(listChanged=_FLAG),
    sampling=_open(context=_ANY, tools=_ANY),
    elicitation=_open(form=_ANY, url=_ANY),
    experimental=_ANY,
)
_ADVANCED = _of(
    ServerConfig(""),
    {
        "transport": ("stdio", *REMOTE), "era": servers.ERAS, "protocol_version": VERSIONS, "log_level": LOG_LEVELS,
    },
    {
        "cwd": "The folder that the command is started in.",
        "inherit_env": "Extra environment variables to pass through.",
        "enabled": "It starts with the studio.",
        "trust": "Trust this server's annotations.",
        "group": "Servers of one group stand in for one another, by priority.",
    },
    "cwd", "inherit_env", "enabled", "trust", "group", "priority", "transport", "era", "protocol_version", "log_level",
)  # fmt: skip
SCHEMA: Value = _object(
    {
        "name": _TEXT,
        "connect": {
            "oneOf": [
                _object(
                    {"command": {**_TEXT, "examples": ["npx", "uvx", "docker"]}, "args": _TEXTS, "env": _PAIRS},
                    "command",
                    title="command",
                ),
                _object(
                    {"url": {**_TEXT, "examples": ["https://example.com/mcp"]}, "headers": _PAIRS}, "url", title="URL"
                ),
            ]
        },
        "advanced": _object(
            {
                **_ADVANCED,
                "timeouts": _object({"connect": _SECONDS, "idle": _SECONDS, "total": _SECONDS}),
                "auth": _object(_AUTH),
                "tls": _object(_TLS),
                "capabilities": {**_CAPABILITIES, "description": "What is declared instead of what can be answered."},
                "client_info": {
                    **_open(name=_TEXT, version=_TEXT, title=_TEXT),
                    "description": "Who we say that we are.",
                },
            }
        ),
    },
    "name",
    "connect",
)
"""Of the whole entry."""


@cache
def server_form() -> Form:
    """The form of a whole entry."""
    return build(cast("Json", SCHEMA), strict=True)


def value_of(server: ServerConfig) -> Value:
    """What the form shows of an entry: as it was written, `${…}` not replaced, without what is the default."""
    entry = server.written or server
    advanced: Value = servers.to_table(entry)
    advanced.pop("roots", None)
    whole: Value = {"connect": {key: advanced.pop(key) for key in _CONNECT if key in advanced}}
    return ({"name": entry.name} if entry.name else {}) | whole | ({"advanced": advanced} if advanced else {})


def server_of(value: Json, base: ServerConfig) -> ServerConfig:
    """The entry that the form describes; what it does not show is as in `base`.

    Raises:
        ConfigError: something cannot be used; `key` is its JSON pointer.
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
    """From here on the value has the shape of the form's schema.

    Raises:
        ConfigError: it has not.
    """
    for problem in errors(quick(form, value)):
        raise ConfigError(f"{problem.sentence}.", key=problem.pointer)


def _table(value: Json) -> dict[str, Any]:
    """The value of the form as a `[servers.NAME]` table."""
    whole = mapping(value)
    table: dict[str, Any] = {**mapping(whole.get("connect")), **mapping(_plain(whole.get("advanced")))}
    for key in ("command", "url", "cwd"):
        if isinstance(table.get(key), str):
            table[key] = table[key].strip()
    if isinstance(priority := table.get("priority"), float):
        table["priority"] = int(priority)
    return table


def _plain(value: Json) -> Json:
    """The value with numbers as they are written into the file."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("Value", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Json]", value)]
    return float(value) if isinstance(value, float) else value


def secret_warnings(value: Json) -> tuple[SchemaProblem, ...]:
    """What looks secret in the value of a form and would stand in the file in clear, as warnings at its places."""
    server = servers.read_server("server", _table(value), Source("argument"), [])
    places = dict.fromkeys(pointer_of(one.key) for one in offers(server)) if server else ()
    return tuple(SchemaProblem(place, _SECRET, "warning") for place in places)


def pointer_of(key: str) -> str:
    """Where the form has what a key of the table is about, such as `env.TOKEN`, `args[2]` or `auth.key`."""
    if key[:1] == "/" or not key:
        return key
    first, _, rest = key.partition(".")
    if first in ("env", "headers"):
        return pointer("connect", first, *([rest] if rest else []))
    path = [part for part in re.split(r"[.\[\]]", key) if part]
    return pointer("connect" if path[0] in _CONNECT else "advanced", *path)


def merged(filled: Json, now: Json, new: Json) -> Json:
    """What a paste says, and of everything that it does not say what the person has typed.

    Args:
        filled: what the form was filled with last.
        now: what stands in it.
        new: the value that was pasted.
    """
    if not isinstance(now, dict) or not isinstance(new, dict) or _crossed(now, new) or _crossed(new, now):
        return new
    before = mapping(filled)
    whole: Value = {}
    for key in (*new, *(key for key in now if key not in new)):
        typed = key in now and now[key] != before.get(key)
        if isinstance(now.get(key), dict) and isinstance(new.get(key), dict):
            whole[key] = merged(before.get(key), now[key], new[key])
        elif typed and (key == "name" or key not in new or new[key] == before.get(key)):
            whole[key] = now[key]
        elif key in new:
            whole[key] = new[key]
    return whole


def _crossed(one: Value, other: Value) -> bool:
    """Whether one is a command and the other a URL: what belongs to the one has no place in the other."""
    return bool(get_or_none(one, ("command",)) and get_or_none(other, ("url",)))


def pasted_servers(text: str) -> list[ServerConfig]:
    """The servers that a pasted text describes; of other clients also the command line that adds a server.

    Raises:
        ConfigError: it describes none; says what is wrong with it.
    """
    line = re.match(r"(?:\$ )?\w+ mcp add (.+)", re.sub(r"\\\r?\n", " ", text).strip(), re.DOTALL)
    if line is None:
        return parse_paste(text)
    try:
        words = shlex.split(line[1])
    except ValueError as problem:
        raise ConfigError(f"The command cannot be read: {str(problem).lower()}.") from None
    return [_added(words)]


def _added(words: list[str]) -> ServerConfig:
    """`claude mcp add --transport http NAME URL --header 'K: V'`, `… NAME --env K=V -- COMMAND ARGS…`."""
    given: list[str] = []
    options: dict[str, list[str]] = {}
    while words:
        word = words.pop(0)
        if word == "--" or (len(given) == 1 and word[:1] != "-" and "://" not in word):  # the rest is its command
            given += words if word == "--" else [word, *words]
            break
        if word[:1] == "-":
            options.setdefault(word.lstrip("-")[:1].lower(), []).append(words.pop(0) if words else "")
        else:
            given.append(word)
    if len(given) < 2:
        raise ConfigError("The name or the command is missing: `claude mcp add NAME COMMAND ARGS…`.")
    name, target, *args = given
    if "://" in target:
        headers = {key.strip(): value.strip() for key, _, value in (one.partition(":") for one in options.get("h", ()))}
        return ServerConfig(name, url=target, headers=headers, transport="sse" if "sse" in options.get("t", ()) else "")
    env = {key: value for key, _, value in (one.partition("=") for one in options.get("e", ()))}
    return ServerConfig(name, target, tuple(args), env)
