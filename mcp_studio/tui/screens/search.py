"""Searching everything that servers offer, as one types."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from rich.cells import cell_len
from textual import getters, on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Select, Static

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import safe
from mcp_studio.schema.field import json_types
from mcp_studio.search.method import Hit, Scope, SearchProblem
from mcp_studio.tui.bridge import StudioChanged, relay
from mcp_studio.tui.call_draft import form_of
from mcp_studio.tui.panes.catalog import RISKS, name_of
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.rows import Line, Piece, VirtualList, cut, cut_inside, mark_matches, spread, width_of

MODES = {
    "auto": "auto", "substring": "names", "regex": "regex", "bm25": "words", "okapi": "okapi", "semantic": "meaning",
    "hybrid": "hybrid",
}  # fmt: skip
"""Our own search methods, with their names on the screen."""
_KINDS: dict[EntryKind, str] = {"tool": "", "resource": "res", "template": "tpl", "prompt": "pr"}
_LIMIT = 100
_PARAMETERS = 12
_NAME_SHARE, _LEAST, _MOST = 0.4, 18, 48
"""The share of the width for names, and the least and the most cells for them."""


class Question(NamedTuple):
    """A question to the search; the dialog remembers it while the studio runs."""

    text: str = ""
    mode: str = "auto"
    server: str = ""
    kind: str = ""


class Search(Dialog[tuple[Ref, bool]]):
    """Answers the chosen entry, and whether to call it at once."""

    TITLE = "Search everything"
    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("open", "Open", "primary"), Choice("submit", "Call"), Choice("copy", "Copy name"),
        Choice("back", "Close"),
    )  # fmt: skip
    listed = "#hits"
    last = Question()
    """The question of the last search."""
    field = getters.query_one(Input)
    hits = getters.query_one("#hits", VirtualList)

    def __init__(self) -> None:
        super().__init__()
        self._question = Search.last
        self._text: str | None = None
        """The text for which the hits were found."""

    def body(self) -> Widgets:
        question, names = self._question, self.app.studio.manager.names()
        yield Input(question.text, placeholder="a name, or what the tool should do", compact=True)
        modes = [(f"Mode: {title}", mode) for mode, title in MODES.items()]
        kinds = [("Kinds: all", ""), *((f"Kinds: {kind}s", kind) for kind in KINDS)]
        servers = [("Servers: all", ""), *((Content(f"Server: {safe(name, 40)}"), name) for name in names)]
        yield Horizontal(
            Select(modes, value=question.mode, allow_blank=False, id="mode", compact=True),
            Select(kinds, value=question.kind, allow_blank=False, id="kind", compact=True),
            Select(servers, value=question.server if question.server in names else "", allow_blank=False, id="server",
                   compact=True),
            id="ways",
        )  # fmt: skip
        yield VirtualList(_draw, key=lambda hit: hit.ref, id="hits")
        yield Static(id="preview")

    def on_mount(self) -> None:
        self._disconnect = relay(self.app.studio.index.changed, self, lambda _: StudioChanged(frozenset()))
        self._ask()

    def on_unmount(self) -> None:
        self._disconnect()

    # Asking

    @on(Input.Changed)
    @on(Select.Changed)
    def changed(self) -> None:
        """Search again after each letter."""
        mode, server, kind = (str(self.query_one(f"#{id}", Select).value) for id in ("mode", "server", "kind"))
        question = Question(self.field.value, mode, server, kind)
        if question != self._question:
            self._question = Search.last = question
            self._ask()

    @on(StudioChanged)
    @work(group="search", exclusive=True)
    async def _ask(self) -> None:
        question = self._question
        try:
            kinds: list[EntryKind] = [kind for kind in KINDS if question.kind in ("", kind)]
            scope = Scope(servers=frozenset((question.server,)) if question.server else None, kinds=frozenset(kinds))
            index, mode = self.app.studio.index, question.mode
            found = await index.ask(question.text, method=mode, scope=scope, limit=_LIMIT, typing=True)
        except SearchProblem as problem:
            self._tell(f"{problem.message} {problem.hint}".strip(), bad=True)
            return
        self.hits.empty = f"Nothing is found among {found.of:,} entries."
        self.hits.show(found.hits, keep=self._text == question.text)
        self._text = question.text
        pending = f" · {found.pending:,} are still being indexed" if found.pending else ""
        served = "+".join(MODES.get(name, name) for name in found.method.split("+"))
        figures = f"{found.total:,} of {found.of:,} · {found.ms:.0f} ms · {served}{pending}"
        self._tell(f"{figures} · {found.note}" if found.note else figures)
        self.preview()

    def _tell(self, text: str, *, bad: bool = False) -> None:
        box = self.query_one("#box")
        box.border_subtitle = Content.styled(safe(text, 300), "$state-failed" if bad else "$quiet")

    @on(VirtualList.Highlighted)
    def preview(self) -> None:
        """Show more of the hit under the cursor."""
        self.put("preview", _preview(self.hits.row) if self.hits.row is not None else "")

    # What the person does

    @on(Input.Submitted)
    @on(VirtualList.Chosen)
    def action_open(self) -> None:
        self.run_worker(self._leave(call=False), group="leave", exclusive=True)

    def action_submit(self) -> None:
        self.run_worker(self._leave(call=True), group="leave", exclusive=True)

    async def _leave(self, *, call: bool) -> None:
        """Open the hit under the cursor, once the hits are those of what was typed last."""
        # A newer search cancels the one before it, which then raises; so does the index when it has grown.
        while running := [one.wait() for one in self.workers if one.group == "search" and not one.is_finished]:
            await asyncio.gather(*running, return_exceptions=True)
        hit = self.hits.row
        if hit is None or hit.entry is None:
            self.app.say("Nothing is found that could be opened.", "warning")
        else:
            self.dismiss((hit.ref, call))

    def action_copy(self) -> None:
        if (hit := self.hits.row) is not None:
            self.app.copy(str(hit.ref), str(hit.ref))


def _draw(hit: Hit, width: int, selected: bool) -> Line:
    """Draw a hit: server and name, risk or kind, the number of its uses, the beginning of its description."""
    entry = hit.entry
    words = [safe(word, 100) for reason in hit.reasons for word in reason.words]
    room = max(_LEAST, min(_MOST, int(width * _NAME_SHARE)))
    server, name = safe(hit.ref.server, 100), safe(name_of(entry) if entry else hit.ref.name, 300) or "(no name)"
    server = cut(server, max(min(8, room // 3), room - cell_len(name) - 1))
    name = cut_inside(name, max(1, room - cell_len(server) - 1))
    pieces: list[Piece] = mark_matches(server, words, "dim")
    look = "dim" if entry is None or entry.remembered or entry.problem else ""
    pieces += [(".", "dim"), *mark_matches(name, words, look)]
    pieces.append((" " * (room - width_of(pieces)) + "  ", ""))
    if entry is not None and isinstance(entry.view, ToolView):
        pieces.append((f"{RISKS[entry.view.risk]}  ", entry.view.risk))
    else:
        pieces.append((f"{_KINDS[hit.ref.kind]:<3}", "dim"))
    count = f"{hit.used.count:,}x" if hit.used is not None else ""
    pieces.append((f"{count:>6}  ", "dim"))
    text = "not listed any more" if entry is None else entry.problem or entry.view.description or entry.view.title
    about = cut(safe(" ".join(text[:400].split()), 400), max(0, width - width_of(pieces)))
    bad = "bad" if entry is not None and entry.problem else "dim"
    return spread([*pieces, *mark_matches(about, words, bad)], [], width)


def _preview(hit: Hit) -> Content:
    """The parameters of the entry, the reasons for the hit, and the description."""
    if hit.entry is None:
        return Content(f"{safe(hit.ref.server, 60)} does not list it any more.")
    reasons = [reason for reason in hit.reasons[:6] if reason.words]
    found = [f"{reason.field}: {', '.join(safe(word, 60) for word in reason.words[:5])}" for reason in reasons]
    if hit.reasons and not found:
        found.append("meaning")
    lines = [
        Content.styled(safe(hit.ref, 200), "bold"),
        Content(_parameters(hit.entry)),
        Content.styled(f"found by {' · '.join(found)}" if found else "", "$text-accent"),
        Content.styled(safe(" ".join(hit.entry.view.description[:1_000].split()), 1_000), "$quiet"),
    ]
    return Content("\n").join(line for line in lines if line)


def _parameters(entry: Entry) -> str:
    """The parameters with types; required ones have a star."""
    fields = form_of(entry).fields
    texts = (": ".join(filter(None, (field.name, " or ".join(json_types(field))))) for field in fields)
    shown = [safe(text, 100) + "*" * field.required for text, field in zip(texts, fields[:_PARAMETERS], strict=False)]
    if len(fields) > _PARAMETERS:
        shown.append(f"{len(fields) - _PARAMETERS} more")
    return " · ".join(shown)
