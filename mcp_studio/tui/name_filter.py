"""Narrowing a list of entries to those that have all the words that are typed."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.catalog.listing import Entry
from mcp_studio.search import names
from mcp_studio.search.names import LONGEST_NAME, LONGEST_TEXT, Matcher, Matches, row


class NameFilter:
    """Narrows a list that is shown, at once, whatever an index knows by then; duplicates are rows as well.

    Args:
        entries: the rows, in their order.
        before: what it has read is not read again.
    """

    def __init__(self, entries: Sequence[Entry], before: NameFilter | None = None) -> None:
        known = before.read if before is not None else {}
        self._entries = entries
        self.read: dict[int, tuple[Entry, names.Row]] = {
            id(entry): known[id(entry)] for entry in entries if id(entry) in known
        }

    def find(self, text: str) -> Matches:
        """The rows that have what is typed."""
        for entry in self._entries:
            if id(entry) not in self.read:
                view, address = entry.view, f"{entry.ref.server[:LONGEST_NAME]}.{entry.ref.name[:LONGEST_NAME]}"
                rest = f"{address} {view.name} {view.description[:LONGEST_TEXT]}"
                self.read[id(entry)] = entry, row(name_of(entry), rest, title=view.title, server=entry.ref.server)
        return Matcher(text).ranked([self.read[id(entry)][1] for entry in self._entries])


def name_of(entry: Entry) -> str:
    """What an entry is called in a list; foreign, unsanitized."""
    if entry.ref.kind in ("tool", "prompt"):
        return entry.ref.name
    return entry.view.title or entry.view.name or entry.ref.name
