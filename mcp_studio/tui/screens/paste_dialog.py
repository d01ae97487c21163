"""Pasting into a field: what the text would be there is shown before it is."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_studio.jsontext import Json, printable
from mcp_studio.safetext import hidden_in, safe
from mcp_studio.schema.field import Field, is_secret
from mcp_studio.tui.aids.aside import Latest
from mcp_studio.tui.aids.pasted import Reading, readings
from mcp_studio.tui.bindings import key_for
from mcp_studio.tui.form.area import PasteArea
from mcp_studio.tui.form.model import LARGEST
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs

_LINES = 8
_SHOWN = 2_000
_AT_ONCE = 50_000
"""Characters that are read without a thread."""


class PasteDialog(Dialog[Reading], scope="paste"):
    """Answers the meaning of the text that was taken.

    Args:
        text: what the clipboard holds; more than can be edited is only told.
    """

    def __init__(self, name: str, field: Field, text: str) -> None:
        super().__init__()
        self._name = name
        self._field = field
        self._secret = is_secret(field)
        self._large = text if len(text) > LARGEST else ""
        self._text = text
        self._readings: tuple[Reading, ...] = ()
        self._at = 0
        self._long: Latest[tuple[Reading, ...]] = Latest()
        self._area = PasteArea("" if self._large or self._secret else text, classes="frame")
        self._preview = Static(classes="gap preview")

    def heading(self) -> Content:
        """Where it goes."""
        return Content(f"Paste into {safe(self._name, 60)}")

    def body(self) -> Iterable[Widget]:
        """The text, and what it becomes."""
        return self._area, self._preview

    def on_mount(self) -> None:
        """Read what the clipboard holds."""
        hidden = bool(self._text) and (bool(self._large) or self._secret)
        self._area.display = not hidden
        if not hidden:
            self._area.focus()
            self._area.select_all()  # what is pasted or typed now comes instead of it
        self._read(self._text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read it again."""
        event.stop()
        if self._area.text or not self._large:
            self._large = ""
            self._text = self._area.text
            self._read(self._text)

    def on_paste_area_too_long(self, event: PasteArea.TooLong) -> None:
        """Keep it beside the editor."""
        event.stop()
        self._text = self._large = event.text
        self._area.text = ""
        self._read(self._text)

    def _read(self, text: str) -> None:
        if len(text) <= _AT_ONCE:
            self._show_readings(readings(self._field, text))
        else:
            self.run_worker(self._long.ask(lambda: readings(self._field, text), self._show_readings))

    def _show_readings(self, found: tuple[Reading, ...]) -> None:
        self._readings, self._at = found, 0
        self._show()

    def _show(self) -> None:
        if not self._readings:
            words = "Paste the text here, with the key by which your terminal pastes."
            self._preview.update(Content.styled(words, "$quiet"))
            return
        reading = self._readings[self._at]
        parts: list[str | tuple[str, str]] = [("becomes ", "$quiet"), (_about(reading.value), "b")]
        if len(self._readings) > 1:
            key = key_for(self, "paste-reading")
            parts.append((f"   {self._at + 1} of {len(self._readings)}, {key} for the next", "$quiet"))
        parts.append((f"\nread as {reading.words}", "$quiet"))
        if not reading.fits:
            parts.append((f"\n{glyphs().warning} The field is for another type.", "$state-busy"))
        if hidden_in(self._text):
            parts.append((f"\n{glyphs().warning} It holds invisible or acting characters.", "$state-busy"))
        parts.append(f"\n{self._shown(reading.value)}")
        self._preview.update(Content.assemble(*parts))

    def _shown(self, value: Json) -> str:
        if self._secret:
            return "•" * 8
        if isinstance(value, str):
            written = value
        else:  # a large one is not written out whole for a few lines
            written = printable(value) if len(self._text) < _AT_ONCE else safe(value, _SHOWN)
        lines = safe(written, _SHOWN, lines=True).split("\n")
        return "\n".join(lines[:_LINES]) + (f"\n… {len(lines) - _LINES} more lines" if len(lines) > _LINES else "")

    def action_reading(self) -> None:
        """The next meaning."""
        if self._readings:
            self._at = (self._at + 1) % len(self._readings)
            self._show()

    def action_take(self) -> None:
        """Answer the meaning that is shown."""
        if self._readings:
            self.dismiss(self._readings[self._at])

    def action_close(self) -> None:
        """Leave it as it was."""
        self.dismiss(None)


def _about(value: Json) -> str:
    """A value in a few words."""
    if isinstance(value, dict):
        return _count(len(value), "object with {} member")  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list):
        return _count(len(value), "list with {} item")  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str):
        lines = value.count("\n") + 1
        return _count(len(value), "text of {} character") + (f" on {lines:,} lines" if lines > 1 else "")
    return "null" if value is None else safe(printable(value), 60)


def _count(number: int, words: str) -> str:
    return words.format(f"{number:,}") + ("" if number == 1 else "s")
