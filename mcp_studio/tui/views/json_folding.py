"""Opening and closing in a JSON tree on screen: in slices, and with cursor and first row staying where they are."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar

from mcp_studio.tui.views.json_draw import can_open, fits, room_for_string
from mcp_studio.tui.views.json_text import StringText
from mcp_studio.tui.views.json_tree import Branch, JsonTree, Place
from mcp_studio.tui.views.searchable import SearchableView
from mcp_studio.tui.views.virtual import VirtualView

Job = Callable[[float], bool]
"""Work for some seconds; True when all of it is done."""

_SMALL = 64 * 1024
_ROWS_SMALL, _ROWS_LARGE = 400, 80
_CHILDREN = 200
"""What is opened unasked: so many rows of a small text, of a large one; containers with no more children than this."""


class FoldingView(SearchableView, VirtualView):
    """The rows of a JSON tree, and the work of learning them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "json--key", "json--string", "json--number", "json--constant", "json--mark",
    }  # fmt: skip
    DEFAULT_CSS = """
    FoldingView {
        & > .json--key { color: $text-primary; }
        & > .json--string { color: $text-success; }
        & > .json--number { color: $text-accent; }
        & > .json--constant { color: $text-warning; }
        & > .json--mark { color: $foreground 50%; }
    }
    """

    def __init__(
        self, *, empty: str = "", name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(empty=empty, name=name, id=id, classes=classes)
        self._tree = JsonTree(b"")
        self._fresh = False
        self._jobs: deque[Job] = deque()
        self._working = False

    @property
    def row_count(self) -> int:
        """Rows that are there with what is open now."""
        return self._tree.rows

    @property
    def complete(self) -> bool:
        """Whether everything that is open is known, and nothing is being opened."""
        return not self._fresh and not self._jobs

    def resized(self) -> None:
        """Open strings are wrapped at the new width."""
        super().resized()
        if self._fresh:
            self._begin()
        for branch, place in self._open_strings():
            text = branch.opened[place]
            if isinstance(text, StringText) and text.width != self._room(branch):
                self._open(branch, place)
        self.redraw()

    def shown(self) -> None:
        """Take over what was set while nobody could see it."""
        self.resized()

    def show_tree(self, tree: JsonTree) -> None:
        """Show another tree from its begin; a search ends."""
        self._tree, self._fresh = tree, True
        if self.is_attached:
            self._begin()

    def _begin(self) -> None:
        if not self.row_width:
            return
        self._fresh = False
        self._jobs.clear()
        self.rows_changed(0, cursor=0)
        self.find("")
        tree = self._tree
        if tree.rows and can_open(tree, tree.document, 0, self.row_width):
            self._open(tree.document, 0)
            if tree.is_container(tree.document, 0):
                self._queue(self._unfolding())

    # Work

    def _queue(self, job: Job) -> None:
        self._jobs.append(job)
        if not self._working:
            self.in_slices("rows", self._work)

    def _work(self, budget: float) -> bool:
        stop = time.perf_counter() + budget
        self._working = True
        try:
            while self._jobs and (left := stop - time.perf_counter()) > 0:
                # In turns: one may wait for what another learns.
                job = self._jobs.popleft()
                if not job(left):
                    self._jobs.append(job)
        finally:
            self._working = False
        return not self._jobs

    def _keeping(self, change: Callable[[], object]) -> None:
        """Change the tree; cursor and first row stay on what they show, or go to what it has been closed into."""
        kept = [self._anchor(self.cursor), self._anchor(self.top)]
        change()
        cursor, top = (0 if anchor is None else self._tree.row_of(self._visible(*anchor)) for anchor in kept)
        self.rows_changed(top, cursor=cursor)

    def _anchor(self, row: int) -> tuple[Place, bool] | None:
        if not self._tree.rows:
            return None
        place = self._tree.at(min(row, self._tree.rows - 1))
        return place, place.place >= len(place.branch.children)

    def _visible(self, where: Place, is_end: bool) -> Place:
        if is_end:
            where = Place(where.branch, len(where.branch.children))
        elif where.line:
            text = where.branch.opened[where.place]
            where = where._replace(line=min(where.line, text.inner) if text.open else 0)
        branch: Branch | None = where.branch
        while branch is not None:
            if not branch.open and branch.parent is not None:
                where = Place(branch.parent, branch.place)
            branch = branch.parent
        return where

    # Opening and closing

    def _room(self, branch: Branch) -> int:
        return max(8, room_for_string(branch, self.row_width))

    def _open(self, branch: Branch, place: int) -> None:
        """Open a child, and learn in slices what is inside."""
        self._keeping(lambda: self._tree.open(branch, place, self._room(branch)))
        inner = branch.opened.get(place)
        if inner is not None and not self._known(inner):
            self._queue(self._learning(branch, place, inner))

    def _close(self, places: Iterable[tuple[Branch, int]]) -> None:
        def change() -> None:
            for branch, place in places:
                self._tree.close(branch, place)

        self._keeping(change)

    def _known(self, inner: Branch | StringText) -> bool:
        return inner.done if isinstance(inner, StringText) else inner.children.done

    def _learning(self, branch: Branch, place: int, inner: Branch | StringText) -> Job:
        def job(budget: float) -> bool:
            if branch.opened.get(place) is not inner or not inner.open:
                return True  # it will be learned when it is opened again
            self._keeping(lambda: self._learn(branch, inner, budget))
            return self._known(inner)

        return job

    def _learn(self, branch: Branch, inner: Branch | StringText, budget: float) -> None:
        if isinstance(inner, Branch):
            self._tree.index(inner, budget)
            return
        came = inner.advance(budget)
        if inner.open:
            branch.grow(came)

    def _unfolding(self) -> Job:
        """Open what is near the top and has few children, until there is enough to see."""
        tree = self._tree
        most = _ROWS_SMALL if len(tree.data) <= _SMALL else _ROWS_LARGE
        queue = deque([(tree.document, 0)])

        def job(budget: float) -> bool:
            stop = time.perf_counter() + budget
            while queue:
                branch, place = queue[0]
                inner = tree.inside(branch, place)
                while not inner.children.done and len(inner.children) <= _CHILDREN:
                    left = stop - time.perf_counter()
                    if left <= 0:
                        return False
                    self._keeping(lambda inner=inner, left=left: tree.index(inner, left))
                queue.popleft()
                if len(inner.children) > _CHILDREN or (not inner.open and tree.rows + inner.inner > most):
                    continue
                if not inner.open:
                    self._open(branch, place)
                queue.extend((inner, child) for child in range(len(inner.children)) if self._worth(inner, child))
            return True

        return job

    def _worth(self, branch: Branch, place: int) -> bool:
        tree = self._tree
        return tree.is_container(branch, place) and not fits(tree, branch, place, self.row_width)

    def _open_branches(self) -> list[Branch]:
        found = [self._tree.document]
        for branch in found:
            inner = (branch.opened[place] for place in branch.open_children)
            found += [item for item in inner if isinstance(item, Branch)]
        return found

    def _open_strings(self) -> list[tuple[Branch, int]]:
        return [
            (branch, place)
            for branch in self._open_branches()
            for place in branch.open_children
            if isinstance(branch.opened[place], StringText)
        ]
