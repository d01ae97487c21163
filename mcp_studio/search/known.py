"""What an index knows there is: by server and kind, compared with what is listed next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.search.document import Document
from mcp_studio.search.method import Scope

Group = tuple[str, EntryKind]


class Taken(NamedTuple):
    """One document, and the entry of the catalog that it was made of, if it was."""

    document: Document
    entry: Entry | None = None


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
        self._groups: dict[Group, Mapping[Ref, Taken]] = {}

    def put(self, group: Group, now: Mapping[Ref, Taken], tell: Callable[[Difference], None]) -> bool:
        """Replace a group; whether that changed what is searched. An empty one is forgotten."""
        difference = compare(self._groups.get(group, {}), now)
        with self.turn:
            if now:
                self._groups[group] = now
            else:
                self._groups.pop(group, None)
            if difference:
                tell(difference)
        return bool(difference)

    def get(self, ref: Ref) -> Taken | None:
        """What is known under a name."""
        group = self._groups.get((ref.server, ref.kind))
        return None if group is None else group.get(ref)

    def documents(self) -> Iterator[Document]:
        """All of them; with `turn` held."""
        return (taken.document for group in self._groups.values() for taken in group.values())

    def count(self, scope: Scope) -> int:
        """How many lie in a scope."""
        return sum(len(found) for _, found in self._in(scope))

    def ordered(self, scope: Scope, servers: Iterable[str]) -> Iterator[tuple[Ref, Taken]]:
        """Those in a scope: tools first, servers in this order and then by name, entries as they were listed."""
        place = {name: number for number, name in enumerate(servers)}
        groups = sorted(
            self._in(scope), key=lambda one: (KINDS.index(one[0][1]), place.get(one[0][0], len(place)), one[0][0])
        )
        return ((ref, taken) for _, group in groups for ref, taken in group.items())

    def _in(self, scope: Scope) -> list[tuple[Group, Mapping[Ref, Taken]]]:
        return [
            (group, found) for group, found in tuple(self._groups.items()) if scope.has(Ref(group[1], group[0], ""))
        ]


def taken_of(entries: Iterable[Entry], tags: tuple[str, ...]) -> dict[Ref, Taken]:
    """Entries of one list by their names: of duplicates the first one counts, and nameless ones do not."""
    found: dict[Ref, Taken] = {}
    for entry in entries:
        if entry.ref.name and entry.ref not in found:
            found[entry.ref] = Taken(Document(entry.ref, entry.view.raw, tags), entry)
    return found


def compare(before: Mapping[Ref, Taken], now: Mapping[Ref, Taken]) -> Difference:
    """What has to be removed, added and replaced."""
    added: dict[Ref, Document] = {}
    changed: dict[Ref, Document] = {}
    for ref, taken in now.items():
        known = before.get(ref)
        if known is None:
            added[ref] = taken.document
        elif not _same(known.document, taken.document):
            changed[ref] = taken.document
    return Difference(tuple(ref for ref in before if ref not in now), added, changed)


def _same(one: Document, other: Document) -> bool:
    if one.tags != other.tags:
        return False
    try:
        return one.raw is other.raw or one.raw == other.raw
    except RecursionError:  # nested too deeply to tell
        return False
