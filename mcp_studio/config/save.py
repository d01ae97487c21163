"""Writing our own files: always whole, always valid, and with their comments kept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.servers import to_table
from mcp_studio.errors import ConfigError, nearest
from mcp_studio.vault.base import change_file

_RESERVED = r"(?i)(con|prn|aux|nul|(com|lpt)[0-9¹²³]|(conin|conout|clock)\$)\s*(\.|\Z)|(desktop\.ini|thumbs\.db)\Z"
"""Names that Windows takes for a device or a setting, whatever follows the dot."""
LONGEST_NAME = 240
"""Bytes of a file name: file systems take 255, and temporary files append some characters."""


def put_server(file: Path, server: ServerConfig, *, old_name: str = "") -> None:
    """Add a server or replace the server of that name; `old_name` is its earlier name when it is renamed.

    `server.written` is written where there is one, so that `${…}` stays and no secret enters the file.

    Raises:
        ConfigError: the file cannot be read, is not valid TOML, or cannot be written; it stays unchanged.
    """
    values = to_table(server)
    rewrite(file, lambda text: _put_table(text, server.name, values, old_name))


def remove_server(file: Path, name: str) -> None:
    """Remove a server's table.

    Raises:
        ConfigError: the file has no such server, or as `put_server`.
    """

    def change(text: str) -> str:
        document = tomllib.loads(text)
        servers = document.get("servers", {})
        if servers.pop(name, None) is None:
            raise ConfigError(f"There is no server `{name}`.", file=str(file), hint=nearest(name, servers))
        return _checked(_without(text, name), document)

    rewrite(file, change)


def set_value(file: Path, path: Sequence[str], value: object) -> None:
    """Set one key, such as `("theme",)` or `("keys", "call")`; None removes it.

    Raises:
        ConfigError: a key on the path is not a table, or as `put_server`.
    """
    import tomlkit

    def change(text: str) -> str:
        document = tomlkit.parse(text)
        table: Any = document
        for key in path[:-1]:
            table = table.setdefault(key, tomlkit.table())
            if not hasattr(table, "setdefault"):
                raise ConfigError(f"`{key}` is no table.", file=str(file), key=key)
        if value is None:
            table.pop(path[-1], None)
        else:
            table[path[-1]] = value
        return tomlkit.dumps(document)

    rewrite(file, change)


def _block(text: str, server: str) -> tuple[int, int]:
    """The span from the first heading of a server to the end of its last table; (0, 0) if the text has none.

    Comments above a heading belong to it, though tomlkit counts them to the table before.
    """
    start = end = at = 0
    inside = False
    for line in text.splitlines(keepends=True):
        with suppress(tomllib.TOMLDecodeError):  # an item of a list in a line of its own
            inside = server in tomllib.loads(line).get("servers", ()) if line.lstrip().startswith("[") else inside
        if inside and not end:
            start = at
        at += len(line)
        if inside and line.strip() and not line.lstrip().startswith("#"):
            end = at
    return start, end


def _without(text: str, server: str) -> str:
    start, end = _block(text, server)
    return text[:start] + text[end:]


def _put_table(text: str, name: str, values: Mapping[str, Any], old_name: str) -> str:
    import tomlkit

    document = tomllib.loads(text)
    servers = document.setdefault("servers", {})
    current = old_name if old_name in servers else name
    if current == name and servers.get(name) == values:
        return text
    servers.pop(current, None)
    servers[name] = dict(values)
    edited = text if current == name else _without(text, name)
    start, end = _block(edited, current)
    if end:
        edited = edited[:start] + _updated(edited[start:end], current, name, values) + edited[end:]
    else:
        edited += "" if not text else "\n" if text.endswith("\n") else "\n\n"
        edited += tomlkit.dumps({"servers": {name: table_of(values)}})
    return _checked(edited, document)


def _updated(text: str, current: str, name: str, values: Mapping[str, Any]) -> str:
    """Put `values` into a server's table and rename it; lines that need no change stay untouched."""
    import tomlkit

    if current != name:
        written = (tomlkit.key(current).as_string(), f'"{current}"', f"'{current}'")
        spellings = "|".join(map(re.escape, written))
        heading = re.compile(rf"^(\s*\[+\s*[^.\n]*\.\s*)(?:{spellings})(?=\s*[.\]])", re.MULTILINE)
        text = heading.sub(lambda found: found[1] + tomlkit.key(name).as_string(), text)
    document = tomlkit.parse(text)
    table: Any = document["servers"][name]  # type: ignore[index]
    _update(table, values)
    return tomlkit.dumps(document)


def _update(table: Any, values: Mapping[str, Any]) -> None:
    now = table.unwrap()
    for key in now.keys() - values.keys():
        del table[key]
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(now.get(key), Mapping):
            _update(table[key], cast("Mapping[str, Any]", value))
        elif now.get(key) != value:
            table[key] = _item(value)


def _checked(edited: str, wanted: dict[str, Any]) -> str:
    """The edited text if it parses as `wanted`, because servers may be written in another form than tables.

    Raises:
        TOMLDecodeError: the edited text does not parse as `wanted`.
    """
    with suppress(tomllib.TOMLDecodeError):
        if {"servers": {}, **tomllib.loads(edited)} == {"servers": {}, **wanted}:
            return edited
    raise tomllib.TOMLDecodeError("its servers are not all written as [servers.NAME] tables")


def table_of(values: Mapping[str, Any]) -> Any:
    """A table whose inner tables are inline."""
    import tomlkit

    table = tomlkit.table()
    table.update({key: _item(value) for key, value in values.items()})
    return table


def _item(value: Any) -> Any:
    import tomlkit

    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline
    if isinstance(value, list):  # tables in a list are inline too: other tables would follow the keys below
        array = tomlkit.array()
        array.extend(map(_item, cast("list[Any]", value)))
        return array
    return value


def portable(name: str) -> bool:
    """Whether Linux, macOS and Windows take a name for a file, which is neither hidden nor read as an option."""
    return (
        name.isprintable()
        and not re.search(r'[<>:"/\\|?*]', name)
        and name[:1] not in ("", ".", "-", " ")
        and name[-1] not in ". "
        and not re.match(_RESERVED, name)
        and len(name.encode()) <= LONGEST_NAME
    )


def rewrite(file: Path, change: Callable[[str], str]) -> None:
    """Read a file of ours, change its text, and write the file.

    Raises:
        ConfigError: as `put_server`.
    """
    from tomlkit.exceptions import TOMLKitError

    if file.suffix in (".json", ".jsonc", ".yaml", ".yml"):
        raise ConfigError("It belongs to another program and is not written.", file=str(file))

    def edit(before: bytes) -> bytes:
        text = change(before.decode("utf-8-sig"))
        tomllib.loads(text)
        return text.encode()

    try:
        change_file(file, edit)
    except (TOMLKitError, ValueError) as problem:
        unicode = "it is not UTF-8 text, or what is to be written has a lone surrogate in it"
        reason = unicode if isinstance(problem, UnicodeError) else problem
        raise ConfigError(f"It cannot be changed: {reason}.", file=str(file), hint="Correct it by hand.") from None
