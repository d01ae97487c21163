"""The whole value as coloured JSON text: the other view on a form's value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static, TextArea

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.external import GROUP, edit_outside
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.form.model import LARGEST
from mcp_studio.tui.views.json_view import TOKENS
from mcp_studio.tui.views.rows import glyphs, sign_of

_MOST_COLOURED = 5_000
"""Characters of a line that are coloured."""
_MOST_NOTES = 4


class JsonArea(AreaEditor):
    """A text area that colours JSON, and shows a problem after the line that has it."""

    COMPONENT_CLASSES: ClassVar = {f"json--{kind}" for kind in (*TOKENS.groupindex, "problem")}
    problem: JsonProblem | LimitExceeded | None = None

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        for token in TOKENS.finditer(line.plain[:_MOST_COLOURED]):
            line.stylize(self.get_component_rich_style(f"json--{token.lastgroup}", partial=True), *token.span())
        problem = self.problem
        if isinstance(problem, JsonProblem) and problem.line == line_index + 1 and self.has_room(problem):
            look = self.get_component_rich_style("json--problem", partial=True)
            line.append(f"  {glyphs().bad} {safe(problem.reason, 200)}", look)
        return line

    def show_problem(self, problem: JsonProblem | LimitExceeded | None) -> None:
        """Draw the line of a problem, and the line of the problem before."""
        if problem is not self.problem:
            self.problem = problem
            self.notify_style_update()  # the lines drawn before are outdated
            self.refresh()

    def has_room(self, problem: JsonProblem) -> bool:
        """Whether the whole problem fits after its line."""
        line = self.document.get_line(problem.line - 1)
        return cell_len(f"{line}    {safe(problem.reason, 200)}") <= self.wrap_width


class JsonEditor(Vertical):
    """A text area over one JSON value.

    Text that is no JSON stays as typed, its problem is shown at its place, and the value stays as it was. Numbers keep
    every digit and keys their order; control characters are shown as escapes.
    """

    app = getters.app(StudioApp)
    BINDINGS = bindings("editor")

    @dataclass
    class Changed(Message):
        """The person edited the text; `value` is its JSON value, or the last one if the text is no JSON."""

        value: Json

    def __init__(self, value: Json = None, *, text: str = "") -> None:
        """`text` is shown instead of the value: it was no JSON when the person left it."""
        super().__init__()
        self.value: Json = value
        """The value of the text when it was last JSON."""
        self._checked: tuple[SchemaProblem, ...] = ()
        self._read = ""
        """The text that was read last."""
        self.area = JsonArea(numbers=True)
        self._notes = Static()
        self._fill(text)

    def compose(self) -> ComposeResult:
        yield self.area
        yield self._notes

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """The reason why the text cannot be sent; empty if it is JSON."""
        problem = self.area.problem
        return (SchemaProblem("", f"invalid JSON: {problem}"),) if problem else ()

    def show(self, value: Json, *, text: str = "") -> None:
        """Show another value; `text` is shown in its place if it was no JSON when the person left it."""
        if value is not self.value or text not in ("", self.area.text):
            self.value = value
            self._fill(text)

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Show the problems that a check of the value found."""
        self._checked = tuple(problems)
        self._tell(self.area.problem)

    def focus_problem(self) -> None:
        """Go to the place in the text where it stops being JSON."""
        self.area.focus()
        problem = self.area.problem
        if isinstance(problem, JsonProblem) and problem.line:
            self.area.cursor_location = (problem.line - 1, problem.column - 1)

    action_next_problem = focus_problem

    def action_editor(self) -> None:
        if self.area.display:
            self.app.run_worker(self._edit_outside(), group=GROUP)

    async def _edit_outside(self) -> None:
        after = await edit_outside(self.app, "value", "application/json", self.area.text)
        if after is None:
            return
        if self.is_attached and len(after) <= LARGEST:
            self.area.replace(after, (0, 0), self.area.document.end)
        else:
            self.app.copy(after)
            self.app.say("The text cannot be put back here: it is on the clipboard.", "warning")

    def _fill(self, text: str) -> None:
        try:
            written = printable(self.value)
        except RecursionError:  # it is deeper than can be written from within the app
            written = ""
        self.area.display = 0 < len(written) <= LARGEST
        self._tell(None)
        if self.area.display:
            with self.area.prevent(TextArea.Changed):
                self.area.load_text(written)
            self._read = self.area.text
            if text:
                self.area.load_text(text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.read()
        self.post_message(self.Changed(self.value))

    def read(self) -> None:
        """Read the text if it has changed; whoever leaves the editor need not wait for `Changed`."""
        if self.area.text != self._read:
            self._read, self._checked = self.area.text, ()
            try:
                self.value = loads(self.area.text, exact=True)
                self._tell(None)
            except (JsonProblem, LimitExceeded) as problem:
                self._tell(problem)

    def on_area_editor_too_long(self, event: AreaEditor.TooLong) -> None:
        event.stop()
        self.notify(f"{len(event.text):,} characters are too many to edit here.", severity="warning")

    def _tell(self, problem: JsonProblem | LimitExceeded | None) -> None:
        self.area.show_problem(problem)
        notes: list[SchemaProblem] = []
        if not self.area.display:
            notes.append(SchemaProblem("", "The value is too large to edit here.", "warning"))
        if problem is not None and not (isinstance(problem, JsonProblem) and self.area.has_room(problem)):
            notes.append(SchemaProblem("", str(problem)))
        shown = [(*sign_of(note.severity), safe(note.sentence, 300)) for note in (*notes, *self._checked)[:_MOST_NOTES]]
        colours = {"bad": "$state-failed", "warn": "$state-busy"}
        lines = [Content.styled(f"{sign} {text}", colours[look]) for sign, look, text in shown]
        self._notes.display = bool(lines)
        self._notes.update(Content("\n").join(lines))
