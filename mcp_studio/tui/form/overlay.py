"""The editor over the value of the current field: a line, or an area for JSON and text of several lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.jsontext import printable
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Field, Flag, Text
from mcp_studio.tui.form.editors import LineEditor
from mcp_studio.tui.form.model import LARGEST, FormModel
from mcp_studio.tui.form.offer import Complete
from mcp_studio.tui.form.offers import Completions, Offers
from mcp_studio.tui.form.painter import nothing

if TYPE_CHECKING:
    from mcp_studio.tui.form.area import AreaEditor

_LOWEST, _HIGHEST = 3, 10
"""Lines of an area for JSON, at least; of any area, at most."""


class Overlay:
    """Owns both editors and says which of them the current field has. The area is made when one is first needed."""

    def __init__(self, owner: Widget, walks: Callable[[Key], bool], offers: Offers) -> None:
        """`walks` takes a key that leaves the line; it says whether it did. `offers` fill the rest of the line."""
        self._owner = owner
        self._offers = offers
        self.line = LineEditor(walks)
        self.line.display = False
        self._area: AreaEditor | None = None
        self.editor: Widget | None = None
        """The editor in use."""
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

    def open(self, model: FormModel, field: Field | None, complete: Complete | None = None) -> None:
        """Take what the field holds into the editor that suits it."""
        self.editor = None
        if field is None or isinstance(field, (Flag, Choice, Choices)):
            return
        if model.closed(field):
            return
        text = model.text(field)
        if "\n" in text or (isinstance(field, Text) and field.multiline):
            self._open_area(text, _LOWEST if isinstance(field, AS_JSON) else 1)
            return
        self.editor = self.line
        self.line.suggester = None  # the one of the field before would ask for its own field with this text
        with self.line.prevent(Input.Changed):
            self.line.value = text
        self.line.cursor_position = len(text)
        self.line.password = isinstance(field, Text) and field.secret
        self.line.placeholder = nothing(model, field)
        offered = complete is not None and isinstance(field, Text)
        self.line.suggester = Completions(self._offers, field.name, complete) if complete and offered else None

    def grow(self, model: FormModel, field: Field, text: str = "") -> None:
        """Edit on several lines: JSON is laid out, `text` is what was pasted."""
        if model.closed(field) or len(text) > LARGEST:
            return
        if not text:
            text = model.text(field)
            if isinstance(field, AS_JSON) and field.name not in model.pending and model.has(field):
                text = printable(model.get(field))
        self._open_area(text, _LOWEST)

    def close(self) -> None:
        """No editor is in use."""
        self.editor = None

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
        """Put the editor in use where the field's value is; the other is not on screen."""
        for editor in (self.line, self._area):
            if editor is not None:
                editor.display = editor is self.editor
        if self.editor is not None:
            styles = self.editor.styles
            styles.offset = (x, y)
            styles.width = width
            styles.height = self.height
