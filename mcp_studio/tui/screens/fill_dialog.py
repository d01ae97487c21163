"""Pasting a call to fill a form: what the text is, and where it goes, is told while it is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_studio.call.copying.paste import EXPECTED, Pasted, PasteProblem, read_paste
from mcp_studio.catalog.listing import Entry
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.tui.bindings import key_for
from mcp_studio.tui.form.area import PasteArea
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.tui.screens.copying import Copying

_AT_ONCE = 20_000
"""Characters that are read without a thread."""
_EDITED = 200_000
"""Characters that can be edited; a longer text is kept beside the editor."""


class FillDialog(Dialog[tuple[Entry, Json]], scope="fill"):
    """Answers the entry, and the value for its form.

    Args:
        text: taken from the start where it is a call.
    """

    def __init__(self, copying: Copying, text: str) -> None:
        super().__init__()
        self._copying = copying
        self._given = text if 0 < len(text) <= _EDITED and _is_call(text) else ""
        self._area = PasteArea(self._given, numbers=True, classes="frame")
        self._verdict = Static(classes="gap verdict")
        self._long = ""
        """A text that is too long for the editor."""
        self._here = False
        self._pasted: Pasted | None = None
        self._ready: tuple[Entry, Json] | None = None
        self._line = 0
        """The line that a problem is about, from 1."""

    def heading(self) -> Content:
        """What it is."""
        return Content("Fill in a pasted call")

    def body(self) -> Iterable[Widget]:
        """The text, and what it is."""
        return self._area, self._verdict

    def on_mount(self) -> None:
        """Read what is there."""
        self._area.focus()
        self._area.select_all()
        self._read(self._given)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read it again."""
        event.stop()
        if self._area.text or not self._long:
            self._long = ""
            self._read(self._area.text)

    def on_paste_area_too_long(self, event: PasteArea.TooLong) -> None:
        """Keep it beside the editor."""
        event.stop()
        self._long = event.text
        self._area.text = ""
        self._read(self._long)

    def _read(self, text: str) -> None:
        self._pasted, self._ready, self._line = None, None, 0
        if len(text) <= _AT_ONCE:
            self._tell(_meaning(text))
        else:
            self._verdict.update(Content("Reading …"))
            self.run_worker(self._read_long(text), exclusive=True)

    async def _read_long(self, text: str) -> None:
        found = await asyncio.to_thread(_meaning, text)
        if text in (self._long, self._area.text):
            self._tell(found)

    def _tell(self, found: Pasted | PasteProblem | None) -> None:
        """Say what it is, where it goes, or why it goes nowhere."""
        self._ready, self._line = None, 0
        size = [(f"{len(self._long):,} characters, more than can be shown.\n", "$quiet")] if self._long else []
        if found is None:
            words = f"Paste it here, with the key by which your terminal pastes. {EXPECTED}"
            self._verdict.update(Content.styled(words, "$quiet"))
            return
        if isinstance(found, PasteProblem):
            self._line = found.line
            self._say(size, False, str(found))
            return
        self._pasted = found
        remarks = [(f"\n{glyphs().dot} {safe(remark, 300)}", "$quiet") for remark in found.remarks]
        good, words = self._target(found)
        head = f"{found.says()}\n{glyphs().sent} "
        self._say(size, good, head + words, remarks)

    def _say(
        self, before: list[tuple[str, str]], good: bool, words: str, after: Iterable[tuple[str, str]] = ()
    ) -> None:
        sign = glyphs().ok if good else glyphs().warning
        look = "$state-ready" if good else "$state-busy"
        self._verdict.update(Content.assemble(*before, (f"{sign} ", look), safe(words, 900, lines=True), *after))

    def _target(self, pasted: Pasted) -> tuple[bool, str]:
        """Where it goes, and the value there."""
        opened, entry = self._copying.opened, self._copying.target(pasted)
        if self._here and opened is not None:
            entry = opened.entry
        if entry is None:
            if opened is None:
                missing = f"There is no {pasted.name} in the catalog" if pasted.name else "Nothing is open"
                return False, f"{missing}, so there is no form for it."
            key = key_for(self, "fill-here")
            return False, f"{pasted.name} is not listed. {key} fills {opened.entry.ref} with it, which is open."
        try:
            value: Json = pasted.value(self._copying.opening(entry).form)
        except PasteProblem as problem:
            return False, str(problem)
        self._ready = (entry, value)
        if opened is not None and opened.entry.ref == entry.ref:
            return True, f"fills {entry.ref}, which is open"
        here = f"; {key_for(self, 'fill-here')} fills {opened.entry.ref} instead" if opened is not None else ""
        return True, f"opens {entry.ref} and fills it{here}"

    def action_here(self) -> None:
        """Fill what is open, though the text names something else; or no longer."""
        self._here = not self._here
        if self._pasted is not None:
            self._tell(self._pasted)

    def action_take(self) -> None:
        """Fill it in; where it cannot be, go to the line that is wrong."""
        if self._ready is not None:
            self.dismiss(self._ready)
        elif self._line and not self._long:
            self._area.move_cursor((min(self._line, self._area.document.line_count) - 1, 0))
            self._area.focus()

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


def _meaning(text: str) -> Pasted | PasteProblem | None:
    if not text.strip():
        return None
    try:
        return read_paste(text)
    except PasteProblem as problem:
        return problem


def _is_call(text: str) -> bool:
    return isinstance(_meaning(text), Pasted)
