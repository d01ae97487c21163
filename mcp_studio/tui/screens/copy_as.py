"""A call as text, copied in the chosen format."""

from __future__ import annotations

import asyncio

from textual import getters, on, work
from textual.widgets import Checkbox, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.call.copying.formats import FORMATS, Copy, copy_as
from mcp_studio.call.copying.subject import Subject
from mcp_studio.jsontext import mapping
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.lines import Tick
from mcp_studio.tui.views.rows import Findable, TextView, glyphs

_DRAFT = "copy:form"


class CopyAs(Dialog[None]):
    """Copies a call in the chosen format; the format that was last used comes first."""

    DEFAULT_CLASSES = "-large"
    choices = (Choice("submit", "Copy", "primary"), Choice("back", "Cancel"))
    forms = getters.query_one(OptionList)

    def __init__(self, subject: Subject) -> None:
        super().__init__(f"Copy {subject.ref} as")
        self._subject = subject
        self._made: Copy | None = None
        self._view = TextView()

    def body(self) -> Widgets:
        last = mapping(self.app.studio.memory.drafts.get(_DRAFT)).get("last")
        options = [Option(FORMATS[form], id=form) for form in sorted(FORMATS, key=lambda form: form != last)]
        yield OptionList(*options)
        yield Tick("With secret arguments (never with secrets of the server)", compact=True)
        yield Static(id="note", markup=False)
        yield Findable(self._view)

    @on(OptionList.OptionHighlighted)
    @on(Checkbox.Changed)
    @work(exclusive=True)
    async def show(self) -> None:
        """Show the call in the format under the cursor."""
        form = self.forms.highlighted_option
        if form is None or form.id is None:
            return
        # Large arguments take time, and the person's typing must not wait for them.
        secrets = self.query_one(Checkbox).value
        made = self._made = await asyncio.to_thread(copy_as, self._subject, form.id, secrets=secrets)
        self._view.show(made.text)
        remarks = "\n".join(f"{glyphs().dot} {remark}" for remark in made.remarks)
        self.note(made.why_not or remarks, "warn" if made.why_not else "quiet")

    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        made = self._made
        if made is not None and made.why_not:
            self.app.say(made.why_not, "warning")
        elif made is not None:
            self.app.studio.memory.drafts.put(_DRAFT, {"last": made.id})
            self.dismiss(None)
            self.app.copy(made.text)
