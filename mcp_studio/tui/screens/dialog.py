"""The base of every dialog: a framed box over the screen, its keys in the bottom border."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.events import Click
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widget import Widget

from mcp_studio.tui import late
from mcp_studio.tui.actions import Scope, scoped, spell
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.form_keys import SHORT
from mcp_studio.tui.painter import Painted
from mcp_studio.tui.panels.filter_line import typing_keys

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

T = TypeVar("T")
GAP = "   "
"""Between two keys in the border."""
_INDENT = 3
"""Cells of the border in front of the keys."""

DEAF = 0.5
"""Seconds for which a dialog that appears while somebody types takes no answer: that letter is not meant for it."""


class Box(ScrollableContainer, can_focus=False):
    """The frame of a dialog; its border is drawn by us alone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def show_below(self, content: Content) -> None:
        """Change what stands in the bottom border; only that line is drawn anew, not everything inside."""
        if content != self._border_subtitle:
            self._border_subtitle = content
            self.refresh(Region(0, self.content_size.height, *self.content_size._replace(height=1)))


class Dialog(Painted[T], ModalScreen[T]):
    """A modal question or view.

    A subclass names its `scope` in the class statement, gives `heading` and `body`, and dismisses itself.
    """

    CSS_PATH = Path(__file__).with_name("dialogs.tcss")
    scope: ClassVar[Scope] = "dialog"
    reads = False
    """It is all text, so that the keys scroll it."""
    answers: ClassVar[frozenset[str]] = frozenset()
    """Actions on bare letters, in a dialog that may open by itself."""
    _deaf_until = 0.0
    _typed: Sequence[tuple[str, str]] = ()
    """Keys of the line in it that is typed into, which stand in the border then."""

    def __init_subclass__(cls, scope: Scope | None = None, **kwargs: bool) -> None:
        if scope:
            cls.scope = scope
            helping = Binding("f1,question_mark", "help_here", show=False, id="help")
            cls.BINDINGS = [*bindings(scope), helping]  # pyright: ignore[reportConstantRedefinition]
        super().__init_subclass__(**kwargs)

    def heading(self) -> Content:
        """What stands in the top border."""
        return Content("")

    def body(self) -> Iterable[Widget]:
        """The widgets inside."""
        return ()

    def compose(self) -> ComposeResult:
        """The box around the body."""
        if self.answers and cast("StudioApp", self.app).typing:
            self._deaf_until = time.monotonic() + DEAF
        box = Box(*self.body(), id="box")
        box.can_focus = self.reads
        box.border_title = self.heading()
        box.border_subtitle = self.keys_line()
        yield box

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A letter that was on its way when the dialog appeared answers nothing."""
        return action not in self.answers or time.monotonic() >= self._deaf_until

    def keys_line(self) -> Content:
        """The keys of the dialog, with the person's own changes."""
        parts: list[str | tuple[str, str]] = []
        for action in scoped(self.scope):
            if action.show:
                key = cast("StudioApp", self.app).key_of(action.id)
                parts += [GAP if parts else "", (spell(key), "b $primary"), f" {action.short}"]
        return Content.assemble(*parts)

    def on_descendant_focus(self) -> None:
        """While a line that seeks or filters is typed into, its keys act and no others."""
        typed = typing_keys(self.focused)
        if typed != self._typed:
            self._typed = typed
            parts: list[str | tuple[str, str]] = []
            for key, title in typed:
                parts += [GAP if parts else "", (spell(key), "b $primary"), f" {title}"]
            self.query_one("#box", Box).border_subtitle = Content.assemble(*parts) if typed else self.keys_line()

    def on_form_view_row_changed(self) -> None:
        """The form in it has another row with the cursor, on which other keys act."""
        self.query_one("#box", Box).border_subtitle = Content.assemble(self.keys_line(), *self._acts_line())

    def _acts_line(self) -> Iterable[tuple[str, str]]:
        """The keys of the form that are worth knowing on its current row, as far as there is room."""
        above = self.focused.ancestors if self.focused is not None else ()
        acts: tuple[str, ...] = next((found for node in above if (found := getattr(node, "acts", ()))), ())
        room = self.query_one("#box", Box).size.width - _INDENT - self.keys_line().cell_length
        for name in acts:
            key, words = spell(cast("StudioApp", self.app).key_of(name)), SHORT.get(name, "")
            room -= cell_len(f"{GAP}{key} {words}")
            if words and room > 0:
                yield from ((GAP, ""), (key, "b $secondary"), (f" {words}", "$quiet"))

    async def on_click(self, event: Click) -> None:
        """A click on a key in the border does what the key does."""
        box = self.query_one("#box", Box)
        x = event.screen_x - box.region.x - _INDENT
        if event.screen_y != box.region.bottom - 1 or x < 0 or self._typed:
            return
        app = cast("StudioApp", self.app)
        known = {app.spell(action.id): action for action in (*scoped("app"), *scoped(self.scope))}
        start = 0
        for item in self.keys_line().plain.split(GAP):
            if start <= x < start + cell_len(item) and (action := known.get(item.split(" ")[0])):
                await app.run_action(action.method, app if action.scope == "app" else self)
            start += cell_len(item) + len(GAP)

    def action_help_here(self) -> None:
        """All keys of this dialog: the border has room for few."""
        self.app.push_screen(late.help_for(self.scope, cast("StudioApp", self.app).keys))

    def retitle(self, heading: Content) -> None:
        """Change what stands in the top border."""
        self.query_one("#box", Box).border_title = heading
