"""Grants, clients and half-finished sign-ins as text for a vault: JSON with a version, checked when it is read.

What a later version wrote, or what something damaged, counts as absent and gives a sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from mcp_studio.auth.model import Client, Grant
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.record import record

VERSION = 1
LADDER: Mapping[int, Callable[[dict[str, Json]], dict[str, Json]]] = {}
"""What turns a value of one version into that of the next."""
PENDING = 15 * 60.0
"""Seconds that a sign-in that was set aside can be gone on with."""
_SECRETS = frozenset("access_token refresh_token id_token secret dpop_key verifier state".split())


@record(frozen=True)
class Pending:
    """A sign-in that waits for its redirect while no process of ours runs."""

    resource: str
    account: str
    client: Client
    state: str
    verifier: str
    redirect_uri: str
    authorization_url: str
    until: float
    """Epoch seconds."""
    scopes: tuple[str, ...] = ()
    audience: str = ""
    metadata: Json = None
    place: str = ""
    """Where the metadata of the authorization server was."""
    dpop_key: str = ""
    dpop_use: str = ""

    @property
    def expired(self) -> bool:
        """Whether it is too late."""
        return not 0 <= self.until - time.time() <= PENDING


T = TypeVar("T", Grant, Client, Pending)


class Damaged(ValueError):
    """Something that was kept cannot be used; says why."""


def encode(value: Grant | Client | Pending) -> str:
    """As it is kept."""
    return dumps({"version": VERSION, "kind": type(value).__name__, **_plain(value)}).decode()


def decode(kind: type[T], text: str) -> T:
    """As it was.

    Raises:
        Damaged: it is something else.
    """
    try:
        raw = mapping(loads(text, most=64))
    except (JsonProblem, LimitExceeded):
        raise Damaged("it is not what was written") from None
    version = raw.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or raw.get("kind") != kind.__name__:
        raise Damaged("it is not what was written")
    if version > VERSION:
        raise Damaged("a newer mcp-studio has written it")
    for step in range(version, VERSION):
        if step not in LADDER:
            raise Damaged(f"it has the unknown version {version}")
        raw = LADDER[step](raw)
    return _made(kind, raw)


def secrets(value: Grant | Client | Pending) -> list[str]:
    """What in it must not be shown."""
    found = [getattr(value, one.name) for one in fields(value) if one.name in _SECRETS]
    inner = secrets(value.client) if isinstance(value, Grant | Pending) else []
    return [one for one in (*found, *inner) if one]


def _plain(value: Grant | Client | Pending) -> dict[str, Json]:
    named = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: _plain(one) if isinstance(one, Client) else one for name, one in named.items()}


def _made(kind: type[T], raw: dict[str, Json]) -> T:
    given: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in raw:
            given[one.name] = _checked(str(one.type), raw[one.name], one.name)
    try:
        return kind(**given)
    except TypeError:
        raise Damaged("parts of it are missing") from None


def _checked(kind: str, value: Json, name: str) -> object:
    """A value as its field wants it; fields are annotated with a few kinds only."""
    match kind:
        case "str" if isinstance(value, str):
            return value
        case "float" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        case "tuple[str, ...]" if isinstance(value, list) and all(isinstance(one, str) for one in items_of(value)):
            return tuple(items_of(value))
        case "Client" if isinstance(value, dict):
            return _made(Client, mapping(value))
        case "Json":
            return value
        case _ if kind.startswith("Literal[") and isinstance(value, str) and repr(value) in kind:
            return value
        case _:
            raise Damaged(f"{name} in it is not what it should be")
