"""The part of the server dialog that bends the protocol: folded away until it is wanted."""

from __future__ import annotations

from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Select, Static, TextArea

from mcp_studio.safetext import safe
from mcp_studio.tui.bending import CHOICES, OBJECTS, TIMES, Texts, summary
from mcp_studio.tui.views.glyphs import glyphs

_USUAL = {"transport": "automatic", "version": "newest", "log": "any"}
_LABELS = {"transport": "transport", "version": "version", "log": "log level", "client": "client info"}
_HINTS = {
    "capabilities": 'JSON, as {"sampling": {}}',
    "client": 'JSON, as {"name": "…", "version": "…"}',
}


class Fold(Static, can_focus=True):
    """A heading that opens and closes what is below it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "toggle_part", show=False)]

    class Toggled(Message):
        """Somebody wants it the other way."""

    def action_toggle_part(self) -> None:
        """Open or close."""
        self.post_message(self.Toggled())

    def on_click(self, event: Click) -> None:
        """The same with the mouse."""
        event.stop()
        self.action_toggle_part()


class ProtocolPart(Vertical):
    """Version, transport, capabilities, client info, log level and timeouts of a server's entry."""

    def __init__(self) -> None:
        super().__init__(classes="part")
        self._fold = Fold(id="fold-protocol")
        self._inside = Vertical(*self._rows(), classes="part")

    def compose(self) -> ComposeResult:
        """The heading, and the fields below it."""
        yield self._fold
        yield self._inside

    def on_mount(self) -> None:
        """Closed at first."""
        self._inside.display = False
        self._title()

    def fill(self, texts: Texts) -> None:
        """Show these values."""
        for key in CHOICES:
            self.query_one(f"#field-{key}", Select).value = texts[key]
        for key in OBJECTS:
            self.query_one(f"#field-{key}", TextArea).text = texts[key]
        for key in TIMES:
            self.query_one(f"#field-{key}", Input).value = texts[key]
        self._title()

    @property
    def texts(self) -> Texts:
        """What stands in the fields."""
        texts: Texts = {}
        for key in CHOICES:
            texts[key] = str(cast("object", self.query_one(f"#field-{key}", Select).value))
        for key in OBJECTS:
            texts[key] = self.query_one(f"#field-{key}", TextArea).text
        for key in TIMES:
            texts[key] = self.query_one(f"#field-{key}", Input).value
        return texts

    def reveal(self, key: str) -> None:
        """Open it if it holds this field."""
        if self.query(f"#field-{key}") and not self._inside.display:
            self.on_fold_toggled()

    def on_fold_toggled(self) -> None:
        """Open or close."""
        self._inside.display = not self._inside.display
        self._title()

    def _title(self) -> None:
        sign = glyphs().unfolded if self._inside.display else glyphs().folded
        said = "" if self._inside.display else summary(self.texts) or "as usual"
        self._fold.update(Content.assemble((f"{sign} Protocol and timeouts", "b"), (f"  {safe(said, 200)}", "$quiet")))

    def _rows(self) -> list[Widget]:
        rows: list[Widget] = []
        for key, values in CHOICES.items():
            options = [(_USUAL[key], ""), *((value, value) for value in values)]
            choice = Select[str](options, value="", allow_blank=False, compact=True, id=f"field-{key}")
            rows.append(_row(_LABELS[key], choice))
        for key in OBJECTS:
            area = TextArea(
                id=f"field-{key}", compact=True, classes="lines", placeholder=_HINTS[key], tab_behavior="focus"
            )
            rows.append(_row(_LABELS.get(key, key), area))
        times = [Input(id=f"field-{name}", compact=True, placeholder=f"{name} s") for name in TIMES]
        rows.append(_row("timeouts", *times))
        return rows


def _row(label: str, *fields: Widget) -> Horizontal:
    return Horizontal(Static(Content(label), classes="label"), *fields, classes="row")
