"""The differences between two JSON values, as lines."""

from __future__ import annotations

from mcp_studio.jsontext import Json, printable
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import Difference, DifferenceKind, path_text

_SIGNS: dict[DifferenceKind, str] = {
    "added": "+", "removed": "-", "changed": "~", "type": "!", "moved": ">", "more": "…",
}  # fmt: skip
_LEAD = 20
"""How many common characters of two long texts are shown before the first difference."""


def difference_line(one: Difference, width: int = 60) -> str:
    """A difference with its values cut to about `width` characters each, from just before the first differing one."""
    if one.kind == "more":
        return f"{_SIGNS['more']} and more: the rest is not compared"
    place = safe(path_text(one.path), 200) or "(the whole value)"
    if one.kind == "moved":
        return f"{_SIGNS['moved']} {place}: was {safe(path_text(one.was), 200)}"
    old, new = one.before, one.after
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > width:
        differ = (index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1])
        begin = next(differ, min(len(old), len(new))) - _LEAD
        old, new = (f"…{text[begin:]}" if begin > 0 else text for text in (old, new))
    sides = [safe(value_text(old, width))] if one.kind != "added" else []
    sides += [safe(value_text(new, width))] if one.kind != "removed" else []
    return f"{_SIGNS[one.kind]} {place}: {' → '.join(sides)}"


def value_text(value: Json, width: int) -> str:
    """A value on one line; a large one becomes its size."""
    if isinstance(value, (dict, list)):
        many, items = len(value), value.values() if isinstance(value, dict) else value
        small = many <= 5 and not any(isinstance(item, (dict, list)) for item in items)
        if small and len(text := printable(value, indent=None)) <= width:
            return text
        shape, what = ("{…}", "member") if isinstance(value, dict) else ("[…]", "item")
        return f"{shape} {many} {what}{'' if many == 1 else 's'}"
    if isinstance(value, str) and len(value) > width:
        return f"{printable(value[:width], indent=None)[:-1]}… {len(value) - width:,} more"
    return printable(value, indent=None)
