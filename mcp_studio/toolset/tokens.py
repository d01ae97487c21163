"""What tools cost a model to read, in tokens: all definitions, or a search and one definition instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.views import ToolView
from mcp_studio.toolset.search_tools import TOOLS, definition_of

ENCODING = "o200k_base"
_BYTES = 4.3
"""Bytes of a definition for each token of the estimate: 75 tools of six common servers have that many."""
_HITS, _ABOUT = 5, 300
"""What a search gives: so many tools, and so many characters about each."""


class Tokenizer(NamedTuple):
    """What counts."""

    name: str
    tokens: Callable[[str], int]


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the extra `tokens`; without it an estimate, which is called so."""
    try:
        import bpe_openai  # pyright: ignore[reportMissingImports]

        encoding = bpe_openai.get_encoding(ENCODING)
    except ImportError:
        return Tokenizer("an estimate by length; mcp-studio[tokens] counts", estimate)
    return Tokenizer(ENCODING, lambda text: len(encoding.encode_ordinary(text)))


def estimate(text: str) -> int:
    """About how many tokens a text has."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES)


class ToolTokens(NamedTuple):
    """What one tool costs."""

    ref: Ref
    whole: int
    """Its definition, as a model reads it."""
    description: int
    schema: int


class Account(NamedTuple):
    """What all tools cost, and what searching them costs instead."""

    tokenizer: str
    """What counted."""
    tools: tuple[ToolTokens, ...]
    search: int
    """The tools that search, one search, and the definition of the tool that it found."""

    @property
    def total(self) -> int:
        """All definitions together."""
        return sum(one.whole for one in self.tools)

    @property
    def servers(self) -> dict[str, int]:
        """The definitions of each server together, the most first."""
        sums: dict[str, int] = {}
        for one in self.tools:
            sums[one.ref.server] = sums.get(one.ref.server, 0) + one.whole
        return dict(sorted(sums.items(), key=lambda one: -one[1]))


def account(entries: Iterable[Entry]) -> Account:
    """What these tools cost: it may take a while for thousands of them."""
    name, count = tokenizer()
    tools, rows = list[ToolTokens](), list[int]()
    for entry in entries:
        view = entry.view
        if isinstance(view, ToolView):
            parts = view.description, _text(view.input_schema)
            tools.append(ToolTokens(entry.ref, count(definition_text(entry.ref.flat, view)), *map(count, parts)))
            rows.append(count(_text({"name": entry.ref.flat, "description": view.description[:_ABOUT]})))
    own = sum(count(_text(definition_of(one))) for one in TOOLS)
    mean = sum(one.whole for one in tools) / len(tools) if tools else 0
    found = min(_HITS, len(rows)) * sum(rows) / len(rows) if rows else 0
    return Account(name, tuple(tools), round(own + found + mean))


def definition_text(name: str, view: ToolView) -> str:
    """A definition as it stands before a model."""
    return _text({"name": name, "description": view.description, "input_schema": view.input_schema})


def _text(value: Json) -> str:
    return dumps(value).decode("utf-8", "replace")
