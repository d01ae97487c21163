"""Whether one entry is what a query asks for."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any as Untyped
from typing import cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.trace.columns import BY_HAND, PROBE
from mcp_studio.trace.lint.finding import worst
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.query.needle import Needle
from mcp_studio.trace.query.nodes import (
    All,
    Any,
    Comment,
    Compare,
    Flag,
    Id,
    Kind,
    Name,
    Node,
    Not,
    Outcome,
    Severe,
    Text,
)  # fmt: skip
from mcp_studio.trace.recording import Recording

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
WITH_ID = ("request", "result", "error")
"""Kinds that have an id."""
_SEVERITIES = {None: 0, "hint": 1, "warning": 2, "error": 3}
_PARSED = 1 << 16
"""Larger bodies are not parsed for their id; it is looked for at their beginning and end."""
_EDGE = 4_096


def judge(node: Node, entry: WireMessage, recording: Recording | None) -> bool:
    """Decide it; see `parser.Query.matches`."""
    match node:
        case All(parts):
            return all(judge(part, entry, recording) for part in parts)
        case Any(parts):
            return any(judge(part, entry, recording) for part in parts)
        case Not(part):
            return not judge(part, entry, recording)
        case Name(column, test):
            return test.which((cast(str, getattr(entry, column)),)) == b"\1"
        case Kind(kinds, directions):
            return entry.kind in kinds and (not directions or entry.direction in directions)
        case Outcome(outcomes):
            return entry.span is not None and entry.span.outcome in outcomes
        case Compare():
            return _compared(node, entry)
        case Flag(bits):
            return bool(_flags(entry, recording) & bits)
        case Severe(least):
            return _SEVERITIES[worst(entry.findings)] >= least
        case Comment(test):
            text = recording.comment_on(entry.number) if recording is not None else ""
            return bool(text) and test.which((text,)) == b"\1"
        case Id(id):
            return entry.kind in WITH_ID and entry.id is not None and str(entry.id) == id
        case Text(sought, anywhere):
            return (anywhere and _in_head(sought, entry)) or in_body(sought, entry.body)


def in_body(sought: Untyped, body: bytes) -> bool:
    """Whether a text or a regex is found in a body."""
    return sought.within(body) if isinstance(sought, Needle) else sought.which_bodies((body,)) == b"\1"


def _in_head(sought: Untyped, entry: WireMessage) -> bool:
    head = entry.server, entry.method, entry.target, entry.kind
    if isinstance(sought, Needle):
        return any(sought.folded in text.casefold() for text in head)
    return b"\1" in sought.which(head)


def _compared(node: Compare, entry: WireMessage) -> bool:
    value: float | None = entry.size if node.column == "size" else entry.time
    if node.column == "ms":
        value = entry.span.ms if entry.span else None
    return value is not None and SIGNS[node.sign](abs(value), node.limit)


def _flags(entry: WireMessage, recording: Recording | None) -> int:
    own = PROBE * entry.probe | BY_HAND * entry.by_hand
    if recording is None:
        return own
    row = entry.number - recording.columns.first
    return own | recording.columns.flags[row] if 0 <= row < len(recording.columns.flags) else own


def id_pattern(id: str) -> re.Pattern[bytes]:
    """Finds frames that may have this id."""
    plain = re.escape(id.encode("utf-8", "replace"))
    text = re.escape(json.dumps(id).encode())
    own = re.escape(b'"' + id.encode("utf-8", "replace") + b'"')
    return re.compile(rb'"id"\s*:\s*(?:' + plain + rb"(?![\d.eE])|" + text + b"|" + own + b")")


def has_id(body: bytes, id: str, pattern: re.Pattern[bytes]) -> bool:
    """Whether a frame has this id itself, and not only something inside it."""
    if len(body) > _PARSED:
        return bool(pattern.search(body, 0, _EDGE) or pattern.search(body, len(body) - _EDGE))
    if not pattern.search(body):
        return False
    try:
        found: Json = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return any(_is_id(mapping(one).get("id"), id) for one in (items_of(found) or [found]))


def _is_id(found: Json, id: str) -> bool:
    return isinstance(found, (int, float, str)) and str(found) == id
