"""Rules about the bytes of a frame and about its JSON text."""

from __future__ import annotations

import json
from typing import cast

from mcp_studio.jsontext import Json, JsonProblem
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.words import escaped

_BOM = b"\xef\xbb\xbf"
_READ = 1 << 20
"""Bytes of a frame whose encoding is checked."""
_DUPLICATES = 10
_NULLS = 20
_FREE = frozenset(
    "inputSchema outputSchema requestedSchema structuredContent input data _meta metadata experimental "
    "inputRequests task error extensions".split()
)
"""Members whose values are anybody's own, or are looked at elsewhere."""


def check_bytes(frame: bytes) -> list[Spot]:
    """What is wrong with a frame before it is read; costs next to nothing for plain ASCII."""
    if frame.isascii() if len(frame) <= _READ else frame[:_READ].isascii():
        return []
    spots: list[Spot] = []
    if frame.startswith(_BOM):
        spots.append(Spot("byte-order-mark", "The message begins with a byte order mark, which JSON must not."))
    try:
        frame[:_READ].decode()
    except UnicodeDecodeError as problem:
        # A character that the cut divided is no fault.
        if len(frame) <= _READ or problem.end < _READ - 3:
            bad = frame[problem.start : problem.start + 4].hex(" ")
            spots.append(Spot("invalid-utf8", f"Byte {problem.start:,} is not UTF-8 ({bad} …)."))
    return spots


def nulls(value: Json, where: str) -> list[Spot]:
    """Members that are null where the schema knows no null; what servers and people say themselves is passed over."""
    spots: list[Spot] = []
    todo: list[tuple[Json, str]] = [(value, where)]
    while todo and len(spots) < _NULLS:
        node, path = todo.pop()
        if isinstance(node, dict):
            for key, inner in cast("dict[str, Json]", node).items():
                if inner is None and key != "data":
                    text = f'"{key[:80]}" is null; an optional member is left out instead.'
                    spots.append(Spot("not-in-schema", text, f"{path}/{escaped(key)}"))
                elif isinstance(inner, (dict, list)) and key not in _FREE:
                    todo.append((cast("Json", inner), f"{path}/{escaped(key)}"))
        elif isinstance(node, list):
            todo += [(inner, f"{path}/{index}") for index, inner in enumerate(cast("list[Json]", node))]
    return spots


def duplicate_keys(text: str) -> list[Spot]:
    """Keys that an object has twice; readers differ in which they take."""
    seen: list[str] = []

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(items)
        if len(made) < len(items):
            names = [name for name, _ in items]
            seen.extend(sorted({name for name in names if names.count(name) > 1} - set(seen)))
        return made

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError, JsonProblem):
        return []
    return [Spot("duplicate-key", f'An object has the key "{name[:80]}" twice.') for name in seen[:_DUPLICATES]]
