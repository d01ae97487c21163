"""Writing our own files: never half-written, never overwritten blindly, nobody else's change lost."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.servers import to_table
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError
from mcp_studio.paths import write_atomically

Values = Mapping[str, Any]


def add_table(text: str, name: str, values: Values) -> str:
    """The text with a new `[servers.NAME]` table at its end."""
    import tomlkit

    added = tomlkit.dumps({"servers": {name: _table(values)}})
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    wanted = _with(text, name, dict(values))
    return _proven(text + gap + added, wanted) or _rebuilt(text, wanted)


def update_table(text: str, name: str, values: Values) -> str:
    """The text with the table of an existing server saying `values`; lines that do so already are not touched."""
    import tomlkit
    from tomlkit.items import InlineTable, Table

    if _servers(text)[name] == values:
        return text
    document = tomlkit.parse(text)
    table: Any = document["servers"][name]  # type: ignore[index]
    if isinstance(table, (Table, InlineTable)):  # else its parts are not together, and tomlkit stumbles over that
        _update(table, values)
    wanted = _with(text, name, dict(values))
    return _proven(tomlkit.dumps(document), wanted) or add_table(remove_table(text, name), name, values)


def rename_table(text: str, old: str, new: str) -> str:
    """The text with a server's table and its inner tables under another name, replacing what had that name."""
    import tomlkit

    values = _servers(text)[old]
    base = remove_table(text, new) if new in _servers(text) else text
    wanted = _with(base, old, None)
    wanted["servers"][new] = values
    heading = _heading(old)
    lines = base.splitlines(keepends=True)
    name = tomlkit.key(new).as_string()
    renamed = "".join(heading.sub(lambda found: found[1] + name + found[2], line) for line in lines)
    return _proven(renamed, wanted) or _rebuilt(base, wanted)


def remove_table(text: str, name: str) -> str:
    """The text without a server's table; comments above the next table stay."""
    heading = _heading(name)
    kept: list[str] = []
    inside = False
    waiting: list[str] = []
    for line in text.splitlines(keepends=True):
        if re.match(r"\s*\[[^\[]*\]\s*(#.*)?$", line):
            inside = bool(heading.match(line))
            kept += [] if inside else waiting
            waiting = []
        if not inside:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            waiting = []
        else:
            waiting.append(line)
    wanted = _with(text, name, None)
    return _proven("".join((*kept, *waiting)), wanted) or _rebuilt(text, wanted)


def set_key(text: str, path: tuple[str, ...], value: object) -> str:
    """The text with one key set; None removes it.

    Raises:
        TypeError: a key on the way is no table; its argument is that key.
    """
    import tomlkit

    document = tomlkit.parse(text)
    inner: Any = document
    for key in path[:-1]:
        if key not in inner:
            inner[key] = tomlkit.table()
        if not isinstance(inner[key], Mapping):
            raise TypeError(key)
        inner = inner[key]
    if value is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = value
    return tomlkit.dumps(document)


def _servers(text: str) -> dict[str, Any]:
    return tomllib.loads(text).get("servers", {})


def _with(text: str, name: str, values: Any) -> dict[str, Any]:
    """What the whole file should say once a server is set, or removed (None)."""
    whole = tomllib.loads(text)
    servers = {key: item for key, item in whole.get("servers", {}).items() if key != name}
    return {**whole, "servers": servers if values is None else {**servers, name: values}}


def _proven(text: str, wanted: dict[str, Any]) -> str:
    """The text where it says exactly what it should, else an empty string."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    return text if {"servers": {}, **found} == wanted else ""


def _rebuilt(text: str, wanted: dict[str, Any]) -> str:
    import tomlkit
    from tomlkit.items import InlineTable

    document = tomlkit.parse(text)
    if "servers" not in document:
        document["servers"] = tomlkit.table(is_super_table=True)
    servers: Any = document["servers"]
    for name in [name for name in servers if name not in wanted["servers"]]:
        del servers[name]
    for name, values in wanted["servers"].items():
        if name not in servers:
            servers[name] = _item(values) if isinstance(servers, InlineTable) else _table(values)
    return tomlkit.dumps(document)


def _heading(name: str) -> re.Pattern[str]:
    """The line that begins a server's table, or an inner table of it."""
    spellings = [re.escape(f'"{name}"'), re.escape(f"'{name}'")]
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        spellings.append(re.escape(name))
    return re.compile(rf"^(\s*\[\s*(?:servers|\"servers\"|'servers')\s*\.\s*)(?:{'|'.join(spellings)})(\s*[.\]])")


def _table(values: Values) -> Any:
    import tomlkit

    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _item(value)
    return table


def _item(value: Any) -> Any:
    import tomlkit

    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline
    if isinstance(value, list):  # tables in it are inline too: as tables of their own they would follow what is below
        array = tomlkit.array()
        array.extend(map(_item, cast("list[Any]", value)))
        return array
    return value


def _update(table: Any, values: Values) -> None:
    now = table.unwrap()
    below = _below(table)
    for key in now:
        if key not in values:
            del table[key]
    for key, value in values.items():
        if now.get(key) == value:
            continue
        if isinstance(value, Mapping) and isinstance(now.get(key), Mapping):
            _update(table[key], value)
        else:
            table[key] = _item(value)
    if below:
        table.value.body.extend(below)


def _below(table: Any) -> list[Any]:
    """Blank lines and comments at the end of a table, taken out of it: they stand above the next one."""
    from tomlkit.items import AoT, Table

    if not isinstance(table, Table):
        return []  # inline, or in parts that are not together
    body: list[Any] = table.value.body
    last = max((place for place, (key, _) in enumerate(body) if key is not None), default=-1)
    below = body[last + 1 :]
    del body[last + 1 :]
    inner = body[last][1] if body and not below else None
    return below or _below(inner[-1] if isinstance(inner, AoT) else inner)


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
            text = rename_table(text, old_name, server.name)
            servers = {server.name: servers[old_name]}
        known = isinstance(servers.get(server.name), dict)
        return (update_table if known else add_table)(text, server.name, values)

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
        return remove_table(text, name)

    _rewrite(file, change)


def set_value(file: Path, path: Sequence[str], value: object) -> None:
    """Set one key, such as `("theme",)` or `("keys", "call")`; None removes it.

    Raises:
        ConfigError: something on the way is no table, or as `put_server`.
    """

    def change(text: str) -> str:
        try:
            return set_key(text, tuple(path), value)
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
