"""The base of dialogs that choose one thing from a list, with or without a line to type words into."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar, cast

from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.search.names import Matcher, Row
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.virtual_list import VirtualList

T = TypeVar("T")

_STEPS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class ChoiceDialog(Dialog[T], scope="choice"):
    """Answers the row of `choices` that was taken, by enter or by a double click."""

    choices: VirtualList[Any]

    def body(self) -> Iterable[Widget]:
        """The list."""
        yield self.choices

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this dialog."""
        event.stop()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click takes it."""
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        """Take what the cursor is on."""
        if self.choices.row is not None:
            self.dismiss(self.taken(self.choices.row))

    def taken(self, row: Any) -> T:
        """What taking a row answers: itself."""
        return cast("T", row)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


class SearchDialog(ChoiceDialog[T]):
    """An input above the list, which shows what has the words that are typed."""

    placeholder: ClassVar[str] = ""

    def __init__(self, rows: Sequence[T], texts: Iterable[Row]) -> None:
        super().__init__()
        self._rows = rows
        self._texts = list(texts)
        self._matcher = Matcher("")
        self._input = Input(placeholder=self.placeholder, compact=True)

    @property
    def words(self) -> tuple[str, ...]:
        """What is typed, as words to be marked."""
        return tuple(self._matcher.words)

    def body(self) -> Iterable[Widget]:
        """An input above a list."""
        return self._input, self.choices

    def on_mount(self) -> None:
        """Show all."""
        self.choices.set_rows(self._rows)
        self._input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what matches."""
        event.stop()
        self._matcher = Matcher(event.value)
        self.choices.set_rows([self._rows[at] for at in self._matcher.ranked(self._texts).places], keep=False)

    def on_key(self, event: Key) -> None:
        """The arrows move in the list while the input has the focus."""
        if event.key in _STEPS and self._input.has_focus:
            event.stop()
            self.choices.action_move(_STEPS[event.key])
