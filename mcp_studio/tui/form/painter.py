"""How the rows of a form look: one line each, with what is wrong and what it means below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.cells import cell_len

from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Flag, SchemaProblem, Union
from mcp_studio.schema.place import pointer
from mcp_studio.tui.form import words
from mcp_studio.tui.form.columns import Columns
from mcp_studio.tui.form.drawn import Drawn, Spot
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offers import Offers
from mcp_studio.tui.form.outline import Row
from mcp_studio.tui.form.picker import Picker
from mcp_studio.tui.form.values import Values
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece, cut, fit, width_of

_MOST_HELP = 8
"""Lines of description under the current row."""
_MOST_PROBLEMS = 3
"""Problems told under a row that is not the current one, a line each."""
_QUIET = ("add", "rest", "item", "inner", "other")
_WIDE = 100
"""Cells from which on descriptions stand beside the values, not below."""
_LEAST_BESIDE = 20
_REMOVE = 2
"""Cells of the mark that removes the current item."""


class Painter:
    """Draws rows at a width. Whatever comes from a server passes `safe` here."""

    def __init__(self, model: FormModel, width: int) -> None:
        self._model = model
        self.columns = Columns(model, width)
        self.width = self.columns.width
        self._wide = width >= _WIDE
        self._values = Values(model, self.columns)
        self._helped: dict[tuple[int, bool], bool] = {}

    def height(self, index: int, row: Row) -> int:
        """Lines of a row that is not the current one."""
        return self.bare_height(row) + min(len(self._told(index, row)), _MOST_PROBLEMS)

    def _told(self, index: int, row: Row) -> Sequence[SchemaProblem]:
        """What is told below a row that is not the current one: what is wrong inside a fold is only counted."""
        told = self._model.told.of(index)
        if row.fold is False and told:
            here = pointer(*row.path)
            return [problem for problem in told if problem.pointer == here]
        return told

    def bare_height(self, row: Row) -> int:
        """The same without what is wrong."""
        return 1 if self._wide else 1 + self._helps(row)

    def _helps(self, row: Row) -> bool:
        """Whether something is said about a row that is not the current one; among items it would be said again."""
        known = row.given
        if row.kind != "field" or not (known.description or known.title or known.deprecated or known.read_only):
            return False
        if any(isinstance(part, int) for part in row.path):
            return False
        filled = self._filled(row)
        key = (id(known), filled)
        if key not in self._helped:
            self._helped[key] = bool(self._help(row, False, filled))
        return self._helped[key]

    def draw(
        self,
        index: int,
        row: Row,
        *,
        current: bool,
        focused: bool,
        picker: Picker | None,
        editor: int,
        offers: Offers | None,
    ) -> Drawn:
        """One row.

        Args:
            current: the cursor is on it; `focused` when the form has the focus, too.
            picker: its open list of options.
            editor: the height of the editor that will lie over its value, 0 when there is none.
            offers: what can be taken into its editor.
        """
        drawn = Drawn()
        here, at = current and focused, self.columns.value(row)
        self._first_line(row, drawn, here and picker is None, here, editor)
        if here and row.kind in ("item", "entry", "other") and picker is None:
            self._remove_mark(drawn, row, editor)
        if picker is not None:
            self._list(picker, drawn, at)
        elif offers is not None and offers.open:
            self._offered(offers, drawn, at)
            return drawn
        drawn.lines += self._problems(self._model.told.of(index) if here else self._told(index, row), at, here)
        if here or self.bare_height(row) > 1:
            drawn.lines += self._help_lines(row, here)
        elif self._wide and not editor and self._helps(row):
            self._beside(row, drawn)
        return drawn

    def _first_line(self, row: Row, drawn: Drawn, cursor: bool, here: bool, editor: int) -> None:
        """Label and value; room for the editor where one will lie over the value."""
        start = " " * self.columns.indent(row)
        look = "accent" if here else "dim" if row.kind in _QUIET else ""
        width = max(1, self.columns.value(row) - len(start) - 1)
        label = "" if row.kind in ("add", "rest") else fit(words.label(row), width) + " "
        front: list[Piece] = [(start, ""), (label, look)]
        if editor:
            drawn.lines = [front, *([] for _ in range(editor - 1))]
            return
        value = self._values.draw(row, drawn)
        if cursor:
            value = [(text, "cursor") for text, _ in value]
            value.append((" " * max(0, self.columns.room(row) - width_of(value)), "cursor"))
        drawn.lines = [[*front, *value]]

    def _beside(self, row: Row, drawn: Drawn) -> None:
        """On a wide screen, what is said about a row stands behind its value."""
        line = drawn.lines[0]
        at = max(min(self.width // 2, 64), width_of(line) + 3)
        if self.width - at >= _LEAST_BESIDE:
            text = self._help(row, False, self._filled(row))
            line += [(" " * (at - width_of(line)), ""), (cut(text, self.width - at), "dim")]

    def notices(self) -> Iterator[list[Piece]]:
        """What stands above the rows: what is wrong with the value as a whole, and what of its schema is not drawn."""
        if (remark := self._model.root.remark) and self._model.row_at(()) is None:
            yield from self._wrapped(safe(remark, 200), "dim", 0, 3)
        for problem in self._model.told.loose[:8]:
            sign, look = words.sign(problem.severity)
            yield from self._wrapped(f"{sign} {safe(problem.message, 400)}", look, 0, 3)

    def remarks(self) -> Iterator[list[Piece]]:
        """What stands below: what no row shows."""
        if self._model.form.more:
            yield from self._wrapped(f"{self._model.form.more} more are edited as JSON.", "dim", 0, 2)

    def inline(self, row: Row) -> bool:
        """Whether all options of a row are seen side by side."""
        return self._values.inline(row)

    def editor_width(self, row: Row) -> int:
        """Cells of the editor over the value of the current row."""
        return max(4, self.columns.room(row) - (_REMOVE + 1 if row.kind in ("item", "entry", "other") else 0))

    # Beside the value

    def _remove_mark(self, drawn: Drawn, row: Row, editor: int) -> None:
        """What a click takes the item away with, at the end of its line."""
        line = drawn.lines[0]
        sign: Piece = (f" {glyphs().bad}", "bad" if editor else "cursor")
        if editor:
            gap = self.width - width_of(line) - _REMOVE
            drawn.lines[0] = [*line, (" " * gap, ""), sign]
        else:
            text, look = line[-1]
            if len(text) < _REMOVE:
                return
            drawn.lines[0] = [*line[:-1], (text[:-_REMOVE], look), sign]
        drawn.spots.insert(0, Spot(0, self.width - _REMOVE, self.width + 1, "remove"))

    # Below

    def _list(self, picker: Picker, drawn: Drawn, at: int) -> None:
        """The open list of options below the value."""
        margin, room = " " * at, self.width - at
        if picker.words:
            drawn.lines.append([(margin, ""), (cut(f"/ {picker.words}", room), "accent")])
        for index in picker.window():
            option = picker.options[index]
            on, off = ("[x]", "[ ]") if picker.many else (glyphs().on, glyphs().off)
            text = f"{on if option in picker.marked else off} {safe(picker.label(option), 200)}"
            drawn.spots.append(Spot(len(drawn.lines), at, self.width, index))
            look = "cursor" if index == picker.at else "dim" if option < 0 else ""
            drawn.lines.append([(margin, ""), (fit(text, room), look)])
        if not picker.options:
            drawn.lines.append([(margin, ""), ("nothing fits", "dim")])

    def _offered(self, offers: Offers, drawn: Drawn, at: int) -> None:
        """What can be taken, in the place of what is said about the field."""
        margin, room = " " * at, self.width - at
        for index in offers.window():
            drawn.spots.append(Spot(len(drawn.lines), at, self.width, index))
            look = "cursor" if index == offers.at else ""
            bar: Piece = (f"{glyphs().bar} ", "dim")
            drawn.lines.append([(margin, ""), bar, (fit(offers.values[index], room - 2), look)])
        drawn.lines.append([(margin, ""), (cut(offers.footer(), room), "dim")])

    def _problems(self, problems: Sequence[SchemaProblem], at: int, current: bool) -> list[list[Piece]]:
        lines: list[list[Piece]] = []
        for problem in problems[: 5 if current else _MOST_PROBLEMS]:
            sign, look = words.sign(problem.severity)
            lines += self._wrapped(f"{sign} {safe(problem.message, 400)}", look, at, 3 if current else 1)
        return lines

    def _filled(self, row: Row) -> bool:
        return self._model.has(row.path) or row.given.has_default

    def _help(self, row: Row, current: bool, filled: bool) -> str:
        seen = (
            row.fold is not None
            or isinstance(row.field, Flag)
            or (isinstance(row.field, (Choice, Union)) and self.inline(row))
        )
        return words.help_words(row, current=current, filled=filled, seen=seen)

    def _help_lines(self, row: Row, current: bool) -> list[list[Piece]]:
        if row.kind in ("add", "rest"):
            return []
        if row.kind == "other":
            text = "The schema says nothing of it; it is sent too." if current else ""
        else:
            text = self._help(row, current, self._filled(row))
        name = words.label(row)
        if current and cell_len(name) >= self.columns.value(row) - self.columns.indent(row):
            text = f"{name} {glyphs().dot} {text}" if text else name  # the label was cut
        margin = self.columns.indent(row) + 2
        return list(self._wrapped(text, "dim", margin, _MOST_HELP if current else 1)) if text else []

    def _wrapped(self, text: str, look: str, margin: int, most: int) -> Iterator[list[Piece]]:
        room = max(10, self.width - margin)
        if most == 1 and cell_len(text) <= room:
            yield [(" " * margin, ""), (text, look)]
            return
        lines = wrap(text, room, break_long_words=True) or [""]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} {glyphs().more}"]
        for line in lines:
            yield [(" " * margin, ""), (cut(line, self.width - margin), look)]
