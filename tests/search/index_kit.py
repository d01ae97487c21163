"""What tests of the index share: documents, listings, and packages that bring methods."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mcp_studio.catalog.listing import KINDS, EntryKind, Listing, Ref, salvage
from mcp_studio.search.engine import Listed
from mcp_studio.search.index import SearchIndex
from mcp_studio.search.method import Document, Found

Plug = Callable[..., None]
Make = Callable[..., "Index"]


class Index(SearchIndex):
    """An index of documents that can be asked without a loop."""

    def list(self, server: str, kind: EntryKind, documents: Sequence[Document]) -> None:
        """List all documents of one kind of a server."""
        own = [one for one in documents if (one.ref.server, one.ref.kind) == (server, kind)]
        self.put((server, kind), Listed(own))

    def forget(self, server: str) -> None:
        """List nothing any more."""
        for kind in KINDS:
            self.put((server, kind), Listed(()))

    def ask_now(self, text: str, **how: Any) -> Found:
        """Ask, blocking."""
        return asyncio.run(self.ask(text, **how))


def document(server: str, name: str, description: str = "", kind: EntryKind = "tool", **more: Any) -> Document:
    """A document as a server lists it."""
    key = {"tool": "name", "prompt": "name", "resource": "uri", "template": "uriTemplate"}[kind]
    return Document(Ref(kind, server, name), {key: name, "description": description, **more})


def listing(server: str, tools: dict[str, str], kind: EntryKind = "tool", *, remembered: bool = False) -> Listing:
    """A list of a server, by names and descriptions."""
    items = [document(server, name, said, kind).raw for name, said in tools.items()]
    return Listing(server, kind, salvage(server, kind, items, remembered=remembered), "fresh")


def names(found: Found) -> list[str]:
    """What was found, as `server.name`."""
    return [str(hit.ref) for hit in found.hits]


earlier: set[threading.Thread] = set()
"""The threads that other tests of this process left, as those that ended a program in the middle of a search."""


def searching() -> list[str]:
    """The threads of searches that are there."""
    threads = [thread for thread in threading.enumerate() if thread not in earlier]
    return [thread.name for thread in threads if thread.name.startswith("search")]


def package(
    folder: Path, name: str, code: str, methods: Iterable[str], group: str = "mcp_studio.search_methods"
) -> None:
    """A package that is installed in a folder: `methods` are lines such as `initials = module:Initials`."""
    (folder / f"{name}.py").write_text(code, "utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *methods, ""]), "utf-8")
