"""The rows of the catalog: what stands in them, and how they look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.catalog.skills import SkillState
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.tui import changed
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, cut_inside, mark_matches, spread, width_of

RISKS = {"read": ("r", "risk-read"), "write": ("w", "risk-write"), "destructive": ("!", "risk-destructive")}
"""Risk of a tool -> its mark and its colour."""


class Row(NamedTuple):
    """One entry as the list shows it."""

    entry: Entry
    twin: int
    """1, 2 … where a server lists the same name more than once, else 0."""
    heading: str = ""
    """It is no entry, but this above the one that it has."""


def rows_of(entries: Sequence[Entry]) -> list[Row]:
    """Rows of entries, duplicates numbered."""
    count = Counter([entry.ref for entry in entries])
    if len(count) == len(entries):
        return [Row(entry, 0) for entry in entries]
    rows: list[Row] = []
    seen: Counter[Ref] = Counter()
    for entry in entries:
        seen[entry.ref] += 1
        rows.append(Row(entry, seen[entry.ref] if count[entry.ref] > 1 else 0))
    return rows


def key(row: Row) -> Hashable:
    """What makes a row the same after the list was read again."""
    return row.entry.ref, row.twin, row.heading


class Marks(NamedTuple):
    """What a row shows besides its entry."""

    words: tuple[str, ...] = ()
    """Pieces of the name that are marked."""
    watched: Sequence[Piece] = ()
    """For what is watched: the sign in front of it, and what stands behind its name."""
    servers: bool = False
    """There are several servers, so that each row names its own."""
    use: Sequence[Piece] = ()
    """How it did when it was used; shown where there is room."""


def draw(row: Row, width: int, marks: Marks) -> Line:
    """One row."""
    if row.heading:
        return [(cut(row.heading, width, more=glyphs().more), "dim")]
    entry, view = row.entry, row.entry.view
    if entry.problem:
        mark: Piece = (f"{glyphs().bad} ", "bad")
    elif marks.watched:
        mark = marks.watched[0]
    elif isinstance(view, ToolView):
        sign, colour = RISKS[view.risk]
        mark = (f"{sign} ", colour)
    else:
        mark = (f"{glyphs().dot} ", "dim")
    gone = entry.change is not None and entry.change.kind == "gone"
    look = "dim" if entry.remembered or entry.problem or gone else ""
    named = entry.ref.kind in ("tool", "prompt")
    name = safe(entry.ref.name if named else view.title or view.name or entry.ref.name) or "(no name)"
    twin: list[Piece] = [(f" #{row.twin}", "warn")] if row.twin else []
    behind = [*twin, *marks.watched[1:]]
    room = width - width_of([mark, *behind])
    tail = _tail(entry, room - cell_len(name), marks)
    name = cut_inside(name, room - width_of(tail), more=glyphs().more)
    return spread([mark, *mark_matches(name, marks.words, look), *behind], tail, width)


def _tail(entry: Entry, room: int, marks: Marks) -> list[Piece]:
    """What stands at the right: what is wrong, what has changed, the server."""
    pieces: list[Piece] = []
    text = safe(entry.ref.server) if marks.servers else ""
    if entry.remembered:
        pieces.append((f" {glyphs().half}", "dim"))
    if entry.change is not None:
        pieces.append(changed.mark(entry.change, room - cell_len(text)))  # the sign tells enough, the server does not
        room -= width_of(pieces)
    if entry.skill:
        pieces.append(_skill(entry.skill))
        room -= width_of(pieces[-1:])
    if entry.problem:
        return [(f" {cut(safe(entry.problem), max(0, room - 1), more=glyphs().more)}", "bad"), *pieces]
    if isinstance(entry.view, PromptView) and entry.view.arguments and room > 30:
        text = f"{len(entry.view.arguments)} args  {text}"
    used = width_of(marks.use) + 1 if marks.use else 0
    if text and room >= cell_len(text) + 3:
        pieces.insert(0, (f" {text}", "dim"))
        room -= cell_len(text) + 1
    if used and room >= used + 2:
        pieces = [(" ", ""), *marks.use, *pieces]
    return pieces


def _skill(state: SkillState) -> Piece:
    """That a resource is a skill, and whether it was found to be what the server lists."""
    signs: dict[SkillState, tuple[str, str]] = {
        "verified": (glyphs().ok, "ok"), "refused": (glyphs().bad, "bad"), "unverifiable": ("?", "warn"),
    }  # fmt: skip
    sign, look = signs.get(state, ("", "dim"))
    return f" skill {sign}".rstrip(), look
