"""The search as a judge of catalogues asks for it: `build(tools)` gives `search(query, limit, method)`.

A tool is a dict with `server`, `name`, `description`, `input_schema`. Words are indexed at once, by `bm25`; the other
methods when first asked for: okapi, substring, regex, and semantic, hybrid, auto with all vectors computed before the
first answer, or read where they were kept.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcp_studio.catalog.listing import Ref
from mcp_studio.paths import Paths
from mcp_studio.search import auto
from mcp_studio.search.engine import OWN
from mcp_studio.search.method import Answer, Document, Method, Query

if TYPE_CHECKING:
    from mcp_studio.search.semantic import Semantic

BATCH = 64
"""Documents that are taken up at a time, as the index does it."""
Search = Callable[[str, int, str], Sequence[tuple[str, str]]]


def documents(tools: Iterable[Mapping[str, Any]]) -> list[Document]:
    """One document for each tool; of duplicates the first."""
    found: dict[Ref, Document] = {}
    for tool in tools:
        ref = Ref("tool", tool["server"], tool["name"])
        raw = {"name": ref.name, "description": tool.get("description"), "inputSchema": tool.get("input_schema")}
        found.setdefault(ref, Document(ref, raw))
    return list(found.values())


def made(method: str) -> Method:
    """A method of ours by its name, empty."""
    module, _, name = next(place for own, _, place in OWN if own == method).partition(":")
    return getattr(importlib.import_module(module), name)()


def filled(method: Method, given: Sequence[Document]) -> Method:
    """The method with all documents taken up, some at a time."""
    for start in range(0, len(given), BATCH):
        method.index(given[start : start + BATCH])
    return method


class Engines:
    """The methods over the same documents, each made when it is first asked."""

    def __init__(self, given: Sequence[Document]) -> None:
        self._given = given
        self._made: dict[str, Method] = {}

    def ask(self, name: str, query: Query) -> Answer:
        """Answer a question by a method of ours, or by the studio's choice of them."""
        if name == auto.NAME:
            return auto.search(query, self.ask, meaning=lambda: True).answer
        if name == "hybrid":
            return self.meaning.mixed(query, self.ask("bm25", query._replace(limit=max(200, query.limit))))
        return self.method(name).search(query)

    def method(self, name: str) -> Method:
        """A method that knows all documents."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Method:
        if name == "semantic":
            return self.meaning
        return filled(made(name), self._given)

    @cached_property
    def meaning(self) -> Semantic:
        """Meaning, all vectors known."""
        from mcp_studio.search.semantic import Semantic

        meaning = Semantic(Paths.default().cache)
        filled(meaning, self._given)
        while meaning.step():
            done, of = meaning.progress
            if done % 100 == 0:
                print(f"meanings: {done:,} of {of:,}", file=sys.stderr)
        meaning.search(Query("the model is loaded by the first question, which waits for it"))
        return meaning


def build(tools: Iterable[Mapping[str, Any]]) -> Search:
    """Index the tools by their words, and give what searches them."""
    engines = Engines(documents(tools))
    engines.method("bm25")

    def search(query: str, limit: int, method: str = "bm25") -> Sequence[tuple[str, str]]:
        return [(hit.ref.server, hit.ref.name) for hit in engines.ask(method, Query(query, limit)).hits]

    return search
