"""A server's entry as the value of a form, and back; the JSON Schema of that form. Pure.

The names are those of the table in the file, but what belongs to one way of reaching a server is together under
`connect`, and what is rarely needed is folded away under `protocol` and `timeouts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast, get_args

from mcp_studio.config import servers
from mcp_studio.config.importers import REMOTE
from mcp_studio.config.model import Auth, Era, Problem, Root, ServerConfig, Timeouts, Tls
from mcp_studio.config.servers import SCHEMES, contradiction, read_auth, read_tls, to_table
from mcp_studio.config.table import LONE_SURROGATE, Table, lone_surrogate, place_of
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS
from mcp_studio.redact import is_secret_name
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, SchemaProblem, errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, get_or_none, pointer

Value = dict[str, Json]
Schema = dict[str, Json]
ERAS: tuple[Era, ...] = get_args(Era)
TIMES = ("connect", "idle", "total")


def _text(**more: Json) -> Schema:
    return {"type": "string", **more}


def _object(properties: Schema, *required: str, **more: Json) -> Schema:
    closed: Schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return closed | ({"required": list(required)} if required else {})


def _open(**properties: Json) -> Schema:
    """What the specification may give further properties."""
    return {"type": "object", "properties": properties}


def _one_of(*values: str, **more: Json) -> Schema:
    return {"enum": list(values), **more}


def _list(items: Schema, **more: Json) -> Schema:
    return {"type": "array", "items": items, **more}


_PAIRS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_FLAG: Schema = {"type": "boolean"}
_ANY: Schema = {"type": "object"}

_COMMAND = _object(
    {
        "command": _text(examples=["npx", "uvx", "docker"]),
        "args": _list(_text()),
        "env": _PAIRS,
        "cwd": _text(),
        "inherit_env": _list(_text(), description="Extra environment variables to pass through."),
    },
    "command",
    title="command",
)
_AUTH = _object(
    {
        "kind": _one_of(
            *servers.AUTH_KINDS, description="Left out, a person signs in with a browser where the server asks."
        ),
        "client_id": _text(description="Of a client that was registered beforehand."),
        "client_secret": _text(),
        "scopes": _list(_text(), description="To ask for besides what the server names."),
        "issuer": _text(examples=["https://auth.example.com"]),
        "account": _text(description="A word of yours that tells several accounts at one address apart."),
        "method": _one_of(*servers.METHODS),
        "redirect_port": {"type": "integer", "minimum": 0, "maximum": 65_535},
        "redirect_host": _one_of(*servers.HOSTS),
        "client_metadata_url": _text(),
        "key": _text(description="The private key, or the file it is in."),
        "algorithm": _one_of(*servers.ALGORITHMS),
        "assertion": _text(description="The workload's JWT, or the file it is in."),
        "idp_token_endpoint": _text(),
        "idp_client_id": _text(),
        "idp_client_secret": _text(),
        "idp_id_token": _text(description="The identity token, or the file it is in."),
        "dpop": {**_FLAG, "description": "Tokens are bound to a key of ours."},
        "assume_pkce": {**_FLAG, "description": "Go on where it is not said that PKCE is known."},
    }
)
_TLS = _object(
    {
        "ca": _text(description="A file or folder with authorities to trust besides."),
        "cert": _text(description="The client certificate, as a file."),
        "key": _text(description="Its private key, where it is in another file."),
        "password": _text(),
        "insecure": {**_FLAG, "description": "Any certificate is accepted: whoever is on the way reads everything."},
    }
)
_URL = _object(
    {
        "url": _text(examples=["https://example.com/mcp"]),
        "headers": _PAIRS,
        "transport": _one_of(*REMOTE),
        "auth": _AUTH,
        "tls": _TLS,
    },
    "url",
    title="URL",
)
_CAPABILITIES = _open(
    roots=_open(listChanged=_FLAG),
    sampling=_open(context=_ANY, tools=_ANY),
    elicitation=_open(form=_ANY, url=_ANY),
    experimental=_ANY,
)
_PROTOCOL = _object(
    {
        "version": _one_of(*VERSIONS),
        "log_level": _one_of(*LOG_LEVELS),
        "capabilities": {**_CAPABILITIES, "description": "What is declared instead of what can be answered here."},
        "client_info": {
            **_open(name=_text(), version=_text(), title=_text()),
            "description": "Who we say that we are.",
        },
    }
)
_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0}
_ROOTS = _list(_object({"uri": _text(examples=["~/project", "file:///srv/data"]), "name": _text()}, "uri"))

SCHEMA: Schema = _object(
    {
        "name": _text(),
        "connect": {"oneOf": [_COMMAND, _URL]},
        "era": _one_of(*ERAS, default="auto"),
        "enabled": {**_FLAG, "description": "It starts with the studio."},
        "trust": {**_FLAG, "description": "Its annotations are trusted."},
        "group": _text(),
        "priority": {"type": "integer", "default": 0},
        "protocol": _PROTOCOL,
        "timeouts": _object(dict.fromkeys(TIMES, _SECONDS)),
        "roots": _ROOTS,
    },
    "name",
    "connect",
)
"""Of the whole entry."""
ROOTS: Schema = _object({"roots": {**_ROOTS, "maxItems": 50}}, "roots")
"""Of the roots alone."""


@cache
def server_form() -> Form:
    """The form of a whole entry."""
    return build(cast("Json", SCHEMA), strict=True)


@cache
def roots_form() -> Form:
    """The form of the roots alone."""
    return build(cast("Json", ROOTS), strict=True)


# From an entry to the value of the form


def value_of(server: ServerConfig) -> Value:
    """What the form shows of an entry: as it was written, `${…}` not replaced. What says nothing is not there."""
    entry = server.written or server
    protocol: Value = {
        "version": entry.protocol_version,
        "log_level": entry.log_level,
        "capabilities": entry.capabilities,
        "client_info": entry.client_info,
    }
    times: Value = {name: cast("float | None", getattr(entry.timeouts, name)) for name in TIMES}
    whole: Value = {
        "name": entry.name,
        "connect": _connect(entry),
        "era": entry.era,
        "enabled": entry.enabled,
        "trust": entry.trust,
        "group": entry.group,
        "priority": entry.priority or None,
        "protocol": _said(protocol) or None,
        "timeouts": _said(times) or None,
        "roots": roots_value(entry.roots)["roots"] or None,
    }
    return _said(whole)


def roots_value(roots: tuple[Root, ...]) -> Value:
    """The same for roots alone."""
    return {"roots": [_said({"uri": root.uri, "name": root.name}) for root in roots]}


def _connect(entry: ServerConfig) -> Value:
    keys = (
        ("url", "headers", "transport", "auth", "tls")
        if entry.url
        else ("command", "args", "env", "inherit_env", "cwd")
    )
    return {key: value for key, value in to_table(entry).items() if key in keys}


def _said(value: Value) -> Value:
    return {key: item for key, item in value.items() if item is not None and item != ""}


# From the value of the form to an entry


def server_of(value: Json, base: ServerConfig) -> ServerConfig:
    """The entry that the form describes; what it does not show is as in `base`.

    Raises:
        ConfigError: something cannot be used; `key` is its JSON pointer.
    """
    value = without_blank(value)
    _sound(server_form(), value)
    if wrong := place_of(value, "", lone_surrogate):
        raise ConfigError(f"{wrong[1:]} {LONE_SURROGATE}")
    whole = cast("dict[str, Any]", value)
    old = base.written or base
    protocol = whole.get("protocol", {})
    name: str = whole["name"]
    if (not name or name != old.name) and not re.fullmatch(r"[\w-][\w -]{0,79}", name := name.strip()):
        raise ConfigError("The name is made of letters, digits, - and _.", key="/name")
    version: str = protocol.get("version", "")
    era = cast("Era", whole.get("era", "auto"))
    if wrong := contradiction(era, version):
        raise ConfigError(f"The version {wrong}", key="/protocol/version")
    return replace(
        old,
        name=name,
        **_reached(whole["connect"], old),
        era=era,
        enabled=whole.get("enabled", True),
        trust=whole.get("trust", False),
        group=whole.get("group", ""),
        priority=int(whole.get("priority", 0)),
        protocol_version=version,
        log_level=protocol.get("log_level", ""),
        capabilities=_writable(protocol.get("capabilities"), ("protocol", "capabilities")),
        client_info=_writable(protocol.get("client_info"), ("protocol", "client_info")),
        timeouts=Timeouts(**_times(whole.get("timeouts", {}))),
        roots=_roots(whole),
        written=None,
    )


def roots_of(value: Json) -> tuple[Root, ...]:
    """The roots that their form describes.

    Raises:
        ConfigError: something cannot be used; `key` is its JSON pointer.
    """
    value = without_blank(value)
    _sound(roots_form(), value)
    return _roots(cast("dict[str, Any]", value))


def _roots(whole: Mapping[str, Any]) -> tuple[Root, ...]:
    found: list[Root] = []
    for index, root in enumerate(whole.get("roots", ())):
        uri, name = root["uri"].strip(), root.get("name", "").strip()
        if not uri:
            raise ConfigError("A folder or URI is required.", key=f"/roots/{index}/uri")
        found.append(Root(uri, name))
    return tuple(found)


def _sound(form: Form, value: Json) -> None:
    """From here on the value has the shape of the schema.

    Raises:
        ConfigError: it has not.
    """
    for problem in errors(quick(form, value)):
        raise ConfigError(f"{problem.sentence}.", key=problem.pointer)


def _reached(connect: Mapping[str, Any], old: ServerConfig) -> dict[str, Any]:
    if "url" in connect:
        url, transport = connect["url"].strip(), connect.get("transport", "")
        if not url:
            raise ConfigError("A URL is required.", key="/connect/url")
        if not url.startswith((*SCHEMES, "${")):
            raise ConfigError("It begins with http://, https://, ws:// or wss://.", key="/connect/url")
        if re.search(r"\s", url):
            raise ConfigError("A URL has no spaces in it.", key="/connect/url")
        if transport and not url.startswith("${") and url.startswith("ws") != (transport == "websocket"):
            raise ConfigError(f"{transport} is not for an address that begins like this one.", key="/connect/transport")
        headers = _pairs(connect, "headers")
        return {"url": url, "headers": headers, "transport": transport} | _inner(connect) | _NO_COMMAND
    command = connect["command"].strip()
    if not command:
        raise ConfigError("A command is required.", key="/connect/command")
    if is_url(command):
        raise ConfigError("This is an address: choose URL above it.", key="/connect/command")
    return {
        "command": command,
        "args": tuple(connect.get("args", ())),
        "env": _pairs(connect, "env"),
        "inherit_env": tuple(connect.get("inherit_env", ())),
        "cwd": connect.get("cwd", "").strip(),
        "url": "",
        "headers": {},
        "auth": Auth(),
        "tls": Tls(),
        "transport": "stdio" if old.transport == "stdio" else "",
    }


def _inner(connect: Mapping[str, Any]) -> dict[str, Any]:
    """How to sign in, and which certificates are accepted: read as from a file.

    Raises:
        ConfigError: they are not as they have to be, at `key`.
    """
    problems: list[Problem] = []
    table = Table({name: connect[name] for name in ("auth", "tls") if connect.get(name)}, "", "", problems)
    found = {"auth": read_auth(table), "tls": read_tls(table)}
    for problem in problems[:1]:
        message = f"It {problem.message}" if problem.message[:1].islower() else problem.message
        place = problem.key.replace("scopes[", "scopes.").rstrip("]").split(".")
        raise ConfigError(message, key=pointer("connect", *place), hint=problem.hint)
    return found


_NO_COMMAND: dict[str, Any] = {"command": "", "args": (), "env": {}, "inherit_env": (), "cwd": ""}


def _pairs(connect: Mapping[str, Any], part: str) -> dict[str, str]:
    found: dict[str, str] = dict(connect.get(part, {}))
    for name in found:
        if not name or re.search(r"\s", name):
            raise ConfigError("A name has no spaces in it.", key=pointer("connect", part, name))
    return found


def _times(value: Value) -> Value:
    return {name: float(value[name]) for name in TIMES if isinstance(value.get(name), (int, float))}


def _writable(value: Json, path: tuple[str | int, ...]) -> Json:
    """The value as it is written into the file.

    Raises:
        ConfigError: there is null in it, at `key`.
    """
    if isinstance(value, dict):
        members = cast("Value", value)
        return {key: _inside(item, (*path, key)) for key, item in members.items()}
    if isinstance(value, list):
        return [_inside(item, (*path, index)) for index, item in enumerate(cast("list[Json]", value))]
    return float(value) if isinstance(value, float) else value


def _inside(value: Json, path: tuple[str | int, ...]) -> Json:
    if value is None:
        raise ConfigError("null cannot stand here: the file has no way to say it.", key=pointer(*path))
    return _writable(value, path)


def is_url(target: str) -> bool:
    """Whether a target is an address and not a command."""
    return re.match(r"(?:https?|wss?)://|\$\{[^}]+\}(?:/|$)", target.strip()) is not None


def without_blank(value: Json) -> Json:
    """The same value without the roots that somebody has begun and not filled in."""
    roots = get_or_none(value, ("roots",))
    if not isinstance(value, dict) or not isinstance(roots, list):
        return value
    kept = [root for root in roots if not isinstance(root, dict) or any(root.values())]
    return value if len(kept) == len(roots) else {**value, "roots": kept}


def merged(filled: Json, now: Json, new: Value) -> Value:
    """What a paste says, and of everything that it does not say what the person has typed.

    Args:
        filled: what the form was filled with last.
        now: what stands in it.
        new: the value that was pasted.
    """
    return cast("Value", _merged(filled, now, new, ()))


def _merged(filled: Json, now: Json, new: Json, path: Path) -> Json:
    if not isinstance(now, dict) or not isinstance(new, dict):
        return new
    before: Value = filled if isinstance(filled, dict) else {}
    whole: Value = {}
    for key in (*new, *(key for key in now if key not in new)):
        typed = key in now and now[key] != before.get(key)
        if key in new and isinstance(now.get(key), dict) and isinstance(new[key], dict) and _alike(now[key], new[key]):
            whole[key] = _merged(before.get(key), now[key], new[key], (*path, key))
        elif typed and (key not in new or new[key] == before.get(key) or (*path, key) == ("name",)):
            whole[key] = now[key]
        elif key in new:
            whole[key] = new[key]
    return whole


def _alike(now: Json, new: Json) -> bool:
    """Not one a command and the other an address: what belongs to the one has no place in the other."""
    return not any(
        get_or_none(one, ("command",)) and get_or_none(other, ("url",)) for one, other in ((now, new), (new, now))
    )


def secret_warnings(value: Json) -> tuple[SchemaProblem, ...]:
    """What looks secret in the value of a form and would stand in the file in clear, as warnings at its places."""
    problems: list[SchemaProblem] = []
    for part in ("env", "headers", "auth", "tls"):
        pairs = get_or_none(value, ("connect", part))
        for name, text in pairs.items() if isinstance(pairs, dict) else ():
            if isinstance(text, str) and text and "${" not in text and is_secret_name(name):
                if part == "auth" and not name.endswith("client_secret"):
                    continue  # an address at which tokens are got, and the like
                words = "stands in the file in clear: ${keyring:NAME} hides it"
                problems.append(SchemaProblem(pointer("connect", part, name), words, "warning"))
    return tuple(problems)


def pointer_of(key: str) -> str:
    """Where the form has what a key of the table is about, such as `env.TOKEN`, `args[2]` or `roots[0]`."""
    if key[:1] == "/" or not key:
        return key
    if numbered := re.fullmatch(r"(args|roots)\[(\d+)\]", key):
        name, number = numbered.groups()
        return pointer("connect", name, number) if name == "args" else pointer(name, number, "uri")
    first, dot, rest = key.partition(".")
    return pointer("connect", first, *([rest] if dot else []))
