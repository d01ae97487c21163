"""What was recorded, for programs: sessions, entries, what belongs together, figures."""

from __future__ import annotations

from collections.abc import Callable

from mcp_studio.jsontext import Json, dumps
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.sessions import SessionInfo
from mcp_studio.trace.message import Recording
from mcp_studio.trace.statistics import NAMED, Numbers, Tally
from mcp_studio.trace.tree import Node, walk

_STATUS = {"error": "error", "result": "unasked", "invalid": "no message", "stray": "stray"}
"""How it stands with an entry that is no request: by its kind."""
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
    """An entry with all that belongs to it, each with how long after the first of them it came."""
    columns = recording.columns
    begin = min(columns.time[node.number - columns.first] for _, node in walk(root))

    def told(node: Node) -> dict[str, Json]:
        known = entry_json(recording, node.number)
        after = round((known["time"] - begin) * 1000, 3)
        children = [told(child) for child in node.children]
        return {"relation": node.relation, "after_ms": after, **known, "children": children}

    return told(root)


def tally_json(tally: Tally) -> dict[str, Json]:
    """The figures of some requests; times in milliseconds."""
    times = {"average": tally.average, "p50": tally.p50, "p95": tally.p95, "p99": tally.p99, "max": tally.most}
    return {
        "count": tally.count, "errors": tally.errors, "refused": tally.refused, "tool_errors": tally.failed,
        "lost": tally.lost, "cancelled": tally.cancelled, **{name: ms and round(ms, 3) for name, ms in times.items()},
        "bytes_in": tally.bytes_in, "bytes_out": tally.bytes_out,
    }  # fmt: skip


_METERS: tuple[tuple[str, str, Callable[[Tally], float | None]], ...] = (
    ("calls_total", "Requests that were answered or given up.", lambda tally: tally.count),
    ("errors_total", "Requests that were refused, failed, or lost.", lambda tally: tally.errors),
    ("success_ratio", "Requests that were no error, from 0 to 1.", lambda tally: 1 - tally.error_rate),
    ("received_bytes_total", "Bytes from the server.", lambda tally: tally.bytes_in),
    ("sent_bytes_total", "Bytes to the server.", lambda tally: tally.bytes_out),
    ("latency_average_ms", "Moving average of the time to the reply.", lambda tally: tally.average),
    ("latency_p50_ms", "Half of the replies took less.", lambda tally: tally.p50),
    ("latency_p95_ms", "95 of 100 replies took less.", lambda tally: tally.p95),
    ("latency_p99_ms", "99 of 100 replies took less.", lambda tally: tally.p99),
)


def prometheus(numbers: Numbers) -> str:
    """All figures as a Prometheus text file: of each server, and of each of its tools, prompts and resources."""
    rows = [({"server": server}, tally) for server, tally in sorted(numbers.servers.items())]
    rows += [
        ({"server": one.server, "kind": NAMED[one.method], "name": one.target}, tally)
        for one, tally in sorted(numbers.targets.items())
        if one.method in NAMED
    ]
    lines: list[str] = []
    for name, text, value in _METERS:
        kind = "counter" if name.endswith("_total") else "gauge"
        lines.append(f"# HELP mcp_studio_{name} {text}\n# TYPE mcp_studio_{name} {kind}")
        for labels, tally in rows:
            if (number := value(tally)) is not None:
                shown = ",".join(f"{key}={dumps(safe(text, 500)).decode()}" for key, text in labels.items())
                lines.append(f"mcp_studio_{name}{{{shown}}} {round(number, 4):g}")
    return "\n".join(lines)
