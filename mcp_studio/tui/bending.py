"""The part of a server's entry that bends the protocol, as texts of a form, and back. Pure functions."""

from __future__ import annotations

from dataclasses import replace
from typing import cast, get_args

from mcp_studio.config.bending import contradiction
from mcp_studio.config.model import Kind, ServerConfig, Timeouts
from mcp_studio.errors import ConfigError, LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS

Texts = dict[str, str]
KINDS: tuple[Kind, ...] = get_args(Kind)
CHOICES: dict[str, tuple[str, ...]] = {"transport": KINDS, "version": VERSIONS, "log": LOG_LEVELS}
"""Fields with fixed values, besides none."""
OBJECTS = {"capabilities": "capabilities", "client": "client info"}
"""Fields that are JSON objects, and their names in sentences."""
TIMES = ("connect", "idle", "total")


def protocol_texts(entry: ServerConfig) -> Texts:
    """What the form shows of an entry."""
    texts = {"transport": entry.transport, "version": entry.protocol_version, "log": entry.log_level}
    for key, value in (("capabilities", entry.capabilities), ("client", entry.client_info)):
        texts[key] = "" if value is None else printable(value, indent=None)
    for name in TIMES:
        seconds = cast("float | None", getattr(entry.timeouts, name))
        texts[name] = "" if seconds is None else f"{seconds:g}"
    return texts


def with_protocol(entry: ServerConfig, texts: Texts) -> ServerConfig:
    """The entry with what the form says of the protocol.

    Raises:
        ConfigError: a text cannot be used; `key` is the field's name.
    """
    version = texts["version"]
    if wrong := contradiction(entry.era, version):
        raise ConfigError(f"The version {wrong}", key="version")
    kind = next((kind for kind in KINDS if kind == texts["transport"]), "")
    if kind and (kind == "stdio") == bool(entry.url):
        raise ConfigError(f"{kind} is not for {'a URL' if entry.url else 'a command'}.", key="transport")
    if kind in ("http", "sse", "websocket") and entry.url.startswith(("ws:", "wss:")) != (kind == "websocket"):
        raise ConfigError(f"{kind} is not for an address that begins like this one.", key="transport")
    return replace(
        entry,
        transport=kind,
        protocol_version=version,
        log_level=texts["log"],
        capabilities=_object(texts, "capabilities"),
        client_info=_object(texts, "client"),
        timeouts=Timeouts(*(_seconds(texts, name) for name in TIMES)),
    )


def summary(texts: Texts) -> str:
    """What is not as usual, in a few words."""
    parts = [texts[key] for key in CHOICES if texts[key]]
    parts += [f"own {words}" for key, words in OBJECTS.items() if texts[key].strip()]
    parts += [f"{name} {texts[name].strip()} s" for name in TIMES if texts[name].strip()]
    return ", ".join(parts)


def _object(texts: Texts, key: str) -> Json:
    text = texts[key]
    if not text.strip():
        return None
    try:
        value = loads(text)
    except (JsonProblem, LimitExceeded) as problem:
        raise ConfigError(f"The {OBJECTS[key]} cannot be read: {problem}.", key=key) from None
    if not isinstance(value, dict):
        raise ConfigError(f"The {OBJECTS[key]} must be a JSON object: {{…}}.", key=key)
    if _has_null(cast("Json", value)):
        raise ConfigError(f"The {OBJECTS[key]} cannot hold null: the file has no way to say it.", key=key)
    return cast("Json", value)


def _has_null(value: Json) -> bool:
    if isinstance(value, dict):
        return any(_has_null(inner) for inner in cast("dict[str, Json]", value).values())
    if isinstance(value, list):
        return any(_has_null(inner) for inner in cast("list[Json]", value))
    return value is None


def _seconds(texts: Texts, name: str) -> float | None:
    text = texts[name].strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"`{text[:40]}` is no number of seconds above 0.", key=name)
    return seconds
