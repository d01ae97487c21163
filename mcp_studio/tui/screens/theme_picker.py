"""The choice of a theme, with a sample of the one under the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual import getters, on
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.rows import glyphs


class ThemePicker(Dialog[None]):
    """Previews the theme under the cursor in a sample, because the whole app takes 300 ms to change."""

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
    """Panes, badges, states, JSON and buttons, in the colours of a theme's variables."""
    signs, line = glyphs(), glyphs().line * 31
    button = "$button-color-foreground on"
    markup = f"""\
[$state-ready] {signs.on}4 [/][$state-busy]{signs.half}1 [/][$state-failed]{signs.bad}1 [/][$state-off]{signs.off}2 [/]\
 [bold $accent]{signs.waiting} 1 pending[/]

[bold $pane-focus] 2 Tools {line}{signs.line}[/]
[bold $foreground]{f" {signs.unfolded} files":<38}14[/]
[$risk-read] r [/][$foreground]read_file[/][$quiet]  Read a whole file[/]
[$block-cursor-foreground on $block-cursor-background]{" w write_file  Write a file":<41}[/]
[bold $risk-destructive] d [/][$foreground]delete_file[/]

[$pane-border] 4 Result {line}[/]
[$state-ready] {signs.ok} ok [/][$quiet]8 ms[/]
[$json-key] "born"[/][$json-mark]: [/][$json-number]1815[/][$json-mark], [/][$json-key]"name"[/][$json-mark]: [/]\
[$json-string]"Ada"[/]
[$json-key] "fellow"[/][$json-mark]: [/][$json-constant]null[/]

  [$foreground on $surface] README.md [/]  [{button} $primary] Call [/]  [{button} $error] Delete [/]"""
    return Content.from_markup(re.sub(r"\$([\w-]+)", lambda name: variables[name[1]], markup))
