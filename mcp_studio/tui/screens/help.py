"""What can be done here: the actions of the focused pane and of the main screen. Enter does one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.tui.actions import Action, Scope, scoped, spell_all
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs

_KEYS = 16
"""Cells of the column with keys."""
_ABOUT: Mapping[str, str] = {
    "servers": "Every server that is configured. {on} is connected, {half} on its way, {off} off, {bad} failed. "
    "{warning} means that it does something wrong; enter says what. Moving the cursor narrows the catalog to a server.",
    "catalog": "What all servers offer. r only reads, w writes, ! may destroy: hints of the server, no guarantee. "
    "{watched} is subscribed to. New, changed and gone are what differs since you last looked.",
    "call": "What the catalog's cursor is on. The form, the JSON tab and what was typed before are one value, which is "
    "kept when you leave. A field with * is required; {field} opens its menu.",
    "result": "The newest result: as text, as structured JSON, as a table where it is one, as it came over the wire, "
    "and compared with the result before.",
    "trace": "Every message in both directions, HTTP exchanges, stderr and unexpected output, in order. {sent} is what "
    "was sent, {received} what came, {by_hand} what was written by hand, {under} came during the call above.",
}


class Help(Dialog[Action]):
    """Answers the action that was chosen."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Help {
        & #about { margin-bottom: 1; color: $quiet; height: auto; }
        & #found { height: 1fr; margin-top: 1; border: none; background: transparent; padding: 0; }
        & #rows { height: 1fr; }
    }
    """
    choices = (Choice("submit", "Do it", "primary"), Choice("back", "Close"))
    options = getters.query_one("#found", OptionList)

    def __init__(self, pane: Scope | None) -> None:
        super().__init__()
        self._pane: Scope | None = pane
        self._shown: list[Action] = []

    def heading(self) -> str:
        return f"Help: {self._pane or 'the main screen'}"

    def body(self) -> Iterable[Widget]:
        with_keys = glyphs()._asdict()
        about = _ABOUT.get(self._pane or "", "").format(**with_keys, field=self.app.key_of("field_menu"))
        yield Static(Content(about), id="about")
        yield Input(placeholder="what do you want to do?", compact=True)
        yield OptionList(id="found")

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._fill("")

    def _fill(self, text: str) -> None:
        words = text.casefold().split()
        self._shown = []
        options: list[Option | None] = []
        for title, scopes in self._sections():
            found = [action for action in _once(scoped(*scopes)) if all(word in _text(action) for word in words)]
            if found:
                options.append(Option(Content.styled(title, "bold $accent"), disabled=True))
                options += [Option(self._line(action), id=f"{action.scope}-{action.id}") for action in found]
                self._shown += found
        self.options.clear_options().add_options(options)
        if self._shown:
            self.options.highlighted = 1

    def _line(self, action: Action) -> Content:
        keys = spell_all(self.app.keys.get(action.id, action.keys))
        return Content.assemble((f"{keys:<{_KEYS}}", "$primary"), action.title)

    def _sections(self) -> list[tuple[str, tuple[Scope, ...]]]:
        sections: list[tuple[str, tuple[Scope, ...]]] = []
        if self._pane is not None:
            sections.append((f"In the pane {self._pane}", (self._pane,)))
        if self._pane == "call":
            sections.append(("In the form", ("form",)))
        if self._pane in ("call", "result"):
            sections.append(("In viewers", ("viewer",)))
        return [*sections, ("Everywhere", ("main", "app")), ("In lists", ("list",))]

    @on(Input.Changed)
    def narrow(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @on(Input.Submitted)
    def take_first(self) -> None:
        self.action_submit()

    @on(OptionList.OptionSelected)
    def take(self) -> None:
        self.action_submit()

    def action_submit(self) -> None:
        chosen = self.options.highlighted_option
        found = [action for action in self._shown if chosen is not None and chosen.id == f"{action.scope}-{action.id}"]
        if found:
            self.dismiss(found[0])


def _text(action: Action) -> str:
    return f"{action.title} {action.also} {action.id}".casefold()


def _once(actions: Iterable[Action]) -> list[Action]:
    return list({(action.scope, action.id): action for action in actions}.values())
