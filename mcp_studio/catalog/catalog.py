"""The listings of all servers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Ask, Change, Entry, EntryKind, Listing, Ref, change_of, fetch_all, salvage
from mcp_studio.catalog.skills import Skill, SkillState, Verdict, read_entry
from mcp_studio.errors import UsageError, nearest
from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import Limits
from mcp_studio.protocol.views import ResourceView
from mcp_studio.record import record
from mcp_studio.redact import MARK
from mcp_studio.signal import Signal

Key = tuple[str, int]
"""A name, and a number that tells entries of the same name apart."""
Baseline = dict[Key, dict[str, Json]]
"""The definitions that the person saw last, in their order."""


@record()
class Baselines:
    """The baselines of all servers and kinds.

    `redact` is the redaction of remembered definitions: a difference that only redaction explains does not count.
    """

    redact: Callable[[bytes], bytes] = bytes
    known: dict[tuple[str, EntryKind], Baseline] = field(default_factory=dict[tuple[str, EntryKind], Baseline])

    def take(self, server: str, kind: EntryKind, entries: Iterable[Entry], name: str | None = None) -> None:
        """Record the present entries with this name, or all entries, as seen by the person."""
        baseline = self.known.setdefault((server, kind), {})
        now = {key: entry.view.raw for key, entry in _keyed(entries) if name in (None, key[0])}
        for key in [key for key in baseline if name in (None, key[0]) and key not in now]:
            del baseline[key]
        baseline.update(now)

    def compare(self, server: str, kind: EntryKind, entries: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], ...]:
        """Mark the entries that differ from the baseline; returns these and the entries that are gone.

        Without a baseline no entry is marked. May be called in a thread.
        """
        if (server, kind) not in self.known:
            return entries, ()
        left, marked = Baseline(self.known[server, kind]), list[Entry]()
        for key, entry in _keyed(entries):
            change = change_of(left.pop(key, None), entry.view.raw)
            if change and change.before and self._only_redacted(change.before, entry.view.raw):
                change = None
            marked.append(entry._replace(change=change))
        gone = salvage(server, kind, left.values())
        return tuple(marked), tuple(one._replace(change=Change("gone", (), one.view.raw)) for one in gone)

    def _only_redacted(self, before: dict[str, Json], now: dict[str, Json]) -> bool:
        old = dumps(before)
        return MARK.encode() in old and self.redact(dumps(now)) == old

    def items(self, server: str, kind: EntryKind) -> list[Json]:
        """The definitions of the baseline, for the memory on disk."""
        return list(self.known.get((server, kind), {}).values())

    def forget(self, server: str) -> None:
        """Forget the baselines of a server."""
        self.known = {key: baseline for key, baseline in self.known.items() if key[0] != server}


def _keyed(entries: Iterable[Entry]) -> list[tuple[Key, Entry]]:
    """Entries with their keys; entries of the same name are numbered."""
    counts: dict[str, int] = {}
    found: list[tuple[Key, Entry]] = []
    for entry in entries:
        name = entry.ref.name
        number = counts[name] = counts.get(name, 0) + 1
        found.append(((name, number), entry))
    return found


class Skills(NamedTuple):
    """The skills that one server lists."""

    skills: tuple[Skill, ...] = ()
    error: str = ""
    """Why the list could not be read, or not to its end."""


async def fetch_skills(server: str, ask: Ask, limits: Limits) -> Skills:
    """Read all pages of `skills/list`, but no files (extension, Listing Skills, Lazy Retrieval)."""
    found = await fetch_all("skills/list", "skills", ask, limits)
    error = found.error or (f"The list of skills was {found.capped}." if found.capped else "")
    skills = await asyncio.to_thread(lambda: [read_entry(server, item) for item in found.items])
    return Skills(tuple(skills), error)


class SkillCatalog:
    """The skills of all servers, as they were last listed."""

    def __init__(self) -> None:
        self._of_server: dict[str, Skills] = {}
        self._states: dict[tuple[str, str], tuple[Skill, SkillState]] = {}

    def put(self, server: str, skills: Skills) -> None:
        """Replace the skills of a server."""
        self._of_server[server] = skills

    def of(self, server: str) -> Skills:
        """The skills that a server lists."""
        return self._of_server.get(server, Skills())

    def forget(self, server: str) -> None:
        """Forget a server's skills and their states."""
        self._of_server.pop(server, None)
        self._states = {key: value for key, value in self._states.items() if key[0] != server}

    def judged(self, skill: Skill, verdict: Verdict) -> None:
        """Record the verdict on a skill's `SKILL.md`."""
        self._states[skill.server, skill.uri] = skill, verdict.state

    def state(self, skill: Skill) -> SkillState:
        """The state of a skill; a skill whose entry has changed since the verdict is unread."""
        judged, state = self._states.get((skill.server, skill.uri), (None, ""))
        return state if judged == skill and state else "unread"

    def with_skills(self, server: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The resources of a server with its skills marked; skills that are not listed as resources are added."""
        skills = self.of(server).skills
        known = {skill.uri: skill for skill in skills if skill.uri}
        resources = [entry for entry in entries if not entry.skill or entry.ref.name in known]
        listed = {entry.ref.name for entry in resources}
        marked = (
            entry._replace(skill=self.state(known[entry.ref.name])) if entry.ref.name in known else entry
            for entry in resources
        )
        return (*marked, *(self._entry(skill) for skill in skills if skill.uri not in listed))

    def _entry(self, skill: Skill) -> Entry:
        raw = dict[str, Json](uri=skill.uri, name=skill.name, description=skill.description, mimeType="text/markdown")
        problem = "".join(skill.errors[:1])
        return Entry(
            Ref("resource", skill.server, skill.uri), ResourceView(raw), problem=problem, skill=self.state(skill)
        )


class Catalog:
    """The single store of everything that servers offer; `changed` names the server and the kind."""

    def __init__(self) -> None:
        self.changed: Signal[tuple[str, EntryKind]] = Signal()
        self.looked: Signal[str] = Signal()
        """Emits the name of a server when the person has seen some of its entries."""
        self.seen = Baselines()
        self.skills = SkillCatalog()
        self._listings: dict[str, dict[EntryKind, Listing]] = {}
        self._named: dict[tuple[str, EntryKind], Mapping[str, list[Entry]]] = {}
        """The entries of each listing by name; those of a failed server are its last ones."""

    def put(self, listing: Listing) -> None:
        """Replace a listing."""
        if listing.entries or listing.state == "fresh":
            named = self._named[listing.server, listing.kind] = defaultdict[str, list[Entry]](list)
            for entry in listing.entries:
                named[entry.ref.name].append(entry)
        self._listings.setdefault(listing.server, {})[listing.kind] = listing
        self.changed.emit((listing.server, listing.kind))

    def arrange(self, servers: Iterable[str]) -> None:
        """Add servers in this order, which is that of the configuration."""
        self._listings = {name: self._listings.get(name, {}) for name in servers} | self._listings

    def clear(self, server: str) -> None:
        """Empty the listings of a failed server; only `find` returns their entries until the server is back."""
        for kind in tuple(self._listings.get(server, ())):
            self.put(Listing(server, kind))

    def forget(self, server: str) -> None:
        self.seen.forget(server)
        self.skills.forget(server)
        self._listings.pop(server, None)
        for kind in KINDS:
            self._named.pop((server, kind), None)
            self.changed.emit((server, kind))

    @property
    def servers(self) -> tuple[str, ...]:
        """The known servers, in the order of the configuration."""
        return tuple(self._listings)

    def listing(self, server: str, kind: EntryKind) -> Listing:
        """One listing; an empty listing where nothing is known."""
        return self._listings.get(server, {}).get(kind) or Listing(server, kind)

    def entries(self, kind: EntryKind, servers: Iterable[str] | None = None) -> tuple[Entry, ...]:
        """All entries of a kind, in the servers' order of the configuration."""
        names = self._listings if servers is None else servers
        return tuple(entry for name in names for entry in self.listing(name, kind).entries)

    def acknowledge(self, ref: Ref) -> None:
        """Record that the person has looked at an entry: its mark goes, and a gone entry disappears.

        A tool with a changed definition stays marked until the person accepts it.
        """
        listing = self.listing(ref.server, ref.kind)
        changes = [one.change for one in (*listing.entries, *listing.gone) if one.ref == ref and one.change]
        if changes and not (ref.kind == "tool" and any(change.unaccepted for change in changes)):
            self.accept(ref)

    def accept(self, ref: Ref) -> None:
        """Accept the present definition of an entry as its baseline."""
        self._see(self.listing(ref.server, ref.kind), ref.name)

    def acknowledge_all(self, kind: EntryKind) -> int:
        """Record that the person has looked at all entries of a kind; returns how many were marked."""
        marked = [listing for name in self._listings if (listing := self.listing(name, kind)).changes]
        for listing in marked:
            self._see(listing, None)
        return sum(len(listing.changes) for listing in marked)

    def judged(self, skill: Skill, verdict: Verdict) -> None:
        """Record the verdict on a skill, and show it at the skill's entry among the resources."""
        self.skills.judged(skill, verdict)
        listing = self.listing(skill.server, "resource")
        if listing.entries:
            self.put(listing._replace(entries=self.skills.with_skills(skill.server, listing.entries)))

    def _see(self, listing: Listing, name: str | None) -> None:
        self.seen.take(listing.server, listing.kind, listing.entries, name)
        entries = tuple(
            entry._replace(change=None) if entry.change and name in (None, entry.ref.name) else entry
            for entry in listing.entries
        )
        gone = tuple(entry for entry in listing.gone if name not in (None, entry.ref.name))
        self.put(listing._replace(entries=entries, gone=gone))
        self.looked.emit(listing.server)

    def find(self, ref: Ref) -> tuple[Entry, ...]:
        """The entries with this name: none, one, or the duplicates of a careless server.

        For a server that has failed these are its last entries: a call that starts the server again is judged by them.
        """
        return tuple(self._named.get((ref.server, ref.kind), {}).get(ref.name, ()))

    def missing(self, ref: Ref) -> UsageError:
        """The error for a name that the server does not list, with the most similar names or the first ones."""
        names = [entry.ref.name for entry in self.listing(ref.server, ref.kind).entries]
        other, dot, name = ref.name.partition(".")
        if dot and name in names:
            return UsageError(f"There is no server {other!r}. Did you mean `{ref.server}.{name}`?")
        there = f"It has {', '.join(names[:8])}{' …' if len(names) > 8 else ''}." if names else ""
        return UsageError(
            f"{ref.server} has no {ref.kind} {ref.name!r}. {nearest(ref.name, names, 3) or there}".rstrip()
        )


def suggestion(word: str, known: Iterable[str]) -> str:
    """` Did you mean …?` with the most similar known words, or an empty string."""
    return f" {near}" if (near := nearest(word, known, 3)) else ""
