"""JSON of any size as a tree that folds: at once on screen, parsed only where it is opened."""

from __future__ import annotations

import json
import re
import time
from collections import deque
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
from mcp_studio.tui.views.json_tree import Change, Children, JsonTree
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
_PROBE = 0.004
"""Seconds for which the children of a container are counted before it is opened unasked."""


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

    def __init__(self) -> None:
        super().__init__()
        self._reading: deque[int] = deque()
        """Where the open containers begin of which more children are to be learned, the most urgent first."""
        self.show(b"")

    def show(self, data: bytes | str, marks: Mapping[str, str] | None = None) -> None:
        """Show other JSON; a search ends. Text that is no JSON is shown as far as it looks like it.

        Args:
            marks: what is wrong with values, each with its sign, by their JSON pointers; need not be safe.
        """
        self.data = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
        self._json = JsonTree(self.data)
        self._marks = marks or {}
        self._fresh = True
        self._reading.clear()
        self._target = None
        if self.row_width:
            self._begin()

    def _begin(self) -> None:
        self._fresh = False
        self.rows_changed(0, cursor=0)
        self.find("")
        if self._json.rows and self._opens(0):
            self._open(0)
            if not self._reading:
                self._unfold()

    def on_resize(self) -> None:
        """Open strings are wrapped at the new width."""
        if self._fresh and self.row_width:
            self._begin()
        for start in self._json.open_strings:
            self._close(self._json.row_of(start))
            self._open(self._json.row_of(start))

    @property
    def complete(self) -> bool:
        """Whether everything that is open is known."""
        return not self._fresh and not self._reading

    @property
    def row_count(self) -> int:
        return self._json.rows

    # Opening and closing

    def _changed(self, change: Change | None) -> None:
        """Take over what has changed in the tree; cursor and first row stay on what they show."""
        if change is not None:
            self.rows_changed(change.moved(self.top), cursor=change.moved(self.cursor))

    def _opens(self, row: int) -> bool:
        """Whether there is more to see inside than the row has room for: a container, or a string that is cut."""
        tree = self._json
        return tree.is_container(row) or (tree.is_string(row) and not self._fits(row))

    def _open(self, row: int, children: Children | None = None) -> None:
        """Open a value, and learn in slices what is inside."""
        tree, start = self._json, self._json.starts[row]
        room = max(8, self.row_width - self._indent(row) - 4)
        change = tree.open(row, room, children)
        self._changed(change)
        if change and tree.is_container(row) and not tree.is_known(row):
            self._reading.appendleft(start)
            if len(self._reading) == 1:
                self.in_slices("rows", self._read_on)

    def _close(self, row: int) -> None:
        self._changed(self._json.close(row))

    def _read_on(self, budget: float) -> bool:
        stop = time.perf_counter() + budget
        while self._reading and (left := stop - time.perf_counter()) > 0:
            start = self._reading[0]
            change = self._json.learn(start, left)
            if change is None:
                self._reading.popleft()
                if start == self._json.starts[0]:
                    self._unfold()
            else:
                self._changed(change)
                self._reveal()
        return not self._reading

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
                inner = Children(tree.data, tree.value_start(row))
                inner.advance(_PROBE)
                if len(inner) <= _CHILDREN and tree.rows + len(inner) <= most:
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

    def search_variants(self, text: str) -> tuple[str, ...]:
        """The text as JSON strings spell it, with and without escapes for what is not ASCII."""
        return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]

    def show_hit(self, offset: int) -> None:
        """Open what is around a byte, learn as much as that needs, and put the cursor there."""
        self._target = offset
        self._reveal()

    def _reveal(self) -> None:
        tree = self._json
        while self._target is not None:
            row = tree.row_around(self._target)
            if tree.is_closing(row) and not tree.is_known(tree.owner(row)):
                return  # it is still being read
            row = tree.owner(row) if tree.is_line(row) else row
            inside = not tree.is_closing(row) and self._target > tree.value_start(row)
            if inside and not tree.is_open(row) and self._opens(row):
                self._open(row)
                if tree.is_open(row):
                    continue
            if inside and tree.is_string(row) and tree.is_open(row):
                row = tree.line_of(row, self._target)
            self._target = None
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
            if not tree.is_known(owner):
                return [(f"{margin}  {signs.more} reading", "dim")]
            if tree.is_unfinished(owner):
                return [(f"{margin}  {signs.bar} it ends here, unfinished", "bad")]
            end = tree.starts[row]
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
        return [(bracket, MARK), (f"  {count}{'' if tree.is_known(row) else '+'}, {size}", "dim")]

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
        text = _text(self._json.data[start : most if end is None else min(end, most)], room)
        return text, end is not None and end <= most and cell_len(text) <= room

    def _size_words(self, row: int) -> str:
        end = self._json.value_end(row)
        return glyphs().more if end is None else size(end - self._json.value_start(row))


def _text(raw: bytes, room: int) -> str:
    text = raw.decode("utf-8", "replace")
    return safe(_BREAKS.sub(" ", text), 2 * max(room, 0) + 40)
