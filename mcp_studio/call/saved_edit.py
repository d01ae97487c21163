"""Changing the file of a saved call: comments stay where their keys do."""

from __future__ import annotations

from typing import Any, cast

from mcp_studio.call.saved import SavedCall
from mcp_studio.call.saved_text import VERSION, arguments_table, means, read_saved, saved_text, variable_table
from mcp_studio.call.saved_toml import Unsayable, json_text, long_text, read_toml, same
from mcp_studio.catalog.ref import KINDS
from mcp_studio.jsontext import Json


def changed_text(before: str, saved: SavedCall) -> str:
    """The text of a file that says `saved` now; where it cannot be changed in place, a new text."""
    from tomlkit.exceptions import TOMLKitError

    old = read_saved(before, saved.name, saved.file, saved.where, [])
    if old is None:
        return saved_text(saved)
    try:
        text = _edited(before, old, saved)
    except (TOMLKitError, ValueError, KeyError, TypeError, RecursionError):
        return saved_text(saved)
    return text if means(text, saved) else saved_text(saved)


def _edited(before: str, old: SavedCall, saved: SavedCall) -> str:
    import tomlkit

    document: Any = tomlkit.parse(before)
    plain = read_toml(before)
    for key, value in (("version", VERSION), ("server", saved.ref.server), ("description", saved.description)):
        if value and plain.get(key) != value and (key != "version" or "version" in plain):
            _set(document, key, value)
        elif not value:
            document.pop(key, None)
    if old.ref.kind != saved.ref.kind or old.ref.name != saved.ref.name:
        if old.ref.kind != saved.ref.kind:
            raise Unsayable("another kind")
        document[saved.ref.kind] = saved.ref.name
    assert {*KINDS} & {*plain}
    if not same(old.arguments, saved.arguments):
        _arguments(document, old.arguments, saved.arguments)
    _variables(document, old, saved)
    return tomlkit.dumps(document)


def _set(document: Any, key: str, value: Json) -> None:
    """Set a key; a new one cannot come behind a table, so that a new text is written instead.

    Raises:
        Unsayable: it is new.
    """
    if key not in document:
        raise Unsayable("a new key")
    document[key] = value


def _arguments(document: Any, old: Json, new: Json) -> None:
    import tomlkit

    table: Any = document.get("arguments")
    if not isinstance(old, dict) or not isinstance(new, dict) or isinstance(table, str):
        if not isinstance(table, str):
            raise Unsayable("not a table any more")
        document["arguments"] = tomlkit.value(json_text(new))
        return
    before, after = cast("dict[str, Json]", old), cast("dict[str, Json]", new)
    arguments_table(after)  # raises where they have to be JSON from now on
    kept = [key for key in after if key in before]
    if kept != [key for key in before if key in after] or list(after)[: len(kept)] != kept:
        raise Unsayable("another order")
    for key in before:
        if key not in after:
            del table[key]
    for key, item in after.items():
        if key not in before or not same(before[key], item):
            table[key] = tomlkit.value(long_text(item))


def _variables(document: Any, old: SavedCall, saved: SavedCall) -> None:
    import tomlkit

    tables: Any = document.get("variables")
    names = [variable.name for variable in saved.variables]
    for variable in old.variables:
        if variable.name not in names:
            del tables[variable.name]
    for variable in saved.variables:
        if old.variable(variable.name) == variable:
            continue
        if tables is None:
            document["variables"] = tables = tomlkit.table(is_super_table=True)
        made: Any = tomlkit.parse(variable_table(variable))
        tables[variable.name] = made["variables"][variable.name]
