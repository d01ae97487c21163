"""Dialogs about the studio itself: help, facts about the running studio, theme, and jumping to a pane or tab."""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

import mcp_studio
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.threads import beside
from mcp_studio.trace.disk.sessions import used
from mcp_studio.tui.actions import Action, spell_all
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, section
from mcp_studio.tui.views.rows import glyphs
from mcp_studio.vault.keyring import place_in_words

if TYPE_CHECKING:
    from mcp_studio.studio import Studio


_KEYS = 16
"""Cells of the column for keys."""
_ABOUT: Mapping[str, str] = {
    "servers": "Every server that is configured. {on} is connected, {half} on its way, {off} off, {bad} failed. "
    "{warning} means that it does something wrong; enter says what. Moving the cursor narrows the catalog to a server.",
    "catalog": "What all servers offer. r only reads, w writes, d may destroy: hints of the server, no guarantee. "
    "{watched} is subscribed to. New, changed and gone are what differs since you last looked.",
    "call": "What the catalog's cursor is on. The form, the JSON tab and what was typed before are one value, which is "
    "kept when you leave. A field with * is required; {field} opens its menu.",
    "result": "The newest result: as text, as structured JSON, as a table where it is one, as it came over the wire, "
    "and compared with the result before.",
    "trace": "Every message in both directions, HTTP exchanges, stderr and unexpected output, in order. {sent} is what "
    "was sent, {received} what came, {by_hand} what was written by hand, {under} came during the call above. "
    "{folded} stands for refreshes of lists.",
}


Section = tuple[str, Sequence[Action]]
"""The actions under one heading."""


class Help(Dialog[Action]):
    """Lists the actions of a place; answers the action that the person chose."""

    choices = (Choice("submit", "Do it", "primary"), Choice("back", "Close"))
    AUTO_FOCUS = "Input"
    listed = "#found"
    options = getters.query_one("#found", OptionList)

    def __init__(self, place: str, sections: Sequence[Section]) -> None:
        super().__init__(f"Help: {place}")
        self._place = place
        self._sections = sections
        self._rows: list[Action] = []

    def body(self) -> Iterable[Widget]:
        about = _ABOUT.get(self._place, "").format(**glyphs()._asdict(), field=self.app.key_of("field_menu"))
        yield Static(Content(about), id="about")
        yield Input(placeholder="what do you want to do?", compact=True)
        yield OptionList(id="found")

    @on(Input.Changed)
    def look(self) -> None:
        """Show the actions whose title, synonyms or id contain all words."""
        words = self.query_one(Input).value.casefold().split()
        self._rows = []
        options: list[Option] = []
        for title, actions in self._sections:
            found = [
                one for one in actions if all(word in f"{one.title} {one.also} {one.id}".casefold() for word in words)
            ]
            if found:
                options.append(Option(Content.styled(title, "bold $accent"), disabled=True))
                options += [Option(self._line(action), id=str(at)) for at, action in enumerate(found, len(self._rows))]
                self._rows += found
        self.options.clear_options().add_options(options or [Option("No action has these words.", disabled=True)])
        self.options.highlighted = 1 if self._rows else None

    def _line(self, action: Action) -> Content:
        keys = spell_all(self.app.keys.get(action.id, action.keys))
        return Content.assemble((f"{keys:<{_KEYS}}", "$primary"), action.title)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        option = self.options.highlighted_option
        if option is not None and option.id is not None:
            self.dismiss(self._rows[int(option.id)])

    async def action_help(self) -> None:
        self.action_back()


class About(Dialog[None]):
    """Facts about the studio, which the person can copy into a report."""

    TITLE = "About mcp-studio"
    DEFAULT_CLASSES = "-large"
    choices = (Choice("back", "Close"), Choice("copy", "Copy all"))

    def body(self) -> Iterable[Widget]:
        yield Static("Looking …", id="facts")

    def on_mount(self) -> None:
        self.run_worker(self._look())

    async def _look(self) -> None:
        """Fill the dialog in the background, because a keyring is slow."""
        studio = self.app.studio
        store = studio.config.settings.secrets
        remote = any(studio.manager.config(name).url for name in studio.manager.names())
        now = studio.sign_ins.accounts.keeping if remote else store
        place = await beside(place_in_words, store, studio.paths.state)
        other = await beside(place_in_words, now, studio.paths.state) if now != store else ""
        self.query_one("#facts", Static).update(Content.assemble(*_parts(studio, place, other)))


def _parts(studio: Studio, store: str, now: str) -> Parts:
    """All facts. `store` says where secrets are stored; `now` where this studio stores tokens, if that differs."""
    config, paths, manager, trace = studio.config, studio.paths, studio.manager, studio.trace
    folder, settings = paths.state / "trace", config.settings
    on_disk = units.storage_line(*used(folder), settings.record, settings.record_bytes, settings.record_age)
    insecure = (name for name in manager.names() if manager.config(name).tls.insecure)
    sections: dict[str, list[tuple[str, str]]] = {
        "Not used from the configuration": [(str(problem), "$text-error") for problem in config.problems],
        "Files read": [(str(file), "") for file in config.files] or [("none", "")],
        "Folders": [(f"{name:<7} {getattr(paths, name)}", "") for name in ("config", "state", "cache")],
        "Secrets and tokens": [
            *((f"{name} is insecure: any certificate is accepted", "$text-error") for name in insecure),
            (f"now   {now} (tokens of this session)" if now else "", "$text-warning"),
            (f"kept  {store}", ""),
        ],
        "Trace": [
            (f"{trace.total:,} entries, {len(trace):,} kept, {trace.first_number - 1:,} dropped", ""),
            (trace.problem, "$text-warning"),
            (f"on disk: {on_disk}", ""),
            (str(folder), ""),
        ],
        "Limits": [
            (f"{field.name:<16} {_amount(getattr(studio.limits, field.name))}", "")
            for field in dataclasses.fields(studio.limits)
        ],
    }
    libraries = "".join(f", {name} {version(name)}" for name in ("textual", "mcp", "httpx2"))
    parts: Parts = [f"mcp-studio {mcp_studio.__version__}, Python {platform.python_version()}{libraries}"]
    parts.append(f" on {platform.system()} {platform.machine()}\n")
    for title, lines in sections.items():
        parts += section(title, ((safe(text, 1_000), look) for text, look in lines if text))
    return parts


def _amount(limit: float) -> str:
    """A limit as text: a number with a fraction is in seconds; an integer counts bytes or items."""
    return f"{limit:,g} s" if isinstance(limit, float) else f"{limit:,}"


_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


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


class Jump(ModalScreen[tuple[Pane, str]]):
    """Shows a letter at each pane and tab; answers the pane and the tab, if any, whose letter the person pressed."""

    def __init__(self, panes: Iterable[Pane]) -> None:
        super().__init__()
        targets: list[tuple[tuple[Pane, str], Offset]] = []
        for pane in panes:
            targets += [((pane, ""), pane.region.offset)] if pane.region else []  # in the corner of the pane's frame
            if (tabs := pane.tabs) is not None and tabs.region:  # in the gap before the label of a tab
                targets += [((pane, tab), tabs.region.offset + Offset(x - 1)) for tab, x in tabs.places.items()]
        self._targets = dict(zip(_LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        for letter, (_, place) in self._targets.items():
            label = Static(letter, markup=False)
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        """Go to the target of a letter; any other key closes the screen."""
        event.stop()
        target = self._targets.get(event.character or "")
        self.dismiss(target[0] if target else None)

    def on_click(self) -> None:
        self.dismiss(None)
