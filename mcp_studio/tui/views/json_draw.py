"""How one row of a JSON tree looks."""

from __future__ import annotations

import re

from rich.cells import cell_len

from mcp_studio.present.units import size_text
from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_text import StringText
from mcp_studio.tui.views.json_tree import Branch, JsonTree, Place
from mcp_studio.tui.views.line import Piece, cut, fit, width_of

KEY, STRING, NUMBER, CONSTANT, MARK = "json--key", "json--string", "json--number", "json--constant", "json--mark"

_BREAKS = re.compile(r"\s*[\r\n]\s*")
_TOKENS = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)|(?P<number>-?\d[\d.eE+-]*)'
    r"|(?P<constant>true|false|null)|(?P<mark>[^\"\w-]+|.)",
)


def indent_of(depth: int, width: int) -> int:
    """Cells in front of a row: two a level, but never more than half of the width."""
    return min(2 * depth, width // 2)


def draw_row(tree: JsonTree, where: Place, width: int) -> list[Piece]:
    """The row that shows a place of the tree."""
    branch, place, line = where
    if line:
        return _draw_line(branch, place, line, width)
    if place >= len(branch.children):
        return _draw_end(tree, branch, width)
    return _draw_child(tree, branch, place, width)


def room_for_string(branch: Branch, width: int) -> int:
    """Cells that the lines of an open string have."""
    return width - indent_of(branch.depth, width) - 4


def _key_room(branch: Branch, width: int) -> int:
    """Cells that a key may take: always half of the row, and more where the value still has some."""
    return max(width // 2, width - indent_of(branch.depth, width) - 28)


def paint(text: str) -> list[Piece]:
    """JSON text (a part of it, made safe) in its colours."""
    return [
        (
            found[0],
            {"key": KEY, "string": STRING, "number": NUMBER, "constant": CONSTANT}.get(found.lastgroup or "", MARK),
        )
        for found in _TOKENS.finditer(text)
    ]


def _draw_line(branch: Branch, place: int, line: int, width: int) -> list[Piece]:
    text = branch.opened[place]
    shown = text.row(line - 1) if isinstance(text, StringText) else ""
    return [(" " * (indent_of(branch.depth, width) + 2) + f"{glyphs().bar} ", MARK), (shown, STRING)]


def _draw_end(tree: JsonTree, branch: Branch, width: int) -> list[Piece]:
    margin = " " * (indent_of(branch.depth - 1, width) + 2)
    if not branch.children.done:
        return [(f"{margin}{glyphs().more} reading", "dim")]
    if branch.children.unfinished:
        return [(f"{margin}{glyphs().bad} it ends here, unfinished", "bad")]
    end = branch.children.end
    return [(margin + safe(tree.data[end - 1 : end]), MARK)]


def _draw_child(tree: JsonTree, branch: Branch, place: int, width: int) -> list[Piece]:
    margin = " " * indent_of(branch.depth, width)
    opens = can_open(tree, branch, place, width)
    signs = glyphs()
    sign = (signs.unfolded if tree.is_open(branch, place) else signs.folded) if opens else " "
    pieces: list[Piece] = [(f"{margin}{sign} ", MARK)]
    key = tree.key(branch, place, 4 * width)
    if key is not None:
        pieces += [(cut(_text(key, width), _key_room(branch, width)), KEY), (": ", MARK)]
    elif branch.children.is_object:
        return [*pieces, (f"{signs.bad} ", "bad"), (_text(_raw(tree, branch, place, width), width), "bad")]
    room = max(4, width - width_of(pieces))
    if tree.is_open(branch, place):
        return pieces + _draw_open(tree, branch, place)
    return pieces + _draw_closed(tree, branch, place, room)


def _draw_open(tree: JsonTree, branch: Branch, place: int) -> list[Piece]:
    inner = branch.opened[place]
    size = _size(tree, branch, place)
    if isinstance(inner, StringText):
        return [(f"string, {size}", "dim")]
    count = len(inner.children)
    noun = "item" if not inner.children.is_object else "key"
    more = "" if inner.children.done else "+"
    return [
        ("{" if inner.children.is_object else "[", MARK),
        (f"  {count:,}{more} {noun}{'' if count == 1 else 's'}, {size}", "dim"),
    ]


def _draw_closed(tree: JsonTree, branch: Branch, place: int, room: int) -> list[Piece]:
    raw = _raw(tree, branch, place, room)
    text = _text(raw, room)
    if _whole(tree, branch, place, raw) and cell_len(text) <= room:
        return paint(text)
    size = _size(tree, branch, place)
    if room > 16:
        return [*paint(fit(text, room - len(size) - 2, more=glyphs().more)), (f" {size} ", "dim")]
    return paint(cut(text, room, more=glyphs().more))


def can_open(tree: JsonTree, branch: Branch, place: int, width: int) -> bool:
    """Whether there is more to see inside than the row has room for: a container, or a string that is cut."""
    if tree.is_container(branch, place):
        return True
    return tree.is_string(branch, place) and not fits(tree, branch, place, width)


def fits(tree: JsonTree, branch: Branch, place: int, width: int) -> bool:
    """Whether a child's whole value has room in its row."""
    key = tree.key(branch, place, 4 * width)
    used = indent_of(branch.depth, width) + 2
    if key is not None:
        used += min(_key_room(branch, width), cell_len(_text(key, width))) + 2
    raw = _raw(tree, branch, place, width)
    return _whole(tree, branch, place, raw) and cell_len(_text(raw, width)) <= width - used


def _raw(tree: JsonTree, branch: Branch, place: int, room: int) -> bytes:
    """As much of a value's text as a row could ever show, white space between lines included."""
    start, end = tree.value_start(branch, place), tree.value_end(branch, place)
    most = start + 6 * room + 200
    return tree.data[start : most if end is None else min(end, most)]


def _whole(tree: JsonTree, branch: Branch, place: int, raw: bytes) -> bool:
    return tree.value_start(branch, place) + len(raw) == tree.value_end(branch, place)


def _text(raw: bytes, room: int) -> str:
    text = raw.decode("utf-8", "replace")
    return safe(_BREAKS.sub(" ", text), 2 * room + 40)


def _size(tree: JsonTree, branch: Branch, place: int) -> str:
    end = tree.value_end(branch, place)
    return glyphs().more if end is None else size_text(end - tree.value_start(branch, place))
