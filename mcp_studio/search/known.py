"""What an index knows there is: by server and kind, compared with what is listed next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.search.document import Document
from mcp_studio.search.method import EVERYWHERE, Scope

Group = tuple[str, EntryKind]
Thing = Entry | Document
"""What is known of one name: an entry of the catalog, or a document from elsewhere."""
Things = Sequence[Entry] | Sequence[Document]


class Listed:
    """What one server lists of one kind, by name: of duplicates the first one counts, and nameless ones do not."""

    def __init__(self, things: Things = (), tags: tuple[str, ...] = ()) -> None:
        self.tags = tags
        self.things: dict[Ref, Thing] = {}
        for one in things:
            if one.ref.name and one.ref not in self.things:
                self.things[one.ref] = one

    def document(self, ref: Ref) -> Document:
        """One of them as it is searched; made anew each time, for there are many."""
        one = self.things[ref]
        return one if isinstance(one, Document) else Document(ref, one.view.raw, self.tags)


class Difference(NamedTuple):
    """What a new list of one group changes."""

    removed: tuple[Ref, ...]
    added: Mapping[Ref, Document]
    changed: Mapping[Ref, Document]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.changed)


class Known:
    """All documents. One thread changes it; any may read."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        """Held while a group is replaced and those are told who follow."""
        self._groups: dict[Group, Listed] = {}

    def put(self, group: Group, now: Listed, tell: Callable[[Difference], None]) -> bool:
        """Replace a group; whether that changed what is searched. An empty one is forgotten."""
        difference = compare(self._groups.get(group) or Listed(), now)
        with self.turn:
            if now.things:
                self._groups[group] = now
            else:
                self._groups.pop(group, None)
            if difference:
                tell(difference)
        return bool(difference)

    def has(self, ref: Ref) -> bool:
        """Whether something of this name is known."""
        listed = self._groups.get((ref.server, ref.kind))
        return listed is not None and ref in listed.things

    def get(self, ref: Ref) -> tuple[Document, Entry | None] | None:
        """What is known under a name, and the entry of the catalog that it comes of."""
        listed = self._groups.get((ref.server, ref.kind))
        if listed is None or ref not in listed.things:
            return None
        one = listed.things[ref]
        return listed.document(ref), one if isinstance(one, Entry) else None

    def documents(self) -> Iterator[Document]:
        """All of them; with `turn` held."""
        return (listed.document(ref) for listed in self._groups.values() for ref in listed.things)

    def some(self, most: int) -> list[Document]:
        """A few of them from all over, always the same ones of the same lists."""
        with self.turn:
            every = max(1, -(-self.count(EVERYWHERE) // most))
            return list(islice(self.documents(), 0, None, every))

    def count(self, scope: Scope) -> int:
        """How many lie in a scope."""
        return sum(len(listed.things) for _, listed in self._in(scope))

    def ordered(self, scope: Scope, servers: Iterable[str]) -> Iterator[Ref]:
        """Those in a scope: tools first, servers in this order and then by name, entries as they were listed."""
        place = {name: number for number, name in enumerate(servers)}
        groups = sorted(
            self._in(scope), key=lambda one: (KINDS.index(one[0][1]), place.get(one[0][0], len(place)), one[0][0])
        )
        return (ref for _, listed in groups for ref in listed.things)

    def _in(self, scope: Scope) -> list[tuple[Group, Listed]]:
        groups = tuple(self._groups.items())
        if scope == EVERYWHERE:
            return list(groups)
        return [(group, listed) for group, listed in groups if scope.has(Ref(group[1], group[0], ""))]


def compare(before: Listed, now: Listed) -> Difference:
    """What has to be removed, added and replaced."""
    added: dict[Ref, Document] = {}
    changed: dict[Ref, Document] = {}
    for ref in now.things:
        if ref not in before.things:
            added[ref] = now.document(ref)
        elif before.tags != now.tags or not _same(before.things[ref], now.things[ref]):
            changed[ref] = now.document(ref)
    return Difference(tuple(ref for ref in before.things if ref not in now.things), added, changed)


def _same(one: Thing, other: Thing) -> bool:
    if one is other:
        return True
    tags = [thing.tags if isinstance(thing, Document) else () for thing in (one, other)]
    raws = [thing.raw if isinstance(thing, Document) else thing.view.raw for thing in (one, other)]
    try:
        return tags[0] == tags[1] and (raws[0] is raws[1] or raws[0] == raws[1])
    except RecursionError:  # nested too deeply to tell
        return False
