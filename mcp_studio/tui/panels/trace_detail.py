"""One exchange of the trace: request, response, headers, what the server printed around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from mcp_studio.tui.panels.pane import Tab
from mcp_studio.tui.tracing import Detail
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.text_view import TextView

_EMPTY = {
    "response": "There is no answer.", "headers": "No HTTP headers: it did not go over HTTP.",
    "stderr": "The server printed nothing around that time.",
    "findings": "Nothing is wrong with it, as far as the lint can see.",
}  # fmt: skip
TABS = ("request", "response", "findings", "headers", "stderr", "times")


class TraceDetail(Vertical):
    """A body under tabs that the pane or dialog around it draws into its border."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line = Static(classes="head")
        self._views: Mapping[str, Findable[Any]] = {tab: Findable(_view(tab), classes="viewer") for tab in TABS}
        self._detail: Detail | None = None
        self.tab = "request"

    def compose(self) -> ComposeResult:
        """What it is, above the views."""
        yield self._line
        yield from self._views.values()

    def on_mount(self) -> None:
        """Only one of them is seen."""
        self.show_tab(self.tab)

    def tabs(self) -> list[Tab]:
        """The tabs, for a border."""
        return [Tab(tab, tab.capitalize() if tab != "stderr" else tab) for tab in TABS]

    def show(self, detail: Detail) -> None:
        """Show another exchange."""
        if detail == self._detail:
            return
        self._detail = detail
        self._line.update(Content("\n".join(filter(None, (detail.title, detail.headline)))))
        self._put("request", detail.request)
        self._put("response", detail.response)
        self._put("findings", detail.findings)
        self._put("headers", detail.headers)
        self._put("stderr", detail.stderr)
        self._put("times", detail.timeline)

    def show_tab(self, tab: str) -> None:
        """Show another part."""
        self.tab = tab
        for name, view in self._views.items():
            view.display = name == tab

    @property
    def view(self) -> Any:
        """The viewer that is seen."""
        return self._views[self.tab].view

    def _put(self, tab: str, data: bytes | str) -> None:
        view = self._views[tab].view
        if isinstance(view, JsonView):
            view.set_json(data)
        else:
            view.set_text(data)


def _view(tab: str) -> JsonView | TextView:
    return (
        JsonView(empty=_EMPTY.get(tab, "")) if tab in ("request", "response") else TextView(empty=_EMPTY.get(tab, ""))
    )
