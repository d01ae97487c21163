"""The base of every list and viewer: any number of rows, of which only the visible ones are ever drawn."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import groupby
from operator import itemgetter
from textwrap import wrap
from typing import ClassVar, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Region, Size, Spacing
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.tui.views.line import Line

_NO_GUTTER = Spacing()
_LOOK = itemgetter(1)
_VIRTUAL_SIZE = cast("Reactive[Size]", Widget.virtual_size)


class RowsView(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows by number.

    A subclass says how many rows there are (`row_count`), draws one (`render_row`), and calls `rows_changed` when there
    are more or fewer, `redraw` when they show something else. Changing the number of rows costs no layout.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "view--cursor", "view--empty", "view--dim", "view--match", "view--strong", "view--accent", "view--ok",
        "view--warn", "view--bad",
    }  # fmt: skip
    DEFAULT_CSS = """
    RowsView {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        & > .view--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
            text-style: $block-cursor-blurred-text-style;
        }
        &:focus > .view--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
        & > .view--empty { color: $foreground 60%; }
        & > .view--dim { color: $foreground 60%; }
        & > .view--match { color: $text-accent; text-style: bold underline; }
        & > .view--strong { color: $foreground; text-style: bold; }
        & > .view--accent { color: $text-primary; }
        & > .view--ok { color: $text-success; }
        & > .view--warn { color: $text-warning; }
        & > .view--bad { color: $text-error; }
    }
    """

    def __init__(
        self, *, empty: str = "", name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        """`empty` is said, dimmed, while there are no rows."""
        super().__init__(name=name, id=id, classes=classes)
        self._empty = empty
        self._width = self._whole = 0
        self._sized = False
        self._strips: LRUCache[Hashable, Strip] = LRUCache(512)
        self._looks: dict[tuple[str, bool], Style] = {}

    # What a subclass says

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return 0

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One row, at most `width` cells of it are shown; foreign text has been through `safe`."""
        raise NotImplementedError

    def row_version(self, index: int) -> Hashable:
        """Changes with everything (but width, cursor and focus) that a row's drawing depends on."""
        return index

    def row_selected(self, index: int) -> bool:
        """Whether the cursor is on this row."""
        return False

    # What a subclass and the owner call

    @property
    def empty(self) -> str:
        """What is said while there are no rows."""
        return self._empty

    @empty.setter
    def empty(self, text: str) -> None:
        if text != self._empty:
            self._empty = text
            self.redraw()

    @property
    def top(self) -> int:
        """The first row on screen."""
        return round(self.scroll_y)

    @property
    def row_width(self) -> int:
        """Cells that a row has: what the scrollbar leaves."""
        return self.scrollable_size.width

    def redraw(self) -> None:
        """Draw every visible row anew: what they show has changed, though not how many there are."""
        self._strips.clear()
        self._refresh_rows()

    def rows_changed(self, top: int | None = None, *, redraw: bool = True) -> None:
        """The number of rows has changed; the first row on screen stays, or becomes `top`.

        Without `redraw` rows already drawn stay as they are, as when rows are only added at the end.
        """
        self._set_height(self.row_count)
        self.scroll_rows(self.top if top is None else top)
        if redraw:
            self._strips.clear()
        self._refresh_rows()

    def _refresh_rows(self) -> None:
        """Draw all but the scrollbar, which sees to itself."""
        self.refresh(Region(0, 0, self.row_width, self.size.height))

    def scroll_rows(self, top: int) -> None:
        """Make this the first row on screen, as far as there are rows below it."""
        if self.is_attached:
            self.scroll_to(y=max(0, top), animate=False, force=True)

    def look(self, name: str | Style, *, on_cursor: bool = False) -> Style:
        """The Rich style of a component class, as the theme has it; `name` without its `view--`, "" for plain."""
        if isinstance(name, Style):
            return name
        key = (name, on_cursor)
        style = self._looks.get(key)
        if style is None:
            style = self._looks[key] = self._make_look(name, on_cursor)
        return style

    def _make_look(self, name: str, on_cursor: bool) -> Style:
        base = self.get_component_rich_style("view--cursor") if on_cursor else self.rich_style
        if not name:
            return base
        full_name = name if "--" in name else f"view--{name}"
        own = self.get_component_rich_style(full_name, partial=True)
        if on_cursor and self.has_focus:
            # The cursor's colours are made for each other; any other text colour may vanish on them.
            return base + own.without_color
        full = self.get_component_rich_style(full_name)
        ground = full.bgcolor if own.bgcolor and not on_cursor else None
        return base + Style(color=full.color, bgcolor=ground) + own.without_color

    def _set_height(self, height: int) -> None:
        size, room = Size(self.container_size.width, height), self.container_size.height
        old = self.virtual_size.height
        if not room or self.styles.auto_dimensions or (old > room) != (height > room):
            self.virtual_size = size
            return
        # Assigning virtual_size lays the whole screen out again: far too dear for every batch of rows.
        self.set_reactive(_VIRTUAL_SIZE, size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = height

    def key_is_taken(self, key: str) -> bool:
        """Whether the pane, screen or app around has its own use for a key that the view itself has not bound."""
        found = self.screen.active_bindings.get(key)
        return found is not None and found.node is not self

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a part of the widget. A row that was drawn before is as it went to the terminal then."""
        if not self._sized:  # a place that was looked up before the first layout is no news then: no event tells it
            self.call_later(self.resized)
        self._width, self._whole = self.row_width, self.size.width
        if self.styles.gutter != _NO_GUTTER or self.opacity != 1:
            return super().render_lines(crop)
        ground, filters, base = self.background_colors[1], self.get_line_filters(), self.look("")
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self.render_line(y).adjust_cell_length(self._whole, base)
            for each in filters:
                strip = strip.apply_filter(each, ground)
            strips.append(strip.crop(*crop.column_span))
        return strips

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the row that is there now."""
        width = self._width
        index = y + self.top
        if index >= self.row_count:
            return self._blank(y, width)
        selected = self.row_selected(index)
        key = (self.row_version(index), width, selected, selected and self.has_focus)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(self.render_row(index, width, selected), width, selected)
        return strip

    def _draw(self, line: Line, width: int, selected: bool) -> Strip:
        base = self.look("", on_cursor=selected)
        if isinstance(line, Strip):
            return line.apply_style(base).crop_extend(0, width, base)
        look = self.look
        # Neighbours that look the same are one: each later step has less work with it.
        alike = groupby([piece for piece in line if piece[0]], _LOOK)
        segments = [
            Segment("".join([text for text, _ in same]), look(name, on_cursor=selected)) for name, same in alike
        ]
        cells = sum(cell_len(text) for text, _, _ in segments)
        if cells > width:
            return Strip(segments, cells).adjust_cell_length(width, base)
        # Filled up to the place of the scrollbar: a strip of another length would be made anew for every frame.
        whole = self._whole
        if cells < width:
            segments.append(Segment(" " * (width - cells), base))
        if whole > width:
            segments.append(Segment(" " * (whole - width), look("")))
        return Strip(segments, max(whole, width))

    def _blank(self, y: int, width: int) -> Strip:
        if self.row_count or not self._empty or width < 4:
            return Strip.blank(self._whole, self.look(""))
        lines = [part for line in self._empty.splitlines() for part in wrap(line, width - 2) or [""]]
        text = safe(lines[y]) if y < len(lines) else ""
        return self._draw([(f" {text}", "empty")], width, False)

    # Events

    def on_resize(self) -> None:
        """Know the new size."""
        self.resized()

    def resized(self) -> None:
        """The widget has another size."""
        self._sized = True
        self._set_height(self.row_count)

    def on_show(self) -> None:
        """Be right again after having been hidden."""
        self.shown()

    def shown(self) -> None:
        """The widget is on screen again: nothing tells it a size that is the same as before."""

    def notify_style_update(self) -> None:
        """Theme, focus or classes have changed: nothing drawn before is right any more."""
        super().notify_style_update()
        self._looks.clear()
        self._strips.clear()
