"""What a way of searching has to be able to do. A package adds one by an entry point; see `docs/search.md`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from mcp_studio.catalog.listing import Entry, EntryKind, Ref
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.record import record

T = TypeVar("T")


class Document(NamedTuple):
    """What one server lists under one name, raw: foreign text, unsanitized, of any size and shape.

    Its fields are read out by `search.fields`, bounded; nobody keeps copies of the texts who need not.
    """

    ref: Ref
    raw: dict[str, Json]
    tags: tuple[str, ...] = ()
    """Words of the person or the studio about it: the server's group, what it is marked with."""


LONGEST = 2_000
"""Characters of a question that are looked at; what comes after them is left out, and that is said."""


class Scope(NamedTuple):
    """Where to search; None is everywhere."""

    servers: frozenset[str] | None = None
    kinds: frozenset[EntryKind] | None = None

    def has(self, ref: Ref) -> bool:
        """Whether an entry lies in it."""
        return (self.servers is None or ref.server in self.servers) and (self.kinds is None or ref.kind in self.kinds)


EVERYWHERE = Scope()


class Query(NamedTuple):
    """What somebody asks."""

    text: str
    limit: int = 50
    """The most hits that are wanted."""
    scope: Scope = EVERYWHERE
    typing: bool = False
    """The person is still typing: the last word may be the beginning of one."""
    named: bool = False
    """Only names that have what is typed are wanted, not what has it elsewhere or is only similar."""


class Reason(NamedTuple):
    """Why something was found."""

    field: str
    """Where: `name`, `title`, `server`, `description`, `parameter`, `tag`, `uri` …; `meaning` where no word did it."""
    words: tuple[str, ...] = ()
    """Pieces of the field's own text that did it, as they stand there."""
    text: str = ""
    """A stretch of the field's text round the first of them, where the field is not shown in any case."""


BY_MEANING = (Reason("meaning"),)
"""Of what is found where no word did it."""


BY_LETTERS = (Reason("letters"),)
"""Of what was found by its letters: where they stand is looked up for what is shown."""
BY_LIKENESS = (Reason("letters", text="similar"),)
"""Of what has a name that is only nearly right."""


class Scored(NamedTuple):
    """One thing that was found."""

    ref: Ref
    score: float
    """The larger the better; comparable within one answer only."""
    reasons: tuple[Reason, ...] = ()
    """Empty where the method leaves it to the studio to say what matched."""


def order(hit: Scored) -> tuple[float, str, str, str]:
    """The best first; equal ones by server, name and kind."""
    return (-hit.score, hit.ref.server, hit.ref.name, hit.ref.kind)


class Answer(NamedTuple):
    """What a method found."""

    hits: Sequence[Scored]
    """The best first; equal ones by server, then name, then kind, so that it is the same every time."""
    total: int
    """How many there are in all."""
    note: str = ""
    """What a person should know, in a sentence: what was not looked at, and why."""


class SearchProblem(UsageError):
    """The question cannot be asked in this way: an invalid pattern, a method that is not installed.

    `at` is the place in the text, in characters, where there is one.
    """

    def __init__(self, message: str, *, hint: str = "", at: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.at = at


class Method(Protocol):
    """One way of searching. Calls never overlap, and come from different threads."""

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents that are not there yet; some dozens at a time, so that questions come in between."""
        ...

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents that are there."""
        ...

    def search(self, query: Query) -> Answer:
        """Answer a question.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        ...


@record(frozen=True)
class Used:
    """How often something was run or opened by a person, and when last."""

    count: int
    last: float
    """Seconds since the epoch."""


class Hit(NamedTuple):
    """One thing that was found."""

    ref: Ref
    score: float
    """The larger the better; comparable within one answer only."""
    reasons: tuple[Reason, ...] = ()
    """Where it matches; empty for what is shown without a question."""
    entry: Entry | None = None
    """What the server listed; None where it came from elsewhere than the catalog."""
    used: Used | None = None

    def as_json(self) -> Json:
        """It for scripts."""
        ref, view = self.ref, self.entry.view if self.entry is not None else None
        return {
            "ref": str(ref), "server": ref.server, "name": ref.name, "kind": ref.kind, "score": round(self.score, 6),
            "reasons": [{"field": one.field, "words": list(one.words), "text": one.text} for one in self.reasons],
            "title": view.title if view else "", "description": view.description if view else "",
            "remembered": self.entry is not None and self.entry.remembered,
        }  # fmt: skip


class Found(NamedTuple):
    """The answer to one question."""

    query: Query
    hits: tuple[Hit, ...] = ()
    """The best first."""
    total: int = 0
    """How many there are in all."""
    of: int = 0
    """How many entries were in scope."""
    ms: float = 0.0
    """How long finding took, without waiting for a turn."""
    method: str = ""
    """What served: with `auto` those that it chose, such as `substring+bm25`; `used` for an empty question."""
    note: str = ""
    """What a person should know, in a sentence or two; may be empty."""
    pending: int = 0
    """Entries that were not taken up yet: asking again after `SearchIndex.changed` may find more."""

    def as_json(self) -> Json:
        """It for scripts."""
        return {
            "query": self.query.text, "method": self.method, "total": self.total, "of": self.of,
            "hits": [hit.as_json() for hit in self.hits], "note": self.note, "ms": round(self.ms, 2),
        }  # fmt: skip


class MethodInfo(NamedTuple):
    """A way of searching that can be chosen."""

    name: str
    title: str
    """A few words for a person."""
    available: bool = True
    why_not: str = ""
    """Why it cannot be used, in a sentence, with what to do about it."""
    package: str = ""
    """The package that it came with; empty for our own."""


class Rows(Generic[T]):
    """A method that has a row for each document."""

    def __init__(self) -> None:
        self._rows: dict[Ref, T] = {}
        self._made: Any = None
        """What was made of the rows, until there are others."""

    def _row(self, document: Document) -> T:
        raise NotImplementedError

    def add(self, documents: Sequence[Document]) -> None:
        """Take documents; one that is there is replaced."""
        self._rows.update((document.ref, self._row(document)) for document in documents)
        self._made = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents; those that are not there do not matter."""
        for ref in refs:
            self._rows.pop(ref, None)
        self._made = None


class Joined:
    """The texts of many rows as one: to look through that takes a tenth of the time."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = "\n".join(texts)
        self._starts = [*accumulate((len(text) + 1 for text in texts), initial=0)]

    def rows(self, find: Callable[[int], int]) -> Iterator[int]:
        """The rows in which something is found: `find` says where, from a place on; below 0 where it is not."""
        row, end = 0, len(self._starts) - 1
        while row < end and (place := find(self._starts[row])) >= 0:
            row = bisect_right(self._starts, place)
            yield row - 1
