"""A server's entry as the value of its form, and back. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from mcp_studio.config.model import Auth, Era, Problem, Root, ServerConfig, Timeouts, Tls
from mcp_studio.config.servers import SCHEMES, contradiction, read_auth, read_tls, to_table
from mcp_studio.config.table import LONE_SURROGATE, Table, lone_surrogate, place_of
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, errors
from mcp_studio.schema.place import pointer
from mcp_studio.tui.entering import Value, is_url, without_blank
from mcp_studio.tui.server_form import TIMES, roots_form, server_form

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
            raise ConfigError("There is no folder and no URI.", key=f"/roots/{index}/uri")
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
            raise ConfigError("There is no URL.", key="/connect/url")
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
        raise ConfigError("There is no command.", key="/connect/command")
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
