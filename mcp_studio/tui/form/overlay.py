"""The editor over the value of the current row: a line, or an area for JSON and text of several lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.jsontext import printable
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Const, Field, Flag, List, Map, Object, Text, Union
from mcp_studio.schema.place import Path, pointer
from mcp_studio.tui.form.editors import LineEditor
from mcp_studio.tui.form.model import LARGEST, FormModel
from mcp_studio.tui.form.offer import Complete
from mcp_studio.tui.form.offers import Completions, Offers
from mcp_studio.tui.form.outline import Row
from mcp_studio.tui.form.words import masked, nothing

if TYPE_CHECKING:
    from mcp_studio.tui.form.area import AreaEditor

_LOWEST, _HIGHEST = 3, 10
"""Lines of an area for JSON, at least; of any area, at most."""
_DRAWN = (Flag, Choice, Choices, Const, Union)


def has_editor(row: Row | None) -> bool:
    """Whether something is typed into the value of a row."""
    if row is None or row.kind in ("add", "rest") or row.fold is not None:
        return False
    return not isinstance(row.field, (*_DRAWN, Object, Map, List))


class Overlay:
    """Owns both editors and says which of them the current row has. The area is made when one is first needed."""

    def __init__(self, owner: Widget, walks: Callable[[Key], bool], offers: Offers) -> None:
        """`walks` takes a key that leaves the line; it says whether it did. `offers` fill the rest of the line."""
        self._owner = owner
        self._offers = offers
        self.line = LineEditor(walks)
        self.line.display = False
        self._area: AreaEditor | None = None
        self.editor: Widget | None = None
        """The editor in use."""
        self.naming: str | None = None
        """The key that is being changed, while the line lies over that and not over a value; empty for a new one."""
        self.revealed: Path | None = None
        """The place whose secret is shown in clear, while the cursor is there."""
        self._lowest = 1

    @property
    def tall(self) -> bool:
        """Whether the area is in use."""
        return self.editor is not None and self.editor is not self.line

    @property
    def height(self) -> int:
        """Lines that the editor takes; 0 when there is none."""
        if self.editor is None or self._area is None or not self.tall:
            return 0 if self.editor is None else 1
        return max(self._lowest, min(self._area.wrapped_document.height, _HIGHEST))

    @property
    def text(self) -> str:
        """What the editor holds."""
        return self._area.text if self._area is not None and self.tall else self.line.value

    @property
    def cursor(self) -> tuple[int, int]:
        """Line and column of the cursor in the editor, from 0."""
        return self._area.cursor_location if self._area is not None and self.tall else (0, self.line.cursor_position)

    @cursor.setter
    def cursor(self, place: tuple[int, int]) -> None:
        if self._area is not None and self.tall:
            self._area.cursor_location = place
        elif self.editor is self.line:
            self.line.cursor_position = place[1]

    def open(self, model: FormModel, row: Row | None, complete: Complete | None = None) -> None:
        """Take what the row holds into the editor that suits it."""
        self.editor = self.naming = None
        self.revealed = self.revealed if row is not None and row.path == self.revealed else None
        if row is None or not has_editor(row) or model.closed(row):
            return
        text, field = model.text(row), row.field
        hidden = self._masks(field, text)
        if hidden and "\n" in text:
            return  # several lines cannot be typed into unseen
        if "\n" in text or (isinstance(field, Text) and field.multiline and not hidden):
            self._open_area(text, _LOWEST if isinstance(field, AS_JSON) else 1)
            return
        self._open_line(text, nothing(model, row), secret=hidden)
        if complete is not None and isinstance(field, Text):
            self.line.suggester = Completions(self._offers, field.name, complete)

    def _masks(self, field: Field, text: str) -> bool:
        return self.revealed is None and masked(field, text)

    def watch(self, row: Row) -> None:
        """Something was typed into the value of the row: a reference to a secret need not be hidden."""
        if self.editor is self.line:
            self.line.password = self._masks(row.field, self.line.value)

    def name(self, key: str, words: str) -> None:
        """Change a key: the line lies over it. `words` stand in the line while it is empty."""
        self._open_line(key, words)
        self.naming = key

    def _open_line(self, text: str, words: str, *, secret: bool = False) -> None:
        self.editor = self.line
        self.line.suggester = None  # the one of the row before would ask for its own field with this text
        with self.line.prevent(Input.Changed):
            self.line.value = text
        self.line.cursor_position = len(text)
        self.line.password = secret
        self.line.placeholder = words

    def grow(self, model: FormModel, row: Row, text: str = "") -> None:
        """Edit on several lines: JSON is laid out, `text` is what was pasted."""
        if model.closed(row) or len(text) > LARGEST:
            return
        if not text:
            text = model.text(row)
            if isinstance(row.field, AS_JSON) and pointer(*row.path) not in model.pending and model.has(row.path):
                text = printable(model.get(row.path))
        self._open_area(text, _LOWEST)

    def close(self) -> None:
        """No editor is in use."""
        self.editor = self.naming = None

    def _open_area(self, text: str, lowest: int) -> None:
        area = self._area
        if area is None:
            from mcp_studio.tui.form.area import AreaEditor

            area = self._area = AreaEditor(classes="-over")
            self._owner.mount(area)
        self.editor = area
        self._lowest = lowest
        with area.prevent(area.Changed):
            area.load_text(text)
        area.cursor_location = area.document.end

    def place(self, x: int, y: int, width: int) -> None:
        """Put the editor in use where the row's value is; the other is not on screen."""
        for editor in (self.line, self._area):
            if editor is not None:
                editor.display = editor is self.editor
        if self.editor is not None:
            styles = self.editor.styles
            styles.offset = (x, y)
            styles.width = width
            styles.height = self.height
