"""Searching everything that servers offer, as one types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from rich.cells import cell_len
from textual import getters, on
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input, Select, Static

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.jsontext import mapping
from mcp_studio.present import units
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.search.method import Found, Hit, Reason, Scope, SearchProblem
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, cut_inside, fit, mark_matches, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

MODES = {
    "auto": "auto", "substring": "names", "regex": "regex", "bm25": "words", "okapi": "okapi", "semantic": "meaning",
    "hybrid": "hybrid",
}  # fmt: skip
"""Methods of our own, and what they are called here."""
_RISKS = {"read": "r", "write": "w", "destructive": "!"}
_KINDS: dict[EntryKind, str] = {"tool": "", "resource": "res", "template": "tpl", "prompt": "pr"}
_LIMIT = 100
_PARAMETERS = 12
_NAMED = ("name", "title", "uri")
_NAME_SHARE, _LEAST, _MOST = 0.4, 18, 48
"""Share of the width that names have, and its bounds in cells."""


class Question(NamedTuple):
    """What is asked; kept while the studio runs."""

    text: str = ""
    mode: str = "auto"
    server: str = ""
    kind: EntryKind | None = None


class Search(Dialog[tuple[Ref, bool]]):
    """Answers an entry, and whether it is to be called at once."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Search {
        & #ways { height: 1; margin: 1 0; }
        & Select { width: 1fr; max-width: 30; margin-right: 2; }
        & VirtualList { height: 1fr; }
        & #preview { height: auto; max-height: 6; border-top: solid $panel; }
    }
    """
    choices = (
        Choice("open", "Open", "primary"),
        Choice("call", "Call"),
        Choice("copy", "Copy name"),
        Choice("back", "Close"),
    )
    kept = Question()
    """The question of last time."""
    field = getters.query_one(Input)
    hits = getters.query_one("#hits", VirtualList)

    def __init__(self) -> None:
        super().__init__()
        self._question = Search.kept
        self._found: Found | None = None

    def heading(self) -> str:
        return "Search everything"

    def body(self) -> Iterable[Widget]:
        question, names = self._question, self.app.studio.manager.names()
        yield Input(question.text, placeholder="what should it do?", compact=True)
        modes = [(f"Mode: {title}", mode) for mode, title in MODES.items()]
        kinds = [("Kinds: all", ""), *((f"Kinds: {kind}s", kind) for kind in KINDS)]
        servers = [("Servers: all", ""), *((f"Server: {safe(name, 40)}", name) for name in names)]
        yield Horizontal(
            Select(modes, value=question.mode, allow_blank=False, id="mode", compact=True),
            Select(kinds, value=question.kind or "", allow_blank=False, id="kind", compact=True),
            Select(servers, value=question.server if question.server in names else "", allow_blank=False, id="server",
                   compact=True),
            id="ways",
        )  # fmt: skip
        yield VirtualList(_draw, key=lambda hit: hit.ref, id="hits")
        yield Static(id="preview")

    def on_mount(self) -> None:
        self.field.focus()
        self.field.action_select_all()

        def changed(nothing: None) -> None:
            self.call_later(self._ask)

        self._disconnect = self.app.studio.index.changed.connect(changed)
        self._ask()

    def on_unmount(self) -> None:
        self._disconnect()

    # Asking

    @on(Input.Changed)
    @on(Select.Changed)
    def changed(self) -> None:
        """Ask with each letter."""
        chosen = self.query_one("#kind", Select).value
        kind: EntryKind | None = next((kind for kind in KINDS if kind == chosen), None)
        mode, server = str(self.query_one("#mode", Select).value), str(self.query_one("#server", Select).value)
        question = Question(self.field.value, mode, server, kind)
        if question != self._question:
            self._question = Search.kept = question
            self._ask()

    def _ask(self) -> None:
        self.run_worker(partial(self._search, self._question), group="search", exclusive=True)

    async def _search(self, question: Question) -> None:
        try:
            scope = Scope(
                servers=frozenset((question.server,)) if question.server else None,
                kinds=frozenset((question.kind,)) if question.kind else None,
            )
            found = await self.app.studio.index.ask(
                question.text, method=question.mode, scope=scope, limit=_LIMIT, typing=True
            )
        except SearchProblem as problem:
            self._tell(f"{problem.message} {problem.hint}".strip(), bad=True)
            return
        again = self._found is not None and self._found.query.text == found.query.text
        self._found = found
        self.hits.empty = f"Nothing is found among {units.plural(found.of, 'entry').replace('entrys', 'entries')}."
        self.hits.show(found.hits, keep=again)
        pending = f" · {found.pending:,} are still being indexed" if found.pending else ""
        served = "+".join(MODES.get(name, name) for name in found.method.split("+"))
        told = f"{found.total:,} of {found.of:,} · {found.ms:.0f} ms · {served}{pending}"
        self._tell(f"{told} · {found.note}" if found.note else told)
        self._preview()

    def _tell(self, text: str, *, bad: bool = False) -> None:
        box = self.query_one("#box")
        box.border_subtitle = Content.styled(safe(text, 300), "$state-failed" if bad else "$quiet")

    @on(VirtualList.Highlighted)
    def show_hit(self, event: VirtualList.Highlighted) -> None:
        event.stop()
        self._preview()

    def _preview(self) -> None:
        hit = self.hits.row
        self.query_one("#preview", Static).update(_preview(hit) if hit is not None else Content(""))

    # What the person does

    async def on_key(self, event: Key) -> None:
        """The list moves while the question has the focus."""
        moves = {"up": "cursor_up", "down": "cursor_down", "pageup": "page_up", "pagedown": "page_down"}
        if self.field.has_focus and event.key in moves:
            event.stop()
            await self.hits.run_action(moves[event.key])
        else:
            await super().on_key(event)

    @on(Input.Submitted)
    @on(VirtualList.Chosen)
    def action_open(self) -> None:
        self._leave(call=False)

    def action_submit(self) -> None:
        self._leave(call=True)

    def action_call(self) -> None:
        self._leave(call=True)

    def _leave(self, *, call: bool) -> None:
        hit = self.hits.row
        if hit is None or hit.entry is None:
            self.app.say("Nothing is found that could be opened.", "warning")
        else:
            self.dismiss((hit.ref, call))

    def action_copy(self) -> None:
        if (hit := self.hits.row) is not None:
            self.app.copy(str(hit.ref), str(hit.ref))


def _words(reasons: Iterable[Reason], fields: Sequence[str]) -> tuple[str, ...]:
    """The pieces of some fields that matched, as they are drawn."""
    return tuple(safe(word, 100) for reason in reasons if reason.field in fields for word in reason.words if word)


def _title(hit: Hit) -> str:
    """What an entry is called behind its server: the title of a resource, else its name."""
    view = hit.entry.view if hit.entry is not None else None
    if view is not None and hit.ref.kind in ("resource", "template"):
        return safe(view.title or view.name or hit.ref.name, 300)
    return safe(hit.ref.name, 300) or "(no name)"


def _draw(hit: Hit, width: int, selected: bool) -> Line:
    """One hit: server and name, risk or kind, how often it was used, the beginning of its description."""
    entry = hit.entry
    look = "dim" if entry is None or entry.remembered or entry.problem else ""
    room = max(_LEAST, min(_MOST, int(width * _NAME_SHARE)))
    server, name = safe(hit.ref.server, 100), _title(hit)
    server = cut(server, max(min(8, room // 3), room - cell_len(name) - 1), more=glyphs().more)
    name = cut_inside(name, max(1, room - cell_len(server) - 1), more=glyphs().more)
    pieces: list[Piece] = mark_matches(server, _words(hit.reasons, ("server",)), "dim")
    pieces += [(".", "dim"), *mark_matches(name, _words(hit.reasons, _NAMED), look)]
    pieces.append((" " * (room - width_of(pieces)) + "  ", ""))
    if entry is not None and isinstance(entry.view, ToolView):
        pieces.append((f"{_RISKS[entry.view.risk]}  ", entry.view.risk))
    else:
        pieces.append((f"{_KINDS[hit.ref.kind]:<3}", "dim"))
    count = hit.used.count if hit.used is not None else 0
    pieces.append((fit(f"{min(count, 999)}×" if count else "", 5, right=True), "dim"))
    left = width - width_of(pieces) - 2
    if left > 3:
        text = "not listed any more" if entry is None else entry.problem or entry.view.description or entry.view.title
        about = cut(safe(" ".join(text[:400].split()), 400), left, more=glyphs().more)
        bad = "bad" if entry is not None and entry.problem else "dim"
        pieces += [("  ", ""), *mark_matches(about, _words(hit.reasons, ("description", "title")), bad)]
    return spread(pieces, [], width)


def _preview(hit: Hit) -> Content:
    """What the entry takes, why it was found, and its description."""
    entry = hit.entry
    if entry is None:
        return Content(f"{safe(hit.ref.server, 60)} does not list it any more.")
    parts: list[str | tuple[str, str]] = [(f"{safe(hit.ref, 200)}\n", "bold"), *_parameters(hit)]
    found = [
        f"{reason.field}: {', '.join(safe(word, 60) for word in reason.words[:5])}"
        for reason in hit.reasons
        if reason.words
    ]
    if found:
        parts.append((f"found by {' · '.join(found[:6])}\n", "$text-accent"))
    elif hit.reasons:
        parts.append(("found by meaning\n", "$text-accent"))
    parts.append((safe(" ".join(entry.view.description[:1_000].split()), 1_000), "$quiet"))
    return Content.assemble(*parts)


def _parameters(hit: Hit) -> list[str | tuple[str, str]]:
    """Its parameters with types, required ones with a star."""
    view = hit.entry.view if hit.entry is not None else None
    rows: list[tuple[str, str, bool]] = []
    if isinstance(view, ToolView):
        schema = mapping(view.input_schema)
        required = schema.get("required")
        wanted = required if isinstance(required, list) else []
        for name, inner in list(mapping(schema.get("properties")).items()):
            kind = mapping(inner).get("type", "")
            rows.append((name, kind if isinstance(kind, str) else "", name in wanted))
    elif isinstance(view, PromptView):
        rows = [(str(one.get("name")), "string", one.get("required") is True) for one in view.arguments]
    parts: list[str | tuple[str, str]] = []
    for name, kind, needed in rows[:_PARAMETERS]:
        parts += [" · "] if parts else []
        parts += [safe(name, 60), (f": {safe(kind, 40)}" if kind else "", "$quiet")]
        parts.append(("*" if needed else "", "bold $accent"))
    if len(rows) > _PARAMETERS:
        parts.append((f" · {len(rows) - _PARAMETERS} more", "$quiet"))
    return [*parts, "\n"] if parts else []
