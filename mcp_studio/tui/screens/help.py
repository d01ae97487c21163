"""What can be done here: actions with their keys, found by words and done by enter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from textual import getters, on
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.search import names
from mcp_studio.tui.actions import Action, spell_all
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.rows import glyphs

_KEYS = 16
"""Cells of the column for keys."""
_MOST = 8
"""Actions that are shown for a text of which no action has all words."""

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
    listed = "#found"
    options = getters.query_one("#found", OptionList)

    def __init__(self, place: str, sections: Sequence[Section]) -> None:
        super().__init__(f"Help: {place}")
        self._place = place
        self._every = [(title, action) for title, actions in sections for action in actions]

    def body(self) -> Widgets:
        about = _ABOUT.get(self._place, "").format(**glyphs()._asdict(), field=self.app.key_of("field_menu"))
        yield Static(Content(about), id="about")
        yield Input(placeholder="what do you want to do?", compact=True)
        yield OptionList(id="found")

    @on(Input.Changed)
    def look(self) -> None:
        """Show the actions that are meant, the section with the best one first."""
        found: dict[str, list[int]] = {}
        for place in _nearest(self.query_one(Input).value, [action for _, action in self._every]):
            found.setdefault(self._every[place][0], []).append(place)
        options: list[Option] = []
        for title, places in found.items():
            options.append(Option(Content.styled(title, "bold $accent"), disabled=True))
            options += [Option(self._line(self._every[place][1]), id=str(place)) for place in places]
        self.options.clear_options().add_options(options or [Option("No action has these words.", disabled=True)])
        self.options.highlighted = 1 if options else None

    def _line(self, action: Action) -> Content:
        keys = spell_all(self.app.keys.get(action.id, action.keys))
        return Content.assemble((f"{keys:<{_KEYS}}", "$primary"), action.title)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        option = self.options.highlighted_option
        if option is not None and option.id is not None:
            self.dismiss(self._every[int(option.id)][1])

    async def action_help(self) -> None:
        self.action_back()


def _nearest(text: str, actions: Sequence[Action]) -> Sequence[int]:
    """The places of the actions that a text means: those with all its words, else similar ones, else those with the
    most of its words, of which rare ones count more.
    """
    rows = [names.row(one.title, f"{one.also} {one.id}") for one in actions]
    if places := names.Matcher(text).nearest(rows).places:
        return places
    scores = Counter[int]()
    for word in (word for word in text.split() if len(word) > len("the")):  # shorter ones say little
        places = names.Matcher(word).nearest(rows).places
        scores.update(dict.fromkeys(places, 1 / max(1, len(places))))
    return [place for place, _ in scores.most_common(_MOST)]
