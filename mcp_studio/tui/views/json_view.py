"""JSON of any size as a tree that folds: at once on screen, parsed only where it is opened."""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Mapping
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_draw import can_open, draw_row, indent_of
from mcp_studio.tui.views.json_folding import FoldingView, Job
from mcp_studio.tui.views.json_scan import Children, scalar_end
from mcp_studio.tui.views.json_text import Decoding, StringText, decode
from mcp_studio.tui.views.json_tree import Branch, JsonTree, Place
from mcp_studio.tui.views.line import Line, mark_pieces
from mcp_studio.tui.views.messages import Copied

_MOST_UNFOLDED = 2_000


class JsonView(FoldingView):
    """Shows JSON text as it came: numbers as typed, double keys, and what is broken too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "unfold", "Open, or go inside", show=False, id="json-open"),
        Binding("left,h", "fold", "Close, or go outside", show=False, id="json-close"),
        Binding("z", "fold_all", "Close all", show=False, id="json-close-all"),
        Binding("Z", "unfold_all", "Open one level more", show=False, id="json-open-all"),
        Binding("Y", "copy_path", "Copy the path", show=False, id="json-copy-path"),
    ]

    def __init__(
        self,
        data: bytes | str = b"",
        *,
        empty: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, name=name, id=id, classes=classes)
        self.set_json(data)

    def set_json(self, data: bytes | str, begin: int = 0, end: int | None = None) -> None:
        """Show other JSON; a search and marks end. Text that is no JSON is shown as far as it looks like it.

        Args:
            begin: where in the bytes it begins; they are not copied.
            end: behind its end.
        """
        if self.is_attached:
            self.workers.cancel_group(self, "inner")
        raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
        self._show_json(JsonTree(raw, begin, end))

    def _show_json(self, tree: JsonTree) -> None:
        self._marks: Mapping[str, str] = {}
        self.show_tree(tree)

    def set_inner(self, data: bytes, begin: int, end: int) -> None:
        """Show the JSON that a JSON string holds, which is decoded in slices first."""
        self.set_json(b"")
        reading = Decoding(data, begin, end)

        def step(budget: float) -> bool:
            if (text := reading.advance(budget)) is not None:
                self._show_json(JsonTree(text))
            return text is not None

        self.in_slices("inner", step)

    def set_marks(self, marks: Mapping[str, str]) -> None:
        """Say behind values what is wrong with them, by their JSON pointers; the words need not be safe."""
        self._marks = marks
        self.redraw()

    @property
    def data(self) -> bytes:
        """What is shown, as it came."""
        tree = self._tree
        return tree.data if tree.end == len(tree.data) and not tree.begin else tree.data[tree.begin : tree.end]

    def row_version(self, index: int) -> Hashable:
        """Number and search; whatever opens or closes draws all anew."""
        return index, self._needle

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One row, with what is searched for marked."""
        where = self._tree.at(index)
        said = self._said(where, width) if self._marks else ""
        pieces = draw_row(self._tree, where, width - cell_len(said))
        if said:
            pieces.append((said, "bad"))
        return mark_pieces(pieces, [self._needle]) if self._needle else pieces

    # What is under the cursor

    @property
    def _here(self) -> Place | None:
        """The child that the cursor's row belongs to; of a closing row, the container that it closes."""
        if not self._tree.rows:
            return None
        where = self._tree.at(self.cursor)
        if where.place >= len(where.branch.children) and where.branch.parent is not None:
            return Place(where.branch.parent, where.branch.place)
        return Place(where.branch, where.place)

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value under the cursor, empty for the outermost one."""
        return self._pointer(self._here)

    def _said(self, where: Place, width: int) -> str:
        """What is wrong with the value that a row begins with."""
        if where.line or where.place >= len(where.branch.children):
            return ""
        text = self._marks.get(self._pointer(where))
        return f"  {glyphs().bad} {safe(text, max(10, width // 2))}" if text else ""

    def _pointer(self, here: Place | None) -> str:
        parts: list[str] = []
        while here is not None and here.branch.parent is not None:
            key = self._tree.key(here.branch, here.place)
            part = str(here.place) if key is None else decode(key[1:-1])
            parts.append(part.replace("~", "~0").replace("/", "~1"))
            here = Place(here.branch.parent, here.branch.place)
        return "".join(f"/{part}" for part in reversed(parts))

    @property
    def value_text(self) -> str:
        """The value under the cursor: a string's own text, of everything else the JSON as it came."""
        here = self._here
        if here is None:
            return ""
        data, start = self._tree.data, self._tree.value_start(here.branch, here.place)
        end = self._tree.value_end(here.branch, here.place)
        if end is None and self._tree.is_container(here.branch, here.place):
            rest = Children(data, start)
            while not rest.advance(1):
                pass
            end = rest.end
        raw = data[start : scalar_end(data, start) if end is None else end]
        if self._tree.is_string(here.branch, here.place):
            return decode(raw[1:].removesuffix(b'"'))
        return raw.decode("utf-8", "backslashreplace")

    def action_copy(self) -> None:
        """Copy the value under the cursor."""
        if self._tree.rows:
            self.post_message(Copied(self.value_text, "value"))

    def action_copy_path(self) -> None:
        """Copy the JSON pointer of the value under the cursor."""
        if self._tree.rows:
            self.post_message(Copied(self.pointer, "path"))

    # Folding

    def key_is_taken(self, key: str) -> bool:
        """Opening and closing is the tree's own, whatever the pane around does with these keys elsewhere."""
        return key not in ("enter", "space") and super().key_is_taken(key)

    def row_chosen(self, index: int) -> None:
        """Open or close."""
        here = self._here
        if here is None:
            return
        if self._tree.is_open(here.branch, here.place):
            self._close([(here.branch, here.place)])
        elif can_open(self._tree, here.branch, here.place, self.row_width):
            self._open(here.branch, here.place)

    def row_clicked(self, index: int, x: int, chain: int) -> None:
        """A click on the sign in front opens or closes, too."""
        super().row_clicked(index, x, chain)
        here = self._here
        if here is not None and chain == 1 and x <= indent_of(here.branch.depth, self.row_width) + 1:
            self.row_chosen(index)

    def action_unfold(self) -> None:
        """Open what the cursor is on; when it is open, go inside."""
        here = self._here
        if here is None:
            return
        if self._tree.is_open(here.branch, here.place):
            self.move_to(self._tree.row_of(here) + 1)
        else:
            self.row_chosen(self.cursor)

    def action_fold(self) -> None:
        """Close what the cursor is on; when it is closed, go to the container around it."""
        here = self._here
        if here is None:
            return
        if self._tree.is_open(here.branch, here.place):
            self._close([(here.branch, here.place)])
        elif here.branch.parent is not None:
            self.move_to(self._tree.row_of(Place(here.branch.parent, here.branch.place)))

    def action_fold_all(self) -> None:
        """Close everything but the outermost container."""
        self._jobs.clear()
        branches = self._open_branches()
        self._close(
            (branch, place)
            for branch in reversed(branches)
            if branch is not self._tree.document
            for place in list(branch.open_children)
        )
        for branch in branches[:2]:  # its children are learned on, unasked opening has ended
            if branch.parent is not None and not branch.children.done:
                self._queue(self._learning(branch.parent, branch.place, branch))

    def action_unfold_all(self) -> None:
        """Open one level more of everything from the first row on screen on, up to a bound."""
        tree = self._tree
        rows = range(self.top, min(tree.rows, self.top + _MOST_UNFOLDED))
        places = deque(where for where in map(tree.at, rows) if where.place < len(where.branch.children))

        def job(budget: float) -> bool:
            stop = time.perf_counter() + budget
            while places and time.perf_counter() < stop:
                branch, place, _ = places.popleft()
                if tree.is_container(branch, place) and not tree.is_open(branch, place):
                    self._open(branch, place)
            return not places

        self._queue(job)

    # Search

    def searched_data(self) -> bytes:
        """The bytes shown, and what they stand in."""
        return self._tree.data

    def searched_part(self) -> tuple[int, int]:
        """Where they begin and end."""
        return self._tree.begin, self._tree.end

    def search_origin(self) -> int:
        """Where the row under the cursor begins."""
        here = self._here
        return here.branch.children.starts[here.place] if here else 0

    def search_variants(self, text: str) -> tuple[str, ...]:
        """The text as JSON strings spell it, with and without escapes for what is not ASCII."""
        return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]

    def show_hit(self, offset: int) -> None:
        """Open what is around a byte, learn as much as that needs, and put the cursor there."""
        self._queue(self._revealing(offset))

    def _revealing(self, offset: int) -> Job:
        tree = self._tree
        way = [tree.document]

        def job(budget: float) -> bool:
            while self.hit_offset == offset:  # else the person has gone on
                at = way[-1]
                starts = at.children.starts
                if not at.children.done and (not starts or starts[-1] <= offset):
                    self._keeping(lambda: tree.index(way[-1], budget))
                    return False
                place = max(0, bisect_right(starts, offset) - 1)
                if place >= len(starts) or not tree.is_container(at, place) or offset < tree.value_start(at, place):
                    return self._reveal_child(at, place, offset)
                self._open(at, place)
                way.append(tree.inside(at, place))
            return True

        return job

    def _reveal_child(self, branch: Branch, place: int, offset: int) -> bool:
        tree = self._tree
        line = 0
        if place < len(branch.children) and tree.value_start(branch, place) < offset:
            if can_open(tree, branch, place, self.row_width) and not tree.is_open(branch, place):
                self._open(branch, place)
            inner = branch.opened.get(place)
            if isinstance(inner, StringText) and inner.open:
                row = inner.row_of(offset)
                if row is None:
                    return False  # it is still being read
                line = row + 1
        self.move_to(tree.row_of(Place(branch, place, line)), center=True)
        return True
