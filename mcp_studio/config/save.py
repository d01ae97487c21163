"""Writing our own files: never half-written, never overwritten blindly, nobody else's change lost."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from mcp_studio.atomic import write_atomically
from mcp_studio.config import edit
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.nearest import nearest
from mcp_studio.config.servers import to_table
from mcp_studio.errors import ConfigError

_ATTEMPTS = 20


def put_server(file: Path, server: ServerConfig, *, old_name: str = "") -> None:
    """Add a server or replace the one of that name; `old_name` is the one it had before, when it is renamed.

    What is written is `server.written` where there is one: `${…}` stays, no secret comes into the file.

    Raises:
        ConfigError: the file cannot be read, is not valid TOML, or cannot be written; it is unchanged then.
    """
    values = to_table(server)

    def change(text: str) -> str:
        servers = tomllib.loads(text).get("servers", {})
        if old_name and old_name != server.name and old_name in servers:
            text = edit.rename_table(text, old_name, server.name)
            servers = {server.name: servers[old_name]}
        known = isinstance(servers.get(server.name), dict)
        return (edit.update_table if known else edit.add_table)(text, server.name, values)

    _rewrite(file, change)


def remove_server(file: Path, name: str) -> None:
    """Remove a server's table.

    Raises:
        ConfigError: there is no such server in the file, or as `put_server`.
    """

    def change(text: str) -> str:
        servers = tomllib.loads(text).get("servers", {})
        if name not in servers:
            raise ConfigError(f"There is no server `{name}`.", file=str(file), hint=nearest(name, servers))
        return edit.remove_table(text, name)

    _rewrite(file, change)


def set_value(file: Path, path: Sequence[str], value: object) -> None:
    """Set one key, such as `("theme",)` or `("keys", "call")`; None removes it.

    Raises:
        ConfigError: something on the way is no table, or as `put_server`.
    """

    def change(text: str) -> str:
        try:
            return edit.set_key(text, tuple(path), value)
        except TypeError as problem:
            raise ConfigError(f"`{problem}` is no table.", file=str(file), key=str(problem)) from None

    _rewrite(file, change)


def _rewrite(file: Path, change: Callable[[str], str]) -> None:
    """Read, change, write; begins anew when somebody else has written in between."""
    if file.suffix == ".json":
        raise ConfigError("It belongs to another program and is not written.", file=str(file))
    try:
        for _ in range(_ATTEMPTS):
            before = _read(file)
            after = _changed(before, change, file)
            if after == before:
                return
            if _read(file) == before:
                write_atomically(file, after)
                return
    except OSError as problem:
        raise ConfigError(f"It cannot be written: {problem.strerror or problem}.", file=str(file)) from None
    raise ConfigError("It keeps changing while it is written.", file=str(file))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def _changed(content: bytes, change: Callable[[str], str], file: Path) -> bytes:
    from tomlkit.exceptions import TOMLKitError

    try:
        text = change(content.decode("utf-8-sig"))
        tomllib.loads(text)
        return text.encode()
    except UnicodeDecodeError:
        raise ConfigError("It is not UTF-8 text.", file=str(file)) from None
    except UnicodeEncodeError:
        wrong = "What is to be written has a lone surrogate in it (half of a character, or bytes that are not UTF-8)."
        raise ConfigError(wrong, file=str(file), hint="Write it anew. The file is unchanged.") from None
    except (TOMLKitError, tomllib.TOMLDecodeError) as problem:
        hint = "Correct it by hand first."
        raise ConfigError(f"It cannot be changed: {problem}.", file=str(file), hint=hint) from None
