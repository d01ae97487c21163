"""The rows of the search palette: what stands in them, and how they look."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len

from mcp_studio.catalog.listing import Entry, EntryKind, Ref
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import safe
from mcp_studio.search.method import Hit, Reason
from mcp_studio.tui.panels.catalog_rows import RISKS
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, cut_inside, fit, mark_matches, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

_KINDS: dict[EntryKind, str] = {"tool": "", "resource": "res", "template": "tpl", "prompt": "pr"}
_NAMES, _LEAST, _MOST = 0.4, 18, 48
"""Share of the width that names have, and its bounds in cells: the same for every answer, so that nothing jumps."""
_NAMED = ("name", "title", "uri")
_READ = 400
"""Characters of a description that may be shown in one line."""


class Row(NamedTuple):
    """A hit, or a heading above some of them."""

    hit: Hit | None
    heading: str = ""


class HitList(VirtualList[Row]):
    """Hits whose risk marks have the theme's colours; the input keeps the focus."""

    can_focus = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"view--risk-read", "view--risk-write", "view--risk-destructive"}
    stale = False
    """What is shown does not answer what is typed now."""

    def __init__(self, seen: Callable[[int], None]) -> None:
        """`seen` is told the last row that has been brought into view by scrolling."""
        super().__init__(self._draw_hit, key=key, stops=lambda row: row.hit is not None)
        self._seen = seen

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell how far it goes now."""
        super().watch_scroll_y(old_value, new_value)
        self._seen(self.top + self.size.height - 1)

    @property
    def at_best(self) -> bool:
        """Whether the cursor is where it is put by itself."""
        return self.cursor == self._nearest(0, 1)

    @property
    def hit(self) -> Hit | None:
        """The hit under the cursor."""
        return self.row.hit if self.row is not None else None

    def show_stale(self, stale: bool) -> None:
        """Draw the rows dimmed, or no longer."""
        if stale != self.stale:
            self.stale = stale
            self.refresh()

    def row_version(self, index: int) -> Hashable:
        """What of a hit is drawn, so that those which are found for the next letter too are as they were."""
        hit, heading = self._rows[index]
        if hit is None:
            return heading, self.stale
        why = tuple([(reason.field, reason.words) for reason in hit.reasons])
        return hit.ref, id(hit.entry), hit.used, why, self.stale

    def _draw_hit(self, row: Row, width: int, selected: bool) -> Line:
        mark: Piece = (glyphs().mark if selected else " ", "accent")
        pieces = [mark, *draw(row, width - 1)]
        return [(text, "dim") for text, _ in pieces] if self.stale else pieces


def rows_of(hits: Sequence[Hit], text: str) -> list[Row]:
    """Rows of an answer; without a question what was used stands under a heading of its own."""
    if text.strip() or not hits:
        return [Row(hit) for hit in hits]
    used = [Row(hit) for hit in hits if hit.used is not None and hit.used.count]
    rest = [Row(hit) for hit in hits if hit.used is None or not hit.used.count]
    heads = (
        Row(None, "Used last and most"),
        Row(None, "Not used yet" if used else "Nothing was used yet; all there is"),
    )
    return [row for head, rows in zip(heads, (used, rest), strict=True) if rows for row in (head, *rows)]


def key(row: Row) -> Hashable:
    """What makes a row the same in another answer."""
    return row.hit.ref if row.hit is not None else row.heading


def draw(row: Row, width: int) -> list[Piece]:
    """One row on so many cells."""
    if row.hit is None:
        return [(cut(row.heading, width, more=glyphs().more), "strong")]
    hit, entry = row.hit, row.hit.entry
    remembered = entry is not None and entry.remembered
    look = "dim" if entry is None or remembered or entry.problem else ""
    pieces = _name(hit, room_for_names(width), look)
    pieces += [("  ", ""), _mark(hit.ref.kind, entry), *_used(hit)]
    right: list[Piece] = [(f" {glyphs().half}", "dim")] if remembered else []
    room = width - width_of(pieces) - width_of(right) - 2
    pieces.append(("  ", ""))
    if room > 3:
        pieces += _about(entry, words_in(hit.reasons, ("description", "title")), room)
    return spread(pieces, right, width)


def room_for_names(width: int) -> int:
    """The cells that names have in a row of so many."""
    return max(_LEAST, min(_MOST, int(width * _NAMES)))


def words_in(reasons: Iterable[Reason], fields: Sequence[str]) -> tuple[str, ...]:
    """The pieces of some fields that matched, as they are drawn."""
    return tuple(str(safe(word, 100)) for reason in reasons if reason.field in fields for word in reason.words if word)


def title_of(ref: Ref, entry: Entry | None) -> str:
    """What an entry is called behind its server: the title of a resource, else its name."""
    view = entry.view if entry is not None else None
    if view is not None and ref.kind in ("resource", "template"):
        return safe(view.title or view.name or ref.name, 300)
    return safe(ref.name, 300)


def _name(hit: Hit, width: int, look: str) -> list[Piece]:
    """`server.name` on exactly that many cells; where there is little room the server gives way first."""
    server, name = safe(hit.ref.server, 100), title_of(hit.ref, hit.entry) or "(no name)"
    room = width - cell_len(name) - 1
    server = cut(server, max(min(8, width // 3), room), more=glyphs().more)
    name = cut_inside(name, max(1, width - cell_len(server) - 1), more=glyphs().more)
    pieces = mark_matches(server, words_in(hit.reasons, ("server",)), "dim")
    pieces += [(".", "dim"), *mark_matches(name, words_in(hit.reasons, _NAMED), look)]
    return [*pieces, (" " * (width - width_of(pieces)), "")]


def _mark(kind: EntryKind, entry: Entry | None) -> Piece:
    """Three cells: the risk of a tool, else the kind."""
    if entry is not None and entry.problem:
        return f"{glyphs().bad}  ", "bad"
    if entry is not None and isinstance(entry.view, ToolView):
        sign, colour = RISKS[entry.view.risk]
        return f"{sign}  ", colour
    return f"{_KINDS[kind]:<3}", "dim"


def _used(hit: Hit) -> list[Piece]:
    """Five cells: how often it was used."""
    count = hit.used.count if hit.used is not None else 0
    text = "–" if not count else f"{count}×" if count < 1_000 else f"{min(count // 1_000, 99)}k×"
    return [(fit(text, 5, right=True), "" if count else "dim")]


def _about(entry: Entry | None, words: Sequence[str], room: int) -> list[Piece]:
    """The beginning of its description in one line."""
    if entry is None:
        return [(cut("not listed any more", room, more=glyphs().more), "dim")]
    if entry.problem:
        return [(cut(safe(entry.problem, 200), room, more=glyphs().more), "bad")]
    view = entry.view
    text = " ".join((view.description[:_READ] or view.title[:_READ]).split())
    return mark_matches(cut(safe(text, _READ), room, more=glyphs().more), words, "dim")
