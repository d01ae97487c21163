"""Dialogs of saved calls: a form of a few lines, and saving the call that is shown."""

from __future__ import annotations

from collections.abc import Iterable

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call import saved as files
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, get_or_none, pointer
from mcp_studio.tui.call_draft import CallDraft
from mcp_studio.tui.external import file_stem
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog

Value = dict[str, Json]

_PLACES = 60
_SECRET = "is secret, and not written: its name in the keyring; empty: left out"
_WHERE: Json = [{"const": "project", "title": "the project"}, {"const": "personal", "title": "you alone"}]


class FillIn(Dialog[Value | None]):
    """A form of our own; answers the value that was filled in. `about` is a line above the form."""

    choices = (Choice("submit", "OK", "primary"), Choice("back", "Cancel"))
    form = getters.query_one(FormView)

    def __init__(self, title: str, about: str, schema: Json, value: Value) -> None:
        super().__init__(title)
        self._about = about
        self._form = FormView(build(schema, strict=True), value)

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._about, 600)), classes="quiet gap")
        yield self._form
        yield Static(id="below", markup=False)

    def on_mount(self) -> None:
        self.form.begin()

    @property
    def value(self) -> Value:
        """What is filled in."""
        return mapping(self.form.value)

    def finish(self) -> bool:
        """Use the value; False where it cannot be taken, which is then told."""
        return True

    def action_submit(self) -> None:
        if wrong := errors((*self.form.unreadable, *self.form.problems)):
            self.form.show_problems(wrong)
            self.form.focus_first_problem()
        elif self.finish():
            self.dismiss(self.value)


class SaveCall(FillIn):
    """Asks for a name, where, and under which names the keyring has what is secret; writes the file.

    Args:
        earlier: the saved call with which the form was filled.
    """

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, draft: CallDraft, earlier: files.SavedCall | None, folders: files.Folders) -> None:
        self._draft = draft
        self._earlier = earlier
        self._folders = folders
        self._replaces = earlier.name if earlier else ""
        self._secrets = files.secrets_in(draft.sent, self.app.studio.memory.keeper, draft.secrets)
        self._rows = {f"keyring entry of {pointer(*path).lstrip('/')}": path for path in self._secrets[:_PLACES]}
        self.written: files.SavedCall | None = None
        super().__init__("Save the call", str(draft.entry.ref), self._schema(), self._start())

    def _schema(self) -> Json:
        properties: dict[str, Json] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string"},
            "for": {"oneOf": _WHERE, "description": f"the project: {self._folders.project}"},
            "pinned": {"type": "boolean", "description": "watch mode makes it again after changes"},
        }
        properties |= {title: {"type": "string", "description": _SECRET} for title in self._rows}
        return {"type": "object", "properties": properties, "required": ["name", "for"]}

    def _start(self) -> Value:
        earlier, ref = self._earlier, self._draft.entry.ref
        value: Value = {"name": file_stem(ref.name.rpartition("://")[2], "call"), "for": self._folders.usual}
        if earlier is not None:
            value = {"name": earlier.name, "description": earlier.description, "for": earlier.where}
            value |= {"pinned": True} if earlier.pinned else {}
        for title, path in self._rows.items():
            if name := _keyring_name(earlier, path):
                value[title] = name
        return value

    @on(FormView.Changed)
    def look(self) -> None:
        """The file as it will be."""
        saved = self.saved
        file = self._folders.path(saved.where) / f"{saved.name or '…'}.toml"
        parts: list[str | tuple[str, str]] = [(f"\n{safe(file, 400)}\n", "$quiet")]
        parts.append(safe(files.saved_text(saved), 6_000, lines=True))
        for stored in self._stored().values():
            parts.append((f"\nPut it there: mcp-studio config secrets set {safe(stored, 100)}", "$state-busy"))
        self.query_one("#below", Static).update(Content.assemble(*parts))

    @property
    def saved(self) -> files.SavedCall:
        """The call as it is chosen."""
        value, draft = self.value, self._draft
        saved = files.SavedCall(
            str(value.get("name") or "").strip(),
            draft.entry.ref,
            files.without_secrets(draft.sent, self._secrets, self._stored()),
            str(value.get("description") or "").strip(),
            "project" if value.get("for") == "project" else "personal",
            pinned=value.get("pinned") is True,
        )
        return files.with_secrets_of(self._earlier, saved)

    def _stored(self) -> dict[Path, str]:
        names = {path: str(self.value.get(title) or "").strip() for title, path in self._rows.items()}
        return {path: name for path, name in names.items() if name}

    def finish(self) -> bool:
        """Write it; one of the same name is replaced when the button is pressed again."""
        saved = self.saved
        try:
            self.written = self._folders.write(saved, replace=saved.name == self._replaces)
        except StudioError as problem:
            exists = isinstance(problem, UsageError) and problem.message.endswith("already.")
            self._replaces = saved.name if exists else self._replaces
            hint = "Save again to replace it." if exists else problem.hint
            self.app.say(f"Not saved: {problem.message} {hint}", "error")
        return self.written is not None


def _keyring_name(earlier: files.SavedCall | None, path: Path) -> str:
    """The name under which the keyring has what an earlier file has at a place, where it has that alone there."""
    text = get_or_none(earlier.arguments, path) if earlier else None
    whole = files.REFERENCE.fullmatch(text) if isinstance(text, str) else None
    return whole[3] if whole is not None and whole[2] == "keyring" else ""
