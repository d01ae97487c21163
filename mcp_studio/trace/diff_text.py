"""Differences in words, a line each."""

from __future__ import annotations

import re
from typing import NamedTuple

from mcp_studio.jsontext import Json, printable
from mcp_studio.safetext import SafeText, safe
from mcp_studio.trace.diff import Difference, DifferenceKind, Path

SIGNS: dict[DifferenceKind, str] = {
    "added": "+", "removed": "-", "changed": "~", "type": "!", "moved": ">", "more": "…",
}  # fmt: skip
_PLAIN = re.compile(r"[\w$@/:-]+")
_LEAD = 20
"""Characters that two long texts have in common and that are shown before they differ."""


class Shown(NamedTuple):
    """One difference, ready to be drawn."""

    sign: str
    """One of `SIGNS`."""
    place: SafeText
    """Such as `content[0].text`; empty for the whole value."""
    before: SafeText
    after: SafeText
    """Empty where there is nothing on that side."""

    @property
    def line(self) -> str:
        """All of it on one line."""
        sides = " → ".join(part for part in (self.before, self.after) if part)
        return f"{self.sign} {self.place or '(the whole value)'}: {sides}"


def shown(one: Difference, width: int = 60) -> Shown:
    """A difference with its values cut to about a number of characters each, beginning near where texts differ."""
    sign, place = SIGNS[one.kind], safe(path_text(one.path), 200)
    if one.kind == "more":
        return Shown(sign, safe("and more"), safe("the rest is not compared"), safe(""))
    if one.kind == "moved":
        return Shown(sign, place, safe(f"was {path_text(one.was)}", 200), safe(""))
    old, new = one.before, one.after
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > width:
        begin = _common(old, new)
        old, new = _from(old, begin), _from(new, begin)
    before = safe(value_text(old, width)) if one.kind != "added" else safe("")
    return Shown(sign, place, before, safe(value_text(new, width)) if one.kind != "removed" else safe(""))


def path_text(path: Path) -> str:
    """A path as patterns of `diff_ignore.Ignore` are written."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def value_text(value: Json, width: int) -> str:
    """A value on a line; of a large one its size."""
    if isinstance(value, (dict, list)):
        many = len(value)
        small = many <= 5 and not any(isinstance(item, (dict, list)) for item in _items(value))
        if small and len(text := printable(value, indent=None)) <= width:
            return text
        shape, what = ("{…}", "member") if isinstance(value, dict) else ("[…]", "item")
        return f"{shape} {many} {what}{'' if many == 1 else 's'}"
    if isinstance(value, str) and len(value) > width:
        return f"{printable(value[:width], indent=None)[:-1]}… {len(value) - width:,} more"
    return printable(value, indent=None)


def _items(value: Json) -> list[Json]:
    return list(value.values()) if isinstance(value, dict) else value


def _common(old: str, new: str) -> int:
    """How many characters two texts begin with in common, by halves: texts may be of many megabytes."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old.startswith(new[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _from(text: str, begin: int) -> str:
    return text if begin <= _LEAD else f"…{text[begin - _LEAD :]}"
