"""Dialogs that read a pasted text: their base; and a call as text, pasted into the form of its entry."""

from __future__ import annotations

import asyncio

from textual import on, work
from textual.content import Content
from textual.widgets import Button, Static, TextArea

from mcp_studio.call.copying.paste import EXPECTED, Pasted, read_paste
from mcp_studio.catalog.listing import Entry, EntryKind
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.tui.call_draft import form_of
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.form.model import LARGEST
from mcp_studio.tui.screens.dialog import Choice, Dialog, T, Widgets
from mcp_studio.tui.views.rows import glyphs

_KINDS: dict[str, tuple[EntryKind, ...]] = {
    "tool": ("tool",), "prompt": ("prompt",), "resource": ("resource", "template"), "": ("tool", "prompt"),
}  # fmt: skip


class PasteDialog(Dialog[T]):
    """Reads a text as it is pasted or typed. A text too long for the editor is read, but not shown.

    A subclass says in `read` what a text is, and answers what was read last.
    """

    def __init__(self, title: str = "", text: str = "") -> None:
        super().__init__(title)
        self._text = text
        self._area = AreaEditor(text if len(text) <= LARGEST else "")

    def body(self) -> Widgets:
        yield self._area

    def on_mount(self) -> None:
        self._area.select_all()  # text that is pasted or typed now replaces it
        self.read(self._text)

    def read(self, text: str) -> object:
        """Say what the text is."""

    @on(TextArea.Changed)
    def changed(self) -> None:
        self.read(self._area.text)

    @on(AreaEditor.TooLong)
    def read_unseen(self, event: AreaEditor.TooLong) -> None:
        self.app.say(f"{len(event.text):,} characters are read, and too many to be shown.")
        with self.prevent(TextArea.Changed):
            self._area.text = ""
        self.read(event.text)


class PasteCall(PasteDialog[tuple[Entry, Json]]):
    """Reads a pasted call; answers its entry, and the value for the entry's form.

    Args:
        shown: the shown entry, which gets a call that names no tool or prompt.
    """

    TITLE = "Paste a call"
    choices = (Choice("submit", "Fill the form", "primary"), Choice("back", "Cancel"))

    def __init__(self, shown: Entry | None) -> None:
        super().__init__()
        self._shown_entry = shown
        self._pasted: tuple[Entry, Json] | None = None

    def body(self) -> Widgets:
        yield from super().body()
        yield Static(id="verdict")

    @work(exclusive=True)
    async def read(self, text: str) -> None:
        """Show what the text is and where it goes, or why it cannot be used."""
        self._pasted, signs = None, glyphs()
        lines = [] if text.strip() else [(EXPECTED, "$quiet")]
        try:
            if text.strip():
                pasted = await asyncio.to_thread(read_paste, text)
                lines.append((f"{signs.ok} {safe(pasted.says(), 600)}", "$state-ready"))
                if (target := self._target(pasted)) is None:
                    raise ValueError("No server lists it.")
                self._pasted = target, pasted.value(form_of(target))
                lines.append((f"{signs.sent} {safe(target.ref)}", ""))
                lines += [(f"{signs.dot} {safe(remark, 300)}", "") for remark in pasted.remarks]
        except ValueError as problem:
            lines.append((f"{signs.warning} {safe(problem, 600)}", "$state-busy"))
        self.query_one("#submit", Button).disabled = self._pasted is None
        self.put("verdict", Content("\n").join(Content.styled(text, look) for text, look in lines))

    def _target(self, pasted: Pasted) -> Entry | None:
        """The entry of a pasted call: the shown entry if it fits, or else a listed entry."""
        shown, catalog = self._shown_entry, self.app.studio.catalog
        if shown is not None and pasted.names(shown.ref):
            return shown
        if not pasted.name:
            return None
        listed = [entry for kind in _KINDS[pasted.kind] for entry in catalog.entries(kind)]
        found = [entry for entry in listed if entry.ref.name == pasted.name]
        best = pasted.server or (shown.ref.server if shown is not None else "")
        manager = self.app.studio.manager
        urls = {name: manager.config(name).url for name in manager.names()} if pasted.url else {}
        found.sort(key=lambda entry: (entry.ref.server != best, urls.get(entry.ref.server) != pasted.url))
        return found[0] if found else None

    def action_submit(self) -> None:
        if self._pasted is not None:
            self.dismiss(self._pasted)
