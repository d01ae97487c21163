"""Which items of two arrays belong together."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json

KEYS = ("id", "name", "uri", "uriTemplate", "key")
"""Members by which items are told apart, where all items of both arrays have one, each another."""
_CELLS = 250_000
"""Pairs of items that are compared in one stretch; in a longer one items are taken by their place."""


class Alignment(NamedTuple):
    """Indices of items of both arrays."""

    pairs: tuple[tuple[int, int], ...]
    """What belongs together, in the order of the second array."""
    moved: frozenset[int]
    """Items of the second array, out of `pairs`, that have gone past others."""
    removed: tuple[int, ...]
    added: tuple[int, ...]


def align(before: Sequence[Json], after: Sequence[Json], mark: Callable[[Json], int]) -> Alignment:
    """Put the items of two arrays together, in a time that is about linear.

    Args:
        mark: the same for items that are the same.
    """
    known = _by_key(before, after)
    same = [] if known is not None else _same([mark(item) for item in before], [mark(item) for item in after])
    pairs = known if known is not None else same
    moved = _out_of_order(pairs)
    if known is None:
        pairs = [*pairs, *_by_place(pairs, moved, len(before), len(after))]
        pairs.sort(key=lambda pair: pair[1])
    old, new = {one for one, _ in pairs}, {one for _, one in pairs}
    return Alignment(
        tuple(pairs), moved,
        tuple(index for index in range(len(before)) if index not in old),
        tuple(index for index in range(len(after)) if index not in new),
    )  # fmt: skip


def _by_key(before: Sequence[Json], after: Sequence[Json]) -> list[tuple[int, int]] | None:
    """By what names the items; None where nothing does."""
    for key in KEYS:
        old, new = _named(before, key), _named(after, key)
        if old and new and old.keys() & new.keys():
            return [(old[name], index) for name, index in new.items() if name in old]
    return None


def _named(items: Sequence[Json], key: str) -> dict[tuple[type, str | int], int]:
    """Names of items and where they stand; nothing where one has none, or two have the same."""
    found: dict[tuple[type, str | int], int] = {}
    for index, item in enumerate(items):
        name = cast("dict[str, Json]", item).get(key) if isinstance(item, dict) else None
        if not isinstance(name, (str, int)):
            return {}
        found[type(name), name] = index
    return found if len(found) == len(items) else {}


def _same(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Items that are the same, in order where that can be, then those that have moved."""
    kept = _in_order(old, new)
    left: dict[int, list[int]] = {}
    taken, used = {one for one, _ in kept}, {one for _, one in kept}
    for index in range(len(old) - 1, -1, -1):
        if index not in taken:
            left.setdefault(old[index], []).append(index)
    for index, one in enumerate(new):
        if index not in used and (waiting := left.get(one)):
            kept.append((waiting.pop(), index))
    kept.sort(key=lambda pair: pair[1])
    return kept


def _in_order(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    begin, end = 0, 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    kept = [(index, index) for index in range(begin)]
    anchors = _anchors(old, new, begin, end)
    last = (begin - 1, begin - 1)
    for one in (*anchors, (len(old) - end, len(new) - end)):
        kept += _common(old, new, (last[0] + 1, one[0]), (last[1] + 1, one[1]))
        last = one
        if one[0] < len(old) - end:
            kept.append(one)
    return [*kept, *((len(old) - index, len(new) - index) for index in range(end, 0, -1))]


def _anchors(old: list[int], new: list[int], begin: int, end: int) -> list[tuple[int, int]]:
    """Items that occur once in either array, as many of them as are in the same order."""
    first, second = old[begin : len(old) - end], new[begin : len(new) - end]
    once, other = Counter(first), Counter(second)
    where = {one: index for index, one in enumerate(first, begin) if once[one] == 1}
    pairs = [(where[one], index) for index, one in enumerate(second, begin) if other[one] == 1 and one in where]
    chosen = set(_rising([one for one, _ in pairs]))
    return [pair for index, pair in enumerate(pairs) if index in chosen]


def _common(old: list[int], new: list[int], one: tuple[int, int], two: tuple[int, int]) -> list[tuple[int, int]]:
    """The longest common subsequence of two stretches; nothing where they are too long for that."""
    (a, b), (c, d) = one, two
    if a >= b or c >= d or (b - a) * (d - c) > _CELLS:
        return []
    rows = [[0] * (d - c + 1)]
    for index in range(b - 1, a - 1, -1):
        below, row = rows[-1], [0] * (d - c + 1)
        for place in range(d - 1, c - 1, -1):
            here = place - c
            row[here] = below[here + 1] + 1 if old[index] == new[place] else max(below[here], row[here + 1])
        rows.append(row)
    rows.reverse()
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < b - a and j < d - c:
        if old[a + i] == new[c + j]:
            found.append((a + i, c + j))
            i, j = i + 1, j + 1
        elif rows[i + 1][j] >= rows[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _by_place(pairs: list[tuple[int, int]], moved: frozenset[int], old: int, new: int) -> list[tuple[int, int]]:
    """Of what is left between two items that stayed, the first with the first, the second with the second."""
    used_old, used_new = {one for one, _ in pairs}, {one for _, one in pairs}
    found: list[tuple[int, int]] = []
    last = (-1, -1)
    for one in (*(pair for pair in pairs if pair[1] not in moved), (old, new)):
        first = (index for index in range(last[0] + 1, one[0]) if index not in used_old)
        second = (index for index in range(last[1] + 1, one[1]) if index not in used_new)
        found.extend(zip(first, second, strict=False))
        last = one
    return found


def _out_of_order(pairs: list[tuple[int, int]]) -> frozenset[int]:
    """Those of the second array that break the order of the first."""
    kept = set(_rising([one for one, _ in pairs]))
    return frozenset(pair[1] for index, pair in enumerate(pairs) if index not in kept)


def _rising(values: list[int]) -> list[int]:
    """The places of the longest rising subsequence of different numbers."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        slot = bisect_left(tails, value)
        before.append(places[slot - 1] if slot else -1)
        if slot == len(tails):
            tails.append(value)
            places.append(index)
        else:
            tails[slot], places[slot] = value, index
    found: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]
