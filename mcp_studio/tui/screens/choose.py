"""Choosing one of a few words from a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog


class Choose(Dialog[str]):
    """Answers the id of the option that was chosen. Enter on an option takes it."""

    DEFAULT_CLASSES = "-small"
    DEFAULT_CSS = """
    Choose OptionList { max-height: 20; }
    """
    choices = (Choice("submit", "Choose", "primary"), Choice("back", "Cancel"))

    def __init__(self, title: str, options: Sequence[tuple[str, str]], now: str = "", text: str = "") -> None:
        """`options` are ids and what is shown of them; the cursor begins on `now`."""
        super().__init__()
        self._title_text = title
        self._text = text
        self._options = options
        self._now = now

    def heading(self) -> str:
        return self._title_text

    def body(self) -> Iterable[Widget]:
        if self._text:
            yield Static(Content(safe(self._text, 2_000, lines=True)), classes="gap")
        yield OptionList(*(Option(Content(safe(shown, 200)), id=id) for id, shown in self._options))

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        ids = [id for id, _ in self._options]
        options.highlighted = ids.index(self._now) if self._now in ids else 0
        options.focus()

    @on(OptionList.OptionSelected)
    def take(self) -> None:
        self.action_submit()

    def action_submit(self) -> None:
        chosen = self.query_one(OptionList).highlighted_option
        self.dismiss(chosen.id if chosen is not None else None)
