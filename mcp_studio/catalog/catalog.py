"""All listings of all servers."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Ask, Change, Entry, EntryKind, Listing, Ref, change_of, fetch_all, salvage
from mcp_studio.catalog.skills import Skill, SkillState, Verdict, read_entry
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import Limits
from mcp_studio.protocol.views import ResourceView
from mcp_studio.record import record
from mcp_studio.redact import MARK
from mcp_studio.signal import Signal

Key = tuple[str, int]
"""A name, and which of several entries with that name."""
Baseline = dict[Key, dict[str, Json]]
"""Definitions as they were seen last, in their order."""


@record()
class Baselines:
    """Baselines by server and kind.

    `redact` is what was done to a definition before it was remembered: one that differs in nothing else is the same.
    """

    redact: Callable[[bytes], bytes] = bytes
    known: dict[tuple[str, EntryKind], Baseline] = field(default_factory=dict[tuple[str, EntryKind], Baseline])

    def take(self, server: str, kind: EntryKind, entries: Iterable[Entry], name: str | None = None) -> None:
        """The person has seen the entries with that name as they are now, all with None."""
        baseline = self.known.setdefault((server, kind), {})
        now = {key: entry.view.raw for key, entry in _keyed(entries) if name in (None, key[0])}
        for key in [key for key in baseline if name in (None, key[0]) and key not in now]:
            del baseline[key]
        baseline.update(now)

    def compare(self, server: str, kind: EntryKind, entries: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], ...]:
        """Mark entries that differ from what was seen, and give back those that are not there any more.

        Of a list that nothing was seen of yet, nothing is marked. It may be called in a thread.
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
        """What was seen last, to be remembered."""
        return list(self.known.get((server, kind), {}).values())

    def forget(self, server: str) -> None:
        """A server is gone."""
        self.known = {key: baseline for key, baseline in self.known.items() if key[0] != server}


def _keyed(entries: Iterable[Entry]) -> list[tuple[Key, Entry]]:
    """Entries with their keys: those of the same name are numbered."""
    counts: dict[str, int] = {}
    found: list[tuple[Key, Entry]] = []
    for entry in entries:
        name = entry.ref.name
        number = counts[name] = counts.get(name, 0) + 1
        found.append(((name, number), entry))
    return found


class Skills(NamedTuple):
    """What one server lists."""

    skills: tuple[Skill, ...] = ()
    error: str = ""
    """Why the list could not be read, or read to its end."""


async def fetch_skills(server: str, ask: Ask, limits: Limits) -> Skills:
    """Ask for all pages of `skills/list`, but for none of the files (extension, Listing Skills, Lazy Retrieval)."""
    found = await fetch_all("skills/list", "skills", ask, limits)
    error = found.error or (f"The list of skills was {found.capped}." if found.capped else "")
    skills = await asyncio.to_thread(lambda: [read_entry(server, item) for item in found.items])
    return Skills(tuple(skills), error)


class SkillCatalog:
    """All skills of all servers, as last listed."""

    def __init__(self) -> None:
        self._held: dict[str, Skills] = {}
        self._states: dict[tuple[str, str], tuple[Skill, SkillState]] = {}

    def put(self, server: str, skills: Skills) -> None:
        """Hold what a server lists now."""
        self._held[server] = skills

    def of(self, server: str) -> Skills:
        """What a server lists."""
        return self._held.get(server, Skills())

    def forget(self, server: str) -> None:
        """Drop what is known of a server's skills."""
        self._held.pop(server, None)
        self._states = {key: value for key, value in self._states.items() if key[0] != server}

    def judged(self, skill: Skill, verdict: Verdict) -> None:
        """Note what reading a skill's `SKILL.md` has shown."""
        self._states[skill.server, skill.uri] = skill, verdict.state

    def state(self, skill: Skill) -> SkillState:
        """What is known of a skill; another entry than the one that was judged is unread again."""
        held, state = self._states.get((skill.server, skill.uri), (None, ""))
        return state if held == skill and state else "unread"

    def with_skills(self, server: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Resources of a server with its skills marked, and those added that it does not list as resources."""
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
    """The one place that knows what servers offer; `changed` names the server and the kind."""

    def __init__(self) -> None:
        self.changed: Signal[tuple[str, EntryKind]] = Signal()
        self.looked: Signal[str] = Signal()
        """The name of a server some of whose entries the person has seen as they are now."""
        self.seen = Baselines()
        self.skills = SkillCatalog()
        self._listings: dict[str, dict[EntryKind, Listing]] = {}
        self._away: dict[tuple[str, EntryKind], Listing] = {}
        """What servers offered that have failed since."""

    def put(self, listing: Listing) -> None:
        """Replace a listing."""
        if listing.state == "fresh":
            self._away.pop((listing.server, listing.kind), None)
        self._listings.setdefault(listing.server, {})[listing.kind] = listing
        self.changed.emit((listing.server, listing.kind))

    def arrange(self, servers: Iterable[str]) -> None:
        """Make these servers known, in this order, which is that of the configuration."""
        self._listings = {name: self._listings.get(name, {}) for name in servers} | self._listings

    def clear(self, server: str) -> None:
        """A server has failed: what it offered is listed no more, and `find` alone still knows it until it is back."""
        for kind, listing in tuple(self._listings.get(server, {}).items()):
            if listing.entries:
                self._away[server, kind] = listing
            self.put(Listing(server, kind))

    def forget(self, server: str) -> None:
        """Drop all listings of a server."""
        self.seen.forget(server)
        self.skills.forget(server)
        self._listings.pop(server, None)
        for kind in KINDS:
            self._away.pop((server, kind), None)
            self.changed.emit((server, kind))

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers that something is known of, in the order of the configuration."""
        return tuple(self._listings)

    def listing(self, server: str, kind: EntryKind) -> Listing:
        """One listing; an empty one where nothing is known."""
        return self._listings.get(server, {}).get(kind) or Listing(server, kind)

    def entries(self, kind: EntryKind, servers: Iterable[str] | None = None) -> tuple[Entry, ...]:
        """All entries of a kind, servers in the order of the configuration."""
        names = self._listings if servers is None else servers
        return tuple(entry for name in names for entry in self.listing(name, kind).entries)

    def acknowledge(self, ref: Ref) -> None:
        """The person has looked at an entry: it is marked no more, and one that is gone is not shown any more.

        A tool whose definition has changed stays marked until that is accepted.
        """
        listing = self.listing(ref.server, ref.kind)
        changes = [one.change for one in (*listing.entries, *listing.gone) if one.ref == ref and one.change]
        if changes and not (ref.kind == "tool" and any(change.unaccepted for change in changes)):
            self.accept(ref)

    def accept(self, ref: Ref) -> None:
        """Take an entry as it is now for what it should be."""
        self._see(self.listing(ref.server, ref.kind), ref.name)

    def acknowledge_all(self, kind: EntryKind) -> int:
        """The person has looked at all entries of a kind; gives how many were marked."""
        marked = [listing for name in self._listings if (listing := self.listing(name, kind)).changes]
        for listing in marked:
            self._see(listing, None)
        return sum(len(listing.changes) for listing in marked)

    def judged(self, skill: Skill, verdict: Verdict) -> None:
        """A skill has been read: its entry among the resources says what came out."""
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

        Of a server that has failed it is what it offered before: whatever is called there again, which starts the
        server, is judged by that.
        """
        name, listing = ref.name, self._away.get((ref.server, ref.kind)) or self.listing(ref.server, ref.kind)
        return tuple([entry for entry in listing.entries if entry.ref.name == name])

    def missing(self, ref: Ref) -> UsageError:
        """A server does not list this: the nearest that it lists."""
        names = [entry.ref.name for entry in self.listing(ref.server, ref.kind).entries]
        other, dot, name = ref.name.partition(".")
        if dot and name in names:
            return UsageError(f"There is no server {other!r}. Did you mean {ref.server}.{name}?")
        return UsageError(f"{ref.server} has no {ref.kind} {ref.name!r}." + suggestion(ref.name, names))


def suggestion(word: str, known: Iterable[str]) -> str:
    """` Did you mean …?` with the nearest known words, or an empty string."""
    lower = {item.lower(): item for item in known}
    near = difflib.get_close_matches(word.lower(), lower, n=3, cutoff=0.5)
    near += [item for item in lower if word and word.lower() in item and item not in near][: 3 - len(near)]
    return f" Did you mean {' or '.join(lower[item] for item in near)}?" if near else ""
