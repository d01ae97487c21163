"""What a filter of the catalog leaves: rows that have all the words at once, and what the index finds below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.search import names
from mcp_studio.search.names import LONGEST_NAME, LONGEST_TEXT, Matcher, Matches, row
from mcp_studio.tui.panels.catalog_rows import Row
from mcp_studio.tui.views.glyphs import glyphs

READ_AHEAD = 400
"""Rows that are read at a time before the first letter: a few milliseconds."""
_NAMES: dict[EntryKind, str] = {
    "tool": "Tools", "resource": "Resources", "template": "Templates", "prompt": "Prompts",
}  # fmt: skip


class Also(NamedTuple):
    """What the index found where no name has all the words."""

    kind: EntryKind = "tool"
    text: str = ""
    pieces: Mapping[Ref, tuple[str, ...]] = {}
    """The best first: what is found, and the pieces of its name that did it."""


class NameFilter:
    """Narrows a list that is shown, at once, whatever an index knows by then; duplicates are rows as well.

    Args:
        entries: the rows, in their order.
        before: what it has read is not read again.
    """

    def __init__(self, entries: Sequence[Entry], before: NameFilter | None = None) -> None:
        known = before._read if before is not None else {}
        self._entries = entries
        self._read = {id(entry): known[id(entry)] for entry in entries if id(entry) in known}
        self._unread = [entry for entry in entries if id(entry) not in known]
        self._rows: list[names.Row] | None = None

    def read(self, most: int) -> bool:
        """Read so many rows ahead of the first question, which reads the rest; whether there are more."""
        now, self._unread = self._unread[:most], self._unread[most:]
        for entry in now:
            view, address = entry.view, f"{entry.ref.server[:LONGEST_NAME]}.{entry.ref.name[:LONGEST_NAME]}"
            rest = f"{address} {view.name} {view.description[:LONGEST_TEXT]}"
            self._read[id(entry)] = entry, row(name_of(entry), rest, title=view.title, server=entry.ref.server)
        return bool(self._unread)

    def find(self, text: str) -> Matches:
        """The rows that have what is typed."""
        if self._rows is None:
            self.read(len(self._unread))
            self._rows = [self._read[id(entry)][1] for entry in self._entries]
        return Matcher(text).ranked(self._rows)


def name_of(entry: Entry) -> str:
    """What an entry is called in a list; foreign, unsanitized."""
    if entry.ref.kind in ("tool", "prompt"):
        return entry.ref.name
    return entry.view.title or entry.view.name or entry.ref.name


class Narrowing:
    """Rows of each kind that a text leaves."""

    def __init__(self) -> None:
        self._letters: dict[EntryKind, tuple[Sequence[Row], NameFilter]] = {}
        self.also = Also()
        self._named: tuple[Sequence[Row], Mapping[Ref, Sequence[Row]]] = (), {}
        """The rows that were asked for last, by what they are."""
        self._matcher = Matcher("")
        self.count = 0
        """Rows that have all the words."""
        self.enough = True
        """There is a name that has them: nothing else is asked for."""

    def read_ahead(self, rows: Mapping[EntryKind, Sequence[Row]], first: EntryKind) -> bool:
        """Read a few of the rows, those of one kind first; whether there are more."""
        return any(
            self._of(kind, rows[kind]).read(READ_AHEAD) for kind in sorted(KINDS, key=lambda kind: kind != first)
        )

    def rows(self, lists: Mapping[EntryKind, Sequence[Row]], kind: EntryKind, text: str) -> list[Row]:
        """The rows of a kind that have all the words, the best first; below them what the index found."""
        rows, self._matcher = lists[kind], Matcher(text)
        found = self._of(kind, rows).find(text)
        kept = [rows[place] for place in found.places]
        self.count, self.enough = len(kept), found.named
        below = [] if self.enough else self._below(rows, {row.entry.ref for row in kept}, kind, text)
        if not below:
            return kept
        elsewhere = "" if kept else self.elsewhere(lists, kind, text)
        heading = f"{elsewhere} {glyphs().dot} similar here" if elsewhere else "similar"
        return [*kept, Row(below[0].entry, 0, heading), *below]

    def elsewhere(self, lists: Mapping[EntryKind, Sequence[Row]], kind: EntryKind, text: str) -> str:
        """How many of other kinds have all the words: `3 in Prompts`; empty where none has."""
        counts: dict[EntryKind, int] = {
            other: len(self._of(other, lists[other]).find(text).places) for other in KINDS if other != kind
        }
        return ", ".join(f"{count:,} in {_NAMES[other]}" for other, count in counts.items() if count)

    def pieces(self, row: Row) -> tuple[str, ...]:
        """The pieces of a row's name that are marked."""
        if not self.enough and (pieces := self.also.pieces.get(row.entry.ref)):
            return pieces
        return self._matcher.pieces(name_of(row.entry))

    def _below(self, rows: Sequence[Row], known: set[Ref], kind: EntryKind, text: str) -> list[Row]:
        """What the index found besides; that of the text before until it has answered, or the list would flicker."""
        wanted, asked = self.also.pieces, self.also.text
        if self.also.kind != kind or not (text.startswith(asked) or asked.startswith(text)):
            return []
        if self._named[0] is not rows:
            named: dict[Ref, list[Row]] = {}
            for row in rows:
                named.setdefault(row.entry.ref, []).append(row)
            self._named = rows, named
        return [row for ref in wanted if ref not in known for row in self._named[1].get(ref, ())]

    def _of(self, kind: EntryKind, rows: Sequence[Row]) -> NameFilter:
        known = self._letters.get(kind)
        if known is None or known[0] is not rows:
            before = known[1] if known is not None else None
            known = self._letters[kind] = rows, NameFilter([row.entry for row in rows], before)
        return known[1]
