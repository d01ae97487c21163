"""Searching as a studio does it: the index is made, and what it needs imported, when somebody first searches."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.session.manager import ConnectionManager

if TYPE_CHECKING:
    from mcp_studio.search.index import SearchIndex
    from mcp_studio.search.method import Found
    from mcp_studio.search.usage import Usage


class Searches:
    """The part of `Studio` that finds things."""

    config: Config
    paths: Paths
    redactor: Redactor
    catalog: Catalog
    manager: ConnectionManager

    @cached_property
    def usage(self) -> Usage:
        """What a person has run and opened."""
        from mcp_studio.search.usage import Usage

        file = self.paths.state / "search-usage.json" if self.config.settings.search_usage else None
        return Usage(file, self.redactor.text)

    @cached_property
    def index(self) -> SearchIndex:
        """The index over everything that servers offer; it follows the catalog from its first use on."""
        from mcp_studio.search.index import SearchIndex

        settings = self.config.settings
        return SearchIndex(
            self.catalog, tags=self._tags, servers=self.manager.names, usage=self.usage, cache=self.paths.cache,
            semantic=settings.search_semantic, cjk=settings.search_cjk,
        )  # fmt: skip

    async def search(
        self,
        text: str,
        *,
        method: str = "auto",
        kinds: Collection[EntryKind] | None = None,
        servers: Collection[str] | None = None,
        limit: int = 50,
        typing: bool = False,
        once: bool = False,
    ) -> Found:
        """Find tools, resources, templates and prompts of all servers, or of some; see `index.Asking`.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        from mcp_studio.search.method import Scope

        scope = Scope(None if servers is None else frozenset(servers), None if kinds is None else frozenset(kinds))
        return await self.index.ask(text, method=method, scope=scope, limit=limit, typing=typing, once=once)

    async def end_search(self) -> None:
        """End what was begun, bounded."""
        if "index" in self.__dict__:
            await asyncio.to_thread(self.index.close)
        if "usage" in self.__dict__:
            self.usage.close()
            await asyncio.to_thread(self.usage.write)

    def _tags(self, server: str) -> tuple[str, ...]:
        group = self.manager.config(server).group if server in self.manager.names() else ""
        return (group,) if group else ()
