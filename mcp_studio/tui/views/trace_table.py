"""The trace as a table that keeps up with any number of messages: it looks at the store, nobody tells it anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui import late_trace
from mcp_studio.tui.views.trace_rows import TraceRows

_FRAME = 1 / 30
_RESTING = 1 / 6
_REST_AFTER = 1.0
_SLICE = 0.008
_TELL_EVERY = 0.25


class Told(Message):
    """Something that a table tells the pane around it."""

    def __init__(self, view: TraceTable) -> None:
        super().__init__()
        self.view = view

    @property
    def control(self) -> TraceTable:
        """The table it is about."""
        return self.view


class TraceTable(TraceRows):
    """One row for each entry of a recording.

    Follows the newest until the person scrolls away; going to the end follows again. Draws at most 30 times a second,
    out of the columns, and only what is on screen, however many entries come. Rows keep their place while the oldest
    entries go.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "follow", "Follow the newest", show=False, id="list-follow"),
    ]

    class Highlighted(Told):
        """The cursor came to another entry; while following at most four times a second. None when there is none."""

        def __init__(self, view: TraceTable, message: WireMessage | None) -> None:
            super().__init__(view)
            self.message = message

        def can_replace(self, message: Message) -> bool:
            """Only the newest one waiting matters."""
            return isinstance(message, TraceTable.Highlighted) and message.view is self.view

    class Chosen(Told):
        """Enter, space or a double click on an entry."""

        def __init__(self, view: TraceTable, message: WireMessage) -> None:
            super().__init__(view)
            self.message = message

    class Changed(Told):
        """What a title could say has changed: shown and kept entries, following or not, how far the filter is."""

        def can_replace(self, message: Message) -> bool:
            """Only the newest one waiting matters."""
            return isinstance(message, TraceTable.Changed) and message.view is self.view

    def __init__(
        self,
        source: Recording,
        *,
        empty: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, name=name, id=id, classes=classes)
        self._start(source)
        self._fast: Timer | None = None
        self._slow: Timer | None = None

    def _start(self, source: Recording) -> None:
        if self._filter is not None:
            self._filter.cancel()
        self.begin(source)
        self._above: int | None = None
        self._following, self._skip = True, False
        self._kept = 0
        self._revision = -1
        self._changed_at = 0.0
        self._told_at, self._told, self._told_state = 0.0, 0, ()

    def show(self, source: Recording, number: int = 0) -> None:
        """Show another recording, all of it: its end, or the entry with a number."""
        self._start(source)
        self._look_at_store()
        self.redraw()
        if not number or not self.go_to_number(number):
            self.action_last()
        self._wake()

    # What it shows

    @property
    def following(self) -> bool:
        """Whether the newest entry stays on screen."""
        return self._following

    @property
    def numbers(self) -> Sequence[int] | None:
        """The numbers of the shown entries, ascending; None without a filter."""
        return None if self._filter is None else self._filter.found[:]

    @property
    def message(self) -> WireMessage | None:
        """The entry under the cursor; None when there is none, or it is not kept any more."""
        return self.entry(self.cursor) if self.row_count else None

    def set_filter(self, text: str, now: float | None = None) -> None:
        """Show only what the text wants (see `trace.query`), all when empty. The cursor keeps its entry.

        Args:
            text: what a person wrote.
            now: what times in it are reckoned from, where that is not the present.

        Raises:
            QueryError: it is no query; the filter stays as it was.
        """
        if text.strip() == self.filter_text:
            return
        run = late_trace.filter_run(self._source, text, now) if text.strip() else None
        if self._filter is not None:
            self._filter.cancel()
        self._above = self.cursor - self.top
        self._filter = run
        self._look_at_store()
        self._wake()

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        if self._filter is not None:
            self._filter.cancel()

    def _look_seen(self) -> None:
        around = self.parent
        looking = self._following and (around if isinstance(around, Widget) else self).has_focus_within
        # Under a dialog it keeps the focus, and is not looked at.
        self._seen.look(self._source.total, looking and self.screen.is_current)

    # Looking at the store

    def on_mount(self) -> None:
        """Look at the store while the table is on screen: often while something happens, else now and then."""
        self._fast = self.set_interval(_FRAME, self._look, pause=True)
        self._slow = self.set_interval(_RESTING, self._look, pause=True)
        self._look()

    def shown(self) -> None:
        """On screen again."""
        super().shown()
        self._wake()

    def on_hide(self) -> None:
        """Nobody sees it: rest."""
        for timer in (self._fast, self._slow):
            if timer is not None:
                timer.pause()

    def _wake(self) -> None:
        self._changed_at = time.monotonic()
        self._pace(self._fast, self._slow)

    def _pace(self, run: Timer | None, rest: Timer | None) -> None:
        if run is not None and rest is not None:
            rest.pause()
            run.resume()

    def _look(self) -> None:
        """One frame, or none: where all rows change every time, nobody can read them, and half as many frames do."""
        if self._skip:
            self._skip = False
            return
        quiet = time.monotonic() - self._changed_at > _REST_AFTER
        if self._source.revision != self._revision or self.searched < 1:
            if quiet:
                self._wake()
            self._changed_at = time.monotonic()
            self._look_at_store()
        elif quiet:
            self._pace(self._slow, self._fast)
        self._tell()

    def look_again(self) -> None:
        """The person came to the pane, or left it."""
        self._look_seen()
        self._told_at = 0.0
        self.refresh()
        self._tell()

    def _look_at_store(self) -> None:
        """Take over what has come and gone; cursor and first row stay on their entries, or at the end."""
        source = self._source
        self._skip = self._following and source.total - self._total > self.size.height // 3
        top = self._number(self.top) if self.top < self.row_count else 0
        self._revision = source.revision
        self._measure()
        self._first, self._total = source.first_number, source.total if len(source) else 0
        if self._filter is not None:
            self._filter.pull(_SLICE)
        if self._following:
            cursor, first_row = self.row_count - 1, self.row_count - self.size.height
            self._kept = self._number(cursor) if self.row_count else 0
        else:
            cursor = self._place(self._kept)
            # While a filter is looking, rows come in anywhere: the first one hangs on the cursor's.
            first_row = self._place(top) if self._above is None else cursor - self._above
        if self.searched == 1:
            self._above = None
        self.rows_changed(first_row, redraw=False, cursor=cursor)

    def _tell(self) -> None:
        """Say where the cursor and the trace have got to; while following only now and then."""
        self._look_seen()
        now = time.monotonic()
        if self._following and now - self._told_at < _TELL_EVERY:
            return
        number = self._number(self.cursor) if self.row_count else 0
        state = (
            self.row_count, self._total, self._following, self.searched == 1, self.new, self._longest, self.trouble,
        )  # fmt: skip
        if (number, state) != (self._told, self._told_state):
            self._told_at = now
            if number != self._told:
                self.post_message(self.Highlighted(self, self.message))
            if state != self._told_state:
                self.post_message(self.Changed(self))
            self._told, self._told_state = number, state

    # What the person does

    def _set_following(self, following: bool) -> None:
        if following != self._following:
            self._following, self._above = following, None
            self._told_at = 0.0
            self._wake()

    def action_follow(self) -> None:
        """Follow the newest, or stop that."""
        self._set_following(not self._following)
        self._look_at_store()
        self._tell()

    def action_last(self) -> None:
        """Go to the end and follow."""
        self._set_following(True)
        self._look_at_store()
        self._tell()

    def go_to_number(self, number: int) -> bool:
        """Put the cursor on an entry, and follow no longer; False where it is filtered out or not kept any more."""
        self._look_at_store()
        if not super().go_to_number(number):
            return False
        self._kept, self._above = number, None
        self._set_following(self.cursor == self.row_count - 1)
        return True

    def row_highlighted(self, index: int) -> None:
        """The person moved the cursor: only on the last row it follows."""
        self._kept, self._above = self._number(index), None
        self._set_following(index == self.row_count - 1)
        self._tell()

    def row_chosen(self, index: int) -> None:
        """Tell the pane around."""
        entry = self.entry(index)
        if entry is not None:
            self.post_message(self.Chosen(self, entry))

    def _scrolling(self) -> None:
        """The person is about to scroll: that ends following, unless it arrives at the end."""
        self._set_following(False)
        self.call_later(self._scrolled)

    def _scrolled(self) -> None:
        self._set_following(self.top >= self.max_scroll_y)
        self._tell()

    on_mouse_scroll_up = on_mouse_scroll_down = on_scroll_up = on_scroll_down = on_scroll_to = _scrolling
