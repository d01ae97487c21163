"""Objects of large messages: a dict whose large members are read from the message when somebody asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.protocol.skim import Node

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
