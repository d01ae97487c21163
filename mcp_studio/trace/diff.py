"""Where two JSON values differ: paths, and what stood there before and stands there now. Pure; bounded whatever comes.

Values of megabytes take seconds: `compare` has bytes compared in a thread.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, printable
from mcp_studio.redact import MARK
from mcp_studio.safetext import SafeText, safe

KEYS = ("id", "name", "uri", "uriTemplate", "key")
"""Members by which items are told apart, where all items of both arrays have one, each another."""


def _align(
    before: Sequence[Json], after: Sequence[Json], mark: Callable[[Json], int]
) -> tuple[dict[int, int], set[int]]:
    """Put the items of two arrays together: by what names them, else equal ones, and what is left by its place.

    Args:
        mark: the same for items that are the same.

    Returns:
        What belongs together, index in the second array -> index in the first; and of these the ones in the second
        array that have gone past others.
    """
    names = _names(before, after)
    old, new = names or (_labels(map(mark, before)), _labels(map(mark, after)))
    where = {label: index for index, label in enumerate(old)}
    pairs = {index: where[label] for index, label in enumerate(new) if label in where}
    in_order = set(_rising(list(pairs.values())))
    moved = {index for index, one in pairs.items() if one not in in_order}
    if names is None:
        pairs |= _by_place(pairs, moved, len(old), len(new))
    return pairs, moved


def _names(before: Sequence[Json], after: Sequence[Json]) -> tuple[list[Hashable], list[Hashable]] | None:
    """What names the items of both arrays; None where nothing does."""
    for key in KEYS:
        found: list[list[Hashable]] = []
        for items in (before, after):
            names: list[Json] = [mapping(item).get(key) for item in items]
            if all(isinstance(name, (str, int)) for name in names) and len({*map(repr, names)}) == len(names):
                found.append([*map(repr, names)])  # true is not 1
        if len(found) == 2 and set(found[0]) & set(found[1]):
            return found[0], found[1]
    return None


def _labels(marks: Iterable[int]) -> list[Hashable]:
    """Marks that are all different: each with how many of the same came before."""
    seen: Counter[int] = Counter()
    labels: list[Hashable] = []
    for mark in marks:
        labels.append((mark, seen[mark]))
        seen[mark] += 1
    return labels


def _by_place(pairs: dict[int, int], moved: set[int], old: int, new: int) -> dict[int, int]:
    """Of what is left between two items that stayed, the first with the first, the second with the second."""
    taken, found = set(pairs.values()), dict[int, int]()
    last = (-1, -1)
    for index, one in [*((index, one) for index, one in pairs.items() if index not in moved), (new, old)]:
        first = (free for free in range(last[1] + 1, one) if free not in taken)
        second = (free for free in range(last[0] + 1, index) if free not in pairs)
        found.update(zip(second, first, strict=False))
        last = (index, one)
    return found


def _rising(values: list[int]) -> list[int]:
    """The longest rising subsequence of different numbers."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        slot = bisect_left(tails, value)
        before.append(places[slot - 1] if slot else -1)
        tails[slot : slot + 1] = [value]
        places[slot : slot + 1] = [index]
    found: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(values[place])
        place = before[place]
    return found


At = tuple[Any, Any] | None
"""A place as a chain: the place above it, and the last step; None is the whole value."""
Step = str | int
USUAL_PATHS = (
    "_meta", "requestId", "request_id", "etag", "traceparent", "tracestate", "uuid", "*timestamp*", "*Timestamp*",
    "*_at", "createdAt", "updatedAt", "modifiedAt", "startedAt", "endedAt", "finishedAt", "expiresAt", "lastUpdatedAt",
    "lastModified", "last_modified", "uptime", "duration", "duration_ms", "durationMs", "elapsed", "elapsed_ms",
    "elapsedMs", "took", "took_ms", "tookMs", "latency", "latency_ms", "latencyMs",
)  # fmt: skip
"""Members that are ignored unless everything is to count. Times and UUIDs inside of texts are too."""
_CHANGING = re.compile(
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?"
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)
_LONGEST = 4_000_000
"""Characters of a text in which times and ids are looked for."""
_STEP = re.compile(r'\[(\*|[0-9]+)\]|\["([^"]*)"\]|\.?([^.\[\]]+)')
_NOTHING = "(?!)"
"""A pattern that matches nothing."""


class Ignore:
    """A list of patterns; a place that one of them matches is ignored, with all that is below it.

    A pattern is a path such as `created_at`, `content[*].text` or `structuredContent.items[0].id` and matches wherever
    a place ends like it; with `$.` before it, only from the top of the value. `*` stands for any characters of a name,
    as a whole step for any name or index, and `[*]` for any index; `["a.b"]` is a name with a dot in it.

    Args:
        patterns: what is ignored besides.
        usual: ignore `USUAL` too, and times and UUIDs inside of texts.

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
        """A text without what changes each time."""
        if not self.usual or not 16 <= len(text) <= _LONGEST:
            return text
        return _CHANGING.sub("…", text)


def _step_text(step: Step) -> str:
    return f"[{step}]" if isinstance(step, int) else step


def _read(text: str) -> tuple[str, str]:
    """What the last step of a place has to be like, and what its end; each step stands behind a NUL there."""
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
"""Differences that are told; `more` stands last where there are more."""
USUAL = Ignore()
_QUICK = 64 * 1024
"""Bytes that are compared at once; more go to a thread."""
_TEXT = 1_000_000
"""Characters of a text that is looked into where it is JSON."""
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
        self._alive: list[Json] = []

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
            yield from self._items(old, new, was, at)
        elif kind is str and (_alike(old, new) or _alike(new, old)):
            return
        elif kind is str and (inner := _inner(old, new)) is not None:
            self._alive += inner  # so that no later value has their place in memory, and with it their mark
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


SIGNS: dict[DifferenceKind, str] = {
    "added": "+", "removed": "-", "changed": "~", "type": "!", "moved": ">", "more": "…",
}  # fmt: skip
_PLAIN = re.compile(r"[\w$@/:-]+")
_LEAD = 20
"""Characters that two long texts have in common and that are shown before they differ."""


class Shown(NamedTuple):
    """One difference, ready to be drawn."""

    sign: str
    """One of `SIGNS`."""
    place: SafeText
    """Such as `content[0].text`; empty for the whole value."""
    before: SafeText
    after: SafeText
    """Empty where there is nothing on that side."""

    @property
    def line(self) -> str:
        """All of it on one line."""
        sides = " → ".join(part for part in (self.before, self.after) if part)
        return f"{self.sign} {self.place or '(the whole value)'}: {sides}"


def shown(one: Difference, width: int = 60) -> Shown:
    """A difference with its values cut to about a number of characters each, beginning near where texts differ."""
    sign, place = SIGNS[one.kind], safe(path_text(one.path), 200)
    if one.kind == "more":
        return Shown(sign, safe("and more"), safe("the rest is not compared"), safe(""))
    if one.kind == "moved":
        return Shown(sign, place, safe(f"was {path_text(one.was)}", 200), safe(""))
    old, new = one.before, one.after
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > width:
        differ = (index for index, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1])
        begin = next(differ, min(len(old), len(new))) - _LEAD
        old, new = (f"…{text[begin:]}" if begin > 0 else text for text in (old, new))
    before = safe(value_text(old, width)) if one.kind != "added" else safe("")
    return Shown(sign, place, before, safe(value_text(new, width)) if one.kind != "removed" else safe(""))


def path_text(path: Path) -> str:
    """A path as patterns of `Ignore` are written."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def value_text(value: Json, width: int) -> str:
    """A value on a line; of a large one its size."""
    if isinstance(value, (dict, list)):
        many, items = len(value), value.values() if isinstance(value, dict) else value
        small = many <= 5 and not any(isinstance(item, (dict, list)) for item in items)
        if small and len(text := printable(value, indent=None)) <= width:
            return text
        shape, what = ("{…}", "member") if isinstance(value, dict) else ("[…]", "item")
        return f"{shape} {many} {what}{'' if many == 1 else 's'}"
    if isinstance(value, str) and len(value) > width:
        return f"{printable(value[:width], indent=None)[:-1]}… {len(value) - width:,} more"
    return printable(value, indent=None)
