"""Copying a call as something else: the forms, and the text of the one under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Checkbox, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.call.copying.formats import FORMATS, Copy, copy_as
from mcp_studio.call.copying.subject import Subject, with_outcome
from mcp_studio.jsontext import mapping
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.text_view import TextView

_DRAFT = "copy:form"


class CopyAs(Dialog[None]):
    """The form that was used last is on top.

    Args:
        recorded: a recording, and the number of an entry of the call in it: what came of the call is expected again.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    CopyAs {
        & OptionList { max-height: 12; }
        & Findable { height: 1fr; border-top: solid $panel; }
    }
    """
    choices = (Choice("submit", "Copy", "primary"), Choice("back", "Cancel"))
    forms = getters.query_one(OptionList)

    def __init__(self, subject: Subject, recorded: tuple[Recording, int] | None = None) -> None:
        super().__init__()
        self._subject = subject
        self._recorded = recorded
        self._made: Copy | None = None
        self._view = TextView()

    def heading(self) -> str:
        return f"Copy {self._subject.ref} as"

    def body(self) -> Iterable[Widget]:
        last = mapping(self.app.studio.memory.drafts.get(_DRAFT)).get("last")
        options = [Option(FORMATS[form], id=form) for form in sorted(FORMATS, key=lambda form: form != last)]
        yield OptionList(*options)
        yield Checkbox("With secret arguments (never with secrets of the server)", compact=True)
        yield Static(id="note", markup=False)
        yield Findable(self._view)

    def on_mount(self) -> None:
        self.forms.focus()

    @on(OptionList.OptionHighlighted)
    @on(Checkbox.Changed)
    def show(self) -> None:
        self.run_worker(self._make(), exclusive=True)

    async def _make(self) -> None:
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
