"""What the person has seen of each listing, so that what is new, changed or gone since then can be marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import NamedTuple

from mcp_studio.catalog.changes import Change, change_of
from mcp_studio.catalog.listing import Entry, salvage
from mcp_studio.catalog.ref import EntryKind
from mcp_studio.jsontext import Json, dumps
from mcp_studio.record import record

Key = tuple[str, int]
"""A name, and which of several entries with that name."""
Baseline = dict[Key, dict[str, Json]]
"""Definitions as they were seen last, in their order."""


class Compared(NamedTuple):
    """A listing beside what was seen of it."""

    entries: tuple[Entry, ...]
    gone: tuple[Entry, ...]
    same: Baseline
    """What has not changed."""


@record()
class Seen:
    """Baselines by server and kind.

    `redact` is what was done to a definition before it was remembered: one that differs in nothing else is the same.
    """

    redact: Callable[[bytes], bytes] = bytes
    known: dict[tuple[str, EntryKind], Baseline] = field(default_factory=dict[tuple[str, EntryKind], Baseline])

    def recall(self, server: str, kind: EntryKind, items: Iterable[Json]) -> None:
        """Take what was seen in an earlier run."""
        self.known[server, kind] = {key: entry.view.raw for key, entry in keyed(salvage(server, kind, items))}

    def begin(self, server: str, kind: EntryKind, entries: Iterable[Entry]) -> None:
        """A listing is read for the first time: all of it counts as seen."""
        self.known[server, kind] = {key: entry.view.raw for key, entry in keyed(entries)}

    def settle(self, server: str, kind: EntryKind, compared: Compared) -> None:
        """Hold the newer of equal definitions, so that none is held twice."""
        baseline = self.known.get((server, kind), {})
        baseline.update((key, raw) for key, raw in compared.same.items() if key in baseline)

    def take(self, server: str, kind: EntryKind, entries: Iterable[Entry], name: str | None) -> None:
        """The person has seen the entries with that name as they are now, all with None."""
        baseline = self.known.setdefault((server, kind), {})
        now = {key: entry.view.raw for key, entry in keyed(entries) if name in (None, key[0])}
        for key in [key for key in baseline if name in (None, key[0])]:
            if key not in now:
                del baseline[key]
        baseline.update(now)

    def items(self, server: str, kind: EntryKind) -> list[Json]:
        """What was seen last, to be remembered."""
        return list(self.known.get((server, kind), {}).values())

    def forget(self, server: str) -> None:
        """A server is gone."""
        for key in [key for key in self.known if key[0] == server]:
            del self.known[key]


def compare(
    server: str,
    kind: EntryKind,
    entries: tuple[Entry, ...],
    baseline: Baseline,
    redact: Callable[[bytes], bytes] = bytes,
) -> Compared:
    """Mark entries that differ from what was seen, and give back those that are not there any more."""
    marked: list[Entry] = []
    same: Baseline = {}
    here: set[Key] = set()
    for key, entry in keyed(entries):
        here.add(key)
        change = change_of(baseline.get(key), entry.view.raw)
        if change is not None and change.before is not None and _only_redacted(change.before, entry.view.raw, redact):
            change = None
        if change is None:
            same[key] = entry.view.raw
        marked.append(entry if change is None else entry._replace(change=change))
    gone = [raw for key, raw in baseline.items() if key not in here]
    return Compared(tuple(marked), tuple(_gone(server, kind, raw) for raw in gone), same)


def keyed(entries: Iterable[Entry]) -> list[tuple[Key, Entry]]:
    """Entries with their keys: those of the same name are numbered."""
    counts: dict[str, int] = {}
    found: list[tuple[Key, Entry]] = []
    for entry in entries:
        name = entry.ref.name
        number = counts[name] = counts.get(name, 0) + 1
        found.append(((name, number), entry))
    return found


def _gone(server: str, kind: EntryKind, raw: dict[str, Json]) -> Entry:
    entry = salvage(server, kind, (raw,))[0]
    return entry._replace(change=Change("gone", (), raw))


def _only_redacted(before: dict[str, Json], now: dict[str, Json], redact: Callable[[bytes], bytes]) -> bool:
    old = dumps(before)
    return "‹redacted›".encode() in old and redact(dumps(now)) == old
