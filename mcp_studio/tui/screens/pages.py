"""One list of one server as it comes: a page at a time, with its cursors, its size and how long it is fresh."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual import getters
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.catalog.listing import METHODS, EntryKind, Page
from mcp_studio.catalog.refresh import list_page
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import dumps
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.json_view import JsonView

_KEPT = 50
"""Pages that can be gone back to."""


class Pages(Dialog[None]):
    """The first page is asked for at once, each further one by a button."""

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("next", "Next page", "primary"), Choice("previous", "Page before"), Choice("restart", "First page"),
        Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    about = getters.query_one("#about", Static)

    def __init__(self, server: str, kind: EntryKind) -> None:
        super().__init__()
        self._server = server
        self._kind: EntryKind = kind
        self._pages: list[tuple[Page, bytes]] = []
        """Pages, and their results as JSON."""
        self._at = -1
        self._view = JsonView()

    def heading(self) -> str:
        return f"{METHODS[self._kind][0]} of {self._server}"

    def body(self) -> Iterable[Widget]:
        yield Static(id="about", classes="gap", markup=False)
        yield Findable(self._view)

    def on_mount(self) -> None:
        self._view.focus()
        self.action_restart()

    def action_next(self) -> None:
        """The next page: one that was read already, else from the server."""
        if self._at + 1 < len(self._pages):
            self._show(self._at + 1)
        else:
            self._read(self._pages[-1][0].following if self._pages else None)

    def action_previous(self) -> None:
        self._show(self._at - 1)

    def action_restart(self) -> None:
        self._pages, self._at = [], -1
        self._read(None)

    def action_copy(self) -> None:
        self._view.copy()

    def _read(self, cursor: str | None) -> None:
        self.about.update(Content(f"Reading page {len(self._pages) + 1} …"))
        self._set_buttons(reading=True)
        self.run_worker(self._ask(cursor), exclusive=True)

    async def _ask(self, cursor: str | None) -> None:
        try:
            page = await list_page(self.app.studio.manager.connection(self._server), self._kind, cursor)
            raw = await asyncio.to_thread(dumps, page.raw)
        except StudioError as error:
            self.about.update(Content.styled(safe(f"{error.message} {error.hint}", 600), "$state-failed"))
            self._set_buttons(reading=False)
        else:
            self._pages = [*self._pages[-_KEPT + 1 :], (page, raw)]
            self._show(len(self._pages) - 1)

    def _show(self, at: int) -> None:
        self._at = at
        self.about.update(self._facts())
        self._view.show(self._pages[at][1])
        self._set_buttons(reading=False)

    def _set_buttons(self, *, reading: bool) -> None:
        last = bool(self._pages) and self._pages[-1][0].following is None and self._at == len(self._pages) - 1
        for name, useless in (("next", last), ("previous", self._at < 1), ("restart", False)):
            self.query_one(f"#{name}", Button).disabled = reading or useless

    def _facts(self) -> Content:
        page, raw = self._pages[self._at]
        facts = [
            f"page {self._at + 1} of {len(self._pages)} read", units.plural(len(page.items), self._kind),
            units.size(len(raw)), units.duration(page.ms),
        ]  # fmt: skip
        if page.hint is not None:
            facts.append(f"fresh for {units.seconds(page.hint.ttl)}, {page.hint.scope}")
        asked = "none: the first page" if page.cursor is None else f'"{safe(page.cursor, 200)}"'
        following = "none: the last page" if page.following is None else f'"{safe(page.following, 200)}"'
        parts: list[str | tuple[str, str]] = [
            (" · ".join(facts), "bold"),
            f"\ncursor       {asked}\nnextCursor   {following}",
        ]
        problems = filter(None, (page.problem, page.hint.problem if page.hint else ""))
        parts += [(f"\n{safe(problem, 300)}", "$state-busy") for problem in problems]
        total = sum(len(one.items) for one, _ in self._pages)
        if len(self._pages) > 1:
            parts.append((f"\n{total:,} in {units.plural(len(self._pages), 'page')} so far", "$quiet"))
        return Content.assemble(*parts)
