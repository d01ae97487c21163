"""What helps with a field: type to find an aid, enter takes it. What cannot be done here is listed with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from mcp_studio.safetext import safe
from mcp_studio.search.names import row
from mcp_studio.tui.aids.offered import Aid
from mcp_studio.tui.screens.choice import SearchDialog
from mcp_studio.tui.views.line import Line, mark_matches, spread
from mcp_studio.tui.views.virtual_list import VirtualList


class AidChoice(SearchDialog[Aid]):
    """Answers the aid that was chosen.

    Args:
        keys: by name, as people write them, for those that have one.
    """

    placeholder = "What should help?"

    def __init__(self, name: str, found: Sequence[Aid], keys: Mapping[str, str]) -> None:
        super().__init__(found, (row(aid.title, f"{aid.note} {aid.refused}") for aid in found))
        self._name = name
        self._keys = keys
        self.choices = VirtualList(self._draw, empty="Nothing has these words.")

    def heading(self) -> Content:
        """For which field."""
        return Content(f"Help with {safe(self._name, 60)}")

    def action_choose(self) -> None:
        """Take it; of one that cannot be done the reason stands there already."""
        if self.choices.row is not None and not self.choices.row.refused:
            super().action_choose()

    def _draw(self, aid: Aid, width: int, selected: bool) -> Line:
        look = "dim" if aid.refused else ""
        title = mark_matches(safe(aid.title, 200), self.words, look)
        note = safe(aid.refused or aid.note, 100)
        right = [(f"  {note}", "dim")] if note else []
        key = self._keys.get(aid.name, "") if not aid.refused else ""
        return spread([*title, *right], [(f" {key}", "dim")] if key else [], width)
