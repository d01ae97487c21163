"""The line below the input: the ways of searching and the scope, or where a pattern is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from mcp_studio.tui.screens.search_question import Question
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import cut

_GAP = 1
"""Cells between the ways and the scope, at least."""


class Way(NamedTuple):
    """One way of searching, as it is shown."""

    method: str
    name: str
    why_not: str = ""


class SearchLine(Widget):
    """Shows the question's way and scope; a click changes them."""

    class Clicked(Message):
        """`what` is the name of a method, `servers` or `kinds`."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self) -> None:
        super().__init__(classes="search-line")
        self._ways: Sequence[Way] = ()
        self._question = Question()
        self._problem = ""
        self._at: Callable[[], int] = lambda: 0
        self._spans: list[tuple[int, int, str]] = []

    def show(self, ways: Sequence[Way], question: Question) -> None:
        """Show the question's way among those that there are, and its scope."""
        if (ways, question._replace(text="")) != (self._ways, self._question):
            self._ways, self._question = ways, question._replace(text="")
            self.refresh()

    def tell(self, problem: str, at: Callable[[], int] = lambda: -1) -> None:
        """Show a problem in their place, `at` so many cells from the left; an empty one takes it away."""
        if problem or self._problem:
            self._problem, self._at = problem, at
            self.refresh()

    def render(self) -> Content:
        """The line as it is now."""
        self._spans = []
        return self._told() if self._problem else self._shown()

    def on_click(self, event: Click) -> None:
        """Take the way under the pointer, or change the scope."""
        event.stop()
        for start, end, what in self._spans:
            if start <= event.x < end:
                self.post_message(self.Clicked(what))

    def _told(self) -> Content:
        """The problem, with a mark below the place where it is; the words stand on the side where there is room."""
        width, at = self.size.width, min(self._at(), self.size.width - 1)
        told, mark = (self._problem, "$state-failed"), ("^", "b $accent")
        words = cell_len(self._problem)
        if at < 0:
            return Content.assemble((cut(self._problem, width), "$state-failed"))
        if at + 2 + words > width and words + 1 <= at:
            return Content.assemble(" " * (at - words - 1), told, " ", mark)
        return Content.assemble(" " * at, mark, " ", (cut(self._problem, width - at - 2), "$state-failed"))

    def _shown(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        x = 0
        for way in self._ways:
            if parts:
                parts.append((f" {glyphs().bar} ", "$quiet"))
                x += 3
            current = way.method == self._question.method
            parts.append((way.name, "b $accent underline" if current else "$quiet strike" if way.why_not else "$quiet"))
            self._spans.append((x, x + cell_len(way.name), way.method))
            x += cell_len(way.name)
        return Content.assemble(*parts, *self._scope(self.size.width - x - _GAP, x + _GAP))

    def _scope(self, room: int, start: int) -> list[str | tuple[str, str]]:
        """Servers and kinds at the right end; what is no limit gives way first, then names of servers."""
        what, dot = self._question.what, f" {glyphs().dot} "
        wide = cell_len(self._question.where) + cell_len(dot) + cell_len(what)
        if self._question.kind is None and wide >= room:
            what = dot = ""
        where = cut(self._question.where, room - cell_len(dot + what), more=glyphs().more)
        if cell_len(where) < min(4, cell_len(self._question.where)):
            return []
        end = start + room
        x = end - cell_len(where + dot + what)
        self._spans += [(x, x + cell_len(where), "servers"), (end - cell_len(what), end, "kinds")]
        looks = ("$quiet" if self._question.servers is None else "b", "$quiet" if self._question.kind is None else "b")
        return [" " * (x - start + _GAP), (where, looks[0]), (dot, "$quiet"), (what, looks[1])]
