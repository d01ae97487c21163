"""The look of the search palette: a question, hits, what is under the cursor, what is to be known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from rich.cells import cell_len
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.search.method import Hit
from mcp_studio.tui.actions import scoped
from mcp_studio.tui.screens import search_words
from mcp_studio.tui.screens.dialog import GAP, Box, Dialog
from mcp_studio.tui.screens.search_asking import Answer, Asker
from mcp_studio.tui.screens.search_line import SearchLine, Way
from mcp_studio.tui.screens.search_preview import preview
from mcp_studio.tui.screens.search_question import Question
from mcp_studio.tui.screens.search_rows import HitList, room_for_names
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.search_acts import Searching

_EDGE = 3
"""Cells of the border at both ends of what stands in it."""
_BACK = "search-close"
_SHORT = 30
"""Lines of the screen below which the preview has few."""


class Chosen(NamedTuple):
    """What is to be done with a hit: `open` it, `run` it, or go to its `server`."""

    what: str
    hit: Hit


class Asked(Input):
    """The question. It is as wide as it is: nothing has to be laid out anew for a letter."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0))


class SearchBox(Dialog[Chosen], scope="search"):
    """Draws a question and its answer; a subclass asks.

    Args:
        kept: the question of before, and where the one of now is kept.
    """

    def __init__(self, studio: Studio, kept: Searching) -> None:
        super().__init__()
        self._studio = studio
        self._kept = kept
        self._question: Question = kept.question
        self._answer: Answer | None = None
        self._room, self._status, self._heading, self._held = 60, "", "", ""
        self._keys: Content | None = None
        self._asker = Asker(studio, lambda work: self.run_worker(work, group="search"), self.show)
        self._input = Asked(self._question.text, compact=True, placeholder="What are you looking for?")
        self._line = SearchLine()
        self._hits = HitList(self.seen)
        self._preview = Static(classes="preview")
        self._previewed: Hit | None = None
        self._note = Static(classes="note")

    def heading(self) -> Content:
        """What there is to be found."""
        self._heading = search_words.heading(self._studio)
        return Content(self._heading)

    def body(self) -> Iterable[Widget]:
        """The question, the hits, what is under the cursor, what is to be known."""
        return self._input, self._line, self._hits, self._preview, self._note

    def on_resize(self, event: Resize) -> None:
        """There is room for more or fewer lines and keys."""
        self.set_class(event.size.height < _SHORT, "-few")
        self.call_after_refresh(self._draw_rest)

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

    @property
    def _ways(self) -> list[Way]:
        index = self._asker.index
        return search_words.ways(index.methods if index is not None else (), self._question.method)

    def _draw_line(self) -> None:
        self._line.show(self._ways, self._question)
        problem = self._answer.problem if self._answer is not None else None
        if problem is None or self._answer is None or self._answer.question != self._question:
            self._line.tell("")
            return
        at = problem.at
        self._line.tell(search_words.told(problem), lambda: -1 if at is None else self._place_of(at))

    def _place_of(self, at: int) -> int:
        """The cell of the line below the input that is under a character of it."""
        before = cell_len(self._input.value[:at]) - round(self._input.scroll_offset.x)
        return self._input.region.x - self._line.region.x + max(0, before)

    @property
    def _box(self) -> Box | None:
        """What there is to draw on: a dialog that is being left has lost its parts before itself."""
        return next((child for child in self.children if isinstance(child, Box)), None) if self.is_attached else None

    def _draw_rest(self) -> None:
        box, index = self._box, self._asker.index
        if box is None:
            return
        self._draw_preview()
        self._status = search_words.status(self._answer)
        room = box.outer_size.width - 2 * _EDGE - cell_len(self._status) - 2
        if room != self._room or self._keys is None:
            self._room = room
            self._keys = self.keys_line()
        keys = self._keys
        line = (glyphs().line * (self._room - keys.cell_length), "$pane-focus")
        heading = search_words.heading(self._studio)
        if heading != self._heading:
            self._heading = heading
            box.border_title = Content(heading)
        box.show_below(Content.assemble(keys, " ", line, " ", self._status))
        self._held = search_words.extras(self._answer) or self._held
        note = search_words.notes(self._answer, index.vectors if index else (0, 0), self._held)
        self._note.update(Content(note), layout=False)

    def _draw_preview(self) -> None:
        hit, before = self._hits.hit, self._previewed
        shown = None if before is None else (before.ref, before.reasons, id(before.entry))
        if shown is None or hit is None or shown != (hit.ref, hit.reasons, id(hit.entry)):
            room = room_for_names(self._hits.row_width - 1)
            self._preview.update(preview(hit, room), layout=False)
        self._previewed = hit

    def keys_line(self) -> Content:
        """As many keys as fit beside what was found; the way back is one of them, whatever else has to go."""
        shown = [(action.id, self._app.spell(action.id), action.short) for action in scoped(self.scope) if action.show]
        while len(shown) > 1 and cell_len(GAP.join(f"{key} {title}" for _, key, title in shown)) > self._room:
            shown.pop(-2 if shown[-1][0] == _BACK else -1)
        parts: list[str | tuple[str, str]] = []
        for _, key, title in shown:
            parts += [GAP if parts else "", (key, "b $primary"), f" {title}"]
        return Content.assemble(*parts)

    def seen(self, row: int) -> None:
        """A row has come into view."""
        raise NotImplementedError

    def show(self, answer: Answer) -> None:
        """Take an answer."""
        raise NotImplementedError
