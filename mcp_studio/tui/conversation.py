"""The rounds of a conversation as text: what the server asked for in each, and how it was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Span, WireMessage
from mcp_studio.trace.rounds import conversation

_READ = 256 * 1024
_MOST = 20


def place(span: Span) -> str:
    """`round 2 of 3`; empty for a request that was answered at once."""
    rounds = conversation(span)
    return f"round {span.round} of {len(rounds)}" if len(rounds) > 1 else ""


def text(
    span: Span, between: Callable[[WireMessage, WireMessage], Iterable[WireMessage]], clock: Callable[[float], str]
) -> str:
    """All rounds in their order; `between` gives the entries between two, where answers by rule are noted."""
    rounds = conversation(span)
    if len(rounds) < 2:
        return ""
    lines = ["The server asked for input:"]
    for one in rounds:
        here = "  (this one)" if one is span else ""
        took = "" if one.ms is None else f", {one.ms:.0f} ms"
        lines.append(f"round {one.round}  request {safe(one.request.id, 40)}, {clock(one.request.time)}{took}{here}")
        if one.follows is not None:
            earlier = one.follows.response or one.follows.request
            notes = [entry for entry in between(earlier, one.request) if entry.kind == "note"]
            lines += [f"         {safe(note.body.decode('utf-8', 'replace'), 300)}" for note in notes[:_MOST]]
            lines += [f"         answered  {answer}" for answer in _answers(one.request)]
        lines += [f"         asked     {question}" for question in _questions(one.response)]
        if one.response is None:
            lines.append(f"         {one.outcome}")
        elif one.followed is None and one.outcome != "open":
            lines.append(f"         ended: {one.outcome}")
    return "\n".join(lines)


def _questions(entry: WireMessage | None) -> list[str]:
    result = _part(entry, "result")
    asked = result.get("inputRequests")
    found: list[str] = []
    for key, request in list(_mapping(asked).items())[:_MOST]:
        body = _mapping(request)
        said = _mapping(body.get("params")).get("message")
        quote = f': "{safe(said, 80)}"' if isinstance(said, str) else ""
        found.append(f"{safe(key, 40)} = {safe(body.get('method', 'nothing'), 60)}{quote}")
    if not found and result.get("resultType") == "input_required":
        found.append("nothing; to be asked again with its state")
    error = _part(entry, "error")
    if "elicitations" in _mapping(error.get("data")):
        found.append("pages to be opened first")
    return found


def _answers(entry: WireMessage) -> list[str]:
    given = _mapping(_part(entry, "params").get("inputResponses"))
    found: list[str] = []
    for key, answer in list(given.items())[:_MOST]:
        known = _mapping(answer)
        what = known.get("action")
        if not isinstance(what, str):
            what = next((name for name in ("roots", "content", "role") if name in known), "a result")
            what = {"role": "a reply", "content": "a reply"}.get(what, what)
        found.append(f"{safe(key, 40)} = {safe(what, 40)}")
    return found


def _part(entry: WireMessage | None, key: str) -> dict[str, Json]:
    if entry is None or not 0 < len(entry.body) <= _READ:
        return {}
    try:
        return _mapping(_mapping(loads(entry.body)).get(key))
    except (JsonProblem, LimitExceeded):
        return {}


def _mapping(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
