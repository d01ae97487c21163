"""How a listed thing differs from what it was when the person last looked at it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json, printable

ChangeKind = Literal["new", "changed", "gone"]
_LINES = 4_000
"""Longer definitions are not compared line by line: that takes time by the square of their length."""


class Change(NamedTuple):
    """What is different about one entry since the last look."""

    kind: ChangeKind
    parts: tuple[str, ...] = ()
    """Members of the definition that differ, for `changed`."""
    before: dict[str, Json] | None = None
    """The definition as it was seen last; None for `new`."""

    @property
    def words(self) -> str:
        """`changed: description, inputSchema`."""
        return f"{self.kind}: {', '.join(self.parts)}" if self.parts else self.kind


def change_of(before: dict[str, Json] | None, now: dict[str, Json]) -> Change | None:
    """The difference between two definitions; None where there is none."""
    if before is None:
        return Change("new")
    if before == now:
        return None
    parts = [key for key in (*before, *(key for key in now if key not in before)) if _differs(before, now, key)]
    return Change("changed", tuple(parts), before)


def diff(before: Json, now: Json, context: int = 3) -> Iterator[str]:
    """The lines of a unified diff of two values as indented JSON; a sentence instead where they are too long."""
    old, new = (printable(value).splitlines() for value in (before, now))
    if max(len(old), len(new)) > _LINES:
        yield f"The definitions have {len(old):,} and {len(new):,} lines, too many to be compared here."
        return
    for line in difflib.unified_diff(old, new, "as you saw it last", "as it is now", n=context, lineterm=""):
        yield line.rstrip("\n")


def _differs(before: dict[str, Json], now: dict[str, Json], key: str) -> bool:
    return key not in before or key not in now or before[key] != now[key]
