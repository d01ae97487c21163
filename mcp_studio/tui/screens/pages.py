"""One list of one server as it comes: a page at a time, with its cursors, its size and how long it is fresh."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.catalog.listing import METHODS, EntryKind, Page
from mcp_studio.catalog.refresh import list_page
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import dumps
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

KEPT = 50
"""Pages that can be gone back to."""


class Pages(Dialog[None], scope="pages"):
    """The first page is asked for at once, each further one by a key; pages that were read can be gone back to."""

    def __init__(self, studio: Studio, server: str, kind: EntryKind) -> None:
        super().__init__()
        self._studio = studio
        self._server = server
        self._kind: EntryKind = kind
        self._pages: list[Page] = []
        self._raw: list[bytes] = []
        """The results of the pages as JSON."""
        self._at = -1
        self._asking = False
        self._about = Static()
        self._view = Findable(JsonView())

    def heading(self) -> Content:
        """The method and the server."""
        return Content(f"{METHODS[self._kind][0]}  {safe(self._server, 60)}")

    def body(self) -> Iterable[Widget]:
        """What is to be known about the page, above the page."""
        yield self._about
        yield self._view

    def on_mount(self) -> None:
        """Ask for the first page."""
        self.query_one("#box").add_class("-tall")
        self._view.view.focus()
        self._read(None)

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_next(self) -> None:
        """The next page: one that was read already, else from the server."""
        if self._at + 1 < len(self._pages):
            self._show(self._at + 1)
        elif self._pages and (cursor := self._pages[-1].following) is not None and not self._asking:
            self._read(cursor)

    def action_previous(self) -> None:
        """The page before."""
        if self._at > 0:
            self._show(self._at - 1)

    def action_again(self) -> None:
        """Begin anew with the first page."""
        if not self._asking:
            self._pages, self._raw, self._at = [], [], -1
            self._read(None)

    def action_copy(self) -> None:
        """Copy the value under the cursor."""
        self._view.view.action_copy()

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _read(self, cursor: str | None) -> None:
        self._asking = True
        self._about.update(Content(f"Asking for page {len(self._pages) + 1} …"))
        self.run_worker(self._ask(cursor), exclusive=True)

    async def _ask(self, cursor: str | None) -> None:
        try:
            page = await list_page(self._studio.manager.connection(self._server), self._kind, cursor)
            raw = await asyncio.to_thread(dumps, page.raw)
        except StudioError as error:
            told = Content.assemble((safe(error.message, 600), "$state-failed"))
            self._about.update(told if not self._pages else told + Content("\n") + self._told())
            return
        finally:
            self._asking = False
        if len(self._pages) >= KEPT:
            del self._pages[0], self._raw[0]
        self._pages.append(page)
        self._raw.append(raw)
        self._show(len(self._pages) - 1)

    def _show(self, at: int) -> None:
        self._at = at
        self._about.update(self._told())
        self._view.view.set_json(self._raw[at])

    def _told(self) -> Content:
        page = self._pages[self._at]
        facts = [
            f"page {self._at + 1} of {len(self._pages)} read",
            units.plural(len(page.items), self._kind),
            units.size(len(self._raw[self._at])),
            units.duration(page.ms),
        ]
        if page.hint is not None:
            facts.append(f"fresh for {units.seconds(page.hint.ttl)}, {page.hint.scope}")
        asked = "no cursor, the first page" if page.cursor is None else f'"{safe(page.cursor, 200)}"'
        following = "none, this is the last page" if page.following is None else f'"{safe(page.following, 200)}"'
        parts: list[str | tuple[str, str]] = [
            (" · ".join(facts), "b"),
            f"\nasked with    {asked}\nnext cursor   {following}",
        ]
        for problem in (page.problem, page.hint.problem if page.hint else ""):
            if problem:
                parts.append((f"\n{safe(problem, 300)}", "$state-busy"))
        total = sum(len(one.items) for one in self._pages)
        if len(self._pages) > 1:
            sizes = " + ".join(str(len(one.items)) for one in self._pages[-12:])
            more = "… + " if len(self._pages) > 12 else ""
            parts.append((f"\nso far        {more}{sizes} = {total:,}", "$quiet"))
        return Content.assemble(*parts)
