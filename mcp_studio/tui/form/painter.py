"""How the rows of a form look: label, field, buttons; below them what is wrong and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from textwrap import wrap
from typing import cast

from rich.cells import cell_len

from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Const, Flag, List, Map, Object, SchemaProblem, Union, is_secret
from mcp_studio.schema.place import Path, pointer
from mcp_studio.schema.unions import label as label_of
from mcp_studio.tui.form import row_text
from mcp_studio.tui.form.choices import DropDown, Target
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.rows import MOST_CHILDREN, Row
from mcp_studio.tui.views.glyphs import ASCII, glyphs
from mcp_studio.tui.views.line import Piece, cut, fit, width_of

_INDENT = 2
_MOST_HELP = 8
"""Lines of description under the current row."""
_MOST_PROBLEMS = 3
"""Problems told under a row that is not the current one, a line each."""
_INLINE = 4
"""Options that are shown side by side; more open as a list."""
_LEAST = 20
"""Cells that a field has at least, its padding included."""
_SAMPLED = 200
"""Keys of a map that are looked at for the longest."""
_QUIET = ("item", "inner", "other")
_BUTTONS: dict[Target, tuple[str, str]] = {
    "add": ("+", "+"), "up": ("↑", "^"), "down": ("↓", "v"), "remove": ("×", "x"), "menu": ("⋮", ":"),
}  # fmt: skip


@record(frozen=True)
class Spot:
    """A part of a line that can be clicked."""

    line: int
    start: int
    end: int
    target: Target


@record()
class Drawn:
    """The lines of one row."""

    lines: list[list[Piece]] = field(default_factory=list[list[Piece]])
    spots: list[Spot] = field(default_factory=list[Spot])

    def target(self, line: int, x: int) -> Target | None:
        """What lies at a cell."""
        for spot in self.spots:
            if spot.line == line and spot.start <= x < spot.end:
                return spot.target
        return None


class Painter:
    """Draws rows at a width. The rows of one object, list or map begin their fields in the same column."""

    def __init__(self, model: FormModel, width: int) -> None:
        self._model = model
        self.width = max(30, width)
        root = model.settle((), model.root, model.value)
        top = root.fields() if isinstance(root, Object) else ()
        longest = max((cell_len(row_text.name(one)) for one in top), default=0)
        self._top = min(longest + 4, max(12, self.width * 2 // 5), 30)
        self._columns: dict[tuple[int, int, Path | None], int] = {}
        self._helped: dict[tuple[int, bool], bool] = {}

    # Columns

    def indent(self, row: Row) -> int:
        """Cells in front of a label."""
        return min(row.level * _INDENT, self.width // 3)

    def column(self, row: Row) -> int:
        """The column where a field begins."""
        if row.kind in ("add", "rest"):
            return self.indent(row)
        holder: Path | None = row.path[:-1] if row.kind in ("item", "entry", "other") else None
        key = (id(row.parent) if row.kind != "inner" else -1, row.level, holder)
        if key not in self._columns:
            self._columns[key] = self._column(row)
        return self._columns[key]

    def _column(self, row: Row) -> int:
        indent = self.indent(row)
        if row.kind == "inner":
            return indent + 2
        longest = max(map(cell_len, self._labels(row)), default=0)
        if row.kind == "item":
            return min(indent + longest + 2, max(indent + 6, self.width - _LEAST))
        own = min(indent + longest + 4, max(indent + 18, self.width * 2 // 5), indent + 30, self.width - _LEAST)
        return max(self._top, own) if row.level else max(own, min(self._top, self.width - _LEAST))

    def _labels(self, row: Row) -> list[str]:
        """The labels of the rows beside a row, as far as they are looked at."""
        parent, found = row.parent, [row_text.label(row)]
        if row.kind == "item" and isinstance(parent, List):
            items = self._model.items(row.path[:-1])
            return [str(max(1, len(items))), *(safe(one.title, 30) for one in parent.first())]
        if isinstance(parent, Object) and row.kind != "entry":
            found += [row_text.name(one) for one in parent.fields()]
        there = self._model.get(row.path[:-1]) if row.path else None
        if isinstance(there, dict) and row.kind in ("entry", "other"):
            found += [safe(key, 60) for key in list(cast("dict[str, object]", there))[:_SAMPLED]]
        return found

    def buttons(self, row: Row) -> tuple[Target, ...]:
        """The buttons of a row, which are drawn while it is the current one."""
        if row.kind in ("add", "rest"):
            return ()
        own: tuple[Target, ...] = ("add",) if row.fold is not None and isinstance(row.field, (List, Map)) else ()
        moves: tuple[Target, ...] = ("up", "down") if row.kind == "item" else ()
        return (*own, *moves, "remove", "menu") if row.removable else (*own, "menu")

    def editor_place(self, row: Row) -> tuple[int, int]:
        """Column and width of the editor of a row: its field."""
        at = self.column(row)
        return at, max(6, self.width - at - 2 * len(self.buttons(row)))

    def room(self, row: Row) -> int:
        """Cells for the text of a value, inside the padding of its field."""
        return self.editor_place(row)[1] - 2

    # Heights

    def height(self, index: int, row: Row) -> int:
        """Lines of a row that is not the current one."""
        told = self._model.row_problems.at
        return 1 + self._has_help(row) + (min(len(self._told(index, row)), _MOST_PROBLEMS) if index in told else 0)

    def _told(self, index: int, row: Row) -> Sequence[SchemaProblem]:
        """What is told below a row that is not the current one: what is wrong inside a fold is only counted."""
        told = self._model.row_problems.of(index)
        if row.fold is False and told:
            here = pointer(*row.path)
            return [problem for problem in told if problem.pointer == here]
        return told

    def _has_help(self, row: Row) -> bool:
        """Whether something is said about a row that is not the current one; among items it would be said again."""
        known = row.given
        if row.kind != "field" or not (known.description or known.title or known.deprecated or known.read_only):
            return False
        if any(isinstance(part, int) for part in row.path):
            return False
        filled = self._filled(row)
        key = (id(known), filled)
        if key not in self._helped:
            self._helped[key] = bool(self._help(row, False))
        return self._helped[key]

    # Drawing

    def draw(
        self, index: int, row: Row, *, current: bool = False, drop_down: DropDown | None = None, editor: int = 0
    ) -> Drawn:
        """One row; the current one has its buttons, all problems and the whole help.

        Args:
            drop_down: its open list.
            editor: the height of the editor that will lie over its field, 0 when there is none.
        """
        drawn = Drawn()
        told = self._model.row_problems.of(index) if current else self._told(index, row)
        front = self._front(row, told, current)
        value = _Value(self, self._model, row, drawn, current and drop_down is None).draw(bool(editor))
        drawn.lines = [[*front, *value], *([] for _ in range(editor - 1))]
        if current:
            self._draw_buttons(row, drawn)
        if drop_down is not None:
            self._list(drop_down, row, drawn)
            return drawn
        margin = self.column(row) + 1
        for problem in told[: 5 if current else _MOST_PROBLEMS]:
            sign, look = sign_of(problem.severity)
            drawn.lines += self._wrapped(f"{sign} {safe(problem.message, 400)}", look, margin, 3 if current else 1)
        if (current and row.kind not in ("add", "rest")) or self._has_help(row):
            text = self._help(row, current)
            label = row_text.label(row)
            if current and cell_len(label) > self.column(row) - self.indent(row) - 2:
                text = f"{label} {glyphs().dot} {text}" if text else label  # the label was cut
            if text:
                drawn.lines += self._wrapped(text, "quiet", margin, _MOST_HELP if current else 1)
        return drawn

    def _front(self, row: Row, told: Sequence[SchemaProblem], current: bool) -> list[Piece]:
        """The label; behind it whether it is required; before the field what is wrong, or that it is a secret."""
        if row.kind in ("add", "rest"):
            return [(" " * self.indent(row), "")]
        star = " *" if row.given.required and row.kind == "field" and row.path else ""
        indent, room = self.indent(row), self.column(row) - self.indent(row) - 1
        label = cut(row_text.label(row), room - 1 - len(star))
        look = "label-current" if current else "quiet" if row.kind in _QUIET else "label"
        mark: Piece = (glyphs().marked, "secret") if is_secret(row.field) else (" ", "")
        if told:
            mark = sign_of("error" if any(one.severity == "error" for one in told) else "warning")
        pad = " " * max(0, room - cell_len(label) - len(star))
        return [(" " * indent, ""), (label, look), (star, "required"), (pad, ""), mark]

    def _draw_buttons(self, row: Row, drawn: Drawn) -> None:
        line, x = drawn.lines[0], self.width - 2 * len(self.buttons(row))
        line.append((" " * (x - width_of(line)), ""))
        for target in self.buttons(row):
            line.append((f" {_BUTTONS[target][glyphs() is ASCII]}", "bad" if target == "remove" else "button"))
            drawn.spots.insert(0, Spot(0, x, x + 2, target))
            x += 2

    def _list(self, listed: DropDown, row: Row, drawn: Drawn) -> None:
        """The open list below the field."""
        at, width = self.editor_place(row)
        margin, room = " " * at, width - 2
        if listed.words:
            drawn.lines.append([(margin, ""), (fit(f" / {listed.words}", width), "list-words")])
        for index in listed.window():
            option = listed.options[index]
            on, off = ("[x] ", "[ ] ") if listed.many else (f"{glyphs().on} ", f"{glyphs().off} ")
            mark = (on if option in listed.marked else off) if listed.marked or listed.many else ""
            look = "list-current" if index == listed.at else "list-quiet" if option < 0 else "list"
            drawn.spots.append(Spot(len(drawn.lines), at, at + width, index))
            text = fit(mark + safe(listed.label(option), 200), room)
            drawn.lines.append([(margin, ""), (f" {text} ", look)])
        if not listed.options:
            drawn.lines.append([(margin, ""), (fit(" nothing fits", width), "list-quiet")])
        if listed.note:
            drawn.lines.append([(margin, ""), (fit(f" {listed.note}", width), "list-quiet")])

    def notices(self) -> Iterator[list[Piece]]:
        """What stands above the rows: what is wrong with the value as a whole, and what of its schema is not drawn."""
        if (remark := self._model.root.remark) and self._model.row_at(()) is None:
            yield from self._wrapped(safe(remark, 200), "quiet", 0, 3)
        for problem in self._model.row_problems.loose[:8]:
            sign, look = sign_of(problem.severity)
            yield from self._wrapped(f"{sign} {safe(problem.message, 400)}", look, 0, 3)

    def remarks(self) -> Iterator[list[Piece]]:
        """What stands below: what no row shows."""
        if self._model.form.more:
            yield from self._wrapped(f"{self._model.form.more} more are edited as JSON.", "quiet", 0, 2)

    def _filled(self, row: Row) -> bool:
        return self._model.has(row.path) or row.given.has_default

    def _help(self, row: Row, current: bool) -> str:
        choice = isinstance(row.field, (Choice, Union)) and self.inline(row)
        seen = row.fold is not None or isinstance(row.field, Flag) or choice
        return row_text.help_text(row, current=current, filled=self._filled(row), seen=seen)

    def inline(self, row: Row) -> bool:
        """Whether all options of a row are seen side by side."""
        labels = row_text.options(row.field)
        return len(labels) <= _INLINE and sum(cell_len(text) + 4 for text in labels) <= self.room(row) - 2

    def _wrapped(self, text: str, look: str, margin: int, most: int) -> Iterator[list[Piece]]:
        room = max(10, self.width - margin)
        lines = [text] if cell_len(text) <= room else wrap(text, room, break_long_words=True) or [""]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} {glyphs().more}"]
        for line in lines:
            yield [(" " * margin, ""), (cut(line, room), look)]


class _Value:
    """Draws the value of one row, and notes where it can be clicked."""

    def __init__(self, painter: Painter, model: FormModel, row: Row, drawn: Drawn, cursor: bool) -> None:
        self._painter = painter
        self._model = model
        self._row = row
        self._drawn = drawn
        self._x, self._width = painter.editor_place(row)
        self._room = self._width - 2
        self._ground = "cursor" if cursor else "field"

    def draw(self, edited: bool) -> list[Piece]:
        """The pieces behind the label; none where an editor will lie."""
        model, row, known = self._model, self._row, self._row.field
        has = model.has(row.path)
        if row.kind == "add":
            self._spot("add")
            return [(f" + add {'item' if isinstance(known, List) else 'entry'} ", self._look("button"))]
        if row.kind == "rest":
            return [(cut(f"{glyphs().more} more than {MOST_CHILDREN:,} are edited as JSON", self._room), "quiet")]
        if edited:
            return []
        if isinstance(known, Union):
            return self._union(known)
        waiting = row.path in model.pending
        if row.fold is not None or (isinstance(known, (Object, Map, List)) and not waiting):
            return self._folding()
        self._spot("value")
        if isinstance(known, Flag) and (not has or isinstance(model.get(row.path), bool)):
            return self._field(self._flag())
        if isinstance(known, Choice) and (not has or model.chosen(row) >= 0):
            return self._choice()
        if isinstance(known, Choices) and isinstance(model.get(row.path), list):
            return self._picked()
        if isinstance(known, Const) and has and model.chosen(row) >= 0:
            return self._field([(safe(label_of(known.value), self._room), ""), (" (fixed)", "hint")])
        if not has and not waiting:
            return self._field([(row_text.hint(row), "hint")], isinstance(known, Choices))
        return self._field([self._text()])

    def _spot(self, target: Target) -> None:
        self._drawn.spots.append(Spot(0, self._x, self._x + self._width, target))

    def _look(self, look: str) -> str:
        return "cursor" if self._ground == "cursor" else look

    def _field(self, pieces: Sequence[Piece], opens: bool = False) -> list[Piece]:
        """Pieces on the ground of a field; at its end a sign where it opens as a list."""
        room = self._room - 2 * opens
        made: list[Piece] = [(" ", self._ground)]
        for text, look in pieces:
            text = cut(text, room)
            made.append((text, f"{self._ground}-{look}" if look else self._ground))
            room -= cell_len(text)
        end = f" {glyphs().unfolded}" if opens else ""
        return [*made, (f"{' ' * room}{end} ", self._ground)]

    def _text(self) -> Piece:
        model, row = self._model, self._row
        if model.is_closed(row):
            return ("too large to be edited here", "hint")
        text = model.text(row)
        if not text:
            return (row_text.placeholder(model, row), "hint")
        if row_text.masked(row.field, text):
            text = "•" * min(len(text), 20)
        return (safe(text, self._room + 1), "")

    def _flag(self) -> list[Piece]:
        value = self._model.get(self._row.path)
        if not self._model.has(self._row.path):
            return [(f"[{glyphs().dash}] {row_text.hint(self._row)}", "hint")]
        return [("[x] true", "strong")] if value else [("[ ] false", "")]

    def _choice(self) -> list[Piece]:
        row, at = self._row, self._model.chosen(self._row)
        if not self._painter.inline(row):
            text = (safe(row_text.options(row.field)[at], 80), "") if at >= 0 else (row_text.hint(row), "hint")
            return self._field([text], True)
        pieces = self._side_by_side(at, self._x + 1)
        if at < 0 and row.given.has_default:
            pieces.append((f"  {row_text.default(row.given)} (default)", "hint"))
        elif at < 0 and not row.given.required and not row.stays:
            pieces.append(("  optional", "hint"))
        return self._field(pieces)

    def _side_by_side(self, chosen: int, x: int) -> list[Piece]:
        pieces: list[Piece] = []
        for index, label in enumerate(row_text.options(self._row.field)):
            text = f"{glyphs().on if index == chosen else glyphs().off} {safe(label, 80)}"
            self._drawn.spots.insert(0, Spot(0, x, x + cell_len(text) + 2, index))
            x += cell_len(text) + 2
            pieces += [("  " if index else "", ""), (text, "strong" if index == chosen else "")]
        return pieces

    def _picked(self) -> list[Piece]:
        picked = self._model.picked(self._row)
        labels = [safe(one, 80) for index, one in enumerate(row_text.options(self._row.field)) if index in picked]
        text = (", ".join(labels), "") if labels else ("none: an empty list", "hint")
        return self._field([text], True)

    # What has rows inside

    def _union(self, known: Union) -> list[Piece]:
        model, row = self._model, self._row
        at, has = model.chosen(row), model.has(row.path)
        if row.fold is False and has:
            label = f"{safe(known.variants[at].label, 40)} " if at >= 0 else ""
            return self._head(label, self._summary(cell_len(label)))
        self._spot("value")
        if has and model.get(row.path) is None and known.nullable:
            return self._field([("null", "hint")])
        mark = f"{glyphs().unfolded if row.fold else glyphs().folded} " if row.fold is not None else ""
        if self._painter.inline(row):
            return self._field([(mark, ""), *self._side_by_side(at, self._x + 1 + len(mark)), *self._counts()])
        name = (safe(known.variants[at].label, 60), "strong") if at >= 0 else (row_text.hint(row), "hint")
        return self._field([(mark, ""), name, (f"  one of {len(known.variants)}", "hint"), *self._counts()], True)

    def _folding(self) -> list[Piece]:
        model, row = self._model, self._row
        if model.has(row.path) and model.get(row.path) is None:
            self._spot("value")
            return self._field([("null", "hint")])
        if row.fold:
            return self._head("", row_text.opened(model, row))
        return self._head("", self._summary(0) if model.has(row.path) else row_text.hint(row))

    def _head(self, label: str, text: str) -> list[Piece]:
        """A part that folds: no field, but the heading of what is inside."""
        self._spot("fold")
        sign = f"{glyphs().unfolded if self._row.fold else glyphs().folded} " if self._row.fold is not None else ""
        pieces: list[Piece] = [(sign, "fold"), (label, "strong"), (cut(text, max(4, self._left(label))), "quiet")]
        pieces += [(text, "bad" if look == "bad" else "warn") for text, look in self._counts()]
        if self._ground == "cursor":
            pieces = [(text, "cursor") for text, _ in pieces]
            pieces.append((" " * max(0, self._width - width_of(pieces)), "cursor"))
        return pieces

    def _left(self, label: str) -> int:
        return self._room - cell_len(label) - width_of(self._counts())

    def _summary(self, taken: int) -> str:
        row, room = self._row, max(4, self._room - taken)
        return safe(
            row_text.summary(row.given, self._model.get(row.path), row.path, self._model.settle, room), room + 1
        )

    def _counts(self) -> list[Piece]:
        """How many problems are inside."""
        told, path = self._model.row_problems, self._row.path
        pieces: list[Piece] = [(f" {glyphs().bad} {told.errors[path]:,}", "bad")] if told.errors.get(path) else []
        if self._row.fold is False and told.warnings.get(path):
            pieces.append((f" {glyphs().warning} {told.warnings[path]:,}", "warn"))
        return pieces


def sign_of(severity: str) -> tuple[str, str]:
    """The sign of a problem and its look."""
    return (glyphs().bad, "bad") if severity == "error" else (glyphs().warning, "warn")
