"""Choosing: one of some things from a list, which is searched by typing where it is long; a theme; a pane or tab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static, Tab
from textual.widgets.option_list import Option

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs

_SEARCHED = 12
"""Options from which on the list has a search."""
_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Item(NamedTuple):
    """One option; foreign text in it does no harm."""

    id: str
    title: str
    note: str = ""
    refused: str = ""
    """Why it cannot be chosen now; empty when it can."""


class Choose(Dialog[str]):
    """Answers the id of the option that was chosen. Enter on an option takes it."""

    DEFAULT_CLASSES = "-small"
    choices = (Choice("submit", "Choose", "primary"), Choice("back", "Cancel"))
    listed = "OptionList"

    def __init__(self, title: str, options: Sequence[tuple[str, ...]], now: str = "", text: str = "") -> None:
        """`options` are items, or their first parts; the cursor begins on the one that is chosen `now`."""
        super().__init__(title)
        self._text = text
        self._items = [Item(*option) for option in options]
        self._listed = self._items
        self._now = now
        self._list = OptionList(compact=True)
        self.set_class(len(self._items) >= _SEARCHED, "-searched")

    def body(self) -> Iterable[Widget]:
        if self._text:
            yield Static(Content(safe(self._text, 2_000, lines=True)), classes="gap")
        if self.has_class("-searched"):
            yield Input(placeholder="Search", id="search", compact=True)
        yield self._list

    def on_mount(self) -> None:
        self._narrow("")
        ids = [item.id for item in self._listed]
        self._list.highlighted = ids.index(self._now) if self._now in ids else 0
        self.query("#search, OptionList").first().focus()

    def _narrow(self, words: str) -> None:
        """List what has all these words; what has them in its title comes first, what is refused last."""
        wanted = words.casefold()
        texts = [(f"{item.title} {item.note}".casefold(), item) for item in self._items]
        found = [item for text, item in texts if all(word in text for word in wanted.split())]
        self._listed = sorted(found, key=lambda item: (bool(item.refused), wanted not in item.title.casefold()))
        self._list.clear_options()
        self._list.add_options(Option(_prompt(item), disabled=bool(item.refused)) for item in self._listed)
        self._list.action_first()

    @on(Input.Changed)
    def search(self, event: Input.Changed) -> None:
        self._narrow(event.value)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        at = self._list.highlighted
        if at is not None and not self._listed[at].refused:
            self.dismiss(self._listed[at].id)


def _prompt(item: Item) -> Content:
    note = item.refused or item.note
    return Content.assemble(safe(item.title, 200), (f"  {safe(note, 100)}" if note else "", "$quiet"))


class TickList(OptionList):
    """Rows that space or enter ticks, or no longer. Textual's `SelectionList` tells them apart by colour alone."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "select", show=False)]

    def show(self, rows: Iterable[tuple[Content, bool | None]]) -> None:
        """Show rows that are ticked, or not, or with None cannot be."""
        self._rows = [*rows]
        self.set_options(Option(self._line(at), disabled=row[1] is None) for at, row in enumerate(self._rows))
        self.action_first()

    @property
    def ticked(self) -> list[int]:
        """The numbers of the rows that are ticked."""
        return [at for at, (_, ticked) in enumerate(self._rows) if ticked]

    def _line(self, at: int) -> Content:
        text, ticked = self._rows[at]
        return Content.assemble(f"[{glyphs().dash if ticked is None else 'x' if ticked else ' '}] ", text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        text, ticked = self._rows[event.option_index]
        self._rows[event.option_index] = text, not ticked
        self.replace_option_prompt_at_index(event.option_index, self._line(event.option_index))


class ThemePicker(Dialog[None]):
    """Shows a sample in the colours of the theme under the cursor: the whole app takes 300 ms to change."""

    TITLE = "Theme"
    choices = (Choice("submit", "Use it", "primary"), Choice("back", "Cancel"))
    themes = getters.query_one(OptionList)

    def body(self) -> Iterable[Widget]:
        names = OptionList(*(Option(Content(safe(name, 60)), id=name) for name in sorted(self.app.own_themes)))
        yield Horizontal(names, Static(id="sample"), id="themes")

    def on_mount(self) -> None:
        self.themes.highlighted = self.themes.get_option_index(self.app.theme)
        self.themes.focus()

    @on(OptionList.OptionHighlighted)
    def preview(self, event: OptionList.OptionHighlighted) -> None:
        sample = self.query_one("#sample", Static)
        variables = self.app.variables_of(event.option.id or "")
        sample.styles.background = variables["background"]
        sample.update(_sample(variables), layout=False)

    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        if (option := self.themes.highlighted_option) is not None and option.id is not None:
            self.app.keep_theme(option.id)
        self.dismiss(None)


def _sample(variables: dict[str, str]) -> Content:
    """Panes, badges, states, JSON and buttons, in the colours that the variables of a theme name."""
    signs = glyphs()
    line = signs.line * 32
    button = "$button-color-foreground on"
    looks = (
        (f" {signs.on}4 ", "$state-ready"), (f"{signs.half}1 ", "$state-busy"), (f"{signs.bad}1 ", "$state-failed"),
        (f"{signs.off}2  ", "$state-off"), (f"{signs.waiting} 1 pending", "bold $accent"), ("\n\n", ""),
        (f" 2 Tools {line}\n", "bold $pane-focus"),
        (f"{f' {signs.unfolded} files':<38}14 \n", "bold $foreground"),
        (" r ", "$risk-read"), ("read_file", "$foreground"), ("  Read a whole file\n", "$quiet"),
        (f"{' w write_file  Write a file':<41}\n", "$block-cursor-foreground on $block-cursor-background"),
        (" ! ", "bold $risk-destructive"), ("delete_file\n\n", "$foreground"),
        (f" 4 Result {line[1:]}\n", "$pane-border"), (f" {signs.ok} ok ", "$state-ready"), ("8 ms\n", "$quiet"),
        (' "born"', "$json-key"), (": ", "$json-mark"), ("1815", "$json-number"), (", ", "$json-mark"),
        ('"name"', "$json-key"), (": ", "$json-mark"), ('"Ada"\n', "$json-string"),
        (' "fellow"', "$json-key"), (": ", "$json-mark"), ("null\n\n", "$json-constant"),
        ("  ", ""), (" README.md ", "$foreground on $surface"), ("  ", ""),
        (" Call ", f"{button} $primary"), ("  ", ""), (" Delete ", f"{button} $error"),
    )  # fmt: skip
    return Content.assemble(
        *((text, re.sub(r"\$([\w-]+)", lambda name: variables[name[1]], look)) for text, look in looks)
    )


class Jump(ModalScreen[Widget]):
    """Answers a pane, or a tab of one."""

    def __init__(self, panes: Iterable[Widget]) -> None:
        super().__init__()
        targets: list[tuple[Widget, Offset]] = []
        for pane in panes:
            targets.append((pane, pane.region.offset))  # in the corner of its frame
            targets += [(tab, tab.region.offset) for tab in pane.query(Tab)]
        self._targets = dict(zip(_LETTERS, (target for target in targets if target[0].region), strict=False))

    def compose(self) -> ComposeResult:
        for letter, (_, place) in self._targets.items():
            label = Static(letter, markup=False)
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: Key) -> None:
        """A letter goes there; anything else leaves."""
        event.stop()
        target = self._targets.get(event.character or "")
        self.dismiss(target[0] if target else None)

    def on_click(self) -> None:
        self.dismiss(None)
