"""The differences of two JSON values: paths with the earlier and the present value. Pure, and bounded for any input.

Values of megabytes take seconds, so `compare` compares bytes in a thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps, loads_or, mapping
from mcp_studio.redact import MARK

KEYS = ("id", "name", "uri", "uriTemplate", "key")
"""Members that identify items, if all items of both arrays have the member with different values."""
_LARGE = 20_000
"""Bytes of the largest value that scripts get whole."""
_SQUARE = 1_000_000
"""Pairs of items of two arrays that are compared closely, because the time grows with their number."""


def _align(
    before: Sequence[Json], after: Sequence[Json], mark: Callable[[Json], int]
) -> tuple[dict[int, int], set[int]]:
    """Pair the items of two arrays: by their identifying member, else equal ones, and the rest by position.

    Args:
        mark: returns the same number for equal items.

    Returns:
        The pairs (index in the second array, index in the first), and the indexes in the second array of moved items.
    """
    names = _names(before, after)
    old, new = names or ([*map(mark, before)], [*map(mark, after)])
    pairs: dict[int, int] = {}
    for same, first, second in _runs(old, new):
        if same or names is None:
            pairs.update(zip(second, first, strict=False))
    if names is None:
        return pairs, set()
    where = {label: index for index, label in enumerate(old)}
    moved = {index: where[label] for index, label in enumerate(new) if index not in pairs and label in where}
    return dict(sorted((pairs | moved).items())), set(moved)


def _runs(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[tuple[bool, range, range]]:
    """The stretches where two arrays are equal and where they differ; of long arrays only equal ends are found."""
    if len(old) * len(new) <= _SQUARE:
        for tag, *ends in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            yield tag == "equal", range(ends[0], ends[1]), range(ends[2], ends[3])
        return
    most = min(len(old), len(new))
    begin = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - begin) if old[-1 - at] != new[-1 - at]), most - begin)
    yield True, range(begin), range(begin)
    yield False, range(begin, len(old) - end), range(begin, len(new) - end)
    yield True, range(len(old) - end, len(old)), range(len(new) - end, len(new))


def _names(before: Sequence[Json], after: Sequence[Json]) -> tuple[list[Hashable], list[Hashable]] | None:
    """The identifying values of the items of both arrays; None where no member identifies them."""
    for key in KEYS:
        found: list[list[Hashable]] = []
        for items in (before, after):
            names: list[Json] = [mapping(item).get(key) for item in items]
            if all(isinstance(name, (str, int)) for name in names) and len({*map(repr, names)}) == len(names):
                found.append([*map(repr, names)])  # by repr, because true equals 1
        if len(found) == 2 and set(found[0]) & set(found[1]):
            return found[0], found[1]
    return None


At = tuple[Any, Any] | None
"""A place as a linked list: the place above and the last step; None is the whole value."""
Step = str | int
USUAL_PATHS = (
    "_meta", "requestId", "request_id", "etag", "traceparent", "tracestate", "uuid", "*timestamp*", "*Timestamp*",
    "*_at", "createdAt", "updatedAt", "modifiedAt", "startedAt", "endedAt", "finishedAt", "expiresAt", "lastUpdatedAt",
    "lastModified", "last_modified", "uptime", "duration", "duration_ms", "durationMs", "elapsed", "elapsed_ms",
    "elapsedMs", "took", "took_ms", "tookMs", "latency", "latency_ms", "latencyMs",
)  # fmt: skip
"""Members that are ignored by default. Times and UUIDs inside texts are ignored by default too."""
_CHANGING = (
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?"
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)
_LONGEST = 4_000_000
"""Characters of the longest text in which times and UUIDs are searched."""
_STEP = re.compile(r'\[(\*|[0-9]+)\]|\["([^"]*)"\]|\.?([^.\[\]]+)')
_NOTHING = "(?!)"
"""A pattern that never matches."""


class Ignore:
    """A list of patterns; a place that matches one of them is ignored with everything below it.

    A pattern is a path such as `created_at`, `content[*].text` or `structuredContent.items[0].id` and matches any place
    whose path ends with it; with `$.` before it, it starts at the top of the value. `*` stands for any characters of a
    name, as a whole step for any name or index, and `[*]` for any index; `["a.b"]` is a name with a dot in it.

    Args:
        patterns: further patterns.
        usual: ignores `USUAL_PATHS`, and times and UUIDs inside texts.

    Raises:
        UsageError: a pattern cannot be read.
    """

    def __init__(self, patterns: Iterable[str] = (), *, usual: bool = True) -> None:
        self.usual = usual
        self.patterns = tuple(patterns)
        read = [_read(text) for text in (*self.patterns, *(USUAL_PATHS if usual else ()))]
        self._last = re.compile("|".join(last for last, _ in read) or _NOTHING, re.S)
        self._whole = re.compile("|".join(whole for _, whole in read) or _NOTHING, re.S)

    def hides(self, above: At, step: Step) -> bool:
        """Whether the place `step` below `above` is ignored."""
        if not self._last.fullmatch(_step_text(step)):
            return False
        place = "".join(f"\0{_step_text(one)}" for one in path_of((above, step)))
        return self._whole.search(place) is not None

    def plain(self, text: str) -> str:
        """A text without parts that change each time."""
        if not self.usual or not 16 <= len(text) <= _LONGEST:
            return text
        return re.sub(_CHANGING, "…", text)


def _step_text(step: Step) -> str:
    return f"[{step}]" if isinstance(step, int) else step


def _read(text: str) -> tuple[str, str]:
    """Patterns for the last step of a place, and for the whole place, where each step follows a NUL."""
    rest = text[1:] if text.startswith("$") else text.removeprefix("*.")
    steps: list[str] = []
    place = 0
    while found := _STEP.match(rest, place):
        index, quoted, name = found.groups()
        if index is not None:
            steps.append(r"\[[0-9]+\]" if index == "*" else rf"\[{int(index)}\]")
        else:
            steps.append(re.escape(quoted) if quoted is not None else re.escape(name).replace(r"\*", "[^\0]*"))
        place = found.end()
    if not steps or place < len(rest):
        raise UsageError(
            f"`{text}` is no pattern of what to ignore.", hint="Such as created_at, content[*].text or $.items[0].id"
        )
    begin = r"\A" if text.startswith("$") else ""
    return steps[-1], f"{begin}\0{chr(0).join(steps)}\\Z"


DifferenceKind = Literal["added", "removed", "changed", "type", "moved", "more"]
MOST = 1_000
"""The most differences that are returned; `more` ends the list where there are more."""
USUAL = Ignore()
_QUICK = 64 * 1024
"""Bytes that are compared at once; larger values are compared in a thread."""
_TEXT = 1_000_000
"""Characters of the longest text that is compared as JSON if it is JSON."""
_SECRETS = 1_000
_VALUES = 1_000_000
"""Values of the largest body that is compared by its values; two such bodies take some 200 MB."""
Path = tuple[Step, ...]
_Pair = tuple[Json, Json, At, At]
"""Two values to compare, with the place of each."""


class Difference(NamedTuple):
    """One place where two values differ."""

    kind: DifferenceKind
    """`type`: another type; `moved`: another position in an array; `more`: more than `MOST` differences."""
    path: Path
    """The place in the newer value; for `removed`, the place in the older one."""
    before: Json = None
    after: Json = None
    was: Path = ()
    """The place in the older value; for `added`, the place in the newer one."""

    def as_json(self) -> Json:
        """The difference for scripts; a large value is cut."""
        members: dict[str, Json] = {"kind": self.kind, "path": path_text(self.path)}
        members |= {"was": path_text(self.was)} if self.was != self.path and self.kind != "more" else {}
        members |= {"before": _bound_size(self.before)} if self.kind in ("removed", "changed", "type") else {}
        members |= {"after": _bound_size(self.after)} if self.kind in ("added", "changed", "type") else {}
        return members


def _bound_size(value: Json) -> Json:
    data = dumps(value)
    return value if len(data) <= _LARGE else f"{data[:200].decode('utf-8', 'ignore')}…"


def diff(before: Json, after: Json, ignore: Ignore = USUAL) -> tuple[Difference, ...]:
    """The differences of two values, in order; texts that are JSON are compared as JSON.

    Numbers are equal by value, such as `1` and `1.0`. `‹redacted›` in a text equals anything.
    The time is about linear in the size of both values.
    """
    found: list[Difference] = []
    for one in _Walk(ignore).differences(before, after):
        if len(found) == MOST:
            found.append(Difference("more", ()))
            break
        found.append(one)
    return tuple(found)


async def compare(before: bytes, after: bytes, ignore: Ignore = USUAL) -> tuple[Difference, ...]:
    """The differences of two JSON texts, without blocking the event loop; other texts are compared as text."""
    if before == after:
        return ()
    if len(before) + len(after) <= _QUICK:
        return diff(value_of(before), value_of(after), ignore)
    return await asyncio.to_thread(lambda: diff(value_of(before), value_of(after), ignore))


def value_of(data: bytes) -> Json:
    """The value of a body: text where it is not JSON, or has too many values."""
    return loads_or(data, data.decode("utf-8", "replace"), values=_VALUES)


class _Walk:
    """One comparison: it gives equal values equal marks, and walks only into values that differ."""

    def __init__(self, ignore: Ignore) -> None:
        self._ignore = ignore
        self._marks: dict[int, int] = {}
        self._alive: list[Json] = []

    def differences(self, before: Json, after: Json) -> Iterator[Difference]:
        """All differences, without recursion, because values may be nested deeply."""
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
            yield from self._items(old, new, was, at)
        elif kind is str and (_alike(old, new) or _alike(new, old)):
            return
        elif kind is str and (inner := _inner(old, new)) is not None:
            self._alive += inner  # so that no later value gets their ids, and with those their marks
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
        pairs, moved = _align(old, new, self._mark)
        before, after = path_of(was), path_of(at)
        for index in sorted(set(range(len(old))).difference(pairs.values())):
            if not hides(was, index):
                yield Difference("removed", (*before, index), before=old[index], was=(*before, index))
        for place, value in enumerate(new):
            if hides(at, place):
                continue
            index = pairs.get(place)
            if index is None:
                yield Difference("added", (*after, place), after=value, was=(*after, place))
                continue
            if place in moved:
                yield Difference("moved", (*after, place), old[index], value, (*before, index))
            yield old[index], value, (was, index), (at, place)

    # ------------------------------------------------------------------ marks

    def _measure(self, root: Json, at: At) -> None:
        """Compute the marks of all containers of a value, innermost first."""
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
        """A number that is equal for equal values; hashes are salted, so nobody can construct a collision."""
        if isinstance(value, (dict, list)):
            return self._marks.get(id(cast("Json", value)), 0)
        if isinstance(value, str):
            return hash(("text", self._ignore.plain(value)))
        if isinstance(value, float) and value - value == 0.0:
            value = int(value) if value.is_integer() else float(value)
        # By repr: -1 and -2 have the same hash, and true is 1.
        return hash(("other", repr(value)))


def _kind(value: Json) -> type:
    return float if type(value) is int or isinstance(value, float) else type(value)


def _alike(hidden: str, text: str) -> bool:
    """Whether a text matches a redacted text, in which marks replace secrets."""
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
    """Two texts as JSON, where both are arrays or both objects; otherwise None."""
    if old[:1] not in ("{", "[") or new[:1] not in ("{", "[") or len(old) + len(new) > _TEXT:
        return None
    before, after = loads_or(old), loads_or(new)
    return (before, after) if before is not None and type(before) is type(after) else None


def path_of(at: At) -> Path:
    """The steps of a place, from the top."""
    steps: list[Step] = []
    while at is not None:
        at, step = at[0], at[1]
        steps.append(step)
    return tuple(reversed(steps))


_PLAIN = r"[\w$@/:-]+"


def path_text(path: Path) -> str:
    """A path in the syntax of the patterns of `Ignore`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_PLAIN, step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
