"""Which requests a frame answers: a quick look that does not judge the frame."""

from __future__ import annotations

import re
from typing import Any, cast

from mcp_studio import jsontext
from mcp_studio.errors import LimitExceeded
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.versions import NAMED

_ID = rb'(-?[0-9]{1,18}|"[^"\\\x00-\x1f]{0,200}")'
_WS = rb"[ \t\r\n]*"
_VERSION = rb'"jsonrpc"' + _WS + rb":" + _WS + rb'"2\.0"' + _WS + rb"," + _WS
_KEY = rb'"id"' + _WS + rb":" + _WS + _ID + _WS
_AHEAD = re.compile(
    _WS
    + rb"\{"
    + _WS
    + rb"(?:"
    + _VERSION
    + rb")?"
    + _KEY
    + rb","
    + _WS
    + rb"(?:"
    + _VERSION
    + rb')?"(?:result|error)"'
)
_VERSION_LAST = _WS + rb"," + _WS + rb'"jsonrpc"' + _WS + rb":" + _WS + rb'"2\.0"'
_BEHIND = re.compile(rb"(?<=[{, \t\r\n])" + _KEY + rb"(?:" + _VERSION_LAST + rb")?" + _WS + rb"\}" + _WS + rb"\Z")
_RESULT_FIRST = re.compile(_WS + rb"\{" + _WS + rb"(?:" + _VERSION + rb')?"(?:result|error)"')
_TAIL = 300


def answered(frame: bytes) -> tuple[RequestId, ...]:
    """Ids of the requests that this frame holds responses to; empty for anything else, also for broken JSON.

    A large frame is usually a response with its id at one of its ends: it is read there, so that only the core parses
    the whole.
    """
    found = _AHEAD.match(frame)
    if found is None and _RESULT_FIRST.match(frame):
        found = _BEHIND.search(frame, max(0, len(frame) - _TAIL))
    if found is not None:
        return (cast(RequestId, jsontext.loads(found[1])),)
    try:
        value = jsontext.loads(frame)
    except (jsontext.JsonProblem, LimitExceeded):
        return ()
    items = cast(list[Any], value) if isinstance(value, list) else [value]
    return tuple(found for item in items if (found := _response_id(item)) is not None)


def _response_id(item: Any) -> RequestId | None:
    if not isinstance(item, dict):
        return None
    message = cast(dict[str, Any], item)
    if "method" in message or not ("result" in message or "error" in message):
        return None
    found = message.get("id")
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def named(body: bytes) -> tuple[str, str]:
    """The method of a message, and its subject where it has one (`Mcp-Name`); empty where they cannot be read."""
    try:
        value = jsontext.loads(body)
    except (jsontext.JsonProblem, LimitExceeded):
        return "", ""
    message = jsontext.mapping(value)
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return "", ""
    target = cast(dict[str, Any], params).get(NAMED.get(method, "")) if isinstance(params, dict) else ""
    return method, target if isinstance(target, str) else ""


def readable(body: bytes) -> bool:
    """Whether a body is one JSON text."""
    try:
        jsontext.loads(body)
    except (jsontext.JsonProblem, LimitExceeded):
        return False
    return True


def error_frame(body: bytes, request_id: RequestId) -> bytes | None:
    """The JSON-RPC error that a body with an error status holds, made to answer `request_id`; None if it is none.

    Servers put null or a constant there when they reject a request before reading its id; the HTTP exchange says
    which request it is about.
    """
    try:
        value = jsontext.loads(body, exact=True)
    except (jsontext.JsonProblem, LimitExceeded):
        return None
    if not isinstance(value, dict):
        return None
    message = cast(dict[str, Any], value)
    if "jsonrpc" not in message or not isinstance(message.get("error"), dict) or "method" in message:
        return None
    if message.get("id") == request_id and type(message.get("id")) is type(request_id):
        return body
    return jsontext.dumps({**message, "id": request_id})
