"""Searching in a viewer: hits found in slices, next and previous, the first one shown as soon as it is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from mcp_studio.tui.views.messages import Searched
from mcp_studio.tui.views.rows import RowsView
from mcp_studio.tui.views.search import ByteSearch

SLICE = 0.008
"""Seconds that work in slices may take before keys and drawing have their turn."""


class SearchableView(RowsView):
    """A viewer over bytes that can be searched.

    A subclass gives the bytes (`searched_data`), the place a search begins at (`search_origin`), and shows a hit
    (`show_hit`).
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "find_next(1)", "Next match", show=False, id="viewer-next"),
        Binding("N", "find_next(-1)", "Previous match", show=False, id="viewer-previous"),
    ]
    _search: ByteSearch | None = None
    _needle = ""
    _hit: int | None = None
    _origin = 0

    def searched_data(self) -> bytes:
        """What is searched."""
        raise NotImplementedError

    def searched_part(self) -> tuple[int, int]:
        """Where in it the search begins and ends."""
        return 0, len(self.searched_data())

    def search_origin(self) -> int:
        """The byte offset that a new search begins at: what the person is looking at."""
        raise NotImplementedError

    def search_variants(self, text: str) -> tuple[str, ...]:
        """Other spellings of the text that count as found."""
        return ()

    def show_hit(self, offset: int) -> None:
        """Bring the byte at this offset on screen."""
        raise NotImplementedError

    @property
    def hit_offset(self) -> int | None:
        """The byte offset of the present hit, None without one."""
        return None if self._search is None or self._hit is None else self._search.hits[self._hit]

    @property
    def needle(self) -> str:
        """What is searched for, empty when nothing is."""
        return self._needle

    def find(self, text: str) -> None:
        """Search for a text from where the person looks; an empty one ends the search."""
        if self._search is None:
            self._origin = self.search_origin()
        self._needle, self._hit = text, None
        variants, part = self.search_variants(text), self.searched_part()
        self._search = ByteSearch(self.searched_data(), text, variants, *part) if text else None
        self.redraw()
        self.in_slices("search", self._search_on)

    def action_find_next(self, by: int) -> None:
        """Go to the next hit, or the previous one; round at the ends."""
        search = self._search
        if search is None or not search.hits:
            return
        if self._hit is None:
            self._hit = 0 if by > 0 else len(search.hits) - 1
        elif 0 <= self._hit + by < len(search.hits) or search.done:
            self._hit = (self._hit + by) % len(search.hits)
        self._show()

    def action_copy(self) -> None:
        """Copy what is selected, or under the cursor, or all of it."""
        raise NotImplementedError

    # A method, no binding, which would go before that of the pane around.
    def key_y(self, event: events.Key) -> None:
        """Copy, unless the pane around has its own use for the key."""
        if not self.key_is_taken(event.key):
            event.stop()
            self.action_copy()

    def in_slices(self, name: str, step: Callable[[float], bool]) -> None:
        """Run `step(seconds)` until it says True: the first slice now, the rest between keys and frames.

        What was begun under the same name before ends.
        """
        self.workers.cancel_group(self, name)
        if not step(SLICE):
            self.run_worker(partial(self._slices, step), group=name, exclusive=True, name=name)

    async def _slices(self, step: Callable[[float], bool]) -> None:
        finished = False
        while not finished:
            await asyncio.sleep(0)
            finished = step(SLICE)

    def _search_on(self, budget: float) -> bool:
        search = self._search
        if search is None:
            self._tell()
            return True
        finished = search.advance(budget)
        if self._hit is None and search.hits:
            self._hit = search.after(self._origin)
            if self._hit is None and finished:
                self._hit = 0
            if self._hit is not None:
                self._show()
        self._tell()
        return finished

    def _show(self) -> None:
        if self._search is not None and self._hit is not None:
            self.show_hit(self._search.hits[self._hit])
            self._tell()

    def _tell(self) -> None:
        search = self._search
        place = 0 if self._hit is None else self._hit + 1
        count = len(search.hits) if search else 0
        done, capped = (search.done, search.capped) if search else (True, False)
        self.post_message(Searched(self._needle, place, count, done, capped))
