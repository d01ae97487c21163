"""Rows of text in cells: lines of pieces with looks, signs, and the wrapping of long text; and lists and viewers with
any number of rows, which draw only the visible ones. Some of them can be searched.
"""

from __future__ import annotations

import asyncio
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, islice
from operator import mul
from textwrap import wrap
from typing import Any, ClassVar, Generic, TypeVar

from rich.cells import cell_len, get_character_cell_size, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.jsontext import text_of_piece
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import bindings

T = TypeVar("T")

Piece = tuple[str, str | Style]
"""Safe text, and its look: a name in `_LOOKS` ("" is plain), or a Rich style."""

Pages = Sequence[Sequence[str | memoryview]]
"""A text in pages, each in pieces; one that is a `memoryview` is a piece of a JSON string."""

Line = Sequence[Piece]
"""Pieces from left to right."""

_LOOKS = {
    "empty": "$quiet", "dim": "$quiet", "match": "bold $text-accent", "strong": "bold $foreground", "in": "$wire-in",
    "out": "$wire-out", "accent": "$text-primary", "ok": "$text-success", "warn": "$text-warning", "bad": "$text-error",
    "read": "$risk-read", "write": "$risk-write", "destructive": "bold $risk-destructive",
    **{name: f"$json-{name}" for name in ("key", "string", "number", "constant", "mark")},
}  # fmt: skip
"""No component classes: Textual would find the styles of each of them for each list, and again with each focus."""
_SHORT = 12
"""The width in cells below which a name is cut at its end instead of in its middle."""
_MOST = 16_000_000
"""Characters of a text that are shown at most."""
# Characters of one cell each, so that characters can be counted instead of cells.
_SINGLE = re.compile("[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2500-\u25fc]*")
_LINE = re.compile("[^\n]+|(?<![^\n])(?=\n)")
_WIDER = "\ufe0f"
"""Makes the character before it wider by one cell."""


def width_of(pieces: Iterable[Piece]) -> int:
    """The cells of the pieces together."""
    return sum(cell_len(text) for text, _ in pieces)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Text in exactly `width` cells: cut with a sign at its end, or padded (at the left if `right`)."""
    if width <= 0:
        return ""
    cells = cell_len(text)
    if cells > width:
        return set_cell_size(text, width - 1) + glyphs().more
    return " " * (width - cells) + text if right else text + " " * (width - cells)


def cut(text: str, width: int) -> str:
    """Text in at most `width` cells, cut with a sign at its end."""
    return text if cell_len(text) <= width else fit(text, width)


def cut_inside(text: str, width: int) -> str:
    """Text in at most `width` cells, cut in its middle, because names often differ only at their ends."""
    if width < _SHORT or cell_len(text) <= width:
        return cut(text, width)
    end, room = len(text), width // 2
    while (room := room - cell_len(text[end - 1])) >= 0:
        end -= 1
    return set_cell_size(text, width - 1 - cell_len(text[end:])) + glyphs().more + text[end:]


def spread(left: Sequence[Piece], right: Sequence[Piece], width: int) -> list[Piece]:
    """Pieces at the left and at the right end of one line; the left pieces are cut if needed."""
    room = width - width_of(right)
    if room <= 0:
        return list(left)
    pieces: list[Piece] = []
    for text, look in left:
        cells = cell_len(text)
        if cells >= room:
            return [*pieces, (fit(text, room), look), *right]
        pieces.append((text, look))
        room -= cells
    return [*pieces, (" " * room, ""), *right]


def mark_matches(text: str, words: Sequence[str], look: str | Style = "", found: str | Style = "match") -> list[Piece]:
    """Split text into pieces so that every occurrence of the words (upper or lower case) has the look `found`."""
    wanted = sorted({word for word in words if word}, key=len, reverse=True)
    if not wanted or not text:
        return [(text, look)]
    parts = re.split(f"({'|'.join(map(re.escape, wanted))})", text, flags=re.IGNORECASE)
    return [(part, found if at % 2 else look) for at, part in enumerate(parts) if part]


def mark_pieces(pieces: Iterable[Piece], words: Sequence[str]) -> list[Piece]:
    """Pieces with every occurrence of the words within one of them in the look of a match."""
    return [part for text, look in pieces for part in mark_matches(text, words, look)]


def break_rows(text: str, width: int) -> array[int]:
    """The places where rows begin if a text is broken at line ends and into rows of at most `width` cells.

    The space after which a row is broken belongs to that row, and may stand in the cell after the row.
    """
    rows = _row_of(width)
    if text.isascii():
        return array("Q", (row.start() for row in rows.finditer(text)))
    starts = array("Q")
    for found in _LINE.finditer(text):
        at, line = found.start(), found.group()
        if len(line) * 2 <= width:
            starts.append(at)
        elif _SINGLE.fullmatch(line):
            starts.extend(at + row.start() for row in rows.finditer(line))
        else:
            # Break a line that has each character once for each of its cells, but not inside a character.
            sizes = [1 if char == _WIDER else get_character_cell_size(char) for char in line]
            places, cells, cell = list(accumulate(sizes, initial=0)), "".join(map(mul, line, sizes)), 0
            while row := rows.match(cells, cell):
                starts.append(at + bisect_right(places, cell) - 1 if cell else at)
                cell = places[bisect_right(places, row.end()) - 1]
    return starts


@cache
def _row_of(width: int) -> re.Pattern[str]:
    """An empty line, the rest of a line, a part up to a space, or as much as there is room for."""
    return re.compile(rf"^(?=\n)|.{{1,{width}}}$|.{{{width // 2},{width}}} |.{{{width}}}", re.MULTILINE)


# Signs, each one cell wide, with a plain ASCII set for terminals without them


class Glyphs:
    """A set of signs."""

    folded, unfolded, sent, received, by_hand = "▸▾→←»"
    ok, bad, warning, on, half, off, waiting = "✓✗▲●◐○⚑"
    mark, more, dot, dash, line, bar, full = "▌…·—─│▓"
    new, changed, gone, watched, follows, under = "+±-◉↳└"
    marked, said, marked_said, begin, end, stray = "◆◇◈├┤≠"
    up, down, remove, menu = "↑↓×⋮"


class PlainGlyphs(Glyphs):
    """The signs in ASCII."""

    folded, unfolded, sent, received, by_hand = "+-><="
    ok, bad, warning, on, half, off, waiting = "vx!*~o?"
    mark, more, dot, dash, line, bar, full = ">~.--|#"
    new, changed, gone, watched, follows, under = "+~-@\\\\"
    marked, said, marked_said, begin, end, stray = '#"&||#'
    up, down, remove, menu = "^vx:"


UNICODE, ASCII = Glyphs(), PlainGlyphs()

_chosen = UNICODE


def glyphs() -> Glyphs:
    """The set of signs in use."""
    return _chosen


def choose(*, ascii: bool) -> Glyphs:
    """Set the signs for the whole program, once at the start; `ascii` chooses the plain set."""
    global _chosen
    _chosen = ASCII if ascii else UNICODE
    return _chosen


def sign_of(severity: str) -> tuple[str, str]:
    """The sign of an error, a warning or a hint, and its look."""
    signs = glyphs()
    return {"error": (signs.bad, "bad"), "warning": (signs.warning, "warn"), "hint": (signs.dot, "dim")}[severity]


# Lists and viewers


class Steady(Widget):
    """A base, after Textual's own, of widgets whose place does not depend on the size of what is inside.

    Textual lays out the whole screen again when that size has changed, so each change of a height inside a widget that
    is as high as its content costs two layouts, and all is drawn twice.
    """

    virtual_size = Reactive(Size(0, 0), repaint=False)


class RowsView(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows by number, each one line high.

    A subclass gives the number of rows (`row_count`) and draws a row (`render_row`). It calls `rows_changed` if the
    number of rows has changed, and Textual's `refresh` if rows have other content.
    """

    ALLOW_SELECT = False
    BINDINGS = bindings("list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"view--cursor"}

    virtual_size = Reactive(Size(0, 0), repaint=False)
    empty = reactive("")
    """The text that is shown while there are no rows."""

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        """`empty` is shown dimmed while there are no rows."""
        super().__init__(id=id)
        self.set_reactive(RowsView.empty, empty)
        self._looks: dict[tuple[str, bool], Style] = {}
        """Styles by look and cursor. Textual takes 0.1 ms to make one: too long for every piece of every row."""

    # What a subclass overrides

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return 0

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """Draw a row; at most `width` cells of it are shown. Foreign text must have passed `safe`."""
        raise NotImplementedError

    def row_selected(self, index: int) -> bool:
        return False

    # What a subclass and the owner call

    @property
    def top(self) -> int:
        """The first row on screen."""
        return round(self.scroll_y)

    @property
    def row_width(self) -> int:
        """The cells of a row without the scrollbar; 0 before the first layout."""
        return self.scrollable_size.width

    def rows_changed(self, top: int | None = None) -> None:
        """Take over a new number of rows; the first row on screen stays, or becomes `top`."""
        changed, self.virtual_size = self.virtual_size.height != self.row_count, Size(0, self.row_count)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = self.row_count
        overflows = self.row_count > self.container_size.height
        self.scroll_rows(self.top if top is None else top)
        self.refresh(layout=changed and (overflows != self.show_vertical_scrollbar or self.styles.auto_dimensions))

    def scroll_rows(self, top: int) -> None:
        """Scroll so that a row is the first on screen, if there are enough rows below it."""
        if self.is_attached:
            self.scroll_to(y=max(0, top), animate=False, force=True)

    @property
    def cursor(self) -> int:
        """The row from which the keys move; without a cursor, the first row on screen."""
        return self.top

    def move_to(self, index: int, *, center: bool = False) -> None:
        self.scroll_rows(index)

    def action_cursor_up(self) -> None:
        self.move_to(self.cursor - 1)

    def action_cursor_down(self) -> None:
        self.move_to(self.cursor + 1)

    def action_page_up(self) -> None:
        self.move_to(self.cursor - max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        self.move_to(self.cursor + max(1, self.size.height - 1))

    def action_first(self) -> None:
        self.move_to(0)

    def action_last(self) -> None:
        self.move_to(self.row_count - 1)

    def look(self, name: str | Style, *, on_cursor: bool = False) -> Style:
        """The Rich style of a look in the present theme."""
        if isinstance(name, Style):
            return name
        if (found := self._looks.get((name, on_cursor))) is not None:
            return found
        style = self.get_component_rich_style("view--cursor") if on_cursor else self.rich_style
        # The cursor's text and background colours match; another text colour may be invisible on that background.
        plain = on_cursor and self.has_focus
        if name:
            own = self.app.stylesheet.parse_style(_LOOKS[name])
            style += Style(color=None if plain else (self.visual_style + own).rich_style.color, bold=own.bold)
        self._looks[name, on_cursor] = style
        return style

    def notify_style_update(self) -> None:
        """Drop the cached styles after a change of theme, focus or classes."""
        super().notify_style_update()
        self._looks.clear()

    # Drawing

    def render_line(self, y: int) -> Strip:
        width, selected = self.row_width, False
        line: Line = ()
        index = y + self.top
        if index < self.row_count:
            selected = self.row_selected(index)
            line = self.render_row(index, width, selected)
        elif not self.row_count and width >= 4:
            lines = [part for text in self.empty.splitlines() for part in wrap(text, width - 2) or [""]]
            line = [(f" {safe(lines[y])}", "empty")] if y < len(lines) else []
        segments = [Segment(text, self.look(look, on_cursor=selected)) for text, look in line if text]
        return Strip(segments).adjust_cell_length(width, self.look("", on_cursor=selected))

    def on_resize(self) -> None:
        self.rows_changed()


class CursorView(RowsView):
    """Rows with a cursor on one of them, and keys and mouse to move it.

    `row_highlighted` and `row_chosen` report the person's actions to a subclass.
    """

    _cursor_row = 0

    def row_highlighted(self, index: int) -> None:
        """The cursor moved to a row."""

    def row_chosen(self, index: int) -> None:
        """The person pressed enter, or double-clicked on a row."""

    def row_selected(self, index: int) -> bool:
        return index == self._cursor_row

    @property
    def cursor(self) -> int:
        """The row under the cursor; 0 if there are no rows."""
        return self._cursor_row

    def rows_changed(self, top: int | None = None, *, cursor: int | None = None) -> None:
        """Take over a new number of rows; the cursor keeps its row number, or moves to `cursor`."""
        self._cursor_row = max(0, min(self._cursor_row if cursor is None else cursor, self.row_count - 1))
        super().rows_changed(top)

    def move_to(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a row and scroll to it; with `center`, a row off screen comes to the middle."""
        index = max(0, min(index, self.row_count - 1))
        old, self._cursor_row = self._cursor_row, index
        self.show_cursor(center=center)
        self.refresh_line(old)
        self.refresh_line(index)
        if old != index:
            self.row_highlighted(index)

    def show_cursor(self, *, center: bool = False) -> None:
        """Scroll until the cursor is visible."""
        top, height = self.top, self.size.height
        if height and not top <= self._cursor_row < top + height:
            above = height // 2 if center else 0 if self._cursor_row < top else height - 1
            self.scroll_rows(self._cursor_row - above)

    def key_enter(self, event: events.Key) -> None:
        """Choose the row, unless the pane has bound the key: a binding here would take precedence over the pane's."""
        if self.row_count and event.key not in self.screen.active_bindings:
            event.stop()
            self.row_chosen(self._cursor_row)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        index = -1 if offset is None else offset.y + self.top
        if offset is not None and 0 <= index < self.row_count:
            event.stop()
            self.row_clicked(index, offset.x, event.chain)

    def row_clicked(self, index: int, x: int, chain: int) -> None:
        """Handle a click in a cell of a row, the `chain`th of several quick clicks; the second one chooses the row."""
        self.move_to(index)
        if chain == 2:
            self.row_chosen(index)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_cursor)


@dataclass
class RowMessage(Message):
    """Something happened to a row of a list; `row` is None if there are no rows."""

    row: Any
    view: VirtualList[Any]

    @property
    def control(self) -> VirtualList[Any]:
        """The list, so that `@on(VirtualList.Chosen, "#id")` works."""
        return self.view


class VirtualList(CursorView, Generic[T]):
    """A list over any sequence, with a function that draws a row.

    `draw(row, width, selected)` returns the pieces of a line (see `Line`). Rows with the same `key(row)` are the same
    row, on which the cursor stays when the rows change.
    """

    class Highlighted(RowMessage):
        """The cursor moved to another row, perhaps because rows changed."""

    class Chosen(RowMessage):
        """The person pressed enter, or double-clicked on a row."""

    def __init__(
        self,
        draw: Callable[[T, int, bool], Line],
        *,
        key: Callable[[T], Hashable],
        empty: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id)
        self._draw_row, self._key_of = draw, key
        self.rows: Sequence[T] = ()
        """The present rows."""

    @property
    def row(self) -> T | None:
        """The row under the cursor; None if there are no rows."""
        return self.rows[self.cursor] if self.rows else None

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def show(self, rows: Sequence[T], *, keep: bool = True, start: int = 0) -> None:
        """Show other rows. The cursor stays on the row with the same key, or at its row number if that row is gone.

        Without `keep`, or if there were no rows, the cursor goes to the row `start`, as after typing a filter.
        """
        before = self._present_key
        same = (index for index, row in enumerate(rows) if self._key_of(row) == before)
        keep = keep and bool(self.rows)
        cursor = max(0, min(next(same, self.cursor) if keep else start, len(rows) - 1))
        self.rows = rows
        # Scroll by as much as the row moved, so that the row stays at its place on the screen; a list that is not
        # scrolled stays so, and shows what now comes before its first row.
        self.rows_changed(self.top + cursor - self.cursor if keep and self.top else 0, cursor=cursor)
        self.show_cursor()
        if self._present_key != before:
            self.row_highlighted(self.cursor)

    def go_to(self, key: Hashable) -> bool:
        """Put the cursor on the row with this key; False if there is none."""
        found = next((index for index, row in enumerate(self.rows) if self._key_of(row) == key), None)
        if found is not None:
            self.move_to(found, center=True)
        return found is not None

    @property
    def _present_key(self) -> Hashable:
        return self._key_of(self.rows[self.cursor]) if self.rows else None

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        return self._draw_row(self.rows[index], width, selected)

    def row_highlighted(self, index: int) -> None:
        # The list itself has to be the sender: a message that the owner makes while it changes rows ends at the owner.
        self.call_next(lambda: self.post_message(self.Highlighted(self.row, self)))

    def row_chosen(self, index: int) -> None:
        self.post_message(self.Chosen(self.rows[index], self))


# Text that can be searched


MOST_HITS = 100_000


class SearchView(RowsView):
    """A viewer that can be searched.

    A subclass finds text (`search`), gives the begin of a search (`search_origin`), and shows a hit (`show_hit`). A
    search ignores case, unless its text contains an upper-case letter.
    """

    class Searched(Message):
        """The search has another text or another hit, or has ended."""

    needle = ""
    """The text of the search; empty if there is no search."""
    summary = ""
    """Which hit is shown, such as `3 of 17`."""
    place = ""
    """The part of the whole that is searched, in words."""
    _hits: Sequence[int] = ()
    _hit = 0
    _origin = 0

    def search(self, text: str, flags: int) -> Iterable[re.Match[Any]]:
        """The matches of a text, in order; `flags` are those of a regular expression."""
        raise NotImplementedError

    def search_origin(self) -> int:
        """The place where a new search begins: the place that the person looks at."""
        raise NotImplementedError

    def show_hit(self, offset: int) -> None:
        raise NotImplementedError

    def copy(self) -> None:
        """Copy the selection, or the value under the cursor, or everything."""
        raise NotImplementedError

    @property
    def hit_offset(self) -> int | None:
        """The place of the present hit; None if there is none."""
        return self._hits[self._hit] if self._hits else None

    def find(self, text: str) -> None:
        """Search for a text from the present place on; an empty text ends the search."""
        if not self.needle:
            self._origin = self.search_origin()
        self.needle, self._hits = text, ()
        self.run_worker(partial(self._find, text), group="find", exclusive=True)

    async def _find(self, text: str) -> None:
        found = self.search(text, re.IGNORECASE if text == text.lower() else 0) if text else ()
        hits = (hit.start() for hit in islice(found, MOST_HITS))
        self._hits = await asyncio.to_thread(list, hits)
        self._hit = bisect_left(self._hits, self._origin)
        self.find_next(0)

    def find_next(self, by: int) -> None:
        """Go to the next or the previous hit, around the ends."""
        self.summary = f"not found{self.place}" if self.needle else ""
        if self._hits:
            self._hit = (self._hit + by) % len(self._hits)
            self.show_hit(self._hits[self._hit])
            more = "+" if len(self._hits) == MOST_HITS else ""
            self.summary = f"{self._hit + 1:,} of {len(self._hits):,}{more}{self.place}"
        self.refresh()
        self.post_message(self.Searched())


View = TypeVar("View", bound=SearchView)


class Findable(Vertical, Generic[View], can_focus=False):
    """A viewer with a search line below, which `/` opens: searches as you type; enter returns, esc ends it."""

    BINDINGS = bindings("viewer")

    def __init__(self, view: View, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view, self.line = view, Input(placeholder="find", compact=True)
        self.count = Static(id="count", markup=False)

    def compose(self) -> ComposeResult:
        yield self.view
        yield Horizontal(id="find")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let esc end a search while one is open; else esc belongs to the pane."""
        return self.has_class("-finding") if action == "back" else True

    def action_find(self) -> None:
        self.add_class("-finding")
        if not self.line.is_attached:
            self.query_one("#find").mount(Static("/"), self.line, self.count)
        self.screen.set_focus(self.line)

    def action_next_match(self) -> None:
        self.view.find_next(1)

    def action_previous_match(self) -> None:
        self.view.find_next(-1)

    def action_copy(self) -> None:
        self.view.copy()

    def action_back(self) -> None:
        self.line.value = ""
        self.remove_class("-finding")
        self.screen.set_focus(self.view)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.view.needle:
            self.view.find(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.view)

    @on(SearchView.Searched)
    def _searched(self, event: SearchView.Searched) -> None:
        event.stop()
        self.count.update(self.view.summary)
        if not self.view.needle and not self.line.has_focus:  # the text of the search is gone
            self.line.value = ""
            self.remove_class("-finding")


class TextView(SearchView):
    """Shows bytes or text of any length, made safe."""

    ALLOW_SELECT = True

    @dataclass
    class Turned(Message):
        """Another page of a text in pages is shown."""

        page: int
        pages: int

    def __init__(self, data: bytes | str | Pages = b"", *, empty: str = "") -> None:
        super().__init__(empty=empty)
        self.show(data)

    def show(self, data: bytes | str | Pages) -> None:
        """Show another text from its beginning, and end a search. Pages turn where the keys leave a page."""
        text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
        self._pages: Pages = [[text]] if isinstance(text, str) else text
        self.place = " on this page" if len(self._pages) > 1 else ""
        self._turn(0)

    def _turn(self, page: int) -> bool:
        """Show a page, if there is one."""
        if not 0 <= page < len(self._pages):
            return False
        self._page, pieces = page, self._pages[page]
        text = "".join(piece if isinstance(piece, str) else text_of_piece(piece) for piece in pieces)
        # Lone surrogates cannot be encoded, so an escape replaces each.
        self._source = text.encode("utf-8", "backslashreplace").decode()
        self._text = safe(self._source, _MOST, lines=True)
        if len(self._pages) > 1:
            self.post_message(self.Turned(page + 1, len(self._pages)))
        self._starts = array("Q")
        """The places where the rows begin at the present width."""
        if self.row_width:
            self._wrap()
            self.scroll_rows(0)
            self.find("")
        return True

    def move_to(self, index: int, *, center: bool = False) -> None:
        if index > self.top >= self.row_count - self.size.height and self._turn(self._page + 1):
            return
        super().move_to(self.row_count if index < 0 and not self.top and self._turn(self._page - 1) else index)

    def action_first(self) -> None:
        self._turn(0)

    def action_last(self) -> None:
        self._turn(len(self._pages) - 1)
        self.scroll_rows(self.row_count)

    # Rows

    @property
    def row_count(self) -> int:
        return len(self._starts)

    def on_resize(self) -> None:
        """Wrap again at the new width; the text at the top stays there."""
        at = self.search_origin()
        if self.row_width:
            self._wrap()
            self.scroll_rows(self._row_of(at))

    def _wrap(self) -> None:
        self._starts = break_rows(self._text, max(4, self.row_width))
        self.rows_changed()

    def _row_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _row(self, number: int) -> str:
        """The text of a row, which may end with the space after which it was broken."""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[number] : end].removesuffix("\n")

    def row_selected(self, index: int) -> bool:
        """Whether the present hit begins in this row."""
        return self.hit_offset is not None and self._row_of(self.hit_offset) == index

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        text = self._row(index)
        span = None if self.text_selection is None else self.text_selection.get_span(index)
        if span is None:
            return mark_matches(text, [self.needle])
        start, end = span[0], len(text) if span[1] < 0 else span[1]
        chosen: Piece = (text[start:end] or " ", self.selection_style)
        return [(text[:start], ""), chosen, (text[end:], "")]

    def render_line(self, y: int) -> Strip:
        """One line of the screen, with its offsets for the mouse's selection."""
        strip = super().render_line(y)
        index = y + self.top
        return strip.apply_offsets(0, index) if index < self.row_count else strip

    # Search

    def search_origin(self) -> int:
        return self._starts[self.top] if self.top < len(self._starts) else 0

    def search(self, text: str, flags: int) -> Iterable[re.Match[str]]:
        return re.finditer(re.escape(text), self._text, flags)

    def show_hit(self, offset: int) -> None:
        row = self._row_of(offset)
        if not self.top <= row < self.top + self.size.height:
            self.scroll_rows(row - self.size.height // 2)

    # Selecting and copying

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the line breaks that only wrapping has made."""
        start, end = (None if place is None else self._offset(place) for place in selection)
        return self._text[start:end], "\n"

    def _offset(self, place: Offset) -> int:
        """The place in the text of a character in a row."""
        if place.y >= len(self._starts):
            return len(self._text)
        return self._starts[place.y] + min(place.x, len(self._row(place.y)))

    def copy(self) -> None:
        """Copy the selection, or else the whole text."""
        self.app.copy_to_clipboard(self.screen.get_selected_text() or self._source)
