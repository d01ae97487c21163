"""Help for the field of a form that has the cursor: asks what is wanted, and puts what comes of it into the form."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from textual.screen import Screen

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, printable
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field, is_secret
from mcp_studio.schema.place import NoPlace, Path, pointer
from mcp_studio.tui import clipboard
from mcp_studio.tui.aids.aside import aside
from mcp_studio.tui.aids.external import NoEditor, ending_for, find_editor
from mcp_studio.tui.aids.hidden import holds_secret
from mcp_studio.tui.aids.json_help import again
from mcp_studio.tui.aids.offered import Aid, Here, aids, composite, kind_of, suits
from mcp_studio.tui.aids.pasted import Reading
from mcp_studio.tui.aids.visit import EDITING, Visit, busy, visit
from mcp_studio.tui.screens.aid_choice import AidChoice
from mcp_studio.tui.screens.file_dialog import FileDialog
from mcp_studio.tui.screens.paste_dialog import PasteDialog
from mcp_studio.tui.screens.when_dialog import WhenDialog

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.form.form_view import FormView

T = TypeVar("T")

_PATIENCE = 1.5
"""Seconds that the program of the clipboard may take."""
_KEYS = {"editor": "field-editor", "editor-whole": "field-editor-whole", "file": "field-file", "paste": "field-paste"}


def help_with(form: FormView, name: str) -> None:
    """Help with the current field: `name` is an aid, `insert` for what suits it, or empty to choose."""
    here = form.current_place
    if name == "editor-whole":
        FieldHelp(form, (), form.root).do(name)
    elif here is None:
        cast("StudioApp", form.app).say("There is no field here that could be helped with.", "warning")
    else:
        FieldHelp(form, *here).do(name)


class FieldHelp:
    """Helps with one place of a form; when that is gone in the end, what was made goes to the clipboard."""

    def __init__(self, form: FormView, path: Path, field: Field) -> None:
        self._form = form
        self._app = cast("StudioApp", form.app)
        self._path = path
        self._field = field
        self._root = form.root
        self._name = _name(path)

    def do(self, name: str) -> None:
        """Start one aid; one that cannot be done here is told with its reason."""
        if name == "insert":
            name = suits(self._field) or ""
        refused = next((aid for aid in aids(self._here()) if aid.name == name and aid.refused), None)
        if refused is not None:
            self._app.say(f"{refused.title.rstrip('…')}: {refused.refused}.", "warning")
            return
        {
            "": self._choose,
            "editor": lambda: self._edit(self._path, self._field),
            "editor-whole": lambda: self._edit((), self._root),
            "file": self._file,
            "when": self._when,
            "uuid": lambda: self._put(str(uuid.uuid4())),
            "paste": lambda: self._app.run_worker(self._paste(), group="field-paste", exclusive=True),
            "absent": lambda: self._form.clear_at(self._path),
            "undo": self._form.action_undo,
            "redo": self._form.action_redo,
            "reveal": self._form.toggle_revealed,
        }[name]()

    def _open(self, dialog: Screen[T], then: Callable[[T | None], None]) -> None:
        """Open a dialog on behalf of the app: the form may be gone when it answers, and nothing is to be lost."""
        with self._app._context():  # pyright: ignore[reportPrivateUsage]
            self._app.push_screen(dialog, then)

    # Choosing

    def _choose(self) -> None:
        keys = {name: self._app.spell(action) for name, action in _KEYS.items()}
        if best := suits(self._field):
            keys[best] = self._app.spell("field-insert")
        if is_secret(self._field):
            keys["reveal"] = self._app.spell("field-reveal")
        self._open(AidChoice(self._name, aids(self._here()), keys), self._chosen)

    def _here(self) -> Here:
        try:
            editor, missing = find_editor(self._app.studio.config.settings.editor).name, ""
        except NoEditor as problem:
            editor, missing = "", problem.message.rstrip(".")
        return Here(
            self._field,
            has=self._form.has_at(self._path),
            value=self._form.get_at(self._path),
            pointer=pointer(*self._path),
            editor=editor,
            no_editor=missing,
            revealed=self._form.revealed,
            can_undo=self._form.can_undo,
            can_redo=self._form.can_redo,
        )

    def _chosen(self, aid: Aid | None) -> None:
        if aid is None:
            return
        if aid.name == "value":
            self._put(aid.value)
        elif aid.name in ("copy-value", "copy-pointer"):
            value = self._form.get_at(self._path)
            written = value if isinstance(value, str) else printable(value)
            self._app.copy(written if aid.name == "copy-value" else pointer(*self._path))
        else:
            self.do(aid.name)

    # Dialogs

    def _when(self) -> None:
        text = self._form.text_at(self._path)
        self._open(WhenDialog(self._name, kind_of(self._field), text), self._put_if)

    def _file(self) -> None:
        most = self._app.studio.limits.field_file
        self._open(FileDialog(self._name, self._field, most), self._put_if)

    async def _paste(self) -> None:
        own = self._app.clipboard
        try:
            async with asyncio.timeout(_PATIENCE):
                text = await aside(lambda: clipboard.paste(own))
        except TimeoutError:
            text = own
        self._open(PasteDialog(self._name, self._field, text), self._pasted)

    def _pasted(self, reading: Reading | None) -> None:
        if reading is not None:
            self._put(reading.value)

    def _put_if(self, text: str | None) -> None:
        if text is not None:
            self._put(text)

    # The editor

    def _edit(self, path: Path, field: Field) -> None:
        if not busy(self._app):
            self._app.run_worker(self._visit(path, field), group=EDITING)

    async def _visit(self, path: Path, field: Field) -> None:
        value = self._form.get_at(path)
        as_json = not path or composite(field, value)
        media = str(mapping(field.schema).get("contentMediaType", ""))
        text = self._before(path, value, as_json=as_json)
        masked = holds_secret(field, value) or is_secret(field)
        while text is not None:
            what = Visit(self._name if path else "value", ending_for(media, composite=as_json), text, masked)
            after = await visit(self._app, what)
            if after is None:
                return
            text = await self._take(path, after, as_json=as_json)

    def _before(self, path: Path, value: Json, *, as_json: bool) -> str:
        typed = self._form.text_at(path) if path else ""
        if not as_json or pointer(*path) in self._form.pending:
            return typed
        return printable(value) if self._form.has_at(path) else ""

    async def _take(self, path: Path, text: str, *, as_json: bool) -> str | None:
        """Take over what was written; gives the text that is to be edited once more."""
        if not as_json:
            self._type(path, text)
            return None
        try:
            value = loads(text, exact=True)
        except (JsonProblem, LimitExceeded) as problem:
            if path:
                self._type(path, text)  # it waits there with its problem
                return None
            return text if await again(self._app, text, problem) else None
        self._path = path
        self._put(value)
        return None

    # Into the form

    def _put(self, value: Json) -> None:
        if self._still_there():
            try:
                self._form.put_value(self._path, value)
                return
            except NoPlace:
                pass
        self._lost(value if isinstance(value, str) else printable(value))

    def _type(self, path: Path, text: str) -> None:
        if self._still_there():
            try:
                self._form.put_text(path, text)
                return
            except NoPlace:
                pass
        self._lost(text)

    def _still_there(self) -> bool:
        return self._form.is_attached and self._form.root is self._root

    def _lost(self, text: str) -> None:
        self._app.copy(text)
        name = safe(self._name, 60)
        self._app.say(f"{name} is no longer there: what was meant for it is on the clipboard.", "warning")


def _name(path: Path) -> str:
    """A place as it is told: its key, of an item the key of its list and its number."""
    if not path:
        return "everything"
    last, keys = path[-1], [part for part in path if isinstance(part, str)]
    return last if isinstance(last, str) else f"{keys[-1] if keys else ''} {last + 1}".strip()
