"""Dialogs of saved calls: filling in what one needs, and saving the call that is shown."""

from __future__ import annotations

from collections.abc import Iterable

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.saved import REFERENCE, Folders, SavedCall, saved_text
from mcp_studio.call.saved_arguments import Leaf, leaves, made, with_secrets_of
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import file_stem
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, get_or_none, pointer
from mcp_studio.tui.call_draft import CallDraft
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog

Value = dict[str, Json]

_LEAVES = 60
_SECRET = "is secret, and not written: its name in the keyring; empty: asked for each time"
_WHERE: Json = [{"const": "project", "title": "the project"}, {"const": "personal", "title": "you alone"}]


class FillIn(Dialog[Value | None]):
    """A form of our own; answers the value that was filled in. `about` is a line above the form."""

    choices = (Choice("submit", "OK", "primary"), Choice("back", "Cancel"))
    form = getters.query_one(FormView)

    def __init__(self, title: str, about: str, schema: Json, value: Value) -> None:
        super().__init__()
        self._title_text = title
        self._about = about
        self._form = FormView(build(schema, strict=True), value)

    def heading(self) -> str:
        return self._title_text

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
    """Asks for a name, where, and what is asked for each time; writes the file.

    Args:
        earlier: the saved call with which the form was filled.
    """

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, draft: CallDraft, earlier: SavedCall | None, folders: Folders) -> None:
        self._draft = draft
        self._earlier = earlier
        self._folders = folders
        self._replaces = earlier.name if earlier else ""
        self._keeper = self.app.studio.memory.keeper
        self._rows = {_title(one): one for one in leaves(draft.sent, self._keeper, draft.secrets)[:_LEAVES]}
        self.written: SavedCall | None = None
        super().__init__("Save the call", str(draft.entry.ref), self._schema(), self._start())

    def on_mount(self) -> None:
        self.show_file()

    def _schema(self) -> Json:
        properties: dict[str, Json] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string"},
            "for": {"oneOf": _WHERE, "description": f"the project: {self._folders.project}"},
        }
        for title, leaf in self._rows.items():
            secret: Json = {"type": "string", "description": _SECRET}
            about = f"each time; now {safe(leaf.value, 60)}"
            properties[title] = secret if leaf.secret else {"type": "boolean", "default": False, "description": about}
        return {"type": "object", "properties": properties, "required": ["name", "for"]}

    def _start(self) -> Value:
        earlier, ref = self._earlier, self._draft.entry.ref
        value: Value = {"name": file_stem(ref.name.rpartition("://")[2], "call"), "for": self._folders.usual}
        if earlier is not None:
            value = {"name": earlier.name, "description": earlier.description, "for": earlier.where}
        for title, leaf in self._rows.items():
            scheme, name = _reference(earlier, leaf.path)
            if leaf.secret and scheme == "keyring":
                value[title] = name
            elif not leaf.secret and name and not scheme:
                value[title] = True
        return value

    @on(FormView.Changed)
    def show_file(self) -> None:
        """The file as it will be."""
        saved = self.saved
        file = self._folders.path(saved.where) / f"{saved.name or '…'}.toml"
        parts: list[str | tuple[str, str]] = [(f"\n{safe(file, 400)}\n", "$quiet")]
        parts.append(safe(saved_text(saved), 6_000, lines=True))
        for stored in self._stored().values():
            parts.append((f"\nPut it there: mcp-studio config secrets set {safe(stored, 100)}", "$state-busy"))
        self.query_one("#below", Static).update(Content.assemble(*parts))

    @property
    def saved(self) -> SavedCall:
        """The call as it is chosen."""
        value, draft = self.value, self._draft
        saved = made(
            str(value.get("name") or "").strip(), draft.entry.ref, draft.sent, draft.form,
            keeper=self._keeper, hidden=draft.secrets, keyring=self._stored(),
            variables=[leaf.path for title, leaf in self._rows.items() if value.get(title) is True],
            description=str(value.get("description") or "").strip(),
            where="project" if value.get("for") == "project" else "personal",
        )  # fmt: skip
        return with_secrets_of(self._earlier, saved)

    def _stored(self) -> dict[Path, str]:
        names = {
            leaf.path: str(self.value.get(title) or "").strip() for title, leaf in self._rows.items() if leaf.secret
        }
        return {path: name for path, name in names.items() if name}

    def finish(self) -> bool:
        """Write it; one of the same name is replaced when the button is pressed again."""
        saved = self.saved
        try:
            self.written = self._folders.write(saved, replace=saved.name == self._replaces)
        except StudioError as problem:
            exists = isinstance(problem, UsageError) and problem.message.endswith("already.")
            self._replaces = saved.name if exists else self._replaces
            self.app.say(
                f"Not saved: {problem.message} {'Save again to replace it.' if exists else problem.hint}", "error"
            )
        return self.written is not None


def _title(leaf: Leaf) -> str:
    """What an argument is called in the form; no two have the same place."""
    return f"{'keyring entry of' if leaf.secret else 'ask for'} {pointer(*leaf.path).removeprefix('/') or 'the value'}"


def _reference(earlier: SavedCall | None, path: Path) -> tuple[str, str]:
    """Scheme and name of the reference that an earlier file has at a place, where it has one alone there."""
    text = get_or_none(earlier.arguments, path) if earlier else None
    whole = REFERENCE.fullmatch(text) if isinstance(text, str) else None
    return (whole[2] or "", whole[3]) if whole is not None and not whole[1] else ("", "")
