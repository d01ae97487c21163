"""Choosing a theme, and a pane or tab to jump to."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import OptionList, Static, Tab
from textual.widgets.option_list import Option

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.rows import glyphs

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


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
