"""Draws the rows of a form: labels, fields, buttons, and the help and problems below them; and the widget for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Const, Flag, List, Map, Object, SchemaProblem, Union, is_secret
from mcp_studio.schema.keywords import REQUIRED
from mcp_studio.schema.place import pointer
from mcp_studio.schema.unions import label as label_of
from mcp_studio.tui.form import row_text
from mcp_studio.tui.form.choices import DropDown, Target
from mcp_studio.tui.form.editors import take_key
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.rows import MOST_CHILDREN, Row
from mcp_studio.tui.views.rows import Piece, Steady, cut, fit, glyphs, sign_of, width_of

if TYPE_CHECKING:
    from mcp_studio.tui.form.view import FormView

_LOOKS = "plain label label-current quiet required secret bad warn strong fold button field cursor list"
_INDENT = 2
_MOST_HELP = 8
"""Lines of description under the current row."""
_MOST_PROBLEMS = 3
"""Problems shown below a row that is not the current row."""
_INLINE = 4
"""Options that are drawn side by side; a field with more opens a list."""
_LEAST = 20
"""The least width of a field in cells, padding included."""
_WIDEST = 24
"""The most cells before a field of the first level, unless a quarter of the form is wider."""
_SAMPLED = 2_000
"""Rows that are searched for the longest label."""
_BARE = ("add", "rest", "inner")
"""Rows without a label."""


Spot = tuple[int, int, int, Target]
"""A part of a line that can be clicked: the line, its first column, the column after it, and what a click means."""


class Here(NamedTuple):
    """The state of the current row."""

    focused: bool
    drop_down: DropDown | None
    """Its open list."""
    editor: int
    """The height of the editor that will lie over its field; 0 if there is none."""


@record()
class Drawn:
    """The lines of one row."""

    lines: list[list[Piece]] = field(default_factory=list[list[Piece]])
    spots: list[Spot] = field(default_factory=list[Spot])

    def target(self, line: int, x: int) -> Target | None:
        """The target at a cell; a target that was added later lies above."""
        hits = [spot for spot in self.spots if spot[0] == line and spot[1] <= x < spot[2]]
        return hits[-1][3] if hits else None


class Painter:
    """Draws rows at a width. The fields of one level start in the same column; items have a column of their own."""

    def __init__(self, model: FormModel, width: int, *, roomy: bool = False) -> None:
        """`roomy`: there is room for all help of every row, so that nothing moves with the focus."""
        self._model, self._roomy = model, roomy
        self.made_for = model.rows, model.row_problems, width
        self.width = max(30, width)
        self._longest: dict[tuple[int, bool], int] = {}
        for row in model.rows[:_SAMPLED]:
            if row.kind not in _BARE:
                level = row.level, row.kind == "item"
                self._longest[level] = max(self._longest.get(level, 0), cell_len(row_text.label(row)))

    def indent(self, row: Row) -> int:
        """The cells before a label."""
        return min(row.level * _INDENT, self.width // 3)

    def column(self, row: Row) -> int:
        """The column where a field starts."""
        indent, longest = self.indent(row), self._longest.get((row.level, row.kind == "item"), 0)
        if row.kind in _BARE:
            return indent + 2 * (row.kind == "inner")
        if row.kind == "item":
            return min(indent + longest + 2, max(indent + 6, self.width - _LEAST))
        widest = max(_WIDEST, self.width // 4)
        top = min(self._longest.get((0, False), 0) + 4, max(12, self.width * 2 // 5), widest)
        own = min(indent + longest + 4, max(indent + 18, self.width * 2 // 5), indent + widest)
        return min(max(top, own), self.width - _LEAST)

    def buttons(self, row: Row) -> tuple[Target, ...]:
        """The buttons of a row while it is the current row; other rows show only their menu."""
        if row.kind in ("add", "rest"):
            return ()
        own: tuple[Target, ...] = ("add",) if row.fold is not None and isinstance(row.field, (List, Map)) else ()
        moves: tuple[Target, ...] = ("up", "down") if row.kind == "item" else ()
        return (*own, *moves, "remove", "menu") if row.removable else (*own, "menu")

    def editor_place(self, row: Row) -> tuple[int, int]:
        """Column and width of a row's field, where its editor lies."""
        at = self.column(row)
        return at, max(6, self.width - at - 2 * len(self.buttons(row)))

    # Heights

    @cached_property
    def heights(self) -> Sequence[int]:
        """The number of lines of each row, none of them being the current row."""
        problems = self._model.row_problems.at
        return [
            1 + self._help_lines(row) + (len(self._below(row, self._row_problems(at, row))) if at in problems else 0)
            for at, row in enumerate(self._model.rows)
        ]

    def _row_problems(self, index: int, row: Row) -> Sequence[SchemaProblem]:
        """The problems shown below a row that is not the current row. Those inside a closed part are only counted."""
        problems, here = self._model.row_problems.at.get(index, ()), pointer(*row.path)
        return problems if row.fold is not False else [problem for problem in problems if problem.pointer == here]

    def _help_lines(self, row: Row) -> int:
        """The lines of help below a row that is not the current row; none inside items, which would repeat the help."""
        inside = row.kind != "field" or any(isinstance(part, int) for part in row.path)
        text = "" if inside else self._help(row, False)
        if text and self._roomy:
            return len([*self._wrapped(text, "quiet", self.column(row) + 1, _MOST_HELP)])
        return 1 + (cell_len(text) > self.width - self.column(row) - 1) if text else 0

    # Drawing

    def draw(self, index: int, row: Row, here: Here | None = None) -> Drawn:
        """Draw one row. The current row, `here`, shows all problems and all help; with focus also its buttons."""
        drawn, current = Drawn(), here is not None
        focused, drop_down, editor = here or (False, None, 0)
        problems = self._model.row_problems.at.get(index, ()) if current else self._row_problems(index, row)
        value = _Value(self, self._model, row, drawn, focused and drop_down is None).draw(bool(editor))
        drawn.lines = [[*self._front(row, problems, focused), *value], *([] for _ in range(editor - 1))]
        self._draw_buttons(row, drawn, focused)
        if drop_down is not None:
            self._list(drop_down, row, drawn)
            return drawn
        drawn.lines += self._below(row, problems, 5 if current else _MOST_PROBLEMS)
        usual = self._help_lines(row)
        if (current and row.kind not in ("add", "rest")) or usual:
            text, label = self._help(row, current), row_text.label(row)
            if current and cell_len(label) > self.column(row) - self.indent(row) - 2:
                text = f"{label} {glyphs().dot} {text}" if text else label  # the label was cut
            if text:
                drawn.lines += self._wrapped(text, "quiet", self.column(row) + 1, _MOST_HELP if current else usual)
        return drawn

    def _front(self, row: Row, problems: Sequence[SchemaProblem], current: bool) -> list[Piece]:
        """The label, a star if the field is required, and before the field the sign of its problems or of a secret."""
        indent = self.indent(row)
        if row.kind in ("add", "rest"):
            return [(" " * indent, "")]
        star = " *" if row.given.required and row.kind == "field" and row.path else ""
        room = self.column(row) - indent - 1
        label = cut(row_text.label(row), room - 1 - len(star))
        look = "label-current" if current else "quiet" if row.kind in ("item", "inner", "other") else "label"
        mark: Piece = (glyphs().marked, "secret") if is_secret(row.field) else (" ", "")
        if problems:
            mark = sign_of("error" if any(one.severity == "error" for one in problems) else "warning")
        pad = " " * max(0, room - cell_len(label) - len(star))
        return [(" " * indent, ""), (label, look), (star, "required"), (pad, ""), mark]

    def _draw_buttons(self, row: Row, drawn: Drawn, current: bool) -> None:
        buttons, signs = self.buttons(row), glyphs()
        sign: dict[Target, str] = {
            "add": signs.new, "up": signs.up, "down": signs.down, "remove": signs.remove, "menu": signs.menu,
        }  # fmt: skip
        shown = buttons if current else buttons[-1:]
        line, x = drawn.lines[0], self.width - 2 * len(shown)
        line.append((" " * (x - width_of(line)), ""))
        for target in shown:
            look = "bad" if target == "remove" else "button" if current else "quiet"
            line.append((f" {sign[target]}", look))
            drawn.spots.append((0, x, x + 2, target))
            x += 2

    def _list(self, listed: DropDown, row: Row, drawn: Drawn) -> None:
        """Draw the open list below the field."""
        at, width = self.editor_place(row)

        def add(text: str, look: str) -> None:
            drawn.lines.append([(" " * at, ""), (f" {fit(text, width - 2)} ", look)])

        if listed.words:
            add(f"/ {listed.words}", "list secret")
        on, off = ("[x] ", "[ ] ") if listed.many else (f"{glyphs().on} ", f"{glyphs().off} ")
        for index in listed.window():
            option = listed.options[index]
            mark = (on if option in listed.marked else off) if listed.marked or listed.many else ""
            drawn.spots.append((len(drawn.lines), at, at + width, index))
            look = "cursor" if index == listed.at else "list quiet" if option < 0 else "list"
            add(mark + safe(listed.labels[option], 200), look)
        for note in ("nothing fits" if not listed.options else "", listed.note):
            if note:
                add(note, "list quiet")

    def notices(self, empty: str = "") -> Iterator[list[Piece]]:
        """The lines above the rows: that there are none, how many more fields there are, problems without a row."""
        more = self._model.form.more
        for text in (
            "" if self._model.rows else empty,
            safe(self._model.root.remark, 200) if self._model.row_at(()) is None else "",
            f"{more} more are edited as JSON." if more else "",
        ):
            if text:
                yield from self._wrapped(text, "quiet", 0, 3)
        for problem in self._model.row_problems.loose[:8]:
            yield from self._problem(problem, 0)

    def _below(self, row: Row, problems: Sequence[SchemaProblem], most: int = _MOST_PROBLEMS) -> list[list[Piece]]:
        """The lines of the problems below a row."""
        return [line for problem in problems[:most] for line in self._problem(problem, self.column(row) + 1)]

    def _problem(self, problem: SchemaProblem, margin: int) -> Iterator[list[Piece]]:
        sign, look = sign_of(problem.severity)
        words = "required" if problem.message == REQUIRED else safe(problem.message, 400)
        yield from self._wrapped(f"{sign} {words}", look, margin, 3)

    def _help(self, row: Row, current: bool) -> str:
        choice = isinstance(row.field, (Choice, Union)) and self.inline(row)
        seen = row.fold is not None or isinstance(row.field, Flag) or choice
        filled = self._model.has(row.path) or row.given.has_default
        return row_text.help_text(row, current=current, filled=filled, seen=seen)

    def inline(self, row: Row) -> bool:
        """Whether a row shows all its options side by side."""
        labels = row_text.options(row.field)
        return len(labels) <= _INLINE and sum(cell_len(text) + 4 for text in labels) <= self.editor_place(row)[1] - 4

    def _wrapped(self, text: str, look: str, margin: int, most: int) -> Iterator[list[Piece]]:
        room = max(10, self.width - margin)
        lines = [text] if cell_len(text) <= room else wrap(text, room, break_long_words=True) or [""]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} {glyphs().more}"]
        for line in lines:
            yield [(" " * margin, ""), (cut(line, room), look)]


class _Value:
    """Draws the value of one row, and records the parts that can be clicked."""

    def __init__(self, painter: Painter, model: FormModel, row: Row, drawn: Drawn, cursor: bool) -> None:
        self._painter, self._model, self._row, self._drawn = painter, model, row, drawn
        self._x, self._width = painter.editor_place(row)
        self._room = self._width - 2
        self._ground = "cursor" if cursor else "field"

    def draw(self, edited: bool) -> list[Piece]:
        """The pieces after the label; none where an editor will lie."""
        model, row, known = self._model, self._row, self._row.field
        if edited:
            return []
        if row.kind == "add":
            self._spot("add")
            look = "cursor" if self._ground == "cursor" else "button"
            return [(f" + add {'item' if isinstance(known, List) else 'entry'} ", look)]
        if row.kind == "rest":
            return [(cut(f"{glyphs().more} more than {MOST_CHILDREN:,} are edited as JSON", self._room), "quiet")]
        has, value, waiting = model.has(row.path), model.get(row.path), row.path in model.pending
        parts = row.fold is not None or (isinstance(known, (Object, Map, List)) and not waiting)
        self._spot("value")
        if has and value is None and known.nullable and (parts or isinstance(known, Union)):
            return self._field([("null", "quiet")])
        if isinstance(known, Union) and (row.fold is not False or not has):
            return self._choice(f"{self._sign()} " if row.fold is not None else "")
        if parts:
            return self._folding(has)
        if isinstance(known, Flag) and (not has or isinstance(value, bool)):
            return self._field([self._flag(has, value is True)])
        if isinstance(known, Choice) and (not has or model.chosen(row) >= 0):
            return self._choice()
        if isinstance(known, Choices) and isinstance(value, list):
            labels = [safe(row_text.options(known)[index], 80) for index in sorted(model.picked(row))]
            return self._field([(", ".join(labels), "") if labels else ("none: an empty list", "quiet")], True)
        if isinstance(known, Const) and has and model.chosen(row) >= 0:
            return self._field([(safe(label_of(known.value), self._room), ""), (" (fixed)", "quiet")])
        if not has and not waiting:
            return self._field([(row_text.hint(row), "quiet")], isinstance(known, Choices))
        return self._field([self._text()])

    def _spot(self, target: Target) -> None:
        self._drawn.spots.append((0, self._x, self._x + self._width, target))

    def _field(self, pieces: Sequence[Piece], opens: bool = False) -> list[Piece]:
        """Pieces on the background of a field, with a sign at the end if the field opens a list."""
        room = self._room - 2 * opens
        line: list[Piece] = [(" ", self._ground)]
        for text, look in pieces:
            text = cut(text, room)
            line.append((text, f"{self._ground} {look}".strip()))
            room -= cell_len(text)
        end = f" {glyphs().unfolded}" if opens else ""
        return [*line, (f"{' ' * room}{end} ", self._ground)]

    def _text(self) -> Piece:
        model, row = self._model, self._row
        if model.is_closed(row):
            return ("too large to be edited here", "quiet")
        text = model.text(row)
        if not text:
            return (row_text.placeholder(model, row), "quiet")
        if row_text.masked(row.field, text):
            text = "•" * min(len(text), 20)
        return (safe(text, self._room + 1), "")

    def _flag(self, has: bool, value: bool) -> Piece:
        if not has:
            return (f"[{glyphs().dash}] {row_text.hint(self._row)}", "quiet")
        return ("[x] true", "strong") if value else ("[ ] false", "")

    def _choice(self, mark: str = "") -> list[Piece]:
        """The options side by side, or the chosen option in a field that opens a list."""
        row, at = self._row, self._model.chosen(self._row)
        inline = self._painter.inline(row)
        if inline:
            unset = f"{row_text.default(row.given)} (default)" if row.given.has_default else row_text.optional(row)
            rest = f"  {unset}" if at < 0 else ""
            pieces = [*self._side_by_side(at, self._x + 1 + len(mark)), (rest, "quiet")]
        else:
            pieces = [(safe(row_text.options(row.field)[at], 80), "") if at >= 0 else (row_text.hint(row), "quiet")]
        return self._field([(mark, ""), *pieces, *self._counts()], not inline)

    def _side_by_side(self, chosen: int, x: int) -> list[Piece]:
        pieces: list[Piece] = []
        for index, label in enumerate(row_text.options(self._row.field)):
            text = f"{glyphs().on if index == chosen else glyphs().off} {safe(label, 80)}  "
            self._drawn.spots.append((0, x, x + cell_len(text), index))
            x += cell_len(text)
            pieces.append((text, "strong" if index == chosen else ""))
        return pieces

    # Values with rows inside

    def _folding(self, has: bool) -> list[Piece]:
        """A part that opens and closes: not a field, but the heading of its contents."""
        model, row = self._model, self._row
        self._spot("fold")
        at = model.chosen(row) if isinstance(row.field, Union) else -1
        label = f"{safe(row_text.options(row.field)[at], 40)} " if at >= 0 else ""
        room = max(4, self._room - cell_len(label) - width_of(self._counts()))
        if row.fold:
            text = row_text.opened(model, row)
        else:
            text = row_text.summary(model, row, room) if has else row_text.hint(row)
        pieces: list[Piece] = [(f"{self._sign()} ", "fold"), (label, "strong"), (cut(text, room), "quiet")]
        pieces += self._counts()
        if self._ground == "cursor":
            pieces = [(text, "cursor") for text, _ in pieces]
            pieces.append((" " * max(0, self._width - width_of(pieces)), "cursor"))
        return pieces

    def _sign(self) -> str:
        fold = self._row.fold
        return "" if fold is None else glyphs().unfolded if fold else glyphs().folded

    def _counts(self) -> list[Piece]:
        """The numbers of problems inside."""
        tally, path = self._model.row_problems, self._row.path
        pieces: list[Piece] = [(f" {glyphs().bad} {tally.errors[path]:,}", "bad")] if tally.errors.get(path) else []
        if self._row.fold is False and tally.warnings.get(path):
            pieces.append((f" {glyphs().warning} {tally.warnings[path]:,}", "warn"))
        return pieces


class FormCanvas(Steady, can_focus=True):
    """Shows the lines that the form draws. Has the focus while the current row needs no editor.

    A look is the name of one component class, or of two: the background, and the text on it.

    Args:
        form: lays out and draws the lines, and takes keys and clicks.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"form--{look}" for look in _LOOKS.split()}

    def __init__(self, form: FormView) -> None:
        super().__init__()
        self._form = form
        self.measured = 0
        """The height that Textual knows; 0 before the first layout."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self.measured = self._form.lay_out(width)
        return self.measured

    def render_line(self, y: int) -> Strip:
        segments = [
            Segment(text, self._style(look) if isinstance(look, str) else look) for text, look in self._form.line(y)
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self._style(""))

    def _style(self, look: str) -> Style:
        ground, *text = (look or "plain").split()
        style = self.get_component_rich_style(f"form--{ground}")
        if text and (ground != "cursor" or text == ["strong"]):
            style += self.get_component_rich_style(f"form--{text[0]}", partial=True)
        return style

    def on_key(self, event: events.Key) -> None:
        take_key(self, event, lambda: self._form.press(event.key, event.character))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            event.stop()
            self._form.click(offset.y, offset.x)
