"""How the end of a connection reads: short for a line, and fact by fact for the command line and the card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_studio.trace.ending import headline, meaning

if TYPE_CHECKING:
    from mcp_studio.jsontext import Json
    from mcp_studio.trace.postmortem import Flight, Mortem


def span_text(seconds: float) -> str:
    """How long something was: `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 10 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def first_line(one: Mortem) -> str:
    """`files ended with exit code 3 after 12 s`."""
    when = "" if one.uptime is None else f" after {span_text(one.uptime)}"
    start = "" if one.ready else ", while it was starting"
    return f"{one.server} {headline(one.ending)}{when}{start}"


def short(one: Mortem) -> str:
    """The same for a row under the server's name: `ended with exit code 3, 2 requests lost`."""
    lost = len(one.flights)
    more = f", {lost} request{'s' if lost > 1 else ''} lost" if lost else ""
    return f"{headline(one.ending)}{more}"


def means(one: Mortem) -> str:
    """What that usually means; of a server that closed its connection on purpose and the like nothing is said."""
    return meaning(one.ending)


def flight(one: Flight) -> str:
    """`tools/call add, for 1.2 s`."""
    who = "" if one.direction == "out" else ", asked by the server"
    what = f"{one.method} {one.target}".strip()
    return f"{what}{who}, for {span_text(one.ms / 1000)}"


def facts(one: Mortem) -> Iterator[tuple[str, str]]:
    """Names and values, in short: what was in flight, and what the server said last. Values quote the server."""
    if one.uptime is not None:
        yield "ran", f"for {span_text(one.uptime)}" + ("" if one.ready else ", and was not ready yet")
    if text := means(one):
        yield "means", text
    for item in one.flights[:5]:
        yield "in flight", flight(item)
    if len(one.flights) > 5:
        yield "in flight", f"and {len(one.flights) - 5} more"
    if one.stray_count:
        count = f"{one.stray_count:,} line{'s' if one.stray_count > 1 else ''}"
        last = f", the last: {one.stray[-1].text}" if one.stray else ""
        yield "stdout", f"{count} besides the protocol{last}"
    for line in one.stderr[-3:]:
        yield "stderr", line.text


def as_json(one: Mortem) -> dict[str, Json]:
    """The same for programs."""
    return {
        "how": one.ending.how, "code": one.ending.code, "text": headline(one.ending), "means": means(one),
        "ready": one.ready, "uptime": None if one.uptime is None else round(one.uptime, 3),
        "inFlight": [
            {"method": item.method, "target": item.target, "id": item.id, "ms": round(item.ms, 1)}
            for item in one.flights
        ],
        "stderr": [line.text for line in one.stderr],
        "stray": [line.text for line in one.stray], "strayCount": one.stray_count,
    }  # fmt: skip
