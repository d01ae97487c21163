"""How the values of rows look: text, flags, choices, and what is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Const, Flag, List, Map, Object, Union
from mcp_studio.schema.place import pointer
from mcp_studio.schema.unions import label as label_of
from mcp_studio.tui.form import words
from mcp_studio.tui.form.columns import Columns
from mcp_studio.tui.form.drawn import Drawn, Spot, Target
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.outline import MOST_CHILDREN, Row
from mcp_studio.tui.form.summary import summary
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece, cut, width_of

INLINE = 4
"""Options that are shown side by side; more open as a list."""


class Values:
    """Draws the value of a row, one line, and says where it can be clicked."""

    def __init__(self, model: FormModel, columns: Columns) -> None:
        self._model = model
        self._columns = columns

    def inline(self, row: Row) -> bool:
        """Whether all options of a row are shown side by side."""
        labels = words.options(row.field)
        return len(labels) <= INLINE and sum(cell_len(text) + 4 for text in labels) <= self._columns.room(row) - 2

    def draw(self, row: Row, drawn: Drawn) -> list[Piece]:
        """The pieces behind the label."""
        model, field, room = self._model, row.field, self._columns.room(row)
        has = model.has(row.path)
        waiting = bool(model.pending) and pointer(*row.path) in model.pending
        if row.kind == "add":
            self._spot(row, drawn, "add")
            return [(f"{glyphs().new} add {'item' if isinstance(field, List) else 'entry'}", "dim")]
        if row.kind == "rest":
            return [(cut(f"{glyphs().more} more than {MOST_CHILDREN:,} are edited as JSON", room), "dim")]
        if isinstance(field, Union):
            return self._union(row, drawn, field)
        if row.fold is not None or (isinstance(field, (Object, Map, List)) and not waiting):
            return self._folding(row, drawn)
        if isinstance(field, Flag) and (not has or isinstance(model.get(row.path), bool)):
            return self._flag(row, drawn)
        if isinstance(field, Choice) and (not has or model.chosen(row) >= 0):
            return self._choice(row, drawn)
        self._spot(row, drawn, "value")
        if isinstance(field, Choices) and isinstance(model.get(row.path), list):
            return self._picked(row)
        if isinstance(field, Const) and has and model.chosen(row) >= 0:
            return [(cut(safe(label_of(field.value), room), room - 8), ""), (" (fixed)", "dim")]
        if not has and not waiting:
            sign = f"{glyphs().unfolded} " if isinstance(field, Choices) else ""
            return [(cut(sign + words.hint(row), room), "dim")]
        return [self._text(row)]

    def _spot(self, row: Row, drawn: Drawn, target: Target) -> None:
        drawn.spots.append(Spot(0, self._columns.value(row), self._columns.width, target))

    def _text(self, row: Row) -> Piece:
        room = self._columns.room(row)
        if self._model.closed(row):
            return (cut("too large to be edited here", room), "dim")
        text = self._model.text(row)
        if not text:
            return (cut(words.nothing(self._model, row), room), "dim")
        if words.masked(row.field, text):
            text = "•" * min(len(text), 20)
        return (cut(safe(text, room + 1), room), "")

    def _flag(self, row: Row, drawn: Drawn) -> list[Piece]:
        self._spot(row, drawn, "value")
        if not self._model.has(row.path):
            return [(cut(f"[{glyphs().dash}] {words.hint(row)}", self._columns.room(row)), "dim")]
        return [("[x] true", "")] if self._model.get(row.path) else [("[ ] false", "")]

    def _choice(self, row: Row, drawn: Drawn) -> list[Piece]:
        at, room = self._model.chosen(row), self._columns.room(row)
        if self.inline(row):
            pieces = list(self._side_by_side(row, at, drawn, self._columns.value(row)))
            if at < 0 and (said := words.absent(row)):
                pieces.append((f"  {said}", "dim"))
            if at < 0 and row.given.has_default:
                pieces.append((f"  {words.default(row.given)} (default)", "dim"))
            return _crop(pieces, room)
        self._spot(row, drawn, "value")
        sign = f"{glyphs().unfolded} "
        labels = words.options(row.field)
        if at >= 0:
            return [(cut(sign + safe(labels[at], 80), room), "")]
        return [(cut(sign + words.hint(row), room), "dim")]

    def _side_by_side(self, row: Row, chosen: int, drawn: Drawn, x: int) -> Iterator[Piece]:
        for index, label in enumerate(words.options(row.field)):
            text = f"{glyphs().on if index == chosen else glyphs().off} {safe(label, 80)}"
            drawn.spots.append(Spot(0, x, x + cell_len(text) + 2, index))
            x += cell_len(text) + 2
            if index:
                yield ("  ", "")
            yield (text, "strong" if index == chosen else "")

    def _picked(self, row: Row) -> list[Piece]:
        picked = self._model.picked(row)
        labels = [safe(label, 80) for index, label in enumerate(words.options(row.field)) if index in picked]
        listed = ", ".join(labels) or "none: an empty list"
        return [(cut(f"{glyphs().unfolded} {listed}", self._columns.room(row)), "" if labels else "dim")]

    # What has rows inside

    def _union(self, row: Row, drawn: Drawn, field: Union) -> list[Piece]:
        at, room = self._model.chosen(row), self._columns.room(row)
        mark = self._mark(row, drawn)
        if row.fold is False and self._model.has(row.path):
            label = f"{safe(field.variants[at].label, 40)} " if at >= 0 else ""
            return [*mark, (label, "strong"), *self._summary(row, room - 2 - cell_len(label), drawn)]
        if self._model.has(row.path) and self._model.get(row.path) is None and field.nullable:
            self._spot(row, drawn, "value")
            return [*mark, ("null", "dim")]
        if self.inline(row):
            pieces = [*mark, *self._side_by_side(row, at, drawn, self._columns.value(row) + width_of(mark))]
            return _crop([*pieces, *self._errors(row)], room)
        self._spot(row, drawn, "value")
        sign = "" if mark else f"{glyphs().unfolded} "
        what = f"{sign}{safe(field.variants[at].label, 60)}" if at >= 0 else sign + words.hint(row)
        count: Piece = (f"  one of {len(field.variants)}", "dim")
        return _crop([*mark, (cut(what, room - 2), "strong" if at >= 0 else "dim"), count, *self._errors(row)], room)

    def _folding(self, row: Row, drawn: Drawn) -> list[Piece]:
        room, has = self._columns.room(row), self._model.has(row.path)
        if has and self._model.get(row.path) is None:
            self._spot(row, drawn, "value")
            return [("null", "dim")]
        mark = self._mark(row, drawn)
        self._spot(row, drawn, "fold")
        if row.fold:
            said = words.opened(self._model, row)
            return _crop([*mark, (cut(said, room - 2), "dim"), *self._errors(row)], room)
        if not has:
            return [*mark, (cut(words.hint(row), room - 2), "dim")]
        return [*mark, *self._summary(row, room - 2, drawn)]

    def _mark(self, row: Row, drawn: Drawn) -> list[Piece]:
        if row.fold is None:
            return []
        x = self._columns.value(row)
        drawn.spots.append(Spot(0, x, x + 2, "fold"))
        return [(f"{glyphs().unfolded if row.fold else glyphs().folded} ", "")]

    def _summary(self, row: Row, room: int, drawn: Drawn) -> list[Piece]:
        errors = self._errors(row)
        if isinstance(row.field, Union):
            self._spot(row, drawn, "fold")
        room = max(4, room - width_of(errors))
        text = summary(row.given, self._model.get(row.path), row.path, self._model.settle, room)
        return [(cut(safe(text, room + 1), room), ""), *errors]

    def _errors(self, row: Row) -> list[Piece]:
        told = self._model.told
        number = told.inside.get(row.path, 0)
        pieces: list[Piece] = [(f" {glyphs().bad} {number:,}", "bad")] if number else []
        if row.fold is False and (doubts := told.doubts.get(row.path, 0)):
            pieces.append((f" {glyphs().warning} {doubts:,}", "warn"))
        return pieces


def _crop(pieces: Sequence[Piece], width: int) -> list[Piece]:
    kept = list(pieces)
    while kept and width_of(kept) > width:
        kept.pop()
    return kept
