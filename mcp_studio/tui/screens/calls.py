"""A call as text, copied in some format or pasted into a form; and a call saved as a file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual import getters, on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Checkbox, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from mcp_studio.call import saved as files
from mcp_studio.call.copying.formats import FORMATS, Copy, copy_as
from mcp_studio.call.copying.paste import EXPECTED, Pasted, read_paste
from mcp_studio.call.copying.subject import Subject
from mcp_studio.catalog.listing import Entry, EntryKind
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, pointer
from mcp_studio.tui.call_draft import CallDraft, form_of
from mcp_studio.tui.external import file_stem
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.rows import Findable, TextView, glyphs

_DRAFT = "copy:form"
_KINDS: dict[str, tuple[EntryKind, ...]] = {
    "tool": ("tool",), "prompt": ("prompt",), "resource": ("resource", "template"), "": ("tool", "prompt"),
}  # fmt: skip


class CopyAs(Dialog[None]):
    """Copies a call in the chosen format; the format that was last used comes first."""

    DEFAULT_CLASSES = "-large"
    AUTO_FOCUS = "OptionList"
    choices = (Choice("submit", "Copy", "primary"), Choice("back", "Cancel"))
    forms = getters.query_one(OptionList)

    def __init__(self, subject: Subject) -> None:
        super().__init__(f"Copy {subject.ref} as")
        self._subject = subject
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


class PasteCall(Dialog[tuple[Entry, Json]]):
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

    def body(self) -> Iterable[Widget]:
        yield AreaEditor()
        yield Static(id="verdict")

    def on_mount(self) -> None:
        self.query_one(AreaEditor).focus()
        self._read("")

    @on(TextArea.Changed)
    def read(self, event: TextArea.Changed) -> None:
        self._read(event.text_area.text)

    @on(AreaEditor.TooLong)
    def read_unseen(self, event: AreaEditor.TooLong) -> None:
        self.app.say(f"{len(event.text):,} characters are read, and too many to be shown.")
        self._read(event.text)

    @work(exclusive=True)
    async def _read(self, text: str) -> None:
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
        verdict = Content("\n").join(Content.styled(text, look) for text, look in lines)
        self.query_one("#verdict", Static).update(verdict)

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


_PLACES = 60
_SECRET = "is secret, and not written: its name in the keyring; empty: left out"
_WHERE: Json = [{"const": "project", "title": "the project"}, {"const": "personal", "title": "you alone"}]


class FillIn(Dialog[dict[str, Json] | None]):
    """A form of our own; answers the value that was filled in. `about` is a line above the form."""

    choices = (Choice("submit", "OK", "primary"), Choice("back", "Cancel"))
    form = getters.query_one(FormView)

    def __init__(self, title: str, about: str, form: Form, value: Json) -> None:
        super().__init__(title)
        self._about = about
        self._form = FormView(form, value)

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._about, 600)), classes="quiet gap")
        yield self._form
        yield Static(id="below", markup=False)

    def on_mount(self) -> None:
        self.form.begin()

    @property
    def value(self) -> dict[str, Json]:
        """What is filled in."""
        return mapping(self.form.value)

    def finish(self) -> bool:
        """Use the value; False if it cannot be used, after saying why."""
        return True

    def action_submit(self) -> object:
        if not self.form.check() and self.finish():
            self.dismiss(self.value)


class SaveCall(FillIn):
    """Asks for a name, a place, and the names of secrets in the keyring; writes the file.

    Args:
        earlier: the saved call with which the form was filled, if any.
    """

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, draft: CallDraft, earlier: files.SavedCall | None, folders: files.Folders) -> None:
        self._draft, self._earlier, self._folders = draft, earlier, folders
        self._replaces = earlier.name if earlier else ""
        self._secrets = files.secrets_in(draft.sent, self.app.studio.memory.keeper, draft.secrets)
        self._rows = {f"keyring entry of {pointer(*path).lstrip('/')}": path for path in self._secrets[:_PLACES]}
        self.written: files.SavedCall | None = None
        super().__init__("Save the call", str(draft.entry.ref), build(self._schema(), strict=True), self._start())

    def _schema(self) -> Json:
        properties: dict[str, Json] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string"},
            "for": {"oneOf": _WHERE, "description": f"the project: {self._folders.project}"},
            "pinned": {"type": "boolean", "description": "watch mode repeats it after changes"},
        }
        properties |= {title: {"type": "string", "description": _SECRET} for title in self._rows}
        return {"type": "object", "properties": properties, "required": ["name", "for"]}

    def _start(self) -> Json:
        earlier, ref = self._earlier, self._draft.entry.ref
        value: dict[str, Json] = {"name": file_stem(ref.name.rpartition("://")[2], "call"), "for": self._folders.usual}
        if earlier is not None:
            value = {"name": earlier.name, "description": earlier.description, "for": earlier.where}
            value |= {"pinned": True} if earlier.pinned else {}
        return value

    @on(FormView.Changed)
    def look(self) -> None:
        """Show the file as it will be written."""
        saved = self.saved
        file = self._folders.path(saved.where) / f"{saved.name or '…'}.toml"
        parts: list[str | tuple[str, str]] = [(f"\n{safe(file, 400)}\n", "$quiet")]
        parts.append(safe(files.saved_text(saved), 6_000, lines=True))
        for stored in self._stored().values():
            parts.append((f"\nPut it there: mcp-studio config secrets set {safe(stored, 100)}", "$state-busy"))
        self.query_one("#below", Static).update(Content.assemble(*parts))

    @property
    def saved(self) -> files.SavedCall:
        """The call as the person has filled in the form."""
        value, draft = self.value, self._draft
        name, about = (str(value.get(key) or "").strip() for key in ("name", "description"))
        sent = files.without_secrets(draft.sent, self._secrets, self._stored())
        where = "project" if value.get("for") == "project" else "personal"
        saved = files.SavedCall(name, draft.entry.ref, sent, about, where, pinned=value.get("pinned") is True)
        return files.with_secrets_of(self._earlier, saved)

    def _stored(self) -> dict[Path, str]:
        names = {path: str(self.value.get(title) or "").strip() for title, path in self._rows.items()}
        return {path: name for path, name in names.items() if name}

    def finish(self) -> bool:
        """Write the file; a second press of the button replaces an existing file of the same name."""
        saved = self.saved
        try:
            self.written = self._folders.write(saved, replace=saved.name == self._replaces)
        except StudioError as problem:
            exists = isinstance(problem, UsageError) and problem.message.endswith("already.")
            self._replaces = saved.name if exists else self._replaces
            hint = "Save again to replace it." if exists else problem.hint
            self.app.say(f"Not saved: {problem.message} {hint}", "error")
        return self.written is not None
