"""The texts of one server's entry by their keys, as problems name them: where `${…}` and secrets may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from mcp_studio.config.expand import REFERENCE, json_texts
from mcp_studio.config.model import Auth, ServerConfig, Tls

_PLAIN = ("command", "cwd", "url")
_INNER = ("auth", "tls")
_NUMBERED = re.compile(r"(args|roots|auth\.scopes)\[(\d+)\]\Z")


def texts(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Key and text, such as `headers.Authorization`, `args[2]` or `auth.client_secret`; empty ones are left out."""
    for key in _PLAIN:
        if text := getattr(server, key):
            yield key, text
    yield from ((f"args[{number}]", arg) for number, arg in enumerate(server.args) if arg)
    yield from ((f"env.{name}", value) for name, value in server.env.items() if value)
    yield from ((f"headers.{name}", value) for name, value in server.headers.items() if value)
    yield from ((f"roots[{number}]", root.uri) for number, root in enumerate(server.roots) if root.uri)
    for inner in _INNER:
        table: Auth | Tls = getattr(server, inner)
        for item in fields(table):
            value = getattr(table, item.name)
            if isinstance(value, str) and value:
                yield f"{inner}.{item.name}", value
    yield from ((f"auth.scopes[{number}]", scope) for number, scope in enumerate(server.auth.scopes) if scope)


def uses(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Which kept secrets an entry refers to: their names, and the keys where."""
    entry = server.written or server
    objects = (*json_texts(entry.capabilities, "capabilities"), *json_texts(entry.client_info, "client_info"))
    for key, text in (*texts(entry), *objects):
        for _, scheme, name, _ in REFERENCE.findall(text) if "${" in text else ():
            if scheme == "keyring":
                yield name, key


def with_texts(server: ServerConfig, changes: Mapping[str, str]) -> ServerConfig:
    """The entry with other texts under some of the keys that `texts` gives.

    Raises:
        KeyError: there is no text under one of them.
    """
    if unknown := changes.keys() - {key for key, _ in texts(server)}:
        raise KeyError(*sorted(unknown))
    given: dict[str, Any] = {}
    auth: dict[str, Any] = {}
    tls: dict[str, Any] = {}
    lists = {"args": list(server.args), "roots": list(server.roots), "auth.scopes": list(server.auth.scopes)}
    pairs = {"env": dict(server.env), "headers": dict(server.headers)}
    for key, text in changes.items():
        first, _, rest = key.partition(".")
        if numbered := _NUMBERED.match(key):
            items: list[Any] = lists[numbered[1]]
            at = int(numbered[2])
            items[at] = items[at]._replace(uri=text) if numbered[1] == "roots" else text
        elif first in pairs and rest:
            pairs[first][rest] = text
        elif first in _INNER and rest:
            (auth if first == "auth" else tls)[rest] = text
        else:
            given[key] = text
    return replace(
        server,
        args=tuple(lists["args"]),
        roots=tuple(lists["roots"]),
        auth=replace(server.auth, scopes=tuple(lists["auth.scopes"]), **auth),
        tls=replace(server.tls, **tls),
        **pairs,
        **given,
    )
