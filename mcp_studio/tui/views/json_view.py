"""JSON of any size as a tree that folds, in which only opened parts cost anything.

Nothing is parsed: the children of a container are found in the raw bytes, so that broken JSON is shown, too. Two flat
arrays hold all visible rows: the byte at which each row begins, and its level. Both are in the order of the text, so
a bisection finds a row by its byte, and a search in bytes finds its parent, siblings and closing row.
"""

from __future__ import annotations

import asyncio
import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

from rich.cells import cell_len
from textual import events

from mcp_studio.jsontext import SLICE, Json, items_of, loads_or
from mcp_studio.present.units import plural, size
from mcp_studio.protocol.message import PART
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.place import has, path_of, pointer
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.rows import CursorView, Piece, SearchView, break_rows, cut, fit, glyphs, mark_pieces, width_of

_BREAKS = re.compile(r"\s*[\r\n]\s*")
TOKENS = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)|(?P<number>-?\d[\d.eE+-]*)'
    r"|(?P<constant>true|false|null)|(?P<mark>[^\"\w-]+|.)"
)
_SMALL = 64 * 1024
_ROWS_SMALL, _ROWS_LARGE = 400, 80
_CHILDREN = 200
"""What opens by itself: so many rows of a small and of a large text; containers with at most so many children."""
_BYTES = 1 << 20
"""The largest container in bytes that opens by itself, because its children must be counted first."""
_CLOSING = 128
"""The level of a closing row: this number plus the level of its container."""
_LINE = 255
"""The level of the lines of an open string."""
_DEEPEST = 120
"""Containers below this level cannot be opened."""
_STRING_MOST = 1 << 18
"""Bytes of a string that are shown as lines."""
_KEY_MOST = 1 << 16
"""Bytes of a key at most; a longer key is treated as a value."""
_LARGE = 4 << 20
"""Bytes of a container from which on its children are found in a thread."""
_TOKENS_MOST = 5_000_000
"""Strings, brackets and commas of a container that are read, in five seconds at most."""
_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _container(levels: int) -> bytes:
    inner = b"|" + _container(levels - 1) if levels else b""
    return rb'[\[{](?:[^"\[\]{}]++|' + _STRING + inner + rb")*+[\]}]"


# Matching four levels at once is many times faster than going bracket by bracket.
_PARTS = re.compile(_STRING + b"|" + _container(3) + rb'|["\[\]{},]', re.DOTALL)
_KEY = re.compile(b"(" + _STRING + b")" + _SPACE + b":" + _SPACE, re.DOTALL)
_BLANK = re.compile(_SPACE)
_UNITS = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


def _blank_end(data: bytes | memoryview, at: int) -> int:
    """The first byte from `at` on that is not white space."""
    found = _BLANK.match(data, at)
    return found.end() if found else at


class Children(NamedTuple):
    """The places where the children of a container begin (in an object: their keys), and its closing bracket."""

    starts: array[int]
    closing: int
    """The end of the data if the bracket is missing or too far away."""


def children_of(data: bytes | memoryview, start: int, most: int = _TOKENS_MOST) -> Children:
    """Find the children of the container that begins at `start`."""
    starts = array("Q")
    depth, position = 0, start + 1
    for token in islice(_PARTS.finditer(data, position), most):
        sign = token[0] if token.end() - token.start() == 1 else b""
        if sign == b'"':  # a string without an end
            break
        if sign in (b"[", b"{"):
            depth += 1
        elif sign in (b"]", b"}"):
            depth -= 1
        if depth < 0 or (sign == b"," and not depth):
            if (begin := _blank_end(data, position)) < token.start():
                starts.append(begin)
            position = token.end()
        if depth < 0:
            return Children(starts, token.start())
    if (begin := _blank_end(data, position)) < len(data):
        starts.append(begin)
    return Children(starts, len(data))


_TABLE = re.compile(rb"(?:\A|:)" + _SPACE + rb"(?=\[" + _SPACE + rb"\{)")
ROWS_MOST = 10_000
"""The most rows of a table."""
_HEAD = 1 << 16
"""Bytes of a large text in which a table must begin."""


def first_objects(text: memoryview) -> list[dict[str, Json]] | None:
    """The first objects of the first array of objects in a large JSON text; None if none begins near its beginning."""
    if (found := _TABLE.search(text[:_HEAD])) is None:
        return None
    part = text[found.end() : found.end() + PART]
    starts, end = children_of(part, 0, 2 * ROWS_MOST)
    end = starts.pop() if end == len(part) and starts else end
    rows = items_of(loads_or(b"[%b]" % bytes(part[1:end]).rstrip(b", \t\r\n")))
    return rows if rows and all(isinstance(row, dict) for row in rows) else None


def _key_at(data: bytes | memoryview, at: int) -> tuple[int, int] | None:
    """The end of the key and the begin of the value of an object's member; None if there is no member at `at`."""
    found = _KEY.match(data, at, at + _KEY_MOST)
    return (found.end(1), found.end()) if found else None


class JsonTree:
    """The rows of a JSON text. An open container ends with a closing row; an open string has its lines below."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data)
        self.starts, self.levels = array("Q"), bytearray()
        self._lines: dict[int, list[str]] = {}
        """The lines of open strings, by the byte at which the string's row begins."""
        begin = _blank_end(data, 0)
        if begin < len(data):
            self._replace(0, 0, array("Q", [begin]), bytes(1))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.levels)

    def _replace(self, at: int, removed: int, starts: array[int], levels: bytes) -> None:
        self.starts[at : at + removed] = starts
        self.levels[at : at + removed] = levels

    # What a row is

    def is_line(self, row: int) -> bool:
        """Whether a row is a line of an open string."""
        return self.levels[row] == _LINE

    def is_closing(self, row: int) -> bool:
        """Whether a row ends an open container."""
        return _CLOSING <= self.levels[row] < _LINE

    def owner(self, row: int) -> int:
        """The row of a row's value: the row itself; for a line the open string, for a closing row the container."""
        if self.is_line(row):
            return self.row_of(self.starts[row])
        return self.levels.rfind(self.levels[row] - _CLOSING, 0, row) if self.is_closing(row) else row

    def row_of(self, start: int) -> int:
        """The row that begins at a byte."""
        return bisect_left(self.starts, start)

    def parent(self, row: int) -> int | None:
        """The row of the container around a value."""
        level = self.levels[row]
        return self.levels.rfind(level - 1, 0, row) if level else None

    def _closing(self, row: int) -> int:
        return self.levels.find(_CLOSING + self.levels[row], row + 1)

    def count(self, row: int) -> int:
        """The number of children of an open container."""
        return self.levels.count(self.levels[row] + 1, row, self._closing(row))

    def line(self, row: int) -> str:
        """A line of an open string as safe text."""
        return self._lines[self.starts[row]][row - self.owner(row) - 1].removesuffix("\n")

    def line_of(self, row: int, offset: int) -> int:
        """The row of an open string that shows one of its bytes."""
        inside = self.value_start(row) + 1
        before = len(safe(decode(self.data[inside : _parted(self.data, inside, offset)]), _STRING_MOST, lines=True))
        return row + bisect_right([*accumulate(map(len, self._lines[self.starts[row]]), initial=0)], before)

    # Values

    def value_start(self, row: int) -> int:
        """The byte at which a value begins; for a member of an object, the byte after its key."""
        found = _key_at(self.data, self.starts[row])
        return found[1] if found else self.starts[row]

    def key(self, row: int) -> bytes | None:
        """The key of a value with its quotes; None in an array."""
        found = _key_at(self.data, self.starts[row])
        return bytes(self.data[self.starts[row] : found[0]]) if found else None

    def value_end(self, row: int) -> int:
        """The byte after the end of a value."""
        start, level = self.value_start(row), self.levels[row]
        end = len(self.data)
        if level:
            closing = self.levels.find(_CLOSING + level - 1, row + 1)
            sibling = self.levels.find(level, row + 1, closing)
            end = self.starts[closing if sibling < 0 else sibling]
        while end > start and self.data[end - 1] in b" \t\r\n,":
            end -= 1
        return end

    def text(self, row: int) -> str:
        """The text of a string; the raw JSON of any other value."""
        start = self.value_start(row)
        if self.is_string(row):
            return decode(self.data[start + 1 : _parted(self.data, start + 1, len(self.data))])
        return bytes(self.data[start : self.value_end(row)]).decode("utf-8", "backslashreplace")

    def is_container(self, row: int) -> bool:
        """Whether a value is an object or an array that is not empty."""
        start = self.value_start(row)
        inside = _blank_end(self.data, start + 1)
        sign, first = bytes(self.data[start : start + 1]), bytes(self.data[inside : inside + 1])
        return sign in (b"[", b"{") and first not in (b"", b"]", b"}")

    def is_string(self, row: int) -> bool:
        start = self.value_start(row)
        return bytes(self.data[start : start + 1]) == b'"'

    def pointer(self, row: int) -> str:
        """The JSON pointer of a value; empty for the outermost value."""
        parts: list[str] = []
        while (parent := self.parent(row)) is not None:
            key = self.key(row)
            part = str(self.levels.count(self.levels[row], parent + 1, row)) if key is None else decode(key[1:-1])
            parts.append(part.replace("~", "~0").replace("/", "~1"))
            row = parent
        return "".join(f"/{part}" for part in reversed(parts))

    # Opening and closing

    def is_open(self, row: int) -> bool:
        """Whether the inside of a value is shown."""
        level, following = self.levels[row], self.levels[row + 1] if row + 1 < self.rows else 0
        return level < _CLOSING and following in (_LINE, level + 1, _CLOSING + level)

    def size(self, row: int) -> int:
        """The bytes of a value."""
        return self.value_end(row) - self.value_start(row)

    def open(self, row: int, width: int, children: Children | None = None) -> bool:
        """Show the inside of a value if it has one; `children` if they are known. A string wraps at `width`."""
        start, level = self.starts[row], self.levels[row]
        if self.is_container(row) and level < _DEEPEST:
            inner, closing = children or children_of(self.data, self.value_start(row))
            levels = bytes([level + 1]) * len(inner) + bytes([_CLOSING + level])
            self._replace(row + 1, 0, inner + array("Q", [closing]), levels)
        elif self.is_string(row):
            lines = self._lines[start] = self._wrap(row, width)
            self._replace(row + 1, 0, array("Q", [start]) * len(lines), bytes([_LINE]) * len(lines))
        return self.is_open(row)

    def _wrap(self, row: int, width: int) -> list[str]:
        inside, end = self.value_start(row) + 1, self.value_end(row)
        shown = _parted(self.data, inside, inside + _STRING_MOST)
        text = safe(decode(self.data[inside:shown]), _STRING_MOST, lines=True)
        if shown < end - 1:
            text += "…\nThere is more; it can be copied."
        return [text[begin:end] for begin, end in pairwise((*break_rows(text, width), len(text)))]

    def close(self, row: int) -> None:
        """Hide the inside of a value."""
        start = self.starts[row]
        if (lines := self._lines.pop(start, None)) is not None:
            self._replace(row + 1, len(lines), array("Q"), b"")
            return
        closing = self._closing(row)
        for inner in self.open_strings:
            if start <= inner < self.starts[closing]:
                del self._lines[inner]
        self._replace(row + 1, closing - row, array("Q"), b"")

    @property
    def open_strings(self) -> list[int]:
        """The bytes at which the rows of open strings begin."""
        return list(self._lines)


def _parted(data: memoryview, start: int, stop: int) -> int:
    """The last byte up to `stop` where a string may be cut: not inside an escape, and not inside a character."""
    found = _UNITS.match(data, start, stop)
    end = found.end() if found else start
    while start < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def decode(raw: bytes | memoryview) -> str:
    """The text of the inside of a JSON string; text that cannot be decoded stays as it is."""
    text = bytes(raw).decode("utf-8", "replace")
    if "\\" not in text:
        return text
    try:
        value = _DECODER.decode(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def paint(text: str) -> list[Piece]:
    """A part of JSON text, already safe, as pieces in the colours of JSON."""
    return [(found[0], found.lastgroup or "") for found in TOKENS.finditer(text)]


def marks_of(problems: Iterable[SchemaProblem], value: Json) -> dict[str, str]:
    """The problems of a value by JSON pointers of existing parts, as `JsonView.show` takes them."""
    found: dict[str, str] = {}
    for problem in problems:
        path = path_of(problem.pointer, value)
        while path and not has(value, path):
            path = path[:-1]
        place = pointer(*path)
        missing = problem.pointer[len(place) :].lstrip("/")
        text = f"{missing} {problem.message}".strip()
        found[place] = f"{found[place]}; {text}" if place in found else f"{glyphs().bad} {text}"
    return found


class JsonView(SearchView, CursorView):
    """Shows JSON text unchanged: with numbers as typed, duplicate keys, and broken parts."""

    BINDINGS = bindings("json")

    def __init__(self, data: bytes | str | memoryview = b"", marks: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.show(data, marks)

    def show(self, data: bytes | str | memoryview, marks: Mapping[str, str] | None = None) -> None:
        """Show other JSON, and end a search. Text that is no JSON is shown as far as it looks like JSON.

        Args:
            marks: the problems of values, each with its sign, by JSON pointer; need not be safe.
        """
        self._json = JsonTree(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)
        self._marks, self._fresh = marks or {}, True
        if self.row_width:
            self._begin()

    def _begin(self) -> None:
        self._fresh = False
        self.rows_changed(0, cursor=0)
        self.find("")
        if self._json.rows and self._opens(0):
            self._open(0, self._unfold)

    def on_resize(self) -> None:
        """Wrap open strings again at the new width."""
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
        """Whether the inside of a row shows more than the row: a container, or a string that is cut."""
        tree = self._json
        return tree.is_container(row) or (tree.is_string(row) and not self._fits(row))

    def _open(self, row: int, then: Callable[[], object] = bool, children: Children | None = None) -> None:
        """Show the inside of a row, and then do something; the children of a large container come later."""
        tree = self._json
        if children is None and tree.is_container(row) and tree.size(row) > _LARGE:
            self.run_worker(self._open_large(tree, tree.starts[row], then), group="open", exclusive=True)
        elif tree.open(row, max(8, self.row_width - self._indent(row) - 4), children):
            self.rows_changed()
            then()

    async def _open_large(self, tree: JsonTree, start: int, then: Callable[[], object]) -> None:
        children = await asyncio.to_thread(children_of, tree.data, tree.value_start(tree.row_of(start)))
        if tree is self._json and not tree.is_open(row := tree.row_of(start)):
            self._open(row, then, children)

    def _close(self, row: int) -> None:
        self._json.close(row)
        self.rows_changed(cursor=row)
        self.show_cursor()

    def _unfold(self) -> None:
        """Open small containers near the top, until there are enough rows."""
        tree = self._json
        most = _ROWS_SMALL if len(tree.data) <= _SMALL else _ROWS_LARGE
        for level in range(1, 30):
            rows = [row for row in range(min(most, tree.rows)) if tree.levels[row] == level and tree.is_container(row)]
            if not rows or tree.rows > most:
                return
            for row in reversed(rows):
                if self._shows_more(row) and tree.size(row) <= _BYTES:
                    inner = children_of(tree.data, tree.value_start(row))
                    if len(inner.starts) <= min(_CHILDREN, most - tree.rows):
                        self._open(row, children=inner)

    def _shows_more(self, row: int) -> bool:
        """Whether opening a container shows what its row does not: what has no room there, or marks."""
        inside = f"{self._json.pointer(row)}/" if self._marks else ""
        marked = any(pointer.startswith(inside) for pointer in self._marks)
        return not self._json.is_open(row) and (marked or not self._fits(row))

    def row_chosen(self, index: int) -> None:
        """Open or close the value of a row."""
        row = self._json.owner(index)
        if self._json.is_open(row):
            self._close(row)
        elif self._opens(row):
            self._open(row)

    def row_clicked(self, index: int, x: int, chain: int) -> None:
        """Let a click on the sign before a row open or close it, too."""
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
        """Open the value under the cursor; if it is open, go inside."""
        if self._json.rows and self._json.is_open(row := self._json.owner(self.cursor)):
            self.move_to(row + 1)
        else:
            self.action_toggle_item()

    def action_fold(self) -> None:
        """Close the value under the cursor; if it is closed, go to the container around it."""
        if not self._json.rows:
            return
        row = self._json.owner(self.cursor)
        if self._json.is_open(row):
            self._close(row)
        elif (parent := self._json.parent(row)) is not None:
            self.move_to(parent)

    def copy(self) -> None:
        """Copy the value under the cursor: the text of a string, or the raw JSON of any other value."""
        row = self._json.owner(self.cursor) if self._json.rows else 0
        if self._json.rows and self._json.size(row) > PART:
            self.app.notify(f"Not copied: {self._size_words(row)} is too much. Save it instead.", markup=False)
        elif self._json.rows:
            self.app.copy_to_clipboard(self._json.text(row))

    def action_copy_path(self) -> None:
        if self._json.rows:
            self.app.copy_to_clipboard(self._json.pointer(self._json.owner(self.cursor)))

    # Search

    def search_origin(self) -> int:
        return self._json.starts[self.cursor] if self._json.rows else 0

    def search(self, text: str, flags: int) -> Iterator[re.Match[bytes]]:
        """Find a text as it is, and as JSON strings spell it: with and without escapes of characters beyond ASCII."""
        # For bytes, the regular expression ignores case only in ASCII.
        words = {text} if not flags or text.isascii() else {text, text.upper(), text.title()}
        spelled = words | {json.dumps(word, ensure_ascii=ascii)[1:-1] for word in words for ascii in (True, False)}
        raws = {word.encode("utf-8", "backslashreplace") for word in spelled}
        pattern, data = re.compile(b"|".join(map(re.escape, raws)), flags), self._json.data
        for at in range(0, len(data), SLICE):
            if text != self.needle:  # another text is searched
                return
            hits = pattern.finditer(data, at, at + SLICE + max(map(len, raws)) - 1)
            yield from (hit for hit in hits if hit.start() < at + SLICE)

    def show_hit(self, offset: int) -> None:
        """Open the containers around a byte, and put the cursor there."""
        tree = self._json
        row = tree.owner(max(0, tree.row_of(offset + 1) - 1))  # the last row that begins there or before
        if offset > tree.value_start(row) and not tree.is_open(row) and self._opens(row):
            return self._open(row, partial(self.show_hit, offset))
        if tree.is_string(row) and tree.is_open(row) and offset > tree.value_start(row):
            row = tree.line_of(row, offset)
        self.move_to(row, center=True)

    # Drawing

    def _indent(self, row: int) -> int:
        """The cells before a row: two per level, but at most half of the width."""
        return min(2 * self._json.levels[row], self.row_width // 2)

    def render_row(self, index: int, width: int, selected: bool) -> list[Piece]:
        note = ""
        if self._marks and self._json.owner(index) == index and (wrong := self._marks.get(self._json.pointer(index))):
            note = f"  {safe(wrong, 200)}"
        pieces = self._row(index, max(width - cell_len(note), width * 3 // 5))
        return mark_pieces([*pieces, (cut(note, width - width_of(pieces)), "bad")], [self.needle])

    def _row(self, row: int, width: int) -> list[Piece]:
        tree, signs, owner = self._json, glyphs(), self._json.owner(row)
        margin = " " * self._indent(owner)
        if tree.is_line(row):
            return [(f"{margin}  {signs.bar} ", "mark"), (tree.line(row), "string")]
        if tree.is_closing(row):
            if (end := tree.starts[row]) == len(tree.data):
                return [(f"{margin}  {signs.bar} its end is missing, or too far away to be shown", "bad")]
            return [(f"{margin}  {safe(bytes(tree.data[end : end + 1]))}", "mark")]
        is_open = tree.is_open(row)
        sign = signs.unfolded if is_open else signs.folded if self._opens(row) else " "
        pieces = [(f"{margin}{sign} ", "mark"), *self._key(row, width)]
        room = max(4, width - width_of(pieces))
        return pieces + (self._opened(row) if is_open else self._folded(row, room))

    def _key(self, row: int, width: int) -> list[Piece]:
        """The key of a row. It may take half of the row, and more if enough room is left for the value."""
        key = self._json.key(row)
        room = max(width // 2, width - self._indent(row) - 28)
        return [] if key is None else [(cut(_text(key, width), room), "key"), (": ", "mark")]

    def _opened(self, row: int) -> list[Piece]:
        tree, size = self._json, self._size_words(row)
        if tree.is_string(row):
            return [(f"string, {size}", "dim")]
        start = tree.value_start(row)
        bracket = safe(bytes(tree.data[start : start + 1]))
        count = plural(tree.count(row), "key" if bracket == "{" else "item")
        return [(bracket, "mark"), (f"  {count}, {size}", "dim")]

    def _folded(self, row: int, room: int) -> list[Piece]:
        text, is_whole = self._value(row, room)
        if is_whole:
            return paint(text)
        size = self._size_words(row)
        whole = [*paint(fit(text, room - len(size) - 2)), (f" {size} ", "dim")]
        return whole if room > 16 else paint(cut(text, room))

    def _fits(self, row: int) -> bool:
        """Whether the whole value has room in its row."""
        width = self.row_width
        return self._value(row, width - self._indent(row) - 2 - width_of(self._key(row, width)))[1]

    def _value(self, row: int, room: int) -> tuple[str, bool]:
        """The beginning of a value on one line, as much as a row can show; and whether that is the whole value."""
        start, end = self._json.value_start(row), self._json.value_end(row)
        most = start + 6 * max(room, 0) + 200
        text = _text(self._json.data[start : min(end, most)], room)
        return text, end <= most and cell_len(text) <= room

    def _size_words(self, row: int) -> str:
        return size(self._json.size(row))


def _text(raw: bytes | memoryview, room: int) -> str:
    text = bytes(raw).decode("utf-8", "replace")
    return safe(_BREAKS.sub(" ", text), 2 * max(room, 0) + 40)
