"""A server's entry as texts of a form, and back. Pure functions."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from mcp_studio.config.model import Era, ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.redact import is_secret_name
from mcp_studio.tui.bending import protocol_texts, with_protocol

ERAS: tuple[Era, ...] = ("auto", "legacy", "modern")
Texts = dict[str, str]
"""`name target args env headers cwd era trust enabled` and those of `bending`, all text; flags are `yes` or empty."""


def texts_of(server: ServerConfig) -> Texts:
    """What the form shows of an entry: as it was written, `${…}` not replaced."""
    entry = server.written or server
    return {
        "name": entry.name,
        "target": entry.url or entry.command,
        "args": shlex.join(entry.args),
        "env": "\n".join(f"{name}={value}" for name, value in entry.env.items()),
        "headers": "\n".join(f"{name}: {value}" for name, value in entry.headers.items()),
        "cwd": entry.cwd,
        "era": entry.era,
        "trust": "yes" if entry.trust else "",
        "enabled": "yes" if entry.enabled else "",
        **protocol_texts(entry),
    }


def is_url(target: str) -> bool:
    """Whether a target is an address and not a command."""
    return re.match(r"(?:https?|wss?)://|\$\{[^}]+\}(?:/|$)", target.strip()) is not None


def server_of(texts: Texts, base: ServerConfig) -> ServerConfig:
    """The entry that the form describes; what it does not show is as in `base`.

    Raises:
        ConfigError: a text cannot be used; `key` is the field's name.
    """
    return with_protocol(_server_of(texts, base), texts)


def _server_of(texts: Texts, base: ServerConfig) -> ServerConfig:
    old = base.written or base
    name, target = texts["name"].strip(), texts["target"].strip()
    if not re.fullmatch(r"[\w-][\w -]{0,79}", name):
        raise ConfigError("The name is made of letters, digits, - and _.", key="name")
    if not target:
        raise ConfigError("There is no command or URL.", key="target")
    era = next((known for known in ERAS if known == texts["era"]), "auto")
    common = replace(old, name=name, era=era, trust=bool(texts["trust"]), enabled=bool(texts["enabled"]), written=None)
    if is_url(target):
        if re.search(r"\s", target):
            raise ConfigError("A URL has no spaces in it.", key="target")
        headers = _pairs(texts["headers"], ":", "headers")
        kept = common.transport if old.url and old.url.startswith("ws") == target.startswith("ws") else ""
        return replace(common, url=target, headers=headers, command="", args=(), env={}, cwd="", transport=kept)
    try:
        args = tuple(shlex.split(texts["args"]))
    except ValueError as problem:
        raise ConfigError(f"The arguments cannot be read: {str(problem).lower()}.", key="args") from None
    env = _pairs(texts["env"], "=", "env")
    cwd = texts["cwd"].strip()
    return replace(common, command=target, args=args, env=env, cwd=cwd, url="", headers={}, transport="")


def _pairs(text: str, sign: str, key: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, has, value = line.partition(sign)
        if not line.strip():
            continue
        if not has or not name.strip() or " " in name.strip():
            example = "NAME=value" if sign == "=" else "Name: value"
            raise ConfigError(f"Each line is written as {example}.", key=key)
        found[name.strip()] = value if sign == "=" else value.strip()
    return found


def bare_secrets(server: ServerConfig) -> tuple[str, ...]:
    """Names of variables and headers whose values look secret and would stand in the file in clear."""
    values = (*server.env.items(), *server.headers.items())
    return tuple(name for name, value in values if value and "${" not in value and is_secret_name(name))
