"""The search as a judge of catalogues asks for it: `build(tools)` gives `search(query, limit, method)`.

A tool is a dict with `server`, `name`, `description`, `input_schema`. Words are indexed at once, by `bm25`; the other
methods when first asked for: okapi, substring, regex, and semantic, hybrid, auto with all vectors computed before the
first answer, or read where they were kept.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mcp_studio.catalog.ref import Ref
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.document import Document
from mcp_studio.search.method import Method, Query
from mcp_studio.search.serving import OWN

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
        method.add(given[start : start + BATCH])
    return method


def build(tools: Iterable[Mapping[str, Any]]) -> Search:
    """Index the tools by their words, and give what searches them."""
    given = documents(tools)
    engines: dict[str, Method] = {"bm25": filled(Bm25(), given)}

    def search(query: str, limit: int, method: str = "bm25") -> Sequence[tuple[str, str]]:
        if method not in engines:
            engines[method] = filled(made(method), given)
        answer = engines[method].search(Query(query, limit))
        return [(hit.ref.server, hit.ref.name) for hit in answer.hits]

    return search
