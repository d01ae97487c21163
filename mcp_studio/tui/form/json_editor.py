"""The whole value as JSON text: the other view on what a form edits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.tui import late_aids
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.form.area import AreaEditor
from mcp_studio.tui.form.model import LARGEST
from mcp_studio.tui.views.glyphs import glyphs

_MOST = 4


class JsonEditor(Widget):
    """A text area over one JSON value.

    Text that is no JSON stays as typed, and its problem is told with line and column; the value stays what it was.
    Numbers keep every digit and keys their order; live characters are shown as escapes. What `show` replaces can be
    brought back by undoing.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("json")
    DEFAULT_CSS = """
    JsonEditor {
        layout: vertical; width: 1fr; height: 1fr;
        & > Static { height: auto; max-height: 4; width: 1fr; }
    }
    """

    class Changed(Message):
        """The text was edited and is JSON: `value` is what it says."""

        def __init__(self, editor: JsonEditor, value: Json) -> None:
            super().__init__()
            self.editor = editor
            self.value = value

        @property
        def control(self) -> JsonEditor:
            """The editor it is about."""
            return self.editor

    class Unread(Message):
        """The text was edited and is no JSON: `text` is what stands there."""

        def __init__(self, editor: JsonEditor, text: str) -> None:
            super().__init__()
            self.editor = editor
            self.text = text

    def __init__(
        self, value: Json = None, *, text: str = "", id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._value: Json = value
        self._given = text
        self._problem: JsonProblem | LimitExceeded | None = None
        self._told: tuple[SchemaProblem, ...] = ()
        self._too_large = False
        self._area = AreaEditor(numbers=True)
        self._notes = Static()

    def compose(self) -> ComposeResult:
        """The text, and what is wrong with it."""
        yield self._area
        yield self._notes

    def on_mount(self) -> None:
        """Show what was given."""
        self._fill(fresh=True)
        self._put(self._given)

    @property
    def text(self) -> str:
        """The text as it is now, JSON or not."""
        return self._area.text

    @property
    def value(self) -> Json:
        """What the text said when it was last JSON."""
        return self._value

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """Why the text cannot be sent; empty when it is JSON."""
        return (SchemaProblem("", f"this is no JSON: {self._problem}"),) if self._problem else ()

    def show(self, value: Json, *, fresh: bool = False, text: str = "") -> None:
        """Show another value; text that already says it stays as it is.

        Args:
            fresh: it belongs to something else than before: nothing of the old text is kept, nor can be undone.
            text: what stood there when it was left, if that was no JSON.
        """
        if value is self._value and not fresh:
            return
        known = not self._problem and not fresh and _text(value) == _text(self._value)
        self._value = value
        if not known:
            self._fill(fresh=fresh)
            self._put(text)

    @property
    def editable(self) -> bool:
        """Whether the text can be edited here: it is not too large."""
        return not self._too_large

    def put_text(self, text: str) -> None:
        """Another text, as if it had been typed: it can be undone."""
        self._area.replace(text, (0, 0), self._area.document.end)

    def put_value(self, value: Json) -> None:
        """Another value, as if it had been typed."""
        self.show(value)
        self.post_message(self.Changed(self, value))

    def action_outside(self) -> None:
        """Edit it in the person's own editor."""
        late_aids.edit_outside(self)

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Tell what a check of the value found."""
        self._told = tuple(problems)
        self._tell()

    def focus_problem(self) -> None:
        """Go to the text, to the place where it stops being JSON."""
        self._area.focus()
        if isinstance(self._problem, JsonProblem) and self._problem.line:
            self._area.cursor_location = (self._problem.line - 1, self._problem.column - 1)

    def _fill(self, *, fresh: bool) -> None:
        text = _text(self._value)
        self._problem = None
        self._too_large = len(text) > LARGEST
        self._area.display = not self._too_large
        if not self._too_large:
            with self._area.prevent(TextArea.Changed):
                if fresh:
                    self._area.load_text(text)
                else:
                    self._area.replace(text, (0, 0), self._area.document.end)
            self._area.cursor_location = (0, 0)
        self._tell()

    def _put(self, text: str) -> None:
        """Put back text that was no JSON when it was left."""
        if text and self._area.display:
            self._area.load_text(text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read the text again."""
        event.stop()
        try:
            value = loads(self._area.text, exact=True)
        except (JsonProblem, LimitExceeded) as problem:
            self._problem = problem
            self._told = ()
            self._tell()
            self.post_message(self.Unread(self, self._area.text))
            return
        self._problem, self._value = None, value
        self._told = ()
        self._tell()
        self.post_message(self.Changed(self, value))

    def _tell(self) -> None:
        lines: list[tuple[str, str]] = []
        if self._too_large:
            lines.append((f"{glyphs().warning} It is too large to be edited here.", "$state-busy"))
        if self._problem:
            lines.append((f"{glyphs().bad} {safe(self._problem, 300)}", "$state-failed"))
        for problem in self._told[: _MOST - len(lines)]:
            sign, colour = (
                (glyphs().bad, "$state-failed") if problem.severity == "error" else (glyphs().warning, "$state-busy")
            )
            words = f"{safe(problem.pointer, 80)} {safe(problem.message, 300)}".strip()
            lines.append((f"{sign} {words}", colour))
        self._notes.display = bool(lines)
        self._notes.update(Content("\n").join(Content.styled(text, colour) for text, colour in lines))


def _text(value: Json) -> str:
    try:
        return printable(value)
    except RecursionError:
        # Deeper than can be written from within the app: as little to be edited as what is too large.
        return " " * (LARGEST + 1)
