"""Places inside a JSON value, and edits there. Every edit returns a new value; no value is changed in place."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json

Path = tuple[str | int, ...]
"""Keys and indexes from the top of a value to a place; empty for the whole value."""


class NoPlace(LookupError):
    """The value has no such place: an object or list on the path is missing or of another type."""


def pointer(*path: str | int) -> str:
    """The JSON pointer (RFC 6901) through these keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def path_of(pointer: str, value: Json) -> Path:
    """The path of a JSON pointer: parts are indexes where `value` has a list, else keys."""
    path: list[str | int] = []
    place: Json = value
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        index = isinstance(place, list) and part.isascii() and part.isdecimal() and len(part) < 16
        path.append(int(part) if index else part)
        place = get_or_none(place, (path[-1],))
    return tuple(path)


def named(pointer: str, value: Json) -> str:
    """A place as forms show it: keys unchanged, list items counted from 1; foreign text."""
    return " › ".join(str(part + 1) if isinstance(part, int) else part for part in path_of(pointer, value))


def has(value: Json, path: Path) -> bool:
    """Whether the value has the place; null counts as present."""
    try:
        get(value, path)
    except NoPlace:
        return False
    return True


def get_or_none(value: Json, path: Path) -> Json:
    """The value at a place; None where the place does not exist."""
    try:
        return get(value, path)
    except NoPlace:
        return None


def get(value: Json, path: Path) -> Json:
    """The value at a place.

    Raises:
        NoPlace: the place does not exist.
    """
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            if part not in value:
                raise NoPlace(path)
            value = cast("dict[str, Json]", value)[part]
        elif isinstance(value, list) and isinstance(part, int):
            if not 0 <= part < len(value):
                raise NoPlace(path)
            value = cast("list[Json]", value)[part]
        else:
            raise NoPlace(path)
    return value


def put(value: Json, path: Path, new: Json, before: tuple[str, ...] | None = None) -> Json:
    """The value with `new` at the place; missing objects and lists on the path are created.

    Args:
        before: a new key is placed after the last of these keys, or first if none exists; None appends it.

    Raises:
        NoPlace: a list on the path has no such index (its length appends an item), or a key leads into no object.
    """
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(part, int):
        if not isinstance(value or [], list) or not 0 <= part <= len(value or []):
            raise NoPlace(path)
        items = list(cast("list[Json]", value or []))
        items[part : part + 1] = [put(items[part] if part < len(items) else None, rest, new, before)]
        return items
    if value is not None and not isinstance(value, dict):
        raise NoPlace(path)
    members = cast("dict[str, Json]", value or {})
    inner = put(members.get(part), rest, new, before)
    if part in members or rest or before is None:
        return {**members, part: inner}
    pairs = list(members.items())
    at = next((index for index in range(len(pairs), 0, -1) if pairs[index - 1][0] in before), 0)
    return dict([*pairs[:at], (part, inner), *pairs[at:]])


def remove(value: Json, path: Path) -> Json:
    """The value without the place; later list items move up. Unchanged where the place does not exist."""
    if not path or not has(value, path):
        return value
    holder, last = get(value, path[:-1]), path[-1]
    if isinstance(holder, list):
        rest: Json = [item for index, item in enumerate(cast("list[Json]", holder)) if index != last]
    else:
        rest = {key: item for key, item in cast("dict[str, Json]", holder).items() if key != last}
    return put(value, path[:-1], rest)


def insert(value: Json, path: Path, new: Json) -> Json:
    """The value with a new item in a list, before the item at the place; a missing list is created.

    Raises:
        NoPlace: the path does not end in an index of that list, or in its length.
    """
    holder, last = get_or_none(value, path[:-1]), path[-1] if path else None
    items = cast("list[Json]", holder) if isinstance(holder, list) else []
    if not isinstance(last, int) or (holder is not None and holder is not items) or not 0 <= last <= len(items):
        raise NoPlace(path)
    return put(value, path[:-1], [*items[:last], new, *items[last:]])


def move(value: Json, path: Path, by: int) -> tuple[Json, Path]:
    """The value with a list item moved by `by` places, not beyond the ends, and the item's new path.

    Raises:
        NoPlace: the place is not a list item.
    """
    item, last = get(value, path), path[-1] if path else None
    if not isinstance(last, int):
        raise NoPlace(path)
    rest = remove(value, path)
    new = (*path[:-1], max(0, min(last + by, len(get(rest, path[:-1])))))
    return insert(rest, new, item), new


def rename(value: Json, path: Path, key: str) -> Json:
    """The value with another key at the place; the order of the keys stays.

    Raises:
        NoPlace: the place is not a member of an object, or the object has the new key already.
    """
    holder, last = get(value, path[:-1]), path[-1] if path else None
    members = cast("dict[str, Json]", holder) if isinstance(holder, dict) else {}
    if last not in members or (key in members and key != last):
        raise NoPlace(path)
    return put(value, path[:-1], {key if name == last else name: item for name, item in members.items()})
