"""The trace for programs: sessions, entries, trees of related entries. Differences between values, as lines."""

from __future__ import annotations

from mcp_studio.jsontext import Json, printable
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.diff import Difference, DifferenceKind, path_text
from mcp_studio.trace.disk.sessions import SessionInfo
from mcp_studio.trace.message import Recording
from mcp_studio.trace.tree import Node, walk

_STATUS = {"error": "error", "result": "unasked", "invalid": "no message", "stray": "stray"}
"""The status of an entry that is no request, by its kind."""
_SEVERITIES = (None, "hint", "warning", "error")


def session_json(info: SessionInfo) -> dict[str, Json]:
    """One session."""
    return {
        "name": info.name, "state": info.state, "origin": info.origin or None, "title": info.title or None,
        "began": info.began or None, "ended": info.ended, "entries": info.entries, "bytes": info.bytes,
        "servers": list(info.servers), "file": str(info.path), "problem": info.problem or None,
    }  # fmt: skip


def entry_json(recording: Recording, number: int) -> dict[str, Json]:
    """One entry without its body."""
    columns = recording.columns
    row = number - columns.first
    flags, ms, link, kind = columns.flags[row], columns.ms(row), columns.link[row] or None, columns.kind_of(row)
    return {
        "number": number, "time": round(columns.time[row], 6), "server": columns.servers.texts[columns.server[row]],
        "direction": columns.direction_of(row), "kind": kind,
        "method": columns.methods.texts[columns.method[row]] or None,
        "target": columns.targets.texts[columns.target[row]] or None,
        "size": columns.size[row], "ms": None if ms is None else round(ms, 3),
        "status": columns.outcome_of(row) or _STATUS.get(kind),
        "request": link if kind != "request" else None, "answer": link if kind == "request" else None,
        "finding": _SEVERITIES[flags >> bits.SEVERITY & 3], "marked": bool(flags & bits.MARKED),
        "comment": (recording.comment_on(number) or None) if flags & bits.COMMENTED else None,
    }  # fmt: skip


def tree_json(recording: Recording, root: Node) -> dict[str, Json]:
    """An entry with all entries that belong to it, each with its delay after the first of them."""
    columns = recording.columns
    begin = min(columns.time[node.number - columns.first] for _, node in walk(root))

    def as_json(node: Node) -> dict[str, Json]:
        fields = entry_json(recording, node.number)
        after = round((fields["time"] - begin) * 1000, 3)
        children = [as_json(child) for child in node.children]
        return {"relation": node.relation, "after_ms": after, **fields, "children": children}

    return as_json(root)


# Differences

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
