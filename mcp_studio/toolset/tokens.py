"""The tokens that a model spends on tools: on all definitions, or on a search and one definition instead."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present.units import BYTES_PER_TOKEN
from mcp_studio.protocol.views import ToolView

ENCODING = "o200k_base"
_HITS, _ABOUT = 5, 300
"""The size of a search's answer: the number of tools, and of characters about each."""


class Tokenizer(NamedTuple):
    """Counts the tokens of a text."""

    name: str
    tokens: Callable[[str], int]


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the extra `tokens`; without the extra an estimate, whose name says so."""
    try:
        import bpe_openai  # pyright: ignore[reportMissingImports]

        encoding = bpe_openai.get_encoding(ENCODING)
    except ImportError:
        estimate = "an estimate by length; pip install 'mcp-studio[tokens]' counts exactly"
        return Tokenizer(estimate, lambda text: math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN))
    return Tokenizer(ENCODING, lambda text: len(encoding.encode_ordinary(text)))


class ToolTokens(NamedTuple):
    """The tokens of one tool."""

    ref: Ref
    whole: int
    """The tokens of its definition, as a model reads it."""
    description: int
    schema: int
    hit: int
    """The tokens of the tool in the answer to a search."""


class Account(NamedTuple):
    """The tokens of tools, and of searching them instead."""

    tokenizer: str
    """The name of the tokenizer."""
    tools: tuple[ToolTokens, ...]

    @property
    def total(self) -> int:
        """The tokens of all definitions."""
        return sum(one.whole for one in self.tools)

    @property
    def search(self) -> int:
        """The tokens of the search tools, of one search, and of the definition of the tool that it finds."""
        count = tokenizer().tokens
        own = sum(count(_text(one)) for name, one in search_tools().items() if name != "register_tool")
        hits = min(_HITS, len(self.tools)) * sum(one.hit for one in self.tools)
        return own + round((hits + self.total) / max(1, len(self.tools)))

    def as_json(self, results: int) -> dict[str, Json]:
        """The figures for programs; `results` are the tokens of results."""
        return {"tools": len(self.tools), "definitions": self.total, "search": self.search, "results": results}

    def of(self, server: str) -> Account:
        """The account of one server."""
        return self._replace(tools=tuple(one for one in self.tools if one.ref.server == server))


@cache
def search_tools() -> dict[str, dict[str, Any]]:
    """The tools that an agent gets instead of all others, by name: they find a tool, describe it, and call it."""
    listed = json.loads(Path(__file__).with_name("search_tools.json").read_text("utf-8"))
    return {tool["name"]: tool for tool in listed["tools"]}


def account(entries: Iterable[Entry]) -> Account:
    """Count the tokens of these tools; it takes a while for thousands of them."""
    name, count = tokenizer()
    tools: list[ToolTokens] = []
    for entry in entries:
        view = entry.view
        if isinstance(view, ToolView):
            row: dict[str, Json] = {"name": entry.ref.flat, "description": view.description[:_ABOUT]}
            whole = row | {"description": view.description, "input_schema": view.input_schema}
            parts = _text(whole), view.description, _text(view.input_schema), _text(row)
            tools.append(ToolTokens(entry.ref, *map(count, parts)))
    return Account(name, tuple(tools))


def _text(value: Json) -> str:
    return dumps(value).decode("utf-8", "replace")
