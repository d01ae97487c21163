"""JSON text as rows that open and close: only what has been opened costs anything.

An open container shows its children between its first and its closing row; an open string shows its text below itself.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate
from typing import NamedTuple

from mcp_studio.tui.views.json_scan import Children, blank_end, key_at, scalar_end
from mcp_studio.tui.views.json_text import StringText


class Branch:
    """A container that has been opened at least once, or the document around the outermost value."""

    def __init__(self, children: Children, parent: Branch | None, place: int) -> None:
        self.children = children
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.place = place
        """Which child of its parent it is."""
        self.open = parent is None
        self.inner = 1
        """Rows that show when it is open: all below its first one, and the closing one."""
        self.opened: dict[int, Branch | StringText] = {}
        """Children that are open now or have been."""
        self._order: list[int] = []
        self._extra: list[int] | None = None

    def grow(self, rows: int) -> None:
        """It has more (or fewer) rows inside than before, among its children or below one of them."""
        branch = self
        branch.inner += rows
        branch._extra = None
        while branch.open and branch.parent is not None:
            branch = branch.parent
            branch.inner += rows
            branch._extra = None

    def set_open(self, place: int, is_open: bool) -> None:
        """Show or hide what is inside a child that is in `opened`."""
        inner = self.opened[place].inner
        if is_open:
            insort(self._order, place)
        else:
            self._order.remove(place)
        self.grow(inner if is_open else -inner)

    @property
    def open_children(self) -> list[int]:
        """Which children are open, in order."""
        return self._order

    def extra_before(self, order: int) -> int:
        """Rows inside the first `order` open children."""
        if self._extra is None:
            self._extra = [0, *accumulate(self.opened[place].inner for place in self._order)]
        return self._extra[order]

    def row_of(self, place: int) -> int:
        """The row of a child, counted from the first child's."""
        return place + self.extra_before(bisect_left(self._order, place))

    def find(self, row: int) -> tuple[int, int]:
        """The child at a row counted from the first child's, and how far below the child's own row that is."""
        order = bisect_right(self._order, row, key=self.row_of) - 1
        if order < 0:
            return row, 0
        place = self._order[order]
        below = row - self.row_of(place)
        inner = self.opened[place].inner
        return (place, below) if below <= inner else (place + below - inner, 0)


class Place(NamedTuple):
    """What a row shows: a child of a branch, its closing row (`place` counts all children), a line of a string."""

    branch: Branch
    place: int
    line: int = 0
    """From 1: a line of the open string."""


class JsonTree:
    """All rows of a JSON text: of all bytes, or of those from `begin` to `end`."""

    def __init__(self, data: bytes, begin: int = 0, end: int | None = None) -> None:
        self.data = data
        """The text, which may stand within something larger."""
        self.end = len(data) if end is None else end
        around = Children(b"", -1)
        self.begin = blank_end(data, begin)
        around.done = True
        if self.begin < self.end:
            around.starts.append(self.begin)
        self.document = Branch(around, None, 0)
        self.document.inner = len(around)
        # A key may be megabytes long, and is looked at several times for each drawing.
        self._keys: dict[int, tuple[int, int] | None] = {}

    @property
    def rows(self) -> int:
        """How many rows there are now."""
        return self.document.inner

    def at(self, row: int) -> Place:
        """What a row shows."""
        branch = self.document
        while True:
            place, below = branch.find(row)
            if not below:
                return Place(branch, place)
            inner = branch.opened[place]
            if isinstance(inner, StringText):
                return Place(branch, place, below)
            branch, row = inner, below - 1

    def row_of(self, where: Place) -> int:
        """The row that shows a place; all branches around it are open."""
        branch, row = where.branch, where.line
        row += branch.row_of(where.place)
        while branch.parent is not None:
            row += 1 + branch.parent.row_of(branch.place)
            branch = branch.parent
        return row

    # Values

    def _key(self, start: int) -> tuple[int, int] | None:
        if start not in self._keys:
            if len(self._keys) > 4_000:
                self._keys.clear()
            self._keys[start] = key_at(self.data, start)
        return self._keys[start]

    def value_start(self, branch: Branch, place: int) -> int:
        """Where the value of a child begins; for what is no member of an object, where it itself begins."""
        start = branch.children.starts[place]
        key = self._key(start) if branch.children.is_object else None
        return key[1] if key else start

    def key(self, branch: Branch, place: int, most: int | None = None) -> bytes | None:
        """The key of a child with its quotes, at most so many bytes of it; None in an array, and for no member."""
        start = branch.children.starts[place]
        key = self._key(start) if branch.children.is_object else None
        if key is None:
            return None
        return self.data[start : key[0] if most is None else min(key[0], start + most)]

    def value_end(self, branch: Branch, place: int) -> int | None:
        """Behind the value of a child; None while that is not known."""
        inner = branch.opened.get(place)
        if isinstance(inner, Branch) and inner.children.done:
            return inner.children.end
        children = branch.children
        start = self.value_start(branch, place)
        if place + 1 < len(children):
            behind = children.starts[place + 1]
        elif branch is self.document:
            behind = self.end
        elif children.done:
            behind = children.end - (not children.unfinished)
        else:
            return None
        # Between two children there are white space and one comma.
        while behind > start and self.data[behind - 1] in b" \t\r\n,":
            behind -= 1
        return behind

    def is_container(self, branch: Branch, place: int) -> bool:
        """Whether a child is an object or an array with something in it."""
        start = self.value_start(branch, place)
        inside = blank_end(self.data, start + 1)
        return self.data[start : start + 1] in (b"[", b"{") and self.data[inside : inside + 1] not in (b"", b"]", b"}")

    def is_string(self, branch: Branch, place: int) -> bool:
        """Whether a child is a string."""
        start = self.value_start(branch, place)
        return self.data[start : start + 1] == b'"'

    # Opening and closing

    def inside(self, branch: Branch, place: int) -> Branch:
        """The branch of a container child, made when it is first wanted; not opened."""
        found = branch.opened.get(place)
        if not isinstance(found, Branch):
            found = Branch(Children(self.data, self.value_start(branch, place)), branch, place)
            branch.opened[place] = found
        return found

    def is_open(self, branch: Branch, place: int) -> bool:
        """Whether the child shows what is inside it."""
        inner = branch.opened.get(place)
        return inner is not None and inner.open

    def open(self, branch: Branch, place: int, width: int) -> Branch | StringText | None:
        """Open a child: what is inside, or None when it has nothing to show. A string wraps at `width`."""
        if self.is_container(branch, place):
            inner = self.inside(branch, place)
        elif self.is_string(branch, place):
            inner = branch.opened.get(place)
            if not isinstance(inner, StringText) or inner.width != width:
                self.close(branch, place)
                start = self.value_start(branch, place)
                end = self.value_end(branch, place) or scalar_end(self.data, start)
                inner = StringText(self.data, start + 1, end, width)
                branch.opened[place] = inner
        else:
            return None
        if not inner.open:
            inner.open = True
            branch.set_open(place, True)
        return inner

    def close(self, branch: Branch, place: int) -> None:
        """Close a child; what was open inside stays so for the next time."""
        inner = branch.opened.get(place)
        if inner is not None and inner.open:
            # Taken out first: rows inside that is closed do not count for those around.
            branch.set_open(place, False)
            inner.open = False

    def index(self, branch: Branch, budget: float) -> bool:
        """Learn more children of a branch for `budget` seconds; True when all are known."""
        before = len(branch.children)
        done = branch.children.advance(budget)
        branch.grow(len(branch.children) - before)
        return done
