"""The rounds of a conversation in words: what the server asked for in each, and how it was answered."""

from __future__ import annotations

from typing import cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage

_READ = 256 * 1024
_MOST = 20


def questions(entry: WireMessage | None) -> list[str]:
    """What an answer asks for, one line each."""
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


def answers(entry: WireMessage | None) -> list[str]:
    """What a request brings of that, one line each."""
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
    if entry is None or entry.size > _READ:
        return {}
    try:
        return _mapping(_mapping(loads(entry.body)).get(key))
    except (JsonProblem, LimitExceeded):
        return {}


def _mapping(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
