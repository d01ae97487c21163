"""JSON-RPC 2.0 messages as they come in: sorted by kind, nothing lost, nothing raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.events import RequestId

LARGE = 2 * 1024 * 1024
"""Bytes of a frame from which on its outer structure is wanted."""
BEGIN = LARGE // 4
"""Bytes that have come of a frame when looking at it begins, so that there is never much to catch up with."""
LEVELS = 5
"""Containers inside each other whose children are known."""
CHILDREN = 1_000
"""Children that are known of one container; one with more is a single thing."""
_WINDOW = 1 << 16
_QUOTE, _COMMA = 0x22, 0x2C


class _Patterns(NamedTuple):
    rest: re.Pattern[bytes]
    """The rest of a string, up to its closing quote."""
    run: re.Pattern[bytes]
    """Up to the next bracket or comma that is in no string."""
    deep: re.Pattern[bytes]
    """Over commas and small containers too."""
    blank: re.Pattern[bytes]


@cache
def _patterns() -> _Patterns:
    """Compiled for the first large message, not at every start."""
    string = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    other = rb'[^"\[\]{}]*+'

    def nested(inner: bytes) -> bytes:
        return rb"[\[{]" + other + rb"(?:" + inner + other + rb")*+[\]}]"

    small = nested(b"(?:" + string + b"|" + nested(b"(?:" + string + b"|" + nested(string) + b")") + b")")
    return _Patterns(
        re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
        re.compile(rb'[^"\[\]{},]*+(?:' + string + rb'[^"\[\]{},]*+)*+', re.DOTALL),
        re.compile(rb'(?:[^"\[\]{}]++|' + string + b"|" + small + b")*+", re.DOTALL),
        re.compile(rb"[ \t\r\n]*+"),
    )


class Node:
    """A container: `starts` are behind its opening bracket and behind each of its commas."""

    __slots__ = ("end", "inner", "is_object", "opaque", "start", "starts")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.end = 0
        """Behind its closing bracket."""
        self.is_object = is_object
        self.starts = [start + 1]
        self.inner: dict[int, Node] = {}
        """Those of its children that are containers."""
        self.opaque = False
        """It has so many children that none of them is known."""


class Skim:
    """Goes along with the bytes of one object as they come; `advance` takes all that there are."""

    def __init__(self, depth: int = 512) -> None:
        self.root: Node | None = None
        """The whole, once its end has come."""
        self.failed = False
        """It is no object, or nested too deep: nothing is known of it."""
        self._patterns = _patterns()
        self._depth = depth
        self._at = 0
        self._stack: list[Node] = []
        self._deep = 0
        self._in_string = False

    def known(self, size: int) -> Node | None:
        """The whole of a frame of so many bytes, where it is large and all of it has been understood."""
        return self.root if size >= LARGE and not self.failed else None

    def advance(self, data: bytes | memoryview) -> None:
        """Read on to the end of what has come; `data` begins with the same bytes each time."""
        size = len(data)
        while self._at < size and not self.failed:
            before = self._at, self._in_string
            self._step(data, size)
            if before == (self._at, self._in_string):
                return  # a backslash at the very end waits for what it escapes

    def _step(self, data: bytes | memoryview, size: int) -> None:
        stop = min(self._at + _WINDOW, size)
        if self._in_string:
            found = self._patterns.rest.match(data, self._at, stop)
            self._at = found.end() if found else stop
            if self._at < size and data[self._at] == _QUOTE:
                self._at += 1
                self._in_string = False
            return
        if not self._stack:
            self._outside(data, size)
            return
        hidden = self._deep or self._stack[-1].opaque
        found = (self._patterns.deep if hidden else self._patterns.run).match(data, self._at, stop)
        at = self._at = found.end() if found else stop
        if at < size and at < stop:
            self._at = at + 1
            self._turn(data[at], at)

    def _outside(self, data: bytes | memoryview, size: int) -> None:
        found = self._patterns.blank.match(data, self._at)
        self._at = found.end() if found else size
        if self._at < size:
            if self.root is not None or data[self._at] != 0x7B:
                self.failed = True
            else:
                self._stack.append(Node(self._at, True))
                self._at += 1

    def _turn(self, byte: int, at: int) -> None:
        """A quote, bracket or comma."""
        if byte == _QUOTE:
            self._in_string = True
        elif byte == _COMMA:
            top = self._stack[-1]
            top.starts.append(at + 1)
            if len(top.starts) > CHILDREN:
                top.opaque = True
                top.starts, top.inner = [], {}
        elif byte in b"[{":
            self._open(byte, at)
        elif self._deep:
            self._deep -= 1
        else:
            node = self._stack.pop()
            node.end = at + 1
            if not self._stack:
                self.root = node

    def _open(self, byte: int, at: int) -> None:
        top = self._stack[-1]
        if self._deep or top.opaque or len(self._stack) >= LEVELS:
            self._deep += 1
            self.failed = self._deep > self._depth
        else:
            node = top.inner[len(top.starts) - 1] = Node(at, byte == 0x7B)
            self._stack.append(node)


class Skimmed(NamedTuple):
    """A frame whose outer structure is known."""

    data: bytes
    root: Node


SMALL = 256 * 1024
"""Bytes of a member up to which it is read at once."""
T = TypeVar("T")
_KEY = rb'[ \t\r\n]*+("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\r\n]*+:[ \t\r\n]*+'
_BLANK = b" \t\r\n"
_LATER = object()


class Span(NamedTuple):
    """The JSON text of a value: a part of a message."""

    data: bytes
    start: int
    end: int

    @property
    def is_string(self) -> bool:
        """It is the text of a string."""
        return self.data[self.start : self.start + 1] == b'"'

    def text(self) -> bytes:
        """A copy of it."""
        return self.data[self.start : self.end]


class _Part(NamedTuple):
    start: int
    end: int
    node: Node | None


class LargeObject(dict[str, Any]):
    """As a dict, in all that is asked of it; `span` and `spans` give what is large without making values of it.

    What cannot be read as JSON is given as the text that stands there: a large answer is not read through before it is
    shown.

    Raises:
        JsonProblem: a small member is no JSON, or a member has no key.
    """

    def __init__(self, data: bytes, node: Node) -> None:
        super().__init__()
        self.whole = Span(data, node.start, node.end)
        self._later: dict[str, _Part] = {}
        self._data = data
        key_at = re.compile(_KEY, re.DOTALL).match
        for part in _parts(data, node):
            found = key_at(data, part.start, part.end)
            if found is None:
                raise JsonProblem("there is a member without a key")
            key = cast("str", loads(bytes(found[1])))
            inner = part._replace(start=found.end())
            value = _value(data, inner)
            self._later.pop(key, None)
            if value is _LATER:
                self._later[key] = inner
            super().__setitem__(key, value)

    def span(self, key: str) -> Span | None:
        """Where the text of a large member stands; None for any other."""
        part = self._later.get(key)
        if part is not None:
            return Span(self._data, part.start, part.end)
        value = super().get(key)
        return value.whole if isinstance(value, LargeObject) else None

    # What a dict does

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return _read(self._data, self._later[key]) if value is _LATER else value

    def get(self, key: str, default: T | None = None) -> Any | T | None:  # type: ignore[override]
        """The value of a member."""
        return self[key] if key in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(list(super().keys()))

    def values(self) -> Any:
        """All values, read one by one."""
        return [self[key] for key in self]

    def items(self) -> Any:
        """All members, read one by one."""
        return [(key, self[key]) for key in self]

    def copy(self) -> dict[str, Any]:
        """A plain dict with everything read."""
        return dict(self.items())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, dict) and self.copy() == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return {**self.copy(), **other}

    def __ror__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return {**other, **self.copy()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.items(),)

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return self.copy()

    def __repr__(self) -> str:
        return f"LargeObject({len(self)} members, {self.whole.end - self.whole.start} bytes)"


def hint_at(known: dict[str, Json], key: str) -> Json:
    """The value of a member; of a large one that would have to be read only an empty value of the same type."""
    span = known.span(key) if isinstance(known, LargeObject) else None
    if span is None or span.data[span.start : span.start + 1] not in (b'"', b"{", b"["):
        return known.get(key)
    empty: dict[bytes, Json] = {b'"': "", b"{": {}, b"[": []}
    return empty[span.data[span.start : span.start + 1]]


def read_large(frame: bytes, root: Node) -> LargeObject | None:
    """A large frame as an object; None where it is to be read in the usual way: it is no answer, or wrong."""
    try:
        found = LargeObject(frame, root)
    except (JsonProblem, LimitExceeded):
        return None
    return found if "method" not in found else None


def _parts(data: bytes, node: Node) -> Iterator[_Part]:
    """The children of a container without what stands around them."""
    last = len(node.starts) - 1
    for place, start in enumerate(node.starts):
        end = node.starts[place + 1] - 1 if place < last else node.end - 1
        while start < end and data[start] in _BLANK:
            start += 1
        while end > start and data[end - 1] in _BLANK:
            end -= 1
        if start < end:
            yield _Part(start, end, node.inner.get(place))
        elif last:
            raise JsonProblem("there is a comma too many")


def _value(data: bytes, part: _Part) -> Any:
    """A value: read where it is small, and as far as is known without that where it is large."""
    node = part.node
    if part.end - part.start <= SMALL:
        return loads(data[part.start : part.end])
    if node is None or node.opaque or node.end != part.end:
        return _LATER
    if node.is_object:
        return LargeObject(data, node)
    found = [_value(data, inner) for inner in _parts(data, node)]
    return _LATER if any(one is _LATER for one in found) else found


def _read(data: bytes, part: _Part) -> Any:
    text = data[part.start : part.end]
    try:
        return loads(text)
    except (JsonProblem, LimitExceeded):
        return text.decode("utf-8", "replace")


class Request(NamedTuple):
    """The peer asks for something."""

    id: RequestId
    method: str
    params: dict[str, Json]


class Notification(NamedTuple):
    """The peer says something."""

    method: str
    params: dict[str, Json]


class Response(NamedTuple):
    """The peer answers with a result."""

    id: RequestId | None
    result: Json


class Failure(NamedTuple):
    """The peer answers with an error; `problem` says what is wrong with the error object itself."""

    id: RequestId | None
    code: int
    message: str
    data: Json = None
    problem: str = ""


class Malformed(NamedTuple):
    """A frame, or a part of a batch, that is no JSON-RPC message; `id` is the one it seems to be about."""

    reason: str
    id: RequestId | None = None
    unread: Literal["", "no JSON", "too deep"] = ""
    """Why there is no JSON value at all; empty when there is one that is no message."""


Message = Request | Notification | Response | Failure | Malformed

_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}(?![\d.eE])|"[^"\\]{0,200}")')
_EDGE = 4_096
_BATCH = 1_000
"""Messages of one batch that are taken."""
_VALUES = 500_000
"""JSON values of a frame that is read as a whole: each costs a microsecond and some 70 bytes."""


class Parsed(NamedTuple):
    """What one frame held."""

    messages: tuple[Message, ...]
    batch: bool = False
    value: Json = None
    """The JSON value of the whole frame, as it was read."""


def parse(frame: bytes, *, depth: int = DEFAULT.depth, root: Node | None = None) -> Parsed:
    """Sort one frame, nested `depth` deep at the most; a batch (2025-03-26) gives several messages. Never raises.

    One with too many values is none, but for large answers, which are not read here.

    Args:
        root: the outer structure of a large frame, where it is known: its large parts are not read then.
    """
    if root is not None and (large := read_large(frame, root)) is not None:
        return Parsed((_sort(large),), False, large)
    try:
        value = loads(frame, most=depth, values=_VALUES)
    except LimitExceeded as problem:
        return Parsed((Malformed(problem.message, _guess_id(frame), "too deep"),))
    except JsonProblem as problem:
        identity = _guess_id(frame)
        if identity is None:
            return Parsed(
                (Malformed("it is not JSON; was it printed to standard output by mistake?", None, "no JSON"),)
            )
        return Parsed((Malformed(f"it is not JSON: {problem}", identity, "no JSON"),))
    if isinstance(value, list):
        items = cast("list[Json]", value)
        if not items:
            return Parsed((Malformed("it is an empty batch"),), True, value)
        more = (Malformed(f"it is a batch of {len(items):,} messages, of which {_BATCH:,} are taken"),)
        return Parsed(tuple(map(_sort, items[:_BATCH])) + more * (len(items) > _BATCH), True, value)
    return Parsed((_sort(value),), False, value)


def _guess_id(frame: bytes) -> RequestId | None:
    """The id that an unreadable frame seems to carry, looked for at its beginning and its end."""
    for part in (frame[:_EDGE], frame[-_EDGE:]):
        if found := _ID.search(part):
            text = found[1]
            return text[1:-1].decode("utf-8", "replace") if text.startswith(b'"') else int(text)
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
