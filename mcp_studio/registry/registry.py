"""The registry: tools of all servers and own tools across runs, searched, sorted, tagged and counted."""

from __future__ import annotations

import asyncio
import atexit
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.listing import EntryKind, Listing
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.limits import KB, MB
from mcp_studio.registry.record import LONGEST_NAME, PINNED, Pinned, ToolRecord, listed_by, record_of, tags_of
from mcp_studio.registry.storage import MemoryStorage, Storage, Uses, merged, open_storage, used
from mcp_studio.safetext import safe
from mcp_studio.search.engine import Listed
from mcp_studio.search.index import SearchIndex, Worker
from mcp_studio.search.method import EVERYWHERE, Document, Reason, Scope
from mcp_studio.search.usage import Usage
from mcp_studio.threads import in_thread

log = logging.getLogger(__name__)
BATCH = 10_000
"""Records in one write to a storage."""
_LARGEST = 256 * MB
"""Bytes of the largest file that is imported."""
_LARGEST_RECORD = 512 * KB
"""Bytes of the largest record: programs cannot use a larger definition, and a server could fill the disk with them."""
_SECONDS = 5.0
"""The shortest time between two writes of use counts; `close` writes the rest."""
_AGAIN = 1.0
"""Seconds for which writes of other processes may stay unseen."""
_ALIASES = {"embedding": "semantic"}


class ToolHit(NamedTuple):
    """A tool in the result of a search."""

    name: str
    description: str
    score: float
    """Larger is better; comparable within one answer only."""
    why: str
    """Where the query matched, such as `name: read, file; meaning`."""
    record: ToolRecord


class SearchAnswer(NamedTuple):
    """The result of a search."""

    hits: tuple[ToolHit, ...]
    note: str = ""
    """A note for the caller: what was not searched, and why."""
    method: str = ""
    """The method that answered, where `auto` was asked for."""


def copy(source: Storage, target: Storage) -> int:
    """Copy all records of one storage into another, which keeps its own records; returns their number."""
    records = source.load_all()
    for batch in _batches(records):
        target.save(batch)
    return len(records)


class ToolRegistry:
    """All tools by name. Methods may be called from any thread; those that write block for a moment.

    The storage is read at the first use, and writes of other processes are seen within a second.

    Args:
        storage: the storage or its address; without one, all records end with the registry.
        catalog: the lists of servers, which the registry follows.
        index: creates the search index.
        usage: the runs by the person, which count as use too.
        redact: removes secrets from stored records.
    """

    def __init__(
        self,
        storage: Storage | str | Path | None = None,
        *,
        catalog: Catalog | None = None,
        index: Callable[[], SearchIndex] = SearchIndex,
        usage: Usage | None = None,
        redact: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.storage: Storage = open_storage(storage) if isinstance(storage, str | Path) else storage or MemoryStorage()
        self._new_index = index
        self._index: SearchIndex | None = None
        self._shown: set[str] = set()
        """Servers whose tools are in the index."""
        self._usage = usage
        self._redact = redact
        self._turn = threading.RLock()
        """Held by every writer; readers never wait for a disk."""
        self._records: dict[str, ToolRecord] = {}
        self._revision = -1
        self._looked = 0.0
        self._counted = time.monotonic() if storage else math.inf
        """When use counts were last written; infinite without a storage."""
        self._counting = threading.Lock()
        self._calls: Counter[str] = Counter()
        """Calls that are not written yet."""
        self._changed: set[str] = set()
        """Servers whose lists have changed."""
        self._worker = Worker("registry", self._step, lambda: None)
        self._catalog = catalog or Catalog()
        self._disconnect = self._catalog.changed.connect(self._follow)
        for server in self._catalog.servers:
            self._follow((server, "tool"))
        atexit.register(self.close)  # for programs that never call `close`

    # ------------------------------------------------------------------ what there is

    def records(self) -> list[ToolRecord]:
        """All listed tools, by name."""
        self._read_once()
        person = {str(ref): uses for ref, uses in self._usage.all().items()} if self._usage else {}
        found = [
            used(record, Uses(uses.runs, uses.last)) if (uses := person.get(record.name)) else record
            for record in tuple(self._records.values())
            if record.listed
        ]
        return sorted(found, key=lambda one: one.name)

    def get(self, name: str) -> ToolRecord | None:
        """The tool of a name such as `server.tool` or `mcp__server__tool`; None where there is none."""
        self._read_once()
        return next((found for one in _spellings(name) if (found := self._records.get(one))), None)

    def find(self, name: str) -> ToolRecord:
        """The tool of a name, like `get`.

        Raises:
            UsageError: there is no such tool; the message names the most similar one.
        """
        if found := self.get(name):
            return found
        raise UsageError(f"The registry has no tool {name!r}.{suggestion(name, tuple(self._records))}")

    def categories(self) -> dict[str, int]:
        """All categories with their numbers of tools; a tool without a category counts under its server's name."""
        return dict(sorted(Counter(record.group for record in self.records()).items()))

    def by_category(self, category: str, limit: int = 20) -> list[ToolRecord]:
        """The tools of a category, most used first."""
        found = [record for record in self.records() if record.group == category]
        return sorted(found, key=lambda one: (-one.uses, one.name))[:limit]

    def hot(self, limit: int = 10) -> list[ToolRecord]:
        """The tools to offer without a search: the pinned ones, then the most used that are not deferred."""
        found = [one for one in self.records() if one.pinned == "hot" or (one.uses and one.pinned != "deferred")]
        return sorted(found, key=lambda one: (one.pinned != "hot", -one.uses, -one.last_used, one.name))[:limit]

    # ------------------------------------------------------------------ search

    def search(self, query: str, method: str = "bm25", limit: int = 5) -> list[ToolHit]:
        """The best tools for a query; blocks. `asearch` has more options, and serves programs with an event loop.

        Raises:
            SearchProblem: there is no such method, or it does not take such a query.
        """
        # The search gets its own thread, because the caller's thread may run an event loop.
        return list(in_thread(asyncio.run, self.asearch(query, method, limit)).result().hits)

    async def asearch(
        self,
        query: str,
        method: str = "bm25",
        limit: int = 5,
        *,
        servers: Collection[str] | None = None,
        where: Callable[[ToolRecord], bool] | None = None,
        once: bool = False,
    ) -> SearchAnswer:
        """The best tools for a query.

        Args:
            method: `regex`, `bm25`, `embedding`, `hybrid`, `auto`, `substring`, `okapi`, or what a package adds.
            servers: searches the tools of these servers only.
            where: returns whether a tool may be a hit.
            once: no further query follows, so the search waits for vectors that are still missing.

        Raises:
            SearchProblem: there is no such method, or it does not take such a query.
        """
        await self.ready()
        if (index := self._index) is None:
            index = await asyncio.wrap_future(self._worker.ask(self._indexed))
        scope = EVERYWHERE if servers is None else Scope(frozenset(servers))
        limit = max(1, limit)
        wanted = 1_000 if where else limit
        found = await index.ask(query, method=_ALIASES.get(method, method), scope=scope, limit=wanted, once=once)
        hits = (
            ToolHit(record.name, record.description, hit.score, why(hit.reasons), record)
            for hit in found.hits
            if (record := self._records.get(_name(hit.ref.server, hit.ref.name)))
        )
        chosen = tuple(islice((hit for hit in hits if where is None or where(hit.record)), limit))
        return SearchAnswer(chosen, found.note, found.method)

    # ------------------------------------------------------------------ what changes it

    def add(self, records: Iterable[ToolRecord], *, replace_own: bool = True) -> int:
        """Add tools of a person or a program; returns their number.

        Args:
            replace_own: replaces earlier tools of the same source; tools of servers are never replaced.

        Raises:
            UsageError: a name belongs to another tool.
            StorageProblem: the tools cannot be written.
        """
        additions = {record.name: record for record in records}
        with self._turn:
            self._look()
            for record in additions.values():
                known = self._records.get(record.name)
                if known and (not replace_own or known.source != record.source):
                    whose = f"of the server {known.server}" if known.server else f"({known.source})"
                    message = f"There is a tool {record.name!r} {whose} already."
                    raise UsageError(message, hint="Choose another name, or remove that one first.")
            self._save(additions.values())
        return len(additions)

    def define(self, name: str, members: Mapping[str, Json]) -> ToolRecord:
        """Add a tool by hand, or change such a tool; members as in a file for `read`, and empty ones change nothing.

        Raises:
            UsageError: a member is invalid, or the name belongs to another tool.
            StorageProblem: as `add`.
        """
        former = known.as_json() if (known := self.get(name)) and known.source == "hand" else {}
        try:
            made = record_of({"name": name, **former, **{key: one for key, one in members.items() if one}}, "hand")
        except ValueError as problem:
            raise UsageError(f"The tool {problem}.") from None
        self.add([made])
        return made

    def tag(self, names: Iterable[str], tags: Iterable[str], remove: Iterable[str] = ()) -> list[ToolRecord]:
        """Add tags to tools, and remove others; names may be patterns such as `files.*`.

        Raises:
            UsageError: there is no such tool.
            StorageProblem: as `add`.
        """
        more, fewer = tuple(tags), set(remove)
        return self._edit(
            names, lambda one: replace(one, tags=tags_of(tag for tag in (*one.tags, *more) if tag not in fewer))
        )

    def categorize(self, names: Iterable[str], category: str) -> list[ToolRecord]:
        """Put tools into a category; an empty one puts them under their servers again. Raises as `tag`."""
        return self._edit(names, lambda one: replace(one, category=category.strip()[:100]))

    def pin(self, names: Iterable[str], pinned: Pinned) -> list[ToolRecord]:
        """Offer tools always (`hot`), never by themselves (`deferred`), or by their use (empty). Raises as `tag`."""
        if pinned not in PINNED:
            raise UsageError(f"A tool is pinned as hot or deferred, not {pinned!r}.")
        return self._edit(names, lambda one: replace(one, pinned=pinned))

    def remove(self, names: Iterable[str]) -> None:
        """Forget tools. A server's tools come back with its next list. Raises as `tag`."""
        with self._turn:
            self._look()
            self._drop([record.name for record in self._matching(names)])

    def used(self, name: str) -> None:
        """Count a call by a program or an agent; cheap. Unknown names do not matter."""
        name = next((one for one in _spellings(name) if one in self._records), name)
        with self._counting:
            if name in self._records:
                self._records[name] = used(self._records[name], Uses(1, time.time()))
            elif self._revision >= 0:
                return
            self._calls[name] += 1
        if time.monotonic() - self._counted > _SECONDS:
            self._worker.ask(self._step)

    def read(self, file: Path) -> int:
        """Add the tools of a file: the text of `as_json`, the answer of a `tools/list`, or a list of tools.

        Raises:
            UsageError: the file cannot be read, or one of its items is not a tool.
            StorageProblem: as `add`.
        """
        try:
            if file.stat().st_size > _LARGEST:
                raise UsageError(f"{file} is larger than {_LARGEST // MB} MB.")
            value = loads(file.read_bytes())
        except OSError as problem:
            raise UsageError(f"{file} cannot be read: {problem.strerror or problem}.") from None
        except JsonProblem as problem:
            raise UsageError(f"{file} is not JSON: {problem}.") from None
        listed = value if isinstance(value, list) else mapping(value).get("tools")
        if not isinstance(listed, list):
            raise UsageError(f"{file} has no list of tools.", hint='It should be {"tools": [{"name": …}, …]}.')
        found: list[ToolRecord] = []
        for number, one in enumerate(items_of(listed), 1):
            try:
                found.append(record_of(one))
            except ValueError as problem:
                raise UsageError(f"Tool {number} of {file} {problem}.") from None
        with self._turn:
            self._look()
            # A tool that a server lists takes only tags, category and pin from the file.
            known = {one.name: self._records[one.name] for one in found if one.name in self._records}
            self._save(
                replace(old, tags=new.tags, category=new.category, pinned=new.pinned)
                if (old := known.get(new.name)) and old.source == "server"
                else new
                for new in found
            )
        return len(found)

    def as_json(self) -> dict[str, Json]:
        """All tools in the form of a file for `read`."""
        tools: list[Json] = [record.as_json() for record in self.records()]
        return mapping(loads(self._redact(dumps({"tools": tools}))))

    # ------------------------------------------------------------------ following, and the end

    def _follow(self, group: tuple[str, EntryKind]) -> None:
        if group[1] == "tool":
            self._changed.add(group[0])
            self._worker.ask(self._step)

    async def ready(self) -> None:
        """Wait until the storage and all lists of servers have been read.

        Raises:
            StorageProblem: the storage cannot be read or written.
        """
        if self._revision < 0 or self._changed or time.monotonic() - self._looked > _AGAIN:
            await asyncio.wrap_future(self._worker.ask(self._caught_up))

    def close(self) -> None:
        """Write pending changes and close the registry for good.

        Blocks; a storage that refuses loses only those changes.
        """
        atexit.unregister(self.close)
        self._disconnect()
        self._worker.stop()
        if self._index is not None:
            self._index.close()
        try:
            with self._turn:
                if self._changed:
                    self._caught_up()
                self._write_uses()
        except StudioError as problem:
            log.warning("the registry was not written: %s", problem)

    def _step(self) -> bool:
        """In the thread: read the lists of servers, then write the use counts."""
        with self._turn:
            if self._changed:
                self._caught_up()
            elif self._calls and time.monotonic() - self._counted > _SECONDS:
                self._write_uses()
            return bool(self._changed)

    def _caught_up(self) -> None:
        with self._turn:
            self._look()
            if not (changed := tuple(self._changed)):
                return
            listings = [self._catalog.listing(server, "tool") for server in changed]
            self._save(record for listing in listings for record in self._news(listing))
            gone = [record for listing in listings for record in self._unlisted(listing)]
            self._save(record for record in gone if record.marked)
            self._drop([record.name for record in gone if not record.marked])
            self._changed.difference_update(
                one.server for one in listings if self._catalog.listing(one.server, "tool") is one
            )

    def _news(self, listing: Listing) -> Iterator[ToolRecord]:
        """The tools of a listing that are new or differ from their records."""
        for tool in listed_by(listing.server, (entry.view.raw for entry in listing.entries)):
            known = self._records.get(tool.name)
            now = replace(known.defined(tool), server=tool.server, source="server") if known else tool
            if now != known and not (known and known.source == "process"):
                yield now

    def _unlisted(self, listing: Listing) -> list[ToolRecord]:
        """The tools that a server lists no longer; none where its list is incomplete."""
        if listing.state != "fresh" or listing.error or listing.capped:
            return []
        names = {_name(listing.server, entry.ref.name) for entry in listing.entries}
        return [
            replace(one, listed=False)
            for one in self._records.values()
            if one.server == listing.server and one.source == "server" and one.listed and one.name not in names
        ]

    # ------------------------------------------------------------------ storage

    def _look(self) -> None:
        """Read the storage if another process has written to it."""
        self._looked = time.monotonic()
        if (revision := self.storage.revision()) != self._revision:
            found = {one.name: one for one in self.storage.load_all()}
            with self._counting:
                more = {name: Uses(calls, time.time()) for name, calls in self._calls.items() if name in found}
                self._records = found | {name: used(found[name], uses) for name, uses in more.items()}
            self._revision = revision
            self._show(None)

    def _read_once(self) -> None:
        if self._revision < 0:
            with self._turn:
                self._look()

    def _edit(self, names: Iterable[str], change: Callable[[ToolRecord], ToolRecord]) -> list[ToolRecord]:
        with self._turn:
            self._look()
            edited = [change(record) for record in self._matching(names)]
            self._save(edited)
        return edited

    def _matching(self, names: Iterable[str]) -> Iterator[ToolRecord]:
        """The tools of these names, which may be patterns."""
        for name in names:
            found = [one for one in self._records.values() if "*" in name and fnmatchcase(one.name, name)]
            yield from found or (self.find(name),)

    def _save(self, records: Iterable[ToolRecord]) -> None:
        """Store records without secrets; too large records, and those whose name is a secret, are left out."""
        clean = [one for one in map(self._cleaned, records) if one]
        self._write_uses()  # records include these calls, which would otherwise be counted twice
        for batch in _batches(clean):
            self._wrote(lambda batch=batch: self.storage.save(batch))
            self._records.update({record.name: merged(self._records.get(record.name), record) for record in batch})
        self._show({record.server for record in clean})

    def _drop(self, names: Sequence[str]) -> None:
        if names:
            self._wrote(lambda: self.storage.delete(names))
            self._show({self._records.pop(name).server for name in names if name in self._records})

    def _write_uses(self) -> None:
        self._counted = max(self._counted, time.monotonic())
        with self._counting:
            calls = Counter(self._calls)
        if calls:
            self._wrote(lambda: self.storage.count({name: Uses(one, time.time()) for name, one in calls.items()}))
            with self._counting:
                self._calls -= calls

    def _indexed(self) -> SearchIndex:
        with self._turn:
            if self._index is None:
                self._index = self._new_index()
                self._show(None)
            return self._index

    def _wrote(self, work: Callable[[], None]) -> None:
        """Run a write; if no other process has written meanwhile, the storage need not be read again."""
        work()
        if self.storage.revision() == self._revision + 1:
            self._revision += 1

    def _cleaned(self, record: ToolRecord) -> ToolRecord | None:
        data = dumps(record.as_json())
        if len(data) > _LARGEST_RECORD:
            log.warning("the registry leaves out %s: its definition has %d bytes", safe(record.name), len(data))
            return None
        if (clean := self._redact(data)) == data:
            return record
        redacted = record_of(loads(clean))
        return redacted if redacted.name == record.name else None

    def _show(self, servers: set[str] | None) -> None:
        """Put the present tools of these servers into the index; None puts those of all servers."""
        if self._index is None:
            return
        groups: dict[str, list[Document]] = {server: [] for server in (self._shown if servers is None else servers)}
        for one in self._records.values():
            if one.listed and (servers is None or one.server in servers):
                tags = (*one.tags, *filter(None, (one.category,)))
                raw = {**one.definition, "name": one.tool}
                groups.setdefault(one.server, []).append(Document(one.ref, raw, tags))
        for server, documents in groups.items():
            self._index.put((server, "tool"), Listed(documents))
        self._shown |= groups.keys()


def why(reasons: Iterable[Reason]) -> str:
    """The places of a match in a few words."""
    return "; ".join(f"{one.field}: {', '.join(one.words) or one.text}".rstrip(": ") for one in reasons)


def _name(server: str, tool: str) -> str:
    return f"{server}.{tool}" if server else tool


def _spellings(name: str) -> Iterator[str]:
    """The possible meanings of a name: the flat form does not tell where the server's name ends."""
    yield name
    parts = name.split("__") if len(name) <= 2 * LONGEST_NAME else [""]
    for at in range(2, len(parts)) if parts[0] == "mcp" else ():
        yield f"{'__'.join(parts[1:at])}.{'__'.join(parts[at:])}"


def _batches(records: Sequence[ToolRecord]) -> Iterator[Sequence[ToolRecord]]:
    return (records[at : at + BATCH] for at in range(0, len(records), BATCH))
