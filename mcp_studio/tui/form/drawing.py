"""How the rows of a form get on screen, with the editor over the value of the current field."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.widget import Widget

from mcp_studio.schema.field import Field
from mcp_studio.tui.form.choosing import Chooser
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offer import Complete
from mcp_studio.tui.form.offers import HEIGHT, Offers
from mcp_studio.tui.form.overlay import Overlay
from mcp_studio.tui.form.painter import Drawn, Painter
from mcp_studio.tui.form.rows import FormRows


class DrawnFields(Widget):
    """One widget draws all rows, and one editor lies over the value of the current one.

    So three hundred fields cost no more than three. What keys and clicks do is the business of `Fields`.
    """

    def __init__(
        self, model: FormModel, complete: Complete | None, empty: str, *, id: str | None, classes: str | None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.complete = complete
        self._model = model
        self._chooser = Chooser(model)
        self._painter = Painter(model, 80)
        self._drawn: list[Drawn] = []
        self._at = 0
        self._rows = FormRows(self._fit)
        self._rows.empty = empty
        self._offers = Offers(self, self._offered)
        self._overlay = Overlay(self, self._left, self._offers)

    def compose(self) -> ComposeResult:
        """The drawn rows, and the editor over them."""
        yield self._rows
        yield self._overlay.line

    def on_mount(self) -> None:
        """Draw what was given."""
        self.draw_all()

    @property
    def current(self) -> Field | None:
        """The field that the keys go to."""
        return self._model.form.fields[self._at] if self._at < len(self._drawn) else None

    def draw_all(self, width: int = 0) -> None:
        """Draw every field anew."""
        self._painter = Painter(self._model, width or self._rows.row_width or 80)
        fields = self._model.form.fields if self._model.drawable else ()
        self._at = min(self._at, max(0, len(fields) - 1))
        self._drawn = [self._draw(index) for index in range(len(fields))]
        self._show_lines()

    def _draw_current(self) -> None:
        if self._drawn:
            self._drawn[self._at] = self._draw(self._at)
        self._show_lines()

    def _draw(self, index: int) -> Drawn:
        current = index == self._at
        self._offers.height = max(2, min(HEIGHT, self._rows.size.height - 2))
        return self._painter.draw(
            self._model.form.fields[index],
            current=current and self.has_focus_within,
            picker=self._chooser.picker if current else None,
            editor=self._overlay.height if current else 0,
            offers=self._offers if current and self._overlay.editor is self._overlay.line else None,
        )

    def _show_lines(self) -> None:
        if self.is_attached:
            self._rows.show([*self._painter.notices()], self._drawn, [*self._painter.remarks()])
            height = self.styles.height
            if height is not None and height.is_auto:
                # A child of relative height would make us as high as there is room.
                self._rows.styles.height = max(1, self._rows.row_count)
            self._place()

    def _place(self) -> None:
        line = self._rows.start(self._at) - self._rows.top if self._drawn else 0
        self._overlay.place(self._painter.label_width, line, self._painter.room)

    def _fit(self) -> None:
        """The rows were scrolled, or have another width."""
        if self.is_attached:
            if self._rows.row_width != self._painter.width:
                self.draw_all()
            self._place()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """All lines, where the form is as high as its content."""
        if width - 1 != self._painter.width:
            self.draw_all(width - 1)
        return max(1, self._rows.row_count)

    def _left(self, event: events.Key) -> bool:
        """A key in the line: whether it was more than typing."""
        return False

    def _offered(self) -> None:
        """There is another list of offers."""
