"""A numbered pane: a round border that carries its title or tabs on top and a note at the bottom."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Offset, Region
from textual.message import Message
from textual.widget import Widget

from mcp_studio.tui.bindings import bindings

_GAP = " │ "


def first_focusable(root: Widget) -> Widget | None:
    """The first widget inside that takes the focus: it is displayed, and all that it is in."""
    for widget in root.children:
        if widget.display:
            if widget.focusable:
                return widget
            if (inner := first_focusable(widget)) is not None:
                return inner
    return None


class Tab:
    """One tab in a border: a long and a short name, and an optional count."""

    __slots__ = ("count", "id", "name", "short")

    def __init__(self, id: str, name: str, short: str = "", count: str = "") -> None:
        self.id = id
        self.name = name
        self.short = short or name
        self.count = count

    def label(self, level: int, current: bool) -> str:
        """Its text in the border: whole, short (also closer), short with the count of the current tab only, or none."""
        count = self.count if level < 3 or (level == 3 and current) else ""
        return " ".join(filter(None, (self.short if level else self.name, count)))


class Pane(Widget):
    """Base of the five panes.

    A subclass sets `number` and `scope`, and calls `show_title`, `show_tabs` and `show_note`.
    """

    number = 0
    tabs_at_bottom = False

    class TabChosen(Message):
        """A tab in the border was clicked or reached by key."""

        def __init__(self, pane: Pane, tab: str) -> None:
            super().__init__()
            self.pane = pane
            self.tab = tab

    def __init_subclass__(cls, scope: str = "", **kwargs: bool) -> None:
        if scope:
            cls.BINDINGS = bindings(scope)  # type: ignore[arg-type]
        super().__init_subclass__(**kwargs)

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._title = Content("")
        self._note: Content | None = None
        self._tabs: Sequence[Tab] = ()
        self.tab = ""
        self._gap = _GAP
        self._shown: list[tuple[str, str]] = []
        self._spans: list[tuple[int, int, str]] = []

    def show_title(self, title: Content) -> None:
        """Put a title after the number."""
        self._title = title
        self._draw()

    def show_tabs(self, tabs: Sequence[Tab], current: str) -> None:
        """Put tabs into the border."""
        self._tabs = tabs
        self.tab = current
        self._draw()

    def show_note(self, note: Content | None) -> None:
        """Put a few words into the bottom border, at the right."""
        self._note = note
        self._draw()

    @property
    def has_tabs(self) -> bool:
        """Whether there is another tab to turn to."""
        return len(self._tabs) > 1

    def turn_tab(self, step: int) -> bool:
        """Go to the next or previous tab; False when there is only one."""
        names = [tab.id for tab in self._tabs]
        if len(names) < 2:
            return False
        at = names.index(self.tab) if self.tab in names else 0
        self.post_message(self.TabChosen(self, names[(at + step) % len(names)]))
        return True

    def jump_targets(self) -> list[tuple[str, Offset]]:
        """Where jump mode puts its letters: the pane, and its tabs as `pane/tab`."""
        place = self.region.offset
        row = place.y + (self.region.height - 1 if self.tabs_at_bottom else 0)
        tabs = [(f"{self.id}/{tab}", Offset(place.x + start - 1, row)) for start, _, tab in self._spans]
        return [(self.id or "", place + Offset(2, 0)), *(tabs if len(tabs) > 1 else [])]

    def entry_point(self) -> Widget:
        """The widget that gets the focus when the pane is gone to."""
        return first_focusable(self) or self

    def on_resize(self, event: Resize) -> None:
        """Fit title and tabs anew."""
        self._draw()

    def on_click(self, event: Click) -> None:
        """Choose the tab under the pointer, or take the focus."""
        place = self.region
        if event.screen_y == (place.bottom - 1 if self.tabs_at_bottom else place.y):
            for start, end, tab in self._spans:
                if start <= event.screen_x - place.x < end:
                    self.post_message(self.TabChosen(self, tab))
                    return
        if not self.has_focus_within:
            self.entry_point().focus()

    def _draw(self) -> None:
        room = max(0, self.outer_size.width - 6)
        head = Content(f"{self.number} " if self.number else "")
        beside = len(_GAP) + self._note.cell_length if self.tabs_at_bottom and self._note else 0
        tabs = self._fit_tabs(room - (beside if self.tabs_at_bottom else head.cell_length))
        if self.tabs_at_bottom:
            shown = Content.assemble(tabs, _GAP if tabs and self._note else "", self._note or "")
            self._place(self.outer_size.width - 3 - shown.cell_length + 0)
            self._put(head + self._title, shown)
        else:
            self._place(3 + head.cell_length)
            self._put(head + (tabs or self._title), self._note or Content(""))

    def _put(self, above: Content, below: Content) -> None:
        """Change what stands in the border; only those lines are drawn anew, not everything inside."""
        x, y = self.content_offset
        width, height = self.outer_size
        for name, line, text in (("_border_title", 0, above), ("_border_subtitle", height - 1, below)):
            before: Content | None = getattr(self, name)
            if not (before or Content("")).is_same(text):
                setattr(self, name, text.expand_tabs(4).split()[0] if text else None)
                self.refresh(Region(-x, line - y, width, 1))

    def _fit_tabs(self, room: int) -> Content:
        for level in range(5):
            self._gap = _GAP if level < 2 else _GAP.strip()
            self._shown = [(tab.id, tab.label(level, tab.id == self.tab)) for tab in self._tabs]
            if sum(len(label) + len(self._gap) for _, label in self._shown) - len(self._gap) <= room:
                break
        parts: list[tuple[str, str]] = []
        for name, label in self._shown:
            if parts:
                parts.append((self._gap, "$quiet"))
            parts.append((label, "b" if name == self.tab else "$quiet"))
        return Content.assemble(*parts)

    def _place(self, x: int) -> None:
        self._spans = []
        for name, label in self._shown:
            self._spans.append((x, x + len(label), name))
            x += len(label) + len(self._gap)
