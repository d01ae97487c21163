"""Text whose long lines go on below where they began, so that names at the left stay a column."""

from __future__ import annotations

import re

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

_LABEL = re.compile(r"\s*\S+(?: \S+)*?\s{2,}")
"""A name, and the gap after it."""
_LINE = re.compile(r"\s*")


class Hanging(Static):
    """A static text of names and values, wrapped anew for every width."""

    def __init__(self, content: Content | None = None) -> None:
        super().__init__()
        self._whole = content or Content("")

    def show(self, content: Content) -> None:
        """Show another text."""
        self._whole = content
        self.update(hang(content, self.size.width))

    def on_mount(self) -> None:
        """Before the width is known it stands as it is."""
        self.update(self._whole)

    def on_resize(self) -> None:
        """Wrap it for this width."""
        self.update(hang(self._whole, self.size.width))


def hang(content: Content, width: int) -> Content:
    """Break lines at spaces; what goes on stands below the value, or two cells in."""
    if width < 8:
        return content
    return Content("\n").join([part for line in content.split("\n", allow_blank=True) for part in _wrap(line, width)])


def _wrap(line: Content, width: int) -> list[Content]:
    plain = line.plain
    if cell_len(plain) <= width:
        return [line]
    label = _LABEL.match(plain)
    indent = cell_len(label[0]) if label else 0
    if not 0 < indent <= width // 2:
        lead = _LINE.match(plain)
        indent = min(width // 2, cell_len(lead[0])) if lead and lead[0] else 0
        indent += 2 if indent else 0
    lines: list[Content] = []
    start = 0
    while start < len(plain):
        room = width - (indent if lines else 0)
        end = _cut(plain, start, room)
        lines.append((Content(" " * indent) if lines else Content("")) + line[start:end].rstrip())
        start = end
        while start < len(plain) and plain[start] == " ":
            start += 1
    return lines


def _cut(plain: str, start: int, room: int) -> int:
    """Where the part that begins at `start` ends: after the last space that fits, else where the room ends."""
    cells, end, space = 0, start, -1
    while end < len(plain):
        cells += cell_len(plain[end])
        if cells > room:
            break
        end += 1
        if plain[end - 1] == " " and plain[start:end].strip():
            space = end
    if end == len(plain) or plain[end] == " ":
        return max(end, start + 1)
    return space if space > start else max(end, start + 1)
