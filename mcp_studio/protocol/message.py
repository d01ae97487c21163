"""Incoming JSON-RPC 2.0 messages, sorted by kind; nothing is lost and nothing raised."""

import gc
import re
from collections.abc import Collection
from typing import Literal, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, has_more_values, loads
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.events import RequestId


class Request(NamedTuple):
    """The peer sent a request."""

    id: RequestId
    method: str
    params: dict[str, Json]


class Notification(NamedTuple):
    """The peer sent a notification."""

    method: str
    params: dict[str, Json]


class Response(NamedTuple):
    """The peer answered with a result."""

    id: RequestId | None
    result: Json


class Failure(NamedTuple):
    """The peer answered with an error; `problem` says what is wrong with the error object itself."""

    id: RequestId | None
    code: int
    message: str
    data: Json = None
    problem: str = ""


class Malformed(NamedTuple):
    """A frame, or a part of a batch, that is not a JSON-RPC message; `id` is the id that it seems to have."""

    reason: str
    id: RequestId | None = None
    unread: Literal["", "no JSON", "depth", "values"] = ""
    """Why no JSON value could be read: "no JSON", or the name of a limit; empty when a value was read."""


Message = Request | Notification | Response | Failure | Malformed

_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID = rb'"id"\s*:\s*(-?\d{1,18}(?![\d.eE])|"(?:[^"\\]|\\.){0,200}")'
_FIRST_ID = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID)
_LAST_ID = re.compile(_ID + rb"\s*(?:,\s*" + _VERSION + rb")?\}\s*\Z")
_EDGE = 4_096
_LARGE = 1_000_000
"""Bytes from which on a frame is read without the garbage collector."""
PART = 5_000_000
"""Bytes from which on a part of an answer stays JSON text where that is wanted."""
_TEXTS, _HOLDERS = ("text", "blob", "data"), ("result", "content", "contents", "messages", "resource")
"""Members of a result that are texts, and those that hold the blocks of texts."""
_BATCH = _BLOCKS = 1_000
"""Messages of one batch that are handled, and blocks that are read one by one."""


class Parsed(NamedTuple):
    """The messages of one frame."""

    messages: tuple[Message, ...]
    batch: bool = False
    value: Json = None
    """The JSON value of the whole frame."""


def parse(frame: bytes, limits: Limits = DEFAULT, parts: Collection[RequestId] = ()) -> Parsed:
    """Sort the messages of one frame; a batch (2025-03-26) holds several. Never raises.

    Args:
        parts: requests in whose answers large texts and structured content stay JSON text, each a `memoryview`.
    """
    # The collector would search a million new containers for cycles again and again, which doubles the time.
    collects = len(frame) > _LARGE and gc.isenabled()
    if collects:
        gc.disable()
    try:
        value = (parts and _answer(frame, parts, limits)) or loads(frame, most=limits.depth, values=limits.values)
    except LimitExceeded as problem:
        beyond = "values" if problem.limit == "values" else "depth"
        return Parsed((Malformed(problem.message, id_at_an_end(frame[:_EDGE], frame[-_EDGE:]), beyond),))
    except JsonProblem as problem:
        identity = id_at_an_end(frame[:_EDGE], frame[-_EDGE:])
        if identity is None:
            printed = "it is not JSON; was it printed to standard output by mistake?"
            return Parsed((Malformed(printed, None, "no JSON"),))
        return Parsed((Malformed(f"it is not JSON: {problem}", identity, "no JSON"),))
    finally:
        if collects:
            gc.enable()
    if isinstance(value, list):
        items = cast("list[Json]", value)
        if not items:
            return Parsed((Malformed("it is an empty batch"),), True, value)
        more = (Malformed(f"it is a batch of {len(items):,} messages, of which {_BATCH:,} are taken"),)
        return Parsed(tuple(map(_sort, items[:_BATCH])) + more * (len(items) > _BATCH), True, value)
    return Parsed((_sort(value),), False, value)


class LargeResult(dict[str, Json]):
    """A result whose texts and structured content above `PART` bytes are JSON text, each a `memoryview` of `raw`."""

    raw: memoryview
    """The JSON text of the whole result."""


def whole(value: Json) -> Json:
    """The value of a large result, or of a part of it; another value as it is."""
    raw = value.raw if isinstance(value, LargeResult) else value
    return loads(bytes(raw)) if isinstance(raw, memoryview) else value


def _answer(frame: bytes, parts: Collection[RequestId], limits: Limits) -> dict[str, Json] | None:
    """A large answer to one of these requests, without its large parts; None if it is something else."""
    if not parts or has_more_values(frame, limits.values):
        return None
    from msgspec import MsgspecError, Raw
    from msgspec.json import decode

    def read(name: str, raw: Raw) -> Json:
        text = memoryview(raw)
        if len(text) > PART:
            if name == "structuredContent" or (name in _TEXTS and text[0] == ord('"')):
                return text
            if name in _HOLDERS and text[0] == ord("{"):
                return {key: read(key, item) for key, item in decode(text, type=dict[str, Raw]).items()}
            if name in _HOLDERS and text[0] == ord("[") and len(items := decode(text, type=list[Raw])) <= _BLOCKS:
                return [read(name, item) for item in items]
        return loads(bytes(text))

    try:
        message: dict[str, Json] = decode(frame, type=dict[str, Raw])
        result = LargeResult(read("result", message["result"]))
        result.raw = memoryview(message["result"])
        message = {key: result if key == "result" else read(key, raw) for key, raw in message.items()}
        return message if message["id"] in parts and not result.get("isError") else None
    except (MsgspecError, RecursionError, LookupError, AttributeError, TypeError, ValueError):
        return None


def id_at_an_end(head: bytes, tail: bytes) -> RequestId | None:
    """The id of a frame that is not read as a whole, if the id stands at its beginning or end."""
    found = _FIRST_ID.match(head) or _LAST_ID.search(tail)
    if found is None:
        return None
    try:
        return cast("RequestId", loads(found[1]))
    except JsonProblem:
        return None


def _sort(value: Json) -> Message:
    if not isinstance(value, dict):
        return Malformed(f"a message must be a JSON object, not {_kind(value)}")
    message = cast("dict[str, Json]", value)
    if "method" in message:
        return _call(message)
    if "error" in message:
        return _failure(message)
    if "result" in message:
        identity = _identity(message)
        if identity is None:
            return Malformed("the answer carries no usable id")
        return Response(identity, message["result"])
    return Malformed("it has no method, result or error", _identity(message))


def _call(message: dict[str, Json]) -> Message:
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return Malformed(f"the method must be a string, not {_kind(method)}", _identity(message))
    if params is None:
        params = {}
    if not isinstance(params, dict):
        return Malformed(f"the params of {method[:80]} must be an object, not {_kind(params)}", _identity(message))
    known = cast("dict[str, Json]", params)
    if "id" not in message:
        return Notification(method, known)
    identity = _identity(message)
    if identity is None:
        return Malformed(f"the request {method[:80]} carries an id that is neither a string nor a whole number")
    return Request(identity, method, known)


def _failure(message: dict[str, Json]) -> Message:
    identity, error = _identity(message), message["error"]
    problem = "The answer has both a result and an error" if "result" in message else ""
    if not isinstance(error, dict):
        return Failure(identity, 0, str(error)[:500], None, "The error is not an object")
    known = cast("dict[str, Json]", error)
    code, text = known.get("code"), known.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        problem, code = problem or "The error has no whole number as its code", 0
    if not isinstance(text, str):
        problem, text = problem or "The error has no message", ""
    return Failure(identity, code, text, known.get("data"), problem)


def _identity(message: dict[str, Json]) -> RequestId | None:
    identity = message.get("id")
    if isinstance(identity, float) and identity.is_integer():
        return int(identity)
    return identity if isinstance(identity, (int, str)) and not isinstance(identity, bool) else None


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def tool_failed(message: Message) -> bool:
    """Whether a tool says that it failed (server/tools, `isError`)."""
    return isinstance(message, Response) and isinstance(message.result, dict) and message.result.get("isError") is True
