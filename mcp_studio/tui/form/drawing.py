"""How the rows of a form get on screen, with the editor over the value of the current one."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.widget import Widget

from mcp_studio.schema.place import Path
from mcp_studio.tui.form.choosing import Chooser
from mcp_studio.tui.form.drawn import Drawn
from mcp_studio.tui.form.heights import Heights
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offer import Complete
from mcp_studio.tui.form.offers import HEIGHT, Offers
from mcp_studio.tui.form.outline import Kind, Row
from mcp_studio.tui.form.overlay import Overlay
from mcp_studio.tui.form.painter import Painter
from mcp_studio.tui.form.rows import FormRows


class DrawnFields(Widget):
    """One widget draws all rows, and one editor lies over the value of the current one.

    So a thousand rows cost no more than three: only those in view are ever drawn. What keys and clicks do is the
    business of `Fields`.
    """

    def __init__(
        self, model: FormModel, complete: Complete | None, empty: str, *, id: str | None, classes: str | None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.complete = complete
        self._model = model
        self._chooser = Chooser(model)
        self._painter = Painter(model, 80)
        self._painted: list[Row] = []
        self._heights = Heights()
        self._room = Size()
        self._at = 0
        self._key: tuple[Path, Kind] | None = None
        self._rows = FormRows(self._fit, self._draw)
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
    def row(self) -> Row | None:
        """The row that the keys go to."""
        rows = self._model.rows
        return rows[self._at] if self._at < len(rows) else None

    def draw_all(self, width: int = 0) -> None:
        """Draw every row anew."""
        self._painter = Painter(self._model, width or self._rows.row_width or 80)
        self._painted = self._model.rows
        self._find()
        self._show_lines()

    def _find(self) -> None:
        """Rows have come or gone: the current one is still the same, or the nearest one that is left."""
        rows = self._model.rows
        if self._at < len(rows) and rows[self._at].key == self._key:
            return
        if self._key is not None:
            found = self._model.row_at(self._key[0])
            if found is not None:
                same = (at for at in (found, found + 1) if at < len(rows) and rows[at].key == self._key)
                found = next(same, found)
                self._at = found
        self._at = max(0, min(self._at, len(rows) - 1))
        self._key = rows[self._at].key if rows else None

    def _redraw(self) -> None:
        """Draw what has changed."""
        if self._model.rows is not self._painted:
            self.draw_all()
        else:
            self._show_lines()

    def _draw(self, index: int) -> Drawn:
        current = index == self._at
        return self._painter.draw(
            index,
            self._model.rows[index],
            current=current,
            focused=self.has_focus_within,
            picker=self._chooser.picker if current else None,
            editor=self._overlay.height if current else 0,
            offers=self._offers if current and self._overlay.editor is self._overlay.line else None,
        )

    def _show_lines(self) -> None:
        if not self.is_attached:
            return
        self._offers.height = max(2, min(HEIGHT, self._rows.size.height - 2))
        current = (self._at, self._draw(self._at)) if self.row is not None else None
        above, below = [*self._painter.notices()], [*self._painter.remarks()]
        self._heights.lay(self._painter, self._model, len(above), self._at, len(current[1].lines) if current else 0)
        self._rows.show(above, self._heights, current, below)
        height = self.styles.height
        if height is not None and height.is_auto:
            # A child of relative height would make us as high as there is room.
            self._rows.styles.height = max(1, self._rows.row_count)
        self._place()

    def _place(self) -> None:
        row = self.row
        if row is None:
            self._overlay.place(0, 0, 1)
            return
        line = self._rows.start(self._at) - self._rows.top
        if self._overlay.naming is not None:
            indent = self._painter.columns.indent(row)
            self._overlay.place(indent, line, max(8, self._painter.width - indent))
        else:
            self._overlay.place(self._painter.columns.value(row), line, self._painter.editor_width(row))

    def _fit(self) -> None:
        """The rows were scrolled, or have another width."""
        if self.is_attached:
            if self._rows.row_width != self._painter.width:
                self.draw_all()
            if self._rows.size != self._room:
                self._room = self._rows.size
                if self.row is not None and self.has_focus_within:
                    self._rows.reveal(self._at)
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
