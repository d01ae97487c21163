"""The interface of a search method. A package adds one by an entry point; see `docs/search.md`."""

from collections.abc import Collection, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from mcp_studio.catalog.listing import Entry, EntryKind, Ref
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.record import record

T = TypeVar("T")


class Document(NamedTuple):
    """One entry of a server, raw: foreign text, unsanitized, of any size and shape.

    `search.fields` reads its fields with bounds, so that methods need not keep copies of the texts.
    """

    ref: Ref
    raw: dict[str, Json]
    tags: tuple[str, ...] = ()
    """Words about the entry from the person or the studio: the server's group, the tags."""


LONGEST = 2_000
"""Characters of a query that are read; the answer says if the query was longer."""


class Scope(NamedTuple):
    """The servers and kinds to search; None means all."""

    servers: frozenset[str] | None = None
    kinds: frozenset[EntryKind] | None = None

    def has(self, ref: Ref) -> bool:
        """Whether an entry is in the scope."""
        return (self.servers is None or ref.server in self.servers) and (self.kinds is None or ref.kind in self.kinds)


EVERYWHERE = Scope()


class Query(NamedTuple):
    """A search request."""

    text: str
    limit: int = 50
    """The most hits of the answer."""
    scope: Scope = EVERYWHERE
    typing: bool = False
    """Whether the person is still typing, so that the last word may be incomplete."""
    named: bool = False
    """Whether only names that contain the text are wanted, not other fields or similar names."""


class Reason(NamedTuple):
    """Why an entry was found."""

    field: str
    """The field: `name`, `title`, `server`, `description`, `parameter`, `tag`, `uri` …; `meaning` if no word matched.
    """
    words: tuple[str, ...] = ()
    """The pieces of the field's text that matched, unchanged."""
    text: str = ""
    """The part of the field's text around the first piece, for fields that are not shown otherwise."""


BY_MEANING = (Reason("meaning"),)
"""The reason of a hit that no word explains."""


BY_LETTERS = (Reason("letters"),)
"""The reason of a hit by its letters; their places are looked up only for hits that are shown."""
BY_LIKENESS = (Reason("letters", text="similar"),)
"""The reason of a hit whose name is only similar."""


class Scored(NamedTuple):
    """A hit of a method."""

    ref: Ref
    score: float
    """Larger is better; comparable within one answer only."""
    reasons: tuple[Reason, ...] = ()
    """Empty if the method leaves it to the studio to say what matched."""


def order(hit: Scored) -> tuple[float, str, str, str]:
    """The sort key: best first, equal hits by server, name and kind."""
    return (-hit.score, hit.ref.server, hit.ref.name, hit.ref.kind)


class Answer(NamedTuple):
    """The result of a method."""

    hits: Sequence[Scored]
    """Best first; equal hits by server, then name, then kind, so that the order is always the same."""
    total: int
    """The number of all hits."""
    note: str = ""
    """A sentence for the person: what was not searched, and why."""


class SearchProblem(UsageError):
    """The query cannot be answered: an invalid pattern, or a method that is not installed.

    `at` is the position of the error in the text, in characters, or None.
    """

    def __init__(self, message: str, *, hint: str = "", at: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.at = at


class Method(Protocol):
    """A search method. Calls never overlap, and come from different threads."""

    def index(self, documents: Sequence[Document]) -> None:
        """Add documents that are new; some dozens at a time, so that queries are answered in between."""
        ...

    def remove(self, refs: Collection[Ref]) -> None:
        """Remove documents."""
        ...

    def search(self, query: Query) -> Answer:
        """Answer a query.

        Raises:
            SearchProblem: the method does not take such a query.
        """
        ...


@record(frozen=True)
class Used:
    """The number of runs and openings of an entry by the person, and the time of the last one."""

    count: int
    last: float
    """Seconds since the epoch."""


class Hit(NamedTuple):
    """One entry in the answer to a query."""

    ref: Ref
    score: float
    """Larger is better; comparable within one answer only."""
    reasons: tuple[Reason, ...] = ()
    """Where the query matched; empty for an empty query."""
    entry: Entry | None = None
    """The entry of the catalog; None where the document came from elsewhere."""
    used: Used | None = None

    def as_json(self) -> Json:
        """The hit for scripts."""
        ref, view = self.ref, self.entry.view if self.entry is not None else None
        return {
            "ref": str(ref), "server": ref.server, "name": ref.name, "kind": ref.kind, "score": round(self.score, 6),
            "reasons": [{"field": one.field, "words": list(one.words), "text": one.text} for one in self.reasons],
            "title": view.title if view else "", "description": view.description if view else "",
            "remembered": self.entry is not None and self.entry.remembered,
        }  # fmt: skip


class Found(NamedTuple):
    """The answer to one query."""

    query: Query
    hits: tuple[Hit, ...] = ()
    """Best first."""
    total: int = 0
    """The number of all hits."""
    of: int = 0
    """The number of entries in the scope."""
    ms: float = 0.0
    """Milliseconds of the search, without waiting for the thread."""
    method: str = ""
    """The methods that answered: with `auto` such as `substring+bm25`; `used` for an empty query."""
    note: str = ""
    """A sentence or two for the person; may be empty."""
    pending: int = 0
    """Entries that were not indexed yet: the same query after `SearchIndex.changed` may find more."""

    def as_json(self) -> Json:
        """The answer for scripts."""
        return {
            "query": self.query.text, "method": self.method, "total": self.total, "of": self.of,
            "hits": [hit.as_json() for hit in self.hits], "note": self.note, "ms": round(self.ms, 2),
        }  # fmt: skip


class MethodInfo(NamedTuple):
    """A method that can be chosen."""

    name: str
    title: str
    """A few words for a person."""
    available: bool = True
    why_not: str = ""
    """A sentence on why the method cannot be used, and what to do about it."""
    package: str = ""
    """The package of the method; empty for our own."""


class Rows(Generic[T]):
    """A method that holds a row for each document."""

    def __init__(self) -> None:
        self._rows: dict[Ref, T] = {}
        self._derived: Any = None
        """What was computed from the rows, until they change."""

    def _row(self, document: Document) -> T:
        raise NotImplementedError

    def index(self, documents: Sequence[Document]) -> None:
        """Add documents; a document with a known name replaces the earlier one."""
        self._rows.update((document.ref, self._row(document)) for document in documents)
        self._derived = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Remove documents; missing ones do not matter."""
        for ref in refs:
            self._rows.pop(ref, None)
        self._derived = None
