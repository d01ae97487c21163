"""Where two JSON values differ: paths, and what stood there before and stands there now. Pure; bounded whatever comes.

Values of megabytes take seconds: `compare` has bytes compared in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.redact import MARK
from mcp_studio.trace.diff_align import align
from mcp_studio.trace.diff_ignore import At, Ignore, Step

DifferenceKind = Literal["added", "removed", "changed", "type", "moved", "more"]
MOST = 1_000
"""Differences that are told; `more` stands last where there are more."""
USUAL = Ignore()
_QUICK = 64 * 1024
"""Bytes that are compared at once; more go to a thread."""
_TEXT = 1_000_000
"""Characters of a text that is looked into where it is JSON."""
_ALIGNED = 100_000
"""Items of two arrays that are put together; in larger arrays the first belongs to the first, and so on."""
_SECRETS = 1_000
_VALUES = 1_000_000
"""Of one body that is compared by its values; two of them take some 200 MB."""
Path = tuple[Step, ...]
_Pair = tuple[Json, Json, At, At]
"""Two values that belong together, and where each of them is."""


class Difference(NamedTuple):
    """One place where two values differ."""

    kind: DifferenceKind
    """`type`: changed, and of another type; `moved`: in an array, past others; `more`: there are more than `MOST`."""
    path: Path
    """Where it is in the newer value; of what was removed, where it was."""
    before: Json = None
    after: Json = None
    was: Path = ()
    """Where it is in the older value; of what was added, where it is in the newer one."""


def diff(before: Json, after: Json, ignore: Ignore = USUAL) -> tuple[Difference, ...]:
    """All places where two values differ, in their order; texts that are JSON are looked into.

    Numbers count by their value: `1` and `1.0` are the same. `‹redacted›` in a text stands for anything.
    The time is about linear in the size of both.
    """
    found: list[Difference] = []
    for one in _Walk(ignore).differences(before, after):
        if len(found) == MOST:
            found.append(Difference("more", ()))
            break
        found.append(one)
    return tuple(found)


async def compare(before: bytes, after: bytes, ignore: Ignore = USUAL) -> tuple[Difference, ...]:
    """The differences of two JSON texts, without holding up the event loop; what is no JSON is compared as text."""
    if before == after:
        return ()
    if len(before) + len(after) <= _QUICK:
        return diff(value_of(before), value_of(after), ignore)
    return await asyncio.to_thread(lambda: diff(value_of(before), value_of(after), ignore))


def value_of(data: bytes) -> Json:
    """A body as it is compared: as text where it is no JSON, or has too many values."""
    try:
        return loads(data, values=_VALUES)
    except (JsonProblem, LimitExceeded):
        return data.decode("utf-8", "replace")


class _Walk:
    """One comparison: marks that are the same for values that are the same, and the walk along what differs."""

    def __init__(self, ignore: Ignore) -> None:
        self._ignore = ignore
        self._marks: dict[int, int] = {}
        self._kept: list[Json] = []

    def differences(self, before: Json, after: Json) -> Iterator[Difference]:
        """All of them. Without recursion: values may be nested as deep as messages may be."""
        self._measure(before, None)
        self._measure(after, None)
        todo = [self._step(before, after, None, None)]
        while todo:
            item = next(todo[-1], None)
            if item is None:
                todo.pop()
            elif isinstance(item, Difference):
                yield item
            else:
                todo.append(self._step(*item))

    def _step(self, old: Json, new: Json, was: At, at: At) -> Iterator[_Pair | Difference]:
        kind = _kind(old)
        if kind != _kind(new):
            yield Difference("type", path_of(at), old, new, path_of(was))
        elif self._mark(old) == self._mark(new):
            return
        elif kind is dict:
            yield from self._members(old, new, was, at)
        elif kind is list:
            many = len(old) + len(new) > _ALIGNED
            yield from (self._by_place if many else self._items)(old, new, was, at)
        elif kind is str and (_alike(old, new) or _alike(new, old)):
            return
        elif kind is str and (inner := _inner(old, new)) is not None:
            self._kept += inner  # so that no later value has their place in memory, and with it their mark
            self._measure(inner[0], was)
            self._measure(inner[1], at)
            yield inner[0], inner[1], was, at
        else:
            yield Difference("changed", path_of(at), old, new, path_of(was))

    def _members(self, old: dict[str, Json], new: dict[str, Json], was: At, at: At) -> Iterator[_Pair | Difference]:
        hides = self._ignore.hides
        for key, value in old.items():
            if hides(was, key):
                continue
            if key in new:
                yield value, new[key], (was, key), (at, key)
            else:
                place = (*path_of(was), key)
                yield Difference("removed", place, before=value, was=place)
        for key, value in new.items():
            if key not in old and not hides(at, key):
                place = (*path_of(at), key)
                yield Difference("added", place, after=value, was=place)

    def _items(self, old: list[Json], new: list[Json], was: At, at: At) -> Iterator[_Pair | Difference]:
        hides = self._ignore.hides
        aligned = align(old, new, self._mark)
        before, after = path_of(was), path_of(at)
        for index in aligned.removed:
            if not hides(was, index):
                yield Difference("removed", (*before, index), before=old[index], was=(*before, index))
        pairs = {place: index for index, place in aligned.pairs}
        for place, value in enumerate(new):
            if hides(at, place):
                continue
            if (index := pairs.get(place)) is None:
                yield Difference("added", (*after, place), after=value, was=(*after, place))
                continue
            if place in aligned.moved:
                yield Difference("moved", (*after, place), old[index], value, (*before, index))
            yield old[index], value, (was, index), (at, place)

    def _by_place(self, old: list[Json], new: list[Json], was: At, at: At) -> Iterator[_Pair | Difference]:
        both = min(len(old), len(new))
        hides = self._ignore.hides
        for index in range(max(len(old), len(new))):
            if hides(was, index):
                continue
            place = (*path_of(at), index)
            if index < both:
                yield old[index], new[index], (was, index), (at, index)
            elif index < len(old):
                yield Difference("removed", place, before=old[index], was=place)
            else:
                yield Difference("added", place, after=new[index], was=place)

    # ------------------------------------------------------------------ marks

    def _measure(self, root: Json, at: At) -> None:
        """Give all containers of a value their marks, from the innermost outwards."""
        hides, mark = self._ignore.hides, self._mark
        order: list[tuple[Json, At]] = [(root, at)]
        for value, place in order:
            members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for step, item in cast("Iterator[tuple[Step, Json]]", members):
                if isinstance(item, (dict, list)) and not hides(place, step):
                    order.append((item, (place, step)))
        for value, place in reversed(order):
            if isinstance(value, dict):
                members = cast("dict[str, Json]", value).items()
                parts = frozenset((key, mark(item)) for key, item in members if not hides(place, key))
                self._marks[id(value)] = hash(("object", parts))
            elif isinstance(value, list):
                items = enumerate(cast("list[Json]", value))
                self._marks[id(value)] = hash(
                    ("array", *(0 if hides(place, index) else mark(item) for index, item in items))
                )

    def _mark(self, value: Json) -> int:
        """The same for values that are the same; nobody else can know which values share one by chance."""
        if isinstance(value, (dict, list)):
            return self._marks.get(id(cast("Json", value)), 0)
        if isinstance(value, str):
            return hash(("text", self._ignore.plain(value)))
        if isinstance(value, float) and value - value == 0.0:
            value = int(value) if value.is_integer() else float(value)
        # By its text: -1 and -2 have the same hash, and true is 1.
        return hash(("other", repr(value)))


def _kind(value: Json) -> type:
    return float if type(value) is int or isinstance(value, float) else type(value)


def _alike(hidden: str, text: str) -> bool:
    """Whether a text is one with secrets taken out, or could be it with some of them left in."""
    first, *parts = hidden.split(MARK, _SECRETS)
    if not parts or not text.startswith(first):
        return False
    place = len(first)
    for part in parts[:-1]:
        if (found := text.find(part, place)) < 0:
            return False
        place = found + len(part)
    return len(text) - place >= len(parts[-1]) and text.endswith(parts[-1])


def _inner(old: str, new: str) -> tuple[Json, Json] | None:
    """Two texts as the JSON that they are, where both are arrays or objects."""
    if old[:1] not in ("{", "[") or new[:1] not in ("{", "[") or len(old) + len(new) > _TEXT:
        return None
    try:
        before, after = loads(old), loads(new)
    except (JsonProblem, LimitExceeded):
        return None
    return (before, after) if type(before) is type(after) else None


def path_of(at: At) -> Path:
    """A place as its steps from the top."""
    steps: list[Step] = []
    while at is not None:
        at, step = at[0], at[1]
        steps.append(step)
    return tuple(reversed(steps))
