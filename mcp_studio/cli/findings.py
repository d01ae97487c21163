"""What the protocol lint says about a server, for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.session.deadline import Deadline
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.trace.lint.finding import SEVERITIES

_PATIENCE = 5.0
"""Seconds that the ping may take."""
_SIGNS = {"error": "✗", "warning": "!", "hint": "·"}


async def exercise(studio: Studio, name: str, status: Status) -> None:
    """Make the traffic that the lint needs, besides the lists that were read, and check all of it closely."""
    if status.state == "ready" and not status.modern:
        try:
            await studio.manager.connection(name).request("ping", deadline=Deadline(_PATIENCE, _PATIENCE))
        except StudioError:
            pass  # the lint, and the state of the connection, say what was wrong
    await studio.trace.examine(name)


def findings(studio: Studio, name: str) -> list[Json]:
    """All findings on a server, worst first, equal ones counted."""
    found: list[Json] = []
    lines, _ = studio.manager.stray(name)
    for group in studio.trace.ledger(name).groups():
        first = group.first
        item: dict[str, Json] = {"severity": first.severity, "rule": first.rule, "text": first.text}
        item |= {"section": first.section, "pointer": first.pointer, "count": group.count, "others": group.others}
        if first.rule == "stdout-noise" and lines:
            item["example"] = lines[0]
        found.append(item)
    return found


def lines_of(found: list[Json]) -> Iterator[str]:
    """The same as text: one line for what, one for where it is specified."""
    if not found:
        yield "  findings     none: nothing is wrong with what it sent so far"
        return
    counts = [(severity, sum(item["severity"] == severity for item in found)) for severity in SEVERITIES]
    kinds = ", ".join(f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts if count)
    yield f"  findings     {kinds}"
    for item in found:
        times = f" ({item['count']:,} times)" if item["count"] > 1 else ""
        text = f"and others of the rule {item['rule']}" if item["others"] else item["text"]
        example = f' Such as: "{item["example"]}"' if "example" in item else ""
        yield f"  {_SIGNS[item['severity']]} {text}{times}{example}"
        where = f" at {item['pointer']}" if item["pointer"] else ""
        yield f"      {item['section']}{where}"
