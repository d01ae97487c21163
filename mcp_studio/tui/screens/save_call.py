"""Filling in a form of our own; saving a call as a file with one."""

from __future__ import annotations

from typing import Any

from textual import getters, on
from textual.content import Content
from textual.widgets import Static

from mcp_studio.call import saved as files
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, pointer
from mcp_studio.tui.call_draft import CallDraft
from mcp_studio.tui.external import file_stem
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets

_PLACES = 60
_SECRET = "is secret, and not written: its name in the keyring; empty: left out"
_WHERE: Json = [{"const": "project", "title": "the project"}, {"const": "personal", "title": "you alone"}]


class FillIn(Dialog[Any]):
    """A form of our own; answers the value that was filled in, or what a subclass makes of it.

    Args:
        about: a line above the form.
    """

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))
    form = getters.query_one(FormView)

    def __init__(self, title: str, about: str, form: Form, value: Json) -> None:
        super().__init__(title)
        self._about = about
        self._form = FormView(form, value)

    def body(self) -> Widgets:
        yield Static(Content(safe(self._about, 600)), classes="quiet gap")
        yield self._form
        yield Static(id="below", markup=False)

    def on_mount(self) -> None:
        self.form.begin()

    @property
    def value(self) -> dict[str, Json]:
        """What is filled in."""
        return mapping(self.form.value)

    def action_submit(self) -> object:
        if not self.form.check():
            self.dismiss(self.value)


class SaveCall(FillIn):
    """Asks for a name, a place, and the names of secrets in the keyring; answers the saved call once it is written.

    Args:
        earlier: the saved call with which the form was filled, if any.
    """

    def __init__(self, draft: CallDraft, earlier: files.SavedCall | None, folders: files.Folders) -> None:
        self._draft, self._earlier, self._folders = draft, earlier, folders
        self._replaces = earlier.name if earlier else ""
        self._secrets = files.secrets_in(draft.sent, self.app.studio.memory.keeper, draft.secrets)
        self._rows = {f"keyring entry of {pointer(*path).lstrip('/')}": path for path in self._secrets[:_PLACES]}
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
        self.put("below", *parts)

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

    def action_submit(self) -> None:
        """Write the file; a second press of the button replaces an existing file of the same name."""
        if self.form.check():
            return
        saved = self.saved
        try:
            self.dismiss(self._folders.write(saved, replace=saved.name == self._replaces))
        except StudioError as problem:
            exists = isinstance(problem, UsageError) and problem.message.endswith("already.")
            self._replaces = saved.name if exists else self._replaces
            hint = "Save again to replace it." if exists else problem.hint
            self.app.say(f"Not saved: {problem.message} {hint}", "error")
