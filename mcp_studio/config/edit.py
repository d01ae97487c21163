"""Changing the text of one of our files in place: comments, order and unknown keys stay.

Adding, renaming and removing a `[servers.NAME]` table is done on the text, because tomlkit counts the comments above a
table to the table before it. What such an edit made is read back; where it is not exactly what was meant (servers in
dotted keys or inline tables), tomlkit does it instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, cast

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
