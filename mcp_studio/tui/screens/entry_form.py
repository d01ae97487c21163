"""The form of a server's entry: a form that takes a whole line for what it means."""

from __future__ import annotations

from typing import cast

from textual.widgets import Input

from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.tui.entering import meant, pointer_of, words_of
from mcp_studio.tui.form.editors import LineEditor
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.form.outline import Row

_CONNECT = ("connect",)
_COMMAND = (*_CONNECT, "command")
_ARGS = (*_CONNECT, "args")
_URL = 1
"""The number of the variant."""


class EntryForm(FormView):
    """Splits pasted arguments as a shell does, and a command line into its parts once its row is left."""

    def fill(self, value: Json) -> None:
        """Show another value; what is half typed stays, and all of it can be undone."""
        waiting = dict(self._model.pending)
        self._model.replace(value)
        for place, text in waiting.items():
            self._model.type(self._row_of(self._model.path_of(place)), text)
        self.take(self._model)

    def show_top(self) -> None:
        """Show the first rows: they were laid out only after the cursor had its place."""
        self._rows.scroll_rows(0)
        self._redraw()

    def understand(self) -> None:
        """Take an address or a whole line in the place of a command apart."""
        self._typed(self._overlay.text)
        value = meant(self.value)
        if value is self.value:
            return
        connect = cast("dict[str, dict[str, Json]]", value)["connect"]
        if "url" in connect:
            self._model.turn(self._row_of(_CONNECT), _URL)
            self._model.put((*_CONNECT, "url"), connect["url"])
        else:
            self._model.put(_CONNECT, cast("Json", connect))
        self._changed()
        if self.row is None or not self.has_focus_within:
            return
        self._open()
        self._hand_over()
        self._redraw()

    def row_changed(self) -> None:
        """The cursor is on another row."""
        super().row_changed()
        if self.row is not None and self.row.path != _COMMAND:
            self.understand()

    def tell(self, problem: ConfigError) -> None:
        """Show a problem at the place that it is about, and go there."""
        place = pointer_of(problem.key)
        self.show_problems([SchemaProblem(place, problem.message)])
        self.focus_field(place)

    def action_show_sent(self) -> None:
        """There is nothing to be seen."""
        self.refuse("Nothing of this is sent: it is written into a file.")

    # Arguments

    def paste(self, row: Row, text: str) -> None:
        """A line of arguments, on their list; anything else as everywhere."""
        words = words_of(text) if row.path == _ARGS and text.lstrip()[:1] != "[" else []
        if words:
            self.put_value(_ARGS, [*self._model.items(_ARGS), *words])
        else:
            super().paste(row, text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Several words that come at once into an empty argument are pasted: each is one."""
        row = self.row
        fresh = row is not None and row.path[:-1] == _ARGS and self._model.text(row) == ""
        super().on_input_changed(event)
        if fresh:
            self._split(event.value)

    def on_line_editor_lines(self, event: LineEditor.Lines) -> None:
        """The same for several lines."""
        row = self.row
        if row is not None and row.path[:-1] == _ARGS and self._model.text(row) == "":
            event.stop()
            self.put_text(row.path, event.text)
            self._split(event.text)
        else:
            super().on_line_editor_lines(event)

    def _split(self, text: str) -> None:
        row, words = self.row, words_of(text)
        if row is None or len(words) < 2:
            return
        items, at = self._model.items(_ARGS), cast("int", row.path[-1])
        # Undone, it is one argument again.
        self.put_value(_ARGS, [*items[:at], *words, *items[at + 1 :]])
