"""A call as text: copying it in one of several forms, and filling a form from one that is pasted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual import getters, on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Checkbox, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from mcp_studio.call.copying.formats import FORMATS, Copy, copy_as
from mcp_studio.call.copying.paste import EXPECTED, Pasted, read_paste
from mcp_studio.call.copying.subject import Subject, with_outcome
from mcp_studio.catalog.listing import Entry, EntryKind
from mcp_studio.jsontext import Json, mapping
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording
from mcp_studio.tui.call_draft import form_of
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.rows import glyphs
from mcp_studio.tui.views.text_view import Findable, TextView

_DRAFT = "copy:form"
_AT_ONCE = 20_000
"""Characters that are read without a thread."""
_KINDS: dict[str, tuple[EntryKind, ...]] = {
    "tool": ("tool",), "prompt": ("prompt",), "resource": ("resource", "template"), "": ("tool", "prompt"),
}  # fmt: skip


class CopyAs(Dialog[None]):
    """The form that was used last is on top.

    Args:
        recorded: a recording, and the number of an entry of the call in it: what came of the call is expected again.
    """

    DEFAULT_CLASSES = "-large"
    AUTO_FOCUS = "OptionList"
    choices = (Choice("submit", "Copy", "primary"), Choice("back", "Cancel"))
    forms = getters.query_one(OptionList)

    def __init__(self, subject: Subject, recorded: tuple[Recording, int] | None = None) -> None:
        super().__init__(f"Copy {subject.ref} as")
        self._subject = subject
        self._recorded = recorded
        self._made: Copy | None = None
        self._view = TextView()

    def body(self) -> Iterable[Widget]:
        last = mapping(self.app.studio.memory.drafts.get(_DRAFT)).get("last")
        options = [Option(FORMATS[form], id=form) for form in sorted(FORMATS, key=lambda form: form != last)]
        yield OptionList(*options)
        yield Checkbox("With secret arguments (never with secrets of the server)", compact=True)
        yield Static(id="note", markup=False)
        yield Findable(self._view)

    @on(OptionList.OptionHighlighted)
    @on(Checkbox.Changed)
    @work(exclusive=True)
    async def show(self) -> None:
        """Show the call in the form under the cursor."""
        form = self.forms.highlighted_option
        if form is None or form.id is None:
            return
        if self._recorded is not None:
            self._subject = await with_outcome(self._subject, *self._recorded)
            self._recorded = None
        # Large arguments take their time; the letters of the person do not wait for them.
        secrets = self.query_one(Checkbox).value
        made = self._made = await asyncio.to_thread(copy_as, self._subject, form.id, secrets=secrets)
        self._view.show(made.text)
        lines = [made.why_not] if made.why_not else list(made.remarks)
        note = "\n".join(f"{glyphs().dot} {safe(line, 300)}" for line in lines)
        self.query_one("#note", Static).update(Content.styled(note, "$state-busy" if made.why_not else "$quiet"))

    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        made = self._made
        if made is not None and made.why_not:
            self.app.say(made.why_not, "warning")
        elif made is not None:
            self.app.studio.memory.drafts.put(_DRAFT, {"last": made.id})
            self.dismiss(None)
            self.app.copy(made.text)


class PasteCall(Dialog[tuple[Entry, Json]]):
    """Answers the entry, and the value for its form.

    Args:
        shown: the entry that is shown: a call that names none goes there.
    """

    TITLE = "Paste a call"
    choices = (Choice("submit", "Fill the form", "primary"), Choice("back", "Cancel"))

    def __init__(self, shown: Entry | None) -> None:
        super().__init__()
        self._shown_entry = shown
        self._ready: tuple[Entry, Json] | None = None

    def body(self) -> Iterable[Widget]:
        yield AreaEditor()
        yield Static(id="verdict")

    def on_mount(self) -> None:
        self.query_one(AreaEditor).focus()
        self.run_worker(self._read(""))

    @on(TextArea.Changed)
    @on(AreaEditor.TooLong)
    def read(self, event: TextArea.Changed | AreaEditor.TooLong) -> None:
        if isinstance(event, AreaEditor.TooLong):
            self.app.say(f"{len(event.text):,} characters are read, and too many to be shown.")
        text = event.text if isinstance(event, AreaEditor.TooLong) else event.text_area.text
        self.run_worker(self._read(text), exclusive=True)

    async def _read(self, text: str) -> None:
        """Say what it is, where it goes, or why it goes nowhere."""
        self._ready, signs = None, glyphs()
        lines = [] if text.strip() else [(EXPECTED, "$quiet")]
        try:
            if text.strip():
                pasted = read_paste(text) if len(text) <= _AT_ONCE else await asyncio.to_thread(read_paste, text)
                lines.append((f"{signs.ok} {safe(pasted.says(), 600)}", "$state-ready"))
                if (target := self._target(pasted)) is None:
                    raise ValueError("No server lists it.")
                self._ready = target, pasted.value(form_of(target))
                lines.append((f"{signs.sent} {safe(target.ref)}", ""))
                lines += [(f"{signs.dot} {safe(remark, 300)}", "") for remark in pasted.remarks]
        except ValueError as problem:
            lines.append((f"{signs.warning} {safe(problem, 600)}", "$state-busy"))
        self.query_one("#submit", Button).disabled = self._ready is None
        verdict = Content("\n").join(Content.styled(text, look) for text, look in lines)
        self.query_one("#verdict", Static).update(verdict)

    def _target(self, pasted: Pasted) -> Entry | None:
        """The entry that a pasted call is about: what is shown where it fits, else what is listed."""
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
        if self._ready is not None:
            self.dismiss(self._ready)
