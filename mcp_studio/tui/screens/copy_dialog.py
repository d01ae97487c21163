"""Choosing the form in which a call is copied; what will be copied is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.copying.formats import FORMATS, Copy, Format, copy_as
from mcp_studio.call.copying.subject import Subject, with_outcome
from mcp_studio.jsontext import mapping
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.text_view import TextView
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.copying import Last

_DRAFT = "copy:form"


class CopyDialog(Dialog[None], scope="copy as"):
    """The forms, the one that was used last on top, and the text of the one under the cursor.

    Args:
        last: where the call is recorded; what came of it is expected again, and what it was answered is answered again.
    """

    def __init__(self, studio: Studio, subject: Subject, last: Last | None = None) -> None:
        super().__init__()
        self._studio = studio
        self._subject = subject
        self._recorded = last
        self._secrets = False
        self._made: Copy | None = None
        self._last = str(mapping(studio.memory.drafts.get(_DRAFT)).get("last") or "")
        self._list: VirtualList[Format] = VirtualList(self._draw, key=lambda form: form.id)
        self._text = TextView(classes="viewer")
        self._note = Static(classes="note")

    def heading(self) -> Content:
        """What is copied."""
        return Content(f"Copy {safe(self._subject.ref, 60)} as")

    def body(self) -> Iterable[Widget]:
        """The forms, what is to be known, the text."""
        return self._list, self._note, self._text

    def on_mount(self) -> None:
        """The last used form is the first."""
        self._list.set_rows(sorted(FORMATS, key=lambda form: form.id != self._last))
        self._list.focus()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show its text."""
        event.stop()
        self._show()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click copies."""
        event.stop()
        self.action_take()

    def on_copied(self, event: Copied) -> None:
        """What is marked in the text."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def _show(self) -> None:
        self.run_worker(self._make(), exclusive=True)

    async def _make(self) -> None:
        form = self._list.row
        if form is None:
            return
        if self._recorded is not None:
            self._subject = await with_outcome(self._subject, *self._recorded)
            self._recorded = None
        # Large arguments take their time; the letters of the person do not wait for them.
        made = await asyncio.to_thread(copy_as, self._subject, form.id, secrets=self._secrets)
        self._made = made
        self._text.set_text(made.text)
        self._text.display = not made.why_not
        lines = [(made.why_not, "$state-busy")] if made.why_not else [(remark, "$quiet") for remark in made.remarks]
        parts = [(f"{glyphs().dot} {safe(text, 300)}{end}", look) for (text, look), end in _ends(lines)]
        self._note.display = bool(parts)
        self._note.update(Content.assemble(*parts))

    def _draw(self, form: Format, width: int, selected: bool) -> Line:
        last = [(" last used", "dim")] if form.id == self._last else []
        return spread([(form.title, "")], [(f" {form.id}", "dim"), *last], width)

    def action_take(self) -> None:
        """Copy it and leave."""
        made, form = self._made, self._list.row
        app = cast("StudioApp", self.app)
        if made is None or form is None or made.id != form.id:
            return  # it is still being made
        if made.why_not:
            app.say(made.why_not, "warning")
            return
        self._studio.memory.drafts.put(_DRAFT, {"last": form.id})
        self.dismiss(None)
        app.copy(made.text)

    def action_secrets(self) -> None:
        """Write secret arguments too, or leave them out."""
        self._secrets = not self._secrets
        words = "Secret arguments are written; secrets of the server's own entry never." if self._secrets else ""
        cast("StudioApp", self.app).say(words or "Secret arguments are left out.")
        self._show()

    def action_turn(self) -> None:
        """To the text, or back to the forms."""
        (self._list if self._text.has_focus or not self._text.display else self._text).focus()

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


def _ends(lines: list[tuple[str, str]]) -> Iterable[tuple[tuple[str, str], str]]:
    return [(line, "\n" if number < len(lines) else "") for number, line in enumerate(lines, 1)]
