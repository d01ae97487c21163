"""One list of one server, page by page: each page with its cursor, its size and how long it stays fresh."""

from __future__ import annotations

import asyncio

from textual import getters, work
from textual.widgets import Button, Static

from mcp_studio.catalog.listing import METHODS, EntryKind, Page
from mcp_studio.catalog.refresh import list_page
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import dumps
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, Widgets
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.rows import Findable


class Pages(Dialog[None]):
    """Requests the first page at once, and each further page when the person presses a button."""

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("next", "Next page", "primary"), Choice("restart", "First page"), Choice("copy", "Copy"),
        Choice("back", "Close"),
    )  # fmt: skip
    view = getters.query_one(JsonView)

    def __init__(self, server: str, kind: EntryKind) -> None:
        super().__init__(f"{METHODS[kind][0]} of {server}")
        self._server = server
        self._kind: EntryKind = kind
        self._following: str | None = None
        """The cursor of the next page; None for the first."""
        self._count = self._total = 0
        """The pages read, and the entries in them."""

    def body(self) -> Widgets:
        yield Static(id="about", classes="gap", markup=False)
        yield Findable(JsonView())

    def on_mount(self) -> None:
        self.action_next()

    def action_restart(self) -> None:
        self._following, self._count, self._total = None, 0, 0
        self.action_next()

    @work(exclusive=True)
    async def action_next(self) -> None:
        self.put("about", f"Reading page {self._count + 1} …")
        try:
            page = await list_page(self.app.studio.manager.connection(self._server), self._kind, self._following)
            raw = await asyncio.to_thread(dumps, page.raw)
        except StudioError as error:
            self.put("about", (safe(f"{error.message} {error.hint}", 600), "$state-failed"))
            return
        self._following, self._count, self._total = page.following, self._count + 1, self._total + len(page.items)
        self.view.show(raw)
        self.put("about", *self._facts(page, len(raw)))
        self.query_one("#next", Button).disabled = page.following is None

    def _facts(self, page: Page, size: int) -> Parts:
        hint = page.hint
        facts = [f"page {self._count}", units.plural(len(page.items), self._kind), units.size(size)]
        facts += [units.duration(page.ms), *([f"fresh for {units.seconds(hint.ttl)}, {hint.scope}"] if hint else [])]
        cursor = "none: the first page" if page.cursor is None else f'"{safe(page.cursor, 200)}"'
        following = "none: the last page" if page.following is None else f'"{safe(page.following, 200)}"'
        problems = filter(None, (page.problem, hint.problem if hint else ""))
        return [
            (" · ".join(facts), "bold"),
            f"\ncursor       {cursor}\nnextCursor   {following}",
            *((f"\n{safe(problem, 300)}", "$state-busy") for problem in problems),
            (f"\n{self._total:,} in {units.plural(self._count, 'page')} so far", "$quiet"),
        ]
