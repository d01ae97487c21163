"""The data of one search thread: documents, the methods that search them, and the making of answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search import auto
from mcp_studio.search.index_file import IndexFile, Redact, key_of
from mcp_studio.search.method import (
    BY_LETTERS,
    LONGEST,
    Answer,
    Document,
    Found,
    Hit,
    Method,
    Query,
    Scope,
    Scored,
    SearchProblem,
    Used,
)
from mcp_studio.search.model import available
from mcp_studio.search.plugins import MethodOffer, checked, guarded, made
from mcp_studio.search.tokens import JIEBA_MISSING, words
from mcp_studio.search.usage import Usage, Uses
from mcp_studio.search.why import literal_reasons, reasons

if TYPE_CHECKING:
    from mcp_studio.search.bm25 import Bm25
    from mcp_studio.search.names import Substring
    from mcp_studio.search.semantic import Semantic

Group = tuple[str, EntryKind]
MEANT = ("semantic", "hybrid")
"""The methods that need vectors."""
_NEEDED = {auto.NAME: auto.LEXICAL, "hybrid": ("bm25", "semantic")}
"""The methods that a method asks."""
_BATCH = 32
"""Documents that a method gets at a time, so that queries are answered in between."""
_MANY_GONE = 1_000
_MANY = 1_000
"""The least number of documents for which an index file is faster than indexing."""
_RECENT = 8
"""The number of recently used entries that an empty query shows before the most used ones."""
_FEW = 3
"""The number of hits below which an answer to a complete query names what is not installed."""
_REASONED = 60
"""The number of best hits that get reasons, because finding reasons takes longer than the search."""
_ENOUGH = 0.8
"""The share of documents with vectors from which on meaning is mixed in."""
_TYPING = 0.1
"""Seconds for which a query that is still typed waits until all documents are indexed."""
_MEANT_WITHIN = 5.0
"""Seconds for which a query that asks for meaning by name waits for all vectors, unless asked `once`."""
_RECALLED_WITHIN = 1.0
_HYBRID_POOL = 200
"""The number of best hits by words that are mixed with meaning."""


class Listed(NamedTuple):
    """The entries of one kind that one server lists."""

    things: Sequence[Entry] | Sequence[Document]
    tags: tuple[str, ...] = ()


class Feed:
    """A method, and the documents that it has not got yet. An exception of the method becomes its `problem`."""

    def __init__(self, offer: MethodOffer, documents: Iterable[Document], file: IndexFile | None = None) -> None:
        self.offer = offer
        self.method: Method | None = None
        self.problem: SearchProblem | None = None
        self._indexed: set[Ref] = set()
        self._removals = 0
        self._todo: dict[Ref, Document | None] = {document.ref: document for document in documents}
        self._file = file
        """The file with the index of exactly these documents, if there is one."""

    @property
    def made(self) -> bool:
        """Whether the method exists, or has failed for good."""
        return self.method is not None or self.problem is not None

    @property
    def pending(self) -> int:
        """The number of documents that the method has not got yet."""
        return 0 if self.problem else len(self._todo)

    @property
    def worn(self) -> bool:
        """Whether more documents were removed than are left, so that the method should be created anew."""
        return self._removals > max(_MANY_GONE, len(self._indexed))

    def change(self, changes: Mapping[Ref, Document | None]) -> None:
        """Add changed documents; None stands for a removed one."""
        self._file = None
        self._todo.update(changes)

    def step(self) -> bool:
        """Create the method, or give it one batch; False where there is nothing to do."""
        if self.problem is not None or (self.method is not None and not self._todo):
            return False
        try:
            if self.method is None:
                self.method = made(self.offer)
                self._restore(cast("Bm25 | Substring", self.method))
            else:
                self._give(self.method, dict(islice(self._todo.items(), _BATCH)))
                if self._file is not None and not self._todo:
                    self._file.write(cast("Bm25 | Substring", self.method).state(self._file.redact))
                    self._file = None
        except SearchProblem as problem:
            self.problem, self.method = problem, None
        return True

    def _restore(self, method: Bm25 | Substring) -> None:
        """Restore the index from its file; without a usable file the method indexes its documents."""
        arrays = self._file.read() if self._file is not None else None
        if arrays is None:
            return
        try:
            method.restore(list(self._todo), arrays)
        except (KeyError, ValueError, UnicodeDecodeError):
            self.method = made(self.offer)
            return
        self._indexed.update(self._todo)
        self._todo.clear()
        self._file = None

    def _give(self, method: Method, batch: Mapping[Ref, Document | None]) -> None:
        for ref in batch:
            del self._todo[ref]
        removed = [ref for ref in batch if ref in self._indexed]
        fresh = [document for document in batch.values() if document is not None]
        if removed:
            guarded(self.offer, "it was told what has gone", lambda: method.remove(removed))
        if fresh:
            guarded(self.offer, "it was given what there is", lambda: method.index(fresh))
        self._indexed.difference_update(removed)
        self._indexed.update(document.ref for document in fresh)
        self._removals += len(removed)

    def ask(self, query: Query) -> Answer:
        """Ask the method.

        Raises:
            SearchProblem: the method does not take such a query, or has failed.
        """
        if self.problem is not None:
            raise self.problem.with_traceback(None)  # otherwise each query would lengthen the traceback
        method = self.method
        return guarded(self.offer, "it searched", lambda: method.search(query)) if method else Answer((), 0)

    def close(self) -> None:
        """Close the method."""
        if (close := getattr(self.method, "close", None)) is not None:
            with suppress(SearchProblem):
                guarded(self.offer, "it was closed", close)


class Engine:
    """Owned by one search thread; only `inbox` and `progress` may be used by others.

    Args:
        offers: the methods that can be asked for.
        semantic: mixes in meaning where nobody chose a method.
        notify: called after documents were indexed.
        cache: the folder with index files for commands that search once.
    """

    def __init__(
        self,
        offers: Mapping[str, MethodOffer],
        usage: Usage,
        semantic: bool,
        notify: Callable[[], None],
        cache: Path | None = None,
        redact: Redact = bytes,
    ) -> None:
        self.inbox: dict[Group, Listed] = {}
        """The new lists of servers, put here by any thread."""
        self.feeds: dict[str, Feed] = {}
        self._offers = offers
        self._semantic = semantic
        self._usage = usage
        self._notify = notify
        self._cache = cache
        self._redact = redact
        self._key = ""
        """The key of all documents; empty until it is needed."""
        self._notified_at = 0.0
        self._unreported = False
        self._groups: dict[Group, dict[Ref, tuple[Document, Entry | None]]] = {}
        self._notes: set[str] = set()
        """Notes that were shown once and need not be repeated."""

    # -------------------------------------------------------------- what there is

    def step(self) -> bool:
        """Compare a list, index a batch, or compute vectors; False where there is nothing to do."""
        more = self._step()
        self._unreported |= more
        if self._unreported and (not more or time.monotonic() - self._notified_at > 0.25):
            self._unreported, self._notified_at = False, time.monotonic()
            self._notify()
        return more

    def _step(self) -> bool:
        if self.inbox:
            self._compare(*self.inbox.popitem())
            return True
        if any([feed.step() for feed in tuple(self.feeds.values())]):
            return True
        meaning = self.meaning
        return meaning is not None and meaning.step()

    def _compare(self, group: Group, listed: Listed) -> None:
        """Pass the changes of a list on to the methods; of duplicates the first counts, and nameless entries do not."""
        before = self._groups.get(group, {})
        now: dict[Ref, tuple[Document, Entry | None]] = {}
        for one in listed.things:
            if one.ref.name and one.ref not in now:
                if isinstance(one, Document):
                    now[one.ref] = one, None
                else:
                    now[one.ref] = Document(one.ref, one.view.raw, listed.tags), one
        self._key = ""
        changes: dict[Ref, Document | None] = {ref: None for ref in before if ref not in now}
        for ref, (document, _) in now.items():
            if ref not in before or before[ref][0] != document:
                changes[ref] = document
        self._groups[group] = now
        for name, feed in tuple(self.feeds.items()) if changes else ():
            feed.change(changes)
            if feed.worn:
                feed.close()
                self.feeds[name] = Feed(feed.offer, self._documents())

    def _documents(self) -> Iterator[Document]:
        return (document for group in self._groups.values() for document, _ in group.values())

    def _get(self, ref: Ref) -> tuple[Document, Entry | None] | None:
        return self._groups.get((ref.server, ref.kind), {}).get(ref)

    def _feed(self, name: str, once: bool = False) -> Feed:
        """A method, which the next steps create; for `once` its index may come from a file."""
        if name not in self.feeds:
            offer, documents = self._offers[name], list(self._documents())
            file = None
            if once and offer.storable and self._cache is not None and len(documents) >= _MANY:
                self._key = self._key or key_of(documents)
                file = IndexFile(self._cache / "search" / f"{name}-{self._key}.npz", self._redact)
            self.feeds[name] = Feed(offer, documents, file)
        return self.feeds[name]

    # -------------------------------------------------------------- meaning

    @property
    def meaning(self) -> Semantic | None:
        """The method `semantic`, or None until it is created."""
        feed = self.feeds.get("semantic")
        return cast("Semantic | None", feed.method) if feed is not None else None

    @property
    def progress(self) -> tuple[int, int]:
        """The number of documents with vectors, and the number of all documents."""
        return self.meaning.progress if self.meaning is not None else (0, 0)

    def why_not(self, name: str) -> str:
        """Why a method cannot be used, and what to do about it; empty where nothing is known against it."""
        feed = self.feeds.get(name)
        if feed is not None and feed.problem is not None:
            return str(feed.problem)
        return available()[1] if name in MEANT else ""

    def _serves(self) -> bool:
        """Whether enough vectors are known and the model is loaded; otherwise asks for the model."""
        if not self._semantic or (meaning := self.meaning) is None:
            return False
        done, everything = self.progress
        return meaning.ready_model() is not None and done >= _ENOUGH * everything > 0

    def _recall(self) -> None:
        """Read vectors from the file, as long as it has nearly all of them; computes none."""
        end, feed = time.monotonic() + _RECALLED_WITHIN, self._feed("semantic")
        while feed.step() and time.monotonic() < end:
            pass
        with suppress(SearchProblem):  # the method says itself what is wrong
            meaning = self.meaning
            while meaning and meaning.look_up() and meaning.share >= _ENOUGH and time.monotonic() < end:
                pass
            if meaning and meaning.share >= _ENOUGH:
                meaning.model()
                return
        self.feeds.pop("semantic").close()  # otherwise the next steps would compute vectors

    # -------------------------------------------------------------- answers

    def ready(self, query: Query, method: str, once: bool) -> Callable[[], bool]:
        """A function that says whether a query can be answered now.

        A query that is still typed needs some documents, any other query all of them.
        """
        began = time.monotonic()

        def ready() -> bool:
            if self.inbox or not query.text.strip():
                return not self.inbox
            feeds = [self._feed(name, once) for name in _NEEDED.get(method, (method,))]
            waited = time.monotonic() - began
            if any(feed.pending or not feed.made for feed in feeds):
                return query.typing and waited > _TYPING and all(feed.made for feed in feeds)
            meaning = self.meaning if method in MEANT else None
            return query.typing or meaning is None or meaning.settled or (not once and waited > _MEANT_WITHIN)

        return ready

    def answer(self, query: Query, method: str, once: bool, cut: bool) -> Found:
        """Answer a query.

        Raises:
            SearchProblem: the method does not take such a query, or no method works.
        """
        began = time.perf_counter()
        of = sum(len(group) for (server, kind), group in self._groups.items() if query.scope.has(Ref(kind, server, "")))
        uses = self._usage.all()
        if not query.text.strip():
            hits = self._used_hits(query, uses)
            return Found(query, hits, of, of, 1000 * (time.perf_counter() - began), "used")
        feeds = [self._feed(name) for name in _NEEDED.get(method, (method,))]
        if method == auto.NAME:
            served = self._auto(query, feeds, uses, once)
        else:
            served = auto.Served(self._ask(method, query), method)
        answer, sources = served.answer, self._sources(query, method) if served.answer.hits else {}
        shown = (self._hit(one, uses, query, sources if at < _REASONED else None) for at, one in enumerate(answer.hits))
        # Among equal hits, current entries come before remembered ones.
        known = (hit for hit in shown if hit is not None)
        hits = tuple(sorted(known, key=lambda hit: (-hit.score, hit.entry is not None and hit.entry.remembered)))
        pending = max(feed.pending for feed in feeds)
        lacks = f"Only the first {LONGEST:,} characters were looked at." if cut else ""
        note = f"{lacks} {self._once(answer.note, JIEBA_MISSING)}".strip()
        return Found(query, hits, answer.total, of, 1000 * (time.perf_counter() - began), served.method, note, pending)

    def _once(self, text: str, note: str) -> str:
        """The text without a note that was shown before."""
        if note in self._notes:
            return text.replace(note, "").strip()
        if note in text:
            self._notes.add(note)
        return text

    def _auto(self, query: Query, feeds: Sequence[Feed], uses: Mapping[Ref, Uses], once: bool) -> auto.Served:
        if all(feed.problem is not None for feed in feeds):
            raise feeds[-1].problem or SearchProblem("No search method serves.")
        several = auto.several(query.text)
        if once and several and self._semantic and not available()[1]:
            self._recall()
        if not once and self._semantic and not available()[1] and not any(feed.pending for feed in feeds):
            self._feed("semantic")  # the words had to be indexed first

        def ask(name: str, question: Query) -> Answer:
            if name != "hybrid":
                return self._ask(name, question) if self._feed(name).problem is None else Answer((), 0)
            answer = self._ask(name, question)
            # The progress of the vectors is shown elsewhere, and not with every key.
            return answer._replace(note=JIEBA_MISSING if JIEBA_MISSING in answer.note else "")

        now = time.time()
        served = auto.search(query, ask, self._serves, lambda ref: uses[ref].strength(now) if ref in uses else 0.0)
        answer = served.answer
        if several and self._semantic and (query.typing or answer.total < _FEW) and available()[1]:
            lacks = f"Only words were compared. {available()[1]}."
            answer = answer._replace(note=f"{self._once(lacks, lacks)} {answer.note}".strip())
        return served._replace(answer=answer)

    def _ask(self, name: str, query: Query) -> Answer:
        if name == "hybrid":
            found = self._feed("bm25").ask(query._replace(limit=max(_HYBRID_POOL, query.limit)))
            feed, meaning = self._feed("semantic"), self.meaning
            if meaning is None:
                raise feed.problem or SearchProblem("The search by meaning is not ready yet.")
            return meaning.mixed(query, found)
        feed = self._feed(name)
        answer = feed.ask(query)
        if feed.offer.package:
            return guarded(feed.offer, "its answer was read", lambda: checked(feed.offer, answer, query, self._get))
        return answer

    def _sources(self, query: Query, method: str) -> dict[str, str]:
        """The words that make a document a hit, each with its text in the query."""
        feed = self.feeds.get("bm25")
        if feed is not None and feed.method is not None and method != "okapi":
            return cast("Bm25", feed.method).sources(query)
        return {word: word for word in words(query.text)}

    def _hit(
        self,
        scored: Scored,
        uses: Mapping[Ref, Uses],
        query: Query | None = None,
        sources: dict[str, str] | None = None,
    ) -> Hit | None:
        """The hit as shown; None where the document has gone meanwhile."""
        if (known := self._get(scored.ref)) is None:
            return None
        (document, entry), why = known, scored.reasons
        if why and why[0].field == BY_LETTERS[0].field:
            why = literal_reasons(document, query, why[0]) if query is not None and sources is not None else ()
        if sources is not None and all(reason.field == "meaning" for reason in why):
            why = reasons(document, sources) or why
        used = uses.get(scored.ref)
        return Hit(scored.ref, scored.score, why, entry, used and Used(used.runs + used.opened, used.last))

    def _used_hits(self, query: Query, uses: Mapping[Ref, Uses]) -> tuple[Hit, ...]:
        """The last used entries, then the most used ones, then all others in the order of the catalog."""
        here = [ref for ref in uses if query.scope.has(ref) and self._get(ref) is not None]
        last = sorted(here, key=lambda ref: (-uses[ref].last, ref))[:_RECENT]
        now = time.time()
        most = sorted(here, key=lambda ref: (-uses[ref].strength(now), ref))
        refs = islice(dict.fromkeys(chain(last, most, self._in_order(query.scope))), query.limit)
        return tuple(hit for ref in refs if (hit := self._hit(Scored(ref, 0.0), uses)))

    def _in_order(self, scope: Scope) -> Iterator[Ref]:
        """The entries in a scope: tools first, servers by name, entries as they were listed."""
        groups = [group for group in self._groups if scope.has(Ref(group[1], group[0], ""))]
        groups.sort(key=lambda group: (KINDS.index(group[1]), group[0]))
        return (ref for group in groups for ref in self._groups[group])

    def close(self) -> None:
        """Close all methods."""
        for feed in self.feeds.values():
            feed.close()


OWN = (
    ("substring", "words anywhere, and names nearly right", "mcp_studio.search.names:Substring"),
    ("regex", "a regular expression", "mcp_studio.search.regex:Regexes"),
    ("bm25", "words, by how much they tell (BM25 over fields)", "mcp_studio.search.bm25:Bm25"),
    ("okapi", "words, plain BM25 (rank_bm25)", "mcp_studio.search.bm25:Okapi"),
    ("semantic", "meaning", "mcp_studio.search.semantic:Semantic"),
    ("hybrid", "words and meaning", ""),
)
"""Our methods: name, a few words for a person, class. Numpy and others are imported when a method is first asked."""


def own_offers(cache: Path | None, cjk: Cjk) -> dict[str, MethodOffer]:
    """The methods of the studio itself."""
    arguments = {"bm25": (cjk,), "semantic": (cache,)}

    def make(name: str, place: str) -> Method:
        module, _, kind = place.partition(":")
        return getattr(import_module(module), kind)(*arguments.get(name, ()))

    storable = ("substring", "bm25") if cjk == "characters" else ("substring",)  # a dictionary may change
    return {
        name: MethodOffer(name, title, partial(make, name, place), "", name in storable) for name, title, place in OWN
    }
