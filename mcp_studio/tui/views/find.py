"""Finding text in a viewer: over any amount of bytes, in slices of time, from a line below the view."""

from __future__ import annotations

import asyncio
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static

from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.rows import RowsView

SLICE = 0.008
"""Seconds that work in slices may take before keys and drawing have their turn."""
_WINDOW = 1 << 18
MOST_HITS = 100_000


class ByteSearch:
    """All places of some spellings of a text in bytes, in order; `advance` goes on for some time.

    Upper and lower case are the same unless the text has an upper-case letter in it.
    """

    def __init__(self, data: bytes, text: str, variants: Iterable[str] = ()) -> None:
        self.hits = array("Q")
        """Byte offsets found so far."""
        self.done = not text
        self._data, self._at = data, 0
        self._fold = text == text.lower()
        wanted = {text, *variants}
        if self._fold:  # bytes fold ASCII only
            wanted |= {spelling for word in list(wanted) for spelling in (word.upper(), word.lower(), word.title())}
        encoded = {word.encode("utf-8", "backslashreplace") for word in wanted}
        self._wanted = {word.lower() for word in encoded} if self._fold else encoded

    @property
    def capped(self) -> bool:
        """Whether there are more places than are kept."""
        return len(self.hits) >= MOST_HITS

    def advance(self, budget: float) -> bool:
        """Search on for `budget` seconds; True when all has been searched."""
        stop = time.perf_counter() + budget
        longest = max(map(len, self._wanted))
        while not self.done:
            start, self._at = self._at, self._at + _WINDOW
            window = self._data[start : self._at + longest - 1]
            self.hits.extend(sorted(start + place for place in self._places(window.lower() if self._fold else window)))
            self.done = self._at >= len(self._data) or self.capped
            if time.perf_counter() > stop:
                break
        return self.done

    def _places(self, window: bytes) -> set[int]:
        found: set[int] = set()
        for word in self._wanted:
            at = window.find(word)
            while 0 <= at < _WINDOW:
                found.add(at)
                at = window.find(word, at + len(word))
        return found


class SearchView(RowsView):
    """A viewer over bytes that can be searched.

    A subclass sets `data`, says where a search begins (`search_origin`), and shows a hit (`show_hit`).
    """

    @dataclass
    class Searched(Message):
        """A search has begun, got further, or ended, when `text` is empty."""

        text: str
        summary: str
        """As in `3 of 17`."""

    _search: ByteSearch | None = None
    _hit: int | None = None
    _origin = 0
    needle = ""
    """What is searched for, empty when nothing is."""
    data = b""
    """What is shown, as it came."""

    def search_origin(self) -> int:
        """The byte offset that a new search begins at: what the person is looking at."""
        raise NotImplementedError

    def search_variants(self, text: str) -> tuple[str, ...]:
        """Other spellings of the text that count as found."""
        return ()

    def show_hit(self, offset: int) -> None:
        """Bring the byte at this offset on screen."""
        raise NotImplementedError

    def copy(self) -> None:
        """Copy what is selected, or under the cursor, or all of it."""
        raise NotImplementedError

    @property
    def hit_offset(self) -> int | None:
        """The byte offset of the present hit, None without one."""
        return None if self._search is None or self._hit is None else self._search.hits[self._hit]

    def find(self, text: str) -> None:
        """Search for a text from where the person looks; an empty one ends the search."""
        if self._search is None:
            self._origin = self.search_origin()
        self.needle, self._hit = text, None
        self._search = ByteSearch(self.data, text, self.search_variants(text)) if text else None
        self.refresh()
        self.in_slices("search", self._search_on)

    def find_next(self, by: int) -> None:
        """Go to the next hit, or the previous one; round at the ends."""
        search = self._search
        if search is None or not search.hits:
            return
        if self._hit is None:
            self._hit = 0 if by > 0 else len(search.hits) - 1
        elif 0 <= self._hit + by < len(search.hits) or search.done:
            self._hit = (self._hit + by) % len(search.hits)
        self.show_hit(search.hits[self._hit])
        self._tell()

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
        finished = search is None or search.advance(budget)
        if search is not None and search.hits and self._hit is None:
            place = bisect_left(search.hits, self._origin)
            if finished or place < len(search.hits):
                self._hit = place % len(search.hits)
                self.show_hit(search.hits[self._hit])
        self._tell()
        return finished

    def _tell(self) -> None:
        search, summary = self._search, ""
        if search is not None:
            more = "" if search.done and not search.capped else "+"
            count = f"{len(search.hits):,}{more}"
            place = "…" if self._hit is None else f"{self._hit + 1:,}"
            summary = f"{place} of {count}" if search.hits else "not found" if search.done else "searching"
        self.post_message(self.Searched(self.needle, summary))


View = TypeVar("View", bound=SearchView)


class Findable(Vertical, Generic[View], can_focus=False):
    """A viewer with a line below that `/` opens: searches as you type, enter goes back to the text, esc ends it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("viewer")
    DEFAULT_CSS = """
    Findable {
        height: 1fr;
        & > #find {
            height: 1; display: none; background: $boost;
            & > Input { width: 1fr; background: transparent; }
            & > Static { width: auto; padding: 0 1; color: $foreground 60%; }
        }
        &.-finding > #find { display: block; }
    }
    """
    line = getters.query_one(Input)
    count = getters.query_one("#count", Static)

    def __init__(self, view: View, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.view
        with Horizontal(id="find"):
            yield Static("/")
            yield Input(placeholder="find", compact=True)
            yield Static("", id="count", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc means this only while a search is open, else it belongs to the pane around."""
        return self.has_class("-finding") if action == "back" else True

    def action_find(self) -> None:
        self.add_class("-finding")
        self.line.focus()

    def action_next_match(self) -> None:
        self.view.find_next(1)

    def action_previous_match(self) -> None:
        self.view.find_next(-1)

    def action_copy(self) -> None:
        self.view.copy()

    def action_back(self) -> None:
        self.line.value = ""
        self.remove_class("-finding")
        self.view.focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.view.needle:
            self.view.find(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.view.focus()

    @on(SearchView.Searched)
    def _searched(self, event: SearchView.Searched) -> None:
        event.stop()
        self.count.update(event.summary)
        if not event.text and not self.line.has_focus:  # another text is shown, and the search was of the old one
            self.line.value = ""
            self.remove_class("-finding")
