"""Dialogs of saved calls: filling in what one needs, and saving the call that is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.saved import REFERENCE, Folders, SavedCall, Where, check_name, saved_text
from mcp_studio.call.saved_arguments import Leaf, leaves, made, with_secrets_of
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import file_stem
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, get_or_none
from mcp_studio.tui.call_draft import CallDraft
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog

Value = dict[str, Json]

_ASKED, _KEYRING = "by asking each time", "from the keyring"
_LEAVES = 60
_NAMES: dict[Where, str] = {"project": "the project", "personal": "you alone"}


class FillIn(Dialog[Value]):
    """A form of our own; answers the value that was filled in.

    Args:
        about: a line above the form.
        done: takes the value; what keeps it from being taken is its answer, empty where nothing does.
    """

    choices = (Choice("submit", "OK", "primary"), Choice("back", "Cancel"))
    form = getters.query_one(FormView)
    problem = getters.query_one("#problem", Static)

    def __init__(
        self, title: str, about: str, schema: Json, value: Value, done: Callable[[Value], str] = lambda value: ""
    ) -> None:
        super().__init__()
        self._title_text = title
        self._about = about
        self._form = FormView(build(schema, strict=True), value)
        self._done = done

    def heading(self) -> str:
        return self._title_text

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._about, 600)), classes="quiet gap")
        yield self._form
        yield Static(id="problem", classes="bad", markup=False)
        yield Static(id="below", markup=False)

    def on_mount(self) -> None:
        self.form.begin()
        self.show_below()

    @on(FormView.Changed)
    def changed(self, event: FormView.Changed) -> None:
        event.stop()
        self.problem.update("")
        self.show_below()

    @property
    def value(self) -> Value:
        """What is filled in."""
        return cast("Value", self.form.value) if isinstance(self.form.value, dict) else {}

    def show_below(self) -> None:
        """Say below the form what comes of it."""

    def action_submit(self) -> None:
        wrong = errors((*self.form.unreadable, *self.form.problems))
        if wrong:
            self.form.show_problems(wrong)
            self.form.focus_first_problem()
        elif refusal := self._done(self.value):
            self.problem.update(Content(safe(refusal, 600)))
        else:
            self.dismiss(self.value)


class _Row(NamedTuple):
    """An argument in the form of the dialog."""

    leaf: Leaf
    title: str
    entry: str
    """Where the name under which the keyring has it is typed."""


class SaveCall(FillIn):
    """Asks for a name, where, and what is asked for each time; writes the file.

    Args:
        earlier: the saved call with which the form was filled.
        write: writes it, replacing one of the same name or not; raises StudioError.
    """

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(
        self, draft: CallDraft, earlier: SavedCall | None, places: Folders, write: Callable[[SavedCall, bool], None]
    ) -> None:
        self._draft = draft
        self._earlier = earlier
        self._folders = places
        self._write = write
        self._replaces = earlier.name if earlier else ""
        self._keeper = self.app.studio.memory.keeper
        self._rows = _rows(leaves(draft.sent, self._keeper, draft.secrets)[:_LEAVES])
        super().__init__("Save the call", str(draft.entry.ref), self._fields(), self._values(), self._finish)

    def _fields(self) -> Json:
        where = [{"const": one, "title": title} for one, title in _NAMES.items()]
        properties: dict[str, Json] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": "string"},
            "for": {"oneOf": where, "description": f"the project: {self._folders.project}"},
        }
        for row in self._rows:
            if row.leaf.secret:
                properties[row.title] = {"enum": [_ASKED, _KEYRING], "description": "is secret, and is not written"}
                properties[row.entry] = {"type": "string", "description": "its name in the keyring"}
            else:
                about = f"each time; now {safe(row.leaf.value, 60)}"
                properties[row.title] = {"type": "boolean", "default": False, "description": about}
        return {"type": "object", "properties": properties, "required": ["name", "for"]}

    def _values(self) -> Value:
        earlier, ref = self._earlier, self._draft.entry.ref
        value: Value = {"name": file_stem(ref.name.rpartition("://")[2], "call"), "for": self._folders.usual}
        if earlier is not None:
            value = {"name": earlier.name, "description": earlier.description, "for": earlier.where}
        for row in self._rows:
            before = _reference(earlier, row.leaf.path)
            if row.leaf.secret:
                stored = before.removeprefix("keyring:") if before.startswith("keyring:") else ""
                value[row.title] = _KEYRING if stored else _ASKED
                value[row.entry] = stored or f"{ref.server}-{row.leaf.path[-1] if row.leaf.path else 'value'}"
            elif before and ":" not in before:
                value[row.title] = True
        return value

    def show_below(self) -> None:
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
            variables=[row.leaf.path for row in self._rows if value.get(row.title) is True],
            description=str(value.get("description") or "").strip(),
            where="project" if value.get("for") == "project" else "personal",
        )  # fmt: skip
        return with_secrets_of(self._earlier, saved)

    def _stored(self) -> Mapping[Path, str]:
        value = self.value
        rows = [row for row in self._rows if row.leaf.secret and value.get(row.title) == _KEYRING]
        names = {row.leaf.path: str(value.get(row.entry) or "").strip() for row in rows}
        return {path: name for path, name in names.items() if name}

    def _finish(self, value: Value) -> str:
        """Write it; one of the same name is replaced when the button is pressed again."""
        saved = self.saved
        try:
            check_name(saved.name)
            self._write(saved, saved.name == self._replaces)
        except StudioError as problem:
            if isinstance(problem, UsageError) and problem.message.endswith("already."):
                self._replaces = saved.name
                return f"{problem.message} Save again to replace it."
            return f"Not saved: {problem.message} {problem.hint}"
        return ""


def _reference(earlier: SavedCall | None, path: Path) -> str:
    """What an earlier file says at a place, where that is a reference alone: `NAME` or `keyring:NAME`."""
    text = get_or_none(earlier.arguments, path) if earlier else None
    whole = REFERENCE.fullmatch(text) if isinstance(text, str) else None
    if whole is None or whole[1]:
        return ""
    return f"{whole[2]}:{whole[3]}" if whole[2] else whole[3]


def _rows(found: Sequence[Leaf]) -> list[_Row]:
    """Names for arguments in the form, none twice."""
    rows: list[_Row] = []
    for leaf in found:
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in leaf.path) or "the value"
        title = f"get {place}" if leaf.secret else f"ask for {place}"
        same = sum(row.title == title or row.title.startswith(f"{title} (") for row in rows)
        title += f" ({same + 1})" if same else ""
        rows.append(_Row(leaf, title, f"keyring entry {len(rows) + 1}"))
    return rows
