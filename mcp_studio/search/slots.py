"""Which documents an index holds, each at a number of its own, and in which of them a question is asked."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.ref import KINDS, Ref
from mcp_studio.search.method import Scope

Flags = NDArray[np.bool_]
Slot = NDArray[np.intp]
Scores = NDArray[np.float64]


class Slots:
    """Documents by number. A number is used again only once nobody can still mean by it what it was before."""

    def __init__(self) -> None:
        self._slot: dict[Ref, int] = {}
        self._refs: list[Ref | None] = []
        self._alive = array("B")
        self._kinds = array("B")
        self._servers = array("I")
        self._codes: dict[str, int] = {}
        self._free: list[int] = []
        self._dead: list[int] = []

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, ref: object) -> bool:
        return ref in self._slot

    def __iter__(self) -> Iterator[Ref]:
        return iter(self._slot)

    @property
    def size(self) -> int:
        """How many numbers were given out: every number is below it."""
        return len(self._refs)

    @property
    def dead(self) -> int:
        """How many numbers belong to documents that are gone."""
        return len(self._dead)

    @property
    def servers(self) -> Collection[str]:
        """The servers of all documents, also of those that are gone."""
        return self._codes.keys()

    @property
    def alive(self) -> Flags:
        """For each number whether its document is there; not to be kept over a change."""
        return np.frombuffer(self._alive, np.bool_)

    def add(self, ref: Ref) -> int:
        """The number of a document that was not there."""
        code = self._codes.setdefault(ref.server, len(self._codes))
        kind = KINDS.index(ref.kind)
        if self._free:
            slot = self._free.pop()
            self._refs[slot], self._alive[slot], self._kinds[slot], self._servers[slot] = ref, 1, kind, code
        else:
            slot = len(self._refs)
            self._refs.append(ref)
            self._alive.append(1)
            self._kinds.append(kind)
            self._servers.append(code)
        self._slot[ref] = slot
        return slot

    def remove(self, refs: Collection[Ref]) -> int:
        """Forget those of them that are there; how many."""
        found = [slot for ref in refs if (slot := self._slot.pop(ref, None)) is not None]
        for slot in found:
            self._refs[slot], self._alive[slot] = None, 0
        self._dead += found
        return len(found)

    def dying(self) -> list[int]:
        """The numbers of the documents that are gone by now; `reuse` takes them when no trace of them is left."""
        dead, self._dead = self._dead, []
        return dead

    def reuse(self, slots: list[int]) -> None:
        """Give these numbers out again."""
        self._free += slots

    def within(self, scope: Scope) -> Flags:
        """For each number whether its document is there and in the scope."""
        inside = self.alive
        if scope.servers is not None:
            wanted = np.zeros(len(self._codes) + 1, np.bool_)
            wanted[[self._codes[name] for name in scope.servers if name in self._codes]] = True
            inside = inside & wanted[np.frombuffer(self._servers, np.uint32)]
        if scope.kinds is not None:
            kinds = np.array([kind in scope.kinds for kind in KINDS])
            inside = inside & kinds[np.frombuffer(self._kinds, np.uint8)]
        return inside

    def at(self, ref: Ref) -> int | None:
        """The number of a document, None when it is not there."""
        return self._slot.get(ref)

    def ref(self, slot: int) -> Ref:
        """The document of a number that is there."""
        ref = self._refs[slot]
        if ref is None:
            raise KeyError(slot)
        return ref

    def best(self, scores: Scores, limit: int) -> tuple[list[tuple[Ref, float]], int]:
        """The documents with the largest scores above 0, equal ones by server, name and kind; and how many there are.

        `scores` has one number for each number given out, 0 for documents that are gone.
        """
        hits = np.flatnonzero(scores > 0)
        total = len(hits)
        limit = max(0, min(limit, total))
        if not limit:
            return [], total
        found = scores[hits]
        last = np.partition(found, total - limit)[total - limit]
        above = hits[found > last]
        level = self._first(hits[found == last], limit - len(above))
        ranked = [(ref, float(scores[slot])) for slot in (*above, *level) if (ref := self._refs[slot]) is not None]
        ranked.sort(key=lambda hit: (-hit[1], hit[0].server, hit[0].name, hit[0].kind))
        return ranked[:limit], total

    def _first(self, slots: Slot, count: int) -> Slot:
        """Of documents with equal scores those of the first servers, `count` of them at least."""
        if len(slots) <= count + 100:
            return slots
        place = np.empty(len(self._codes), np.intp)
        place[[self._codes[name] for name in sorted(self._codes)]] = np.arange(len(self._codes))
        order = place[np.frombuffer(self._servers, np.uint32)[slots]]
        return slots[order <= np.partition(order, count - 1)[count - 1]]
