"""Documents by number, for methods that compute with arrays."""

from __future__ import annotations

from collections.abc import Collection
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.method import EVERYWHERE, Scope

Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]


class Slots:
    """Documents by number. A number is never used again: the index makes a method anew when most of it is gone."""

    def __init__(self) -> None:
        self._numbers: dict[Ref, int] = {}
        self._refs: list[Ref | None] = []
        self._within: tuple[Scope, Flags] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def size(self) -> int:
        """Every number is below it."""
        return len(self._refs)

    def at(self, ref: Ref) -> int | None:
        """The number of a document, None when it is not there."""
        return self._numbers.get(ref)

    def add(self, ref: Ref) -> int:
        """The number of a new document; the one that had its name before is gone."""
        self.remove((ref,))
        slot = self._numbers[ref] = len(self._refs)
        self._refs.append(ref)
        self._within = None
        return slot

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents; those that are not there do not matter."""
        for ref in refs:
            if (slot := self._numbers.pop(ref, None)) is not None:
                self._refs[slot] = None
        self._within = None

    def within(self, scope: Scope = EVERYWHERE) -> Flags:
        """For each number whether its document is there and in the scope."""
        if self._within is None or self._within[0] != scope:
            inside = [ref is not None and (scope is EVERYWHERE or scope.has(ref)) for ref in self._refs]
            self._within = scope, np.array(inside, np.bool_)
        return self._within[1]

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
        least = np.partition(found, total - limit)[total - limit]
        ranked = [
            (-score, ref.server, ref.name, ref.kind)
            for slot, score in zip(hits[found >= least].tolist(), found[found >= least].tolist(), strict=True)
            if (ref := self._refs[slot]) is not None
        ]
        return [(Ref(kind, server, name), -score) for score, server, name, kind in nsmallest(limit, ranked)], total
