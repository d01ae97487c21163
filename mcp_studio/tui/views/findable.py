"""A line to type a search into, below a viewer."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from mcp_studio.tui.views.messages import Searched
from mcp_studio.tui.views.searchable import SearchableView

View = TypeVar("View", bound=SearchableView)


class Findable(Vertical, Generic[View], can_focus=False):
    """A viewer with a search line that `/` opens: searches as you type, enter goes back to the text, esc ends it."""

    DEFAULT_CSS = """
    Findable {
        height: 1fr;
        & > .find--line {
            height: 1;
            display: none;
            background: $surface;
            & > Input { width: 1fr; height: 1; border: none; padding: 0 1; background: $surface; }
            & > .find--sign { width: auto; color: $text-accent; padding: 0 0 0 1; }
            & > .find--count { width: auto; color: $foreground 60%; padding: 0 1; }
        }
        &.-finding > .find--line { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "open_find", "Find", show=False, id="viewer-find"),
        Binding("escape", "close_find", "End the search", show=False),
    ]

    typing_keys: ClassVar[tuple[tuple[str, str], ...]] = (("enter", "To the text"), ("escape", "End search"))
    """Keys that act while the line is typed in, with what the footer calls them."""

    def __init__(self, view: View, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.view = view

    def compose(self) -> ComposeResult:
        """The viewer, and the line below it."""
        yield self.view
        with Horizontal(classes="find--line"):
            yield Static("/", classes="find--sign")
            yield Input(placeholder="find", compact=True, select_on_focus=True)
            yield Static("", classes="find--count", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc means this only while a search is open, else it belongs to the pane around."""
        return self.has_class("-finding") if action == "close_find" else True

    def action_open_find(self) -> None:
        """Open the line and type."""
        self.add_class("-finding")
        self.query_one(Input).focus()

    def action_close_find(self) -> None:
        """End the search and go back to the text."""
        self.remove_class("-finding")
        self.query_one(Input).value = ""
        self.view.find("")
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

    @on(Searched)
    def _searched(self, event: Searched) -> None:
        event.stop()
        self.query_one(".find--count", Static).update(event.summary)
        line = self.query_one(Input)
        if not event.text and not line.has_focus:  # another text is shown, and the search was of the old one
            line.value = ""
            self.remove_class("-finding")
