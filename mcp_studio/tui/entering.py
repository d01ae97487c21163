"""What somebody means by what they type or paste into the form of a server's entry. Pure, but for a look for a file."""

from __future__ import annotations

import os
import re
import shlex
from typing import cast

from mcp_studio.config.importers import parse_paste
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.redact import is_secret_name
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.place import Path, get_or_none, pointer

Value = dict[str, Json]
"""The value of the form (`server_form.SCHEMA`), or a part of it."""


def is_url(target: str) -> bool:
    """Whether a target is an address and not a command."""
    return re.match(r"(?:https?|wss?)://|\$\{[^}]+\}(?:/|$)", target.strip()) is not None


def meant(value: Json) -> Json:
    """The same value, with an address or a whole command line in the place of a command taken for what it is."""
    connect = get_or_none(value, ("connect",))
    command = get_or_none(connect, ("command",))
    if not isinstance(value, dict) or not isinstance(connect, dict) or not isinstance(command, str):
        return value
    others = any(item for key, item in connect.items() if key != "command")
    if is_url(command):
        return value if others else {**value, "connect": {"url": command.strip()}}
    if (
        others
        or len(command.split()) < 2
        or os.path.exists(os.path.expanduser(command))
        or command.lstrip()[0] in '{["'
    ):
        return value
    try:
        server = parse_paste(command)[0]
    except ConfigError:
        return value
    parts: Value = {"command": server.command, "args": cast("Json", list(server.args))}
    return {**value, "connect": parts | ({"env": cast("Json", dict(server.env))} if server.env else {})}


def without_blank(value: Json) -> Json:
    """The same value without the roots that somebody has begun and not filled in."""
    roots = get_or_none(value, ("roots",))
    if not isinstance(value, dict) or not isinstance(roots, list):
        return value
    kept = [root for root in roots if not isinstance(root, dict) or any(root.values())]
    return value if len(kept) == len(roots) else {**value, "roots": kept}


def words_of(text: str) -> list[Json]:
    """What a shell makes of a line; a single word, or none, where it cannot be read so."""
    try:
        return cast("list[Json]", shlex.split(re.sub(r"\\\r?\n", " ", text).replace("\n", " "), posix=os.name != "nt"))
    except ValueError:
        return []


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


# Secrets


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


# Places


def pointer_of(key: str) -> str:
    """Where the form has what a key of the table is about, such as `env.TOKEN`, `args[2]` or `roots[0]`."""
    if key[:1] == "/" or not key:
        return key
    if numbered := re.fullmatch(r"(args|roots)\[(\d+)\]", key):
        name, number = numbered.groups()
        return pointer("connect", name, number) if name == "args" else pointer(name, number, "uri")
    first, dot, rest = key.partition(".")
    return pointer("connect", first, *([rest] if dot else []))
