"""What can be done here: actions with their keys, found by words and done by enter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from textual.content import Content

from mcp_studio.search import names
from mcp_studio.tui.actions import Action, spell_all
from mcp_studio.tui.screens.dialog import Choice, Choose, Item
from mcp_studio.tui.views.rows import glyphs

_KEYS = 16
"""Cells of the column for keys."""
_MOST = 8
"""Actions that are shown for a text of which no action has all words."""

_ABOUT: Mapping[str, str] = {
    "servers": "Every server that is configured. {s.on} is connected, {s.half} on its way, {s.off} off, {s.bad} "
    "failed. {s.warning} means that it does something wrong; enter says what. Moving the cursor narrows the catalog to "
    "a server.",
    "catalog": "What all servers offer. r only reads, w writes, d may destroy: hints of the server, no guarantee. "
    "{s.watched} is subscribed to. New, changed and gone are what differs since you last looked.",
    "call": "What the catalog's cursor is on. The form, the JSON tab and what was typed before are one value, which is "
    "kept when you leave. A field with * is required; {field} opens its menu.",
    "result": "The newest result: as text, as structured JSON, as a table where it is one, as it came over the wire, "
    "and compared with the result before.",
    "trace": "Every message in both directions, HTTP exchanges, stderr and unexpected output, in order. {s.sent} is "
    "what was sent, {s.received} what came, {s.by_hand} what was written by hand, {s.under} came during the call "
    "above. {s.folded} stands for refreshes of lists.",
}

Section = tuple[str, Sequence[Action]]
"""The actions under one heading."""


class Help(Choose[Action | None]):
    """Lists the actions of a place in sections; answers the action that the person chose."""

    DEFAULT_CLASSES = "-searched"
    choices = (Choice("submit", "Do it", "primary"), Choice("back", "Close"))
    hint = "what do you want to do?"

    def __init__(self, place: str, sections: Sequence[Section]) -> None:
        about = _ABOUT.get(place, "").format(s=glyphs(), field=self.app.key_of("field_menu"))
        items = (Item[Action | None](action.title, action, title) for title, some in sections for action in some)
        super().__init__(f"Help: {place}", items, text=about)
        self.nothing = f"Nothing here has these words; {self.app.key_of('palette')} finds the actions of all panes."

    def found(self, words: str) -> list[Item[Action | None]]:
        """The actions that are meant, the section with the best one first."""
        sections: dict[str, list[Item[Action | None]]] = {}
        for place in _nearest(words, [item.value for item in self._items if item.value is not None]):
            item = self._items[place]
            sections.setdefault(item.note, [Item(item.note, None)]).append(item)
        return [item for items in sections.values() for item in items]

    def prompt(self, item: Item[Action | None]) -> Content:
        if (action := item.value) is None:
            return Content.styled(item.title, "bold $accent")
        keys = spell_all(self.app.keys.get(action.id, action.keys))
        return Content.assemble((f"{keys:<{_KEYS}}", "$primary"), action.title)

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
