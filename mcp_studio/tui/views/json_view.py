"""JSON of any size as a tree that folds: at once on screen, parsed only where it is opened."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, cast

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType

from mcp_studio.jsontext import Json
from mcp_studio.present.units import plural, size
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.find import SearchView
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_tree import Children, JsonTree, children_of
from mcp_studio.tui.views.line import Line, Piece, cut, fit, mark_pieces, width_of
from mcp_studio.tui.views.rows import CursorView

KEY, STRING, NUMBER, CONSTANT, MARK = "json--key", "json--string", "json--number", "json--constant", "json--mark"
_BREAKS = re.compile(r"\s*[\r\n]\s*")
_TOKENS = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)|(?P<number>-?\d[\d.eE+-]*)'
    r"|(?P<constant>true|false|null)|(?P<mark>[^\"\w-]+|.)",
)
_SMALL = 64 * 1024
_ROWS_SMALL, _ROWS_LARGE = 400, 80
_CHILDREN = 200
"""What is opened unasked: so many rows of a small text, of a large one; containers with no more children than this."""
_BYTES = 1 << 20
"""Bytes of a container that is opened unasked: its children are counted before."""


def paint(text: str) -> list[Piece]:
    """JSON text (a part of it, made safe) in its colours."""
    looks = {"key": KEY, "string": STRING, "number": NUMBER, "constant": CONSTANT}
    return [(found[0], looks.get(found.lastgroup or "", MARK)) for found in _TOKENS.finditer(text)]


def marks_of(problems: Iterable[SchemaProblem], value: Json) -> dict[str, str]:
    """What is wrong with a value, by the JSON pointers of parts of it that are there, as `JsonView.show` takes it."""
    found: dict[str, str] = {}
    for problem in problems:
        pointer = _existing(value, problem.pointer)
        missing = problem.pointer[len(pointer) :].lstrip("/")
        text = f"{missing} {problem.message}".strip()
        text = text if pointer in found else f"{glyphs().bad} {text}"
        found[pointer] = f"{found[pointer]}; {text}" if pointer in found else text
    return found


def _existing(value: Json, pointer: str) -> str:
    """The longest part of a pointer that leads to something."""
    way = ""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(cast("list[Json]", value)):
            value = value[int(key)]
        else:
            break
        way += f"/{part}"
    return way


class JsonView(SearchView, CursorView):
    """Shows JSON text as it came: numbers as typed, double keys, and what is broken too."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("json")
    COMPONENT_CLASSES: ClassVar[set[str]] = {KEY, STRING, NUMBER, CONSTANT, MARK}
    DEFAULT_CSS = """
    JsonView {
        & > .json--key { color: $text-primary; }
        & > .json--string { color: $text-success; }
        & > .json--number { color: $text-accent; }
        & > .json--constant { color: $text-warning; }
        & > .json--mark { color: $foreground 50%; }
    }
    """

    def __init__(self, data: bytes | str = b"", marks: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.show(data, marks)

    def show(self, data: bytes | str, marks: Mapping[str, str] | None = None) -> None:
        """Show other JSON; a search ends. Text that is no JSON is shown as far as it looks like it.

        Args:
            marks: what is wrong with values, each with its sign, by their JSON pointers; need not be safe.
        """
        self._json = JsonTree(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)
        self._marks = marks or {}
        self._fresh = True
        if self.row_width:
            self._begin()

    def _begin(self) -> None:
        self._fresh = False
        self.rows_changed(0, cursor=0)
        self.find("")
        if self._json.rows and self._opens(0):
            self._open(0)
            self._unfold()

    def on_resize(self) -> None:
        """Open strings are wrapped at the new width."""
        tree = self._json
        if self._fresh and self.row_width:
            self._begin()
        if strings := tree.open_strings:
            at = tree.starts[tree.owner(self.cursor)]
            for start in strings:
                tree.close(tree.row_of(start))
                self._open(tree.row_of(start))
            self.rows_changed(cursor=tree.row_of(at))

    @property
    def row_count(self) -> int:
        return self._json.rows

    # Opening and closing

    def _opens(self, row: int) -> bool:
        """Whether there is more to see inside than the row has room for: a container, or a string that is cut."""
        tree = self._json
        return tree.is_container(row) or (tree.is_string(row) and not self._fits(row))

    def _open(self, row: int, children: Children | None = None) -> bool:
        is_open = self._json.open(row, max(8, self.row_width - self._indent(row) - 4), children)
        self.rows_changed()
        return is_open

    def _close(self, row: int) -> None:
        self._json.close(row)
        self.rows_changed(cursor=row)
        self.show_cursor()

    def _unfold(self) -> None:
        """Open what is near the top and has few children, until there is enough to see."""
        tree = self._json
        most = _ROWS_SMALL if len(tree.data) <= _SMALL else _ROWS_LARGE
        for level in range(1, 30):
            rows = [row for row in range(min(most, tree.rows)) if tree.levels[row] == level and tree.is_container(row)]
            if not rows or tree.rows > most:
                return
            for row in reversed(rows):
                if tree.is_open(row) or (self._fits(row) and not self._is_marked_inside(row)):
                    continue
                if tree.value_end(row) - tree.value_start(row) > _BYTES:
                    continue
                inner = children_of(tree.data, tree.value_start(row))
                if len(inner.starts) <= min(_CHILDREN, most - tree.rows):
                    self._open(row, inner)

    def _is_marked_inside(self, row: int) -> bool:
        inside = f"{self._json.pointer(row)}/" if self._marks else ""
        return any(pointer.startswith(inside) for pointer in self._marks)

    def row_chosen(self, index: int) -> None:
        """Open or close."""
        row = self._json.owner(index)
        if self._json.is_open(row):
            self._close(row)
        elif self._opens(row):
            self._open(row)

    def row_clicked(self, index: int, x: int, chain: int) -> None:
        """A click on the sign in front opens or closes, too."""
        super().row_clicked(index, x, chain)
        if chain == 1 and x <= self._indent(self._json.owner(index)) + 1:
            self.row_chosen(index)

    def key_enter(self, event: events.Key) -> None:
        event.stop()
        self.action_toggle_item()

    def action_toggle_item(self) -> None:
        if self._json.rows:
            self.row_chosen(self.cursor)

    def action_unfold(self) -> None:
        """Open what the cursor is on; when it is open, go inside."""
        if self._json.rows and self._json.is_open(row := self._json.owner(self.cursor)):
            self.move_to(row + 1)
        else:
            self.action_toggle_item()

    def action_fold(self) -> None:
        """Close what the cursor is on; when it is closed, go to the container around it."""
        if not self._json.rows:
            return
        row = self._json.owner(self.cursor)
        if self._json.is_open(row):
            self._close(row)
        elif (parent := self._json.parent(row)) is not None:
            self.move_to(parent)

    def copy(self) -> None:
        """Copy the value under the cursor: a string's own text, of everything else the JSON as it came."""
        if self._json.rows:
            self.app.copy_to_clipboard(self._json.text(self._json.owner(self.cursor)))

    def action_copy_path(self) -> None:
        """Copy the JSON pointer of the value under the cursor."""
        if self._json.rows:
            self.app.copy_to_clipboard(self._json.pointer(self._json.owner(self.cursor)))

    # Search

    def search_origin(self) -> int:
        return self._json.starts[self.cursor] if self._json.rows else 0

    def search(self, text: str, flags: int) -> Iterable[re.Match[bytes]]:
        """The text itself, and as JSON strings spell it, with and without escapes for what is not ASCII."""
        # Without regard to case is for bytes: of ASCII.
        words = {text} if not flags or text.isascii() else {text, text.upper(), text.title()}
        spelled = words | {json.dumps(word, ensure_ascii=ascii)[1:-1] for word in words for ascii in (True, False)}
        pattern = b"|".join({re.escape(word.encode("utf-8", "backslashreplace")) for word in spelled})
        return re.finditer(pattern, self._json.data, flags)

    def show_hit(self, offset: int) -> None:
        """Open what is around a byte, and put the cursor there."""
        tree = self._json
        row = tree.owner(tree.row_around(offset))
        while offset > tree.value_start(row) and not tree.is_open(row) and self._opens(row) and self._open(row):
            row = tree.owner(tree.row_around(offset))
        if tree.is_string(row) and tree.is_open(row) and offset > tree.value_start(row):
            row = tree.line_of(row, offset)
        self.move_to(row, center=True)

    # Drawing

    def _indent(self, row: int) -> int:
        """Cells in front of a row: two a level, but never more than half of the width."""
        return min(2 * self._json.levels[row], self.row_width // 2)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        note = ""
        if self._marks and self._json.owner(index) == index and (wrong := self._marks.get(self._json.pointer(index))):
            note = f"  {safe(wrong, 200)}"
        pieces = self._row(index, max(width - cell_len(note), width * 3 // 5))
        return mark_pieces([*pieces, (cut(note, width - width_of(pieces)), "bad")], [self.needle])

    def _row(self, row: int, width: int) -> list[Piece]:
        tree, signs, owner = self._json, glyphs(), self._json.owner(row)
        margin = " " * self._indent(owner)
        if tree.is_line(row):
            return [(f"{margin}  {signs.bar} ", MARK), (tree.line(row), STRING)]
        if tree.is_closing(row):
            if (end := tree.starts[row]) == len(tree.data):
                return [(f"{margin}  {signs.bar} its end is missing, or too far away to be shown", "bad")]
            return [(f"{margin}  {safe(tree.data[end : end + 1])}", MARK)]
        is_open = tree.is_open(row)
        sign = signs.unfolded if is_open else signs.folded if self._opens(row) else " "
        pieces = [(f"{margin}{sign} ", MARK), *self._key(row, width)]
        room = max(4, width - width_of(pieces))
        return pieces + (self._opened(row) if is_open else self._folded(row, room))

    def _key(self, row: int, width: int) -> list[Piece]:
        """The key of a row: it may always take half of the row, and more where the value still has some."""
        key = self._json.key(row, 4 * width)
        room = max(width // 2, width - self._indent(row) - 28)
        return [] if key is None else [(cut(_text(key, width), room), KEY), (": ", MARK)]

    def _opened(self, row: int) -> list[Piece]:
        tree, size = self._json, self._size_words(row)
        if tree.is_string(row):
            return [(f"string, {size}", "dim")]
        start = tree.value_start(row)
        bracket = safe(tree.data[start : start + 1])
        count = plural(tree.count(row), "key" if bracket == "{" else "item")
        return [(bracket, MARK), (f"  {count}, {size}", "dim")]

    def _folded(self, row: int, room: int) -> list[Piece]:
        text, is_whole = self._value(row, room)
        if is_whole:
            return paint(text)
        size = self._size_words(row)
        if room > 16:
            return [*paint(fit(text, room - len(size) - 2, more=glyphs().more)), (f" {size} ", "dim")]
        return paint(cut(text, room, more=glyphs().more))

    def _fits(self, row: int) -> bool:
        """Whether a whole value has room in its row."""
        width = self.row_width
        return self._value(row, width - self._indent(row) - 2 - width_of(self._key(row, width)))[1]

    def _value(self, row: int, room: int) -> tuple[str, bool]:
        """As much of a value as a row could ever show, on one line; and whether that is all, and has room."""
        start, end = self._json.value_start(row), self._json.value_end(row)
        most = start + 6 * max(room, 0) + 200
        text = _text(self._json.data[start : min(end, most)], room)
        return text, end <= most and cell_len(text) <= room

    def _size_words(self, row: int) -> str:
        return size(self._json.value_end(row) - self._json.value_start(row))


def _text(raw: bytes, room: int) -> str:
    text = raw.decode("utf-8", "replace")
    return safe(_BREAKS.sub(" ", text), 2 * max(room, 0) + 40)
