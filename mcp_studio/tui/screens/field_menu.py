"""The menu of the current field of a form: everything except typing, and the dialogs for it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, printable
from mcp_studio.safetext import safe
from mcp_studio.schema import field as fields
from mcp_studio.schema.examples import example, valid
from mcp_studio.schema.field import Field
from mcp_studio.schema.form import build
from mcp_studio.schema.place import NoPlace, Path
from mcp_studio.schema.text import key_of
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.external import GROUP, edit_outside
from mcp_studio.tui.screens.dialog import Choose, Item
from mcp_studio.tui.screens.insert import InsertFile, Paste, kind_of, moments, shape

if TYPE_CHECKING:
    from mcp_studio.tui.form.view import FormView

_EXAMPLES = 8


Entry = Item[Callable[[], None]]
"""One thing that can be done."""


class FieldHelp:
    """Acts on the current field of a form; if that field is gone when a dialog ends, the text is copied instead."""

    def __init__(self, form: FormView) -> None:
        assert isinstance(form.app, StudioApp)
        self._app = form.app
        self._form = form
        self._model = form.model
        row = form.row
        self._path: Path = row.path if row is not None else ()
        self._row = form.model.row_of(self._path) if row is None or row.kind in ("add", "rest") else row
        self._field = self._row.field
        self._format = self._field.format if isinstance(self._field, fields.Text) else ""
        self._name = key_of(self._path) or "everything"

    def open_menu(self) -> None:
        """Show the menu of what is possible here."""
        entries = [*self._values(), *self._inserts(), *self._edits(), *self._items()]
        entries.sort(key=lambda entry: not entry.title.startswith(self._asked()))
        menu = Choose(f"Field: {safe(self._name, 60)}", entries).add_class("-searched")
        self._app.push_screen(menu, lambda run: run() if run else None)

    def _asked(self) -> str:
        """How the titles of entries begin that suit the field's format; those come first."""
        if kind := kind_of(self._format):
            return f"Insert a {kind.replace('-', ' and ')}: "
        if self._format in ("uuid", "guid"):
            return "Insert a UUID"
        return "Insert a file…" if shape(self._field) != "text" else ""

    def _values(self) -> Iterator[Entry]:
        """The entries for values of the field."""
        row, field = self._row, self._row.given
        values = [("Default", field.default)] * field.has_default
        for title, value in (*values, *(("Example", one) for one in field.examples[:_EXAMPLES])):
            yield Entry(f"{title}: {printable(value, indent=None)[:200]}", partial(self._put, value))
        put, whole = self._put, fields.Form(root=field)
        yield Entry("Example value", lambda: put(example(whole, "typical").value), "made from the schema")
        if not row.stays and self._model.has(row.path):
            yield Entry("Omit", self._omit, "it is not sent")
        if field.nullable:
            yield Entry("Null", partial(self._put, None))
        content = self._model.settle(row.path, field, self._model.get(row.path))
        for classes, title, empty in _EMPTY:
            if isinstance(content, classes):
                yield Entry(title, partial(self._put, empty))

    def _inserts(self) -> Iterator[Entry]:
        """The entries that insert something into the field."""
        field, put = self._field, self._put
        copied = "" if fields.is_secret(field) else self._app.clipboard
        yield Entry("Paste…", lambda: self.paste(copied), "JSON or text")
        if (completions := self._form.completions).possible:
            yield Entry("Complete", completions.ask, "what the server offers")
        if isinstance(field, fields.Text) or (isinstance(field, fields.JsonField) and field.words):
            yield Entry("Insert a file…", self._file, "as text or base64")
            if kind := kind_of(self._format):
                for name, text in moments(kind).items():
                    yield Entry(f"Insert a {kind.replace('-', ' and ')}: {name}", partial(put, text), text)
            else:
                yield Entry("Insert the date and time", lambda: put(moments("date-time")["now"]))
            yield Entry("Insert a UUID", lambda: put(str(uuid.uuid4())))
        for value in self._app.piped[:1]:
            yield Entry("Insert what the query found", partial(put, value), safe(value, 60))
        fill = partial(choose_example, self._app, self._model.form, lambda value: put(value, ()))
        yield Entry("Fill the whole form with an example…", fill)

    def _edits(self) -> Iterator[Entry]:
        """The entries for other ways to edit the field."""
        form = self._form
        if not isinstance(self._field, (fields.Flag, fields.Choice, fields.Const)):
            yield Entry("Edit in $EDITOR", self.edit, self._app.key_of("editor"))
        if isinstance(self._field, fields.AS_JSON):
            yield Entry("Edit as JSON…", lambda: self.paste(self._before(as_json=True), "Edit as JSON:"))
        if fields.is_secret(self._field):
            yield Entry("Hide the secret" if form.revealed else "Show the secret", form.toggle_revealed)
        if self._model.has(self._path):
            yield Entry("Copy the value", self._copy)
        yield Entry("Undo", form.action_undo, self._app.key_of("undo"))
        yield Entry("Redo", form.action_redo, self._app.key_of("redo"))

    def _items(self) -> Iterator[Entry]:
        """The entries for items of lists and entries of maps."""
        items = self._form.items
        if items.holder:
            yield Entry("Add an item", items.add)
        if items.row is not None and items.row.kind == "item":
            yield Entry("Duplicate the item", items.duplicate)
            yield Entry("Move the item up", partial(items.move, -1))
            yield Entry("Move the item down", partial(items.move, 1))
        if items.row is not None:
            yield Entry("Remove the item", items.remove)
        if self._row.kind in ("entry", "other"):
            yield Entry("Change the key", items.rename)

    # Dialogs

    def _file(self) -> None:
        dialog = InsertFile(self._name, self._field, self._app.studio.limits.field_file)
        self._app.push_screen(dialog, lambda text: self._put(text) if text is not None else None)

    def paste(self, text: str, verb: str = "Paste into") -> None:
        """Show what a text would become in the field, and insert it."""
        dialog = Paste(f"{verb} {safe(self._name, 60)}", self._field, text)
        self._app.push_screen(dialog, lambda found: self._put(found.value) if found else None)

    def _omit(self) -> None:
        self._model.clear(self._row)
        self._form.go_to(self._path)

    def _copy(self) -> None:
        value = self._model.get(self._path)
        self._app.copy(value if isinstance(value, str) else printable(value))

    # The editor

    def edit(self) -> None:
        """Edit the field in the person's editor."""
        self._app.run_worker(self._visit(), group=GROUP)

    async def _visit(self) -> None:
        value, field = self._model.get(self._path), self._field
        as_json = isinstance(value, (dict, list)) or isinstance(
            field, (fields.Object, fields.Map, fields.List, fields.Union, fields.Choices)
        )
        media_type = "application/json" if as_json else str(mapping(field.schema).get("contentMediaType", ""))
        text = await edit_outside(self._app, self._name, media_type, self._before(as_json=as_json))
        if text is None:
            return
        try:
            value = loads(text, exact=True) if as_json else text
        except (JsonProblem, LimitExceeded):
            as_json = False  # the text stays in the field, with its problem
        self._put(value, text=None if as_json else text)

    def _before(self, *, as_json: bool) -> str:
        if as_json and self._path not in self._model.pending:
            return printable(self._model.get(self._path)) if self._model.has(self._path) else ""
        return self._model.text(self._row)

    # Into the form

    def _put(self, value: Json, path: Path | None = None, text: str | None = None) -> None:
        """Put a value into the form, or a text as if it were typed; if the place is gone, copy it instead."""
        if self._form.is_attached and self._form.model is self._model:
            try:
                self._form.put(self._path if path is None else path, value, text)
                return
            except NoPlace:
                pass
        self._app.copy(text or (value if isinstance(value, str) else printable(value)))
        self._app.say(f"{safe(self._name, 60)} is no longer there: the text is on the clipboard.", "warning")


_EMPTY: tuple[tuple[tuple[type[Field], ...], str, Json], ...] = (
    ((fields.Text,), "Empty text", ""),
    ((fields.List, fields.Choices), "Empty list", []),
    ((fields.Object, fields.Map), "Empty object", {}),
)


def choose_example(app: StudioApp, form: fields.Form, take: Callable[[Json], object]) -> None:
    """Let the person choose an example for a whole form, and pass its value to `take`."""

    async def choose() -> None:
        # The thread uses a form of its own, whose lazy fields are made there.
        made = await asyncio.to_thread(lambda: valid(form if form.schema is None else build(form.schema)))
        items = [Item(one.label, one, printable(one.value, indent=None)) for one in made]
        if chosen := await app.push_screen_wait(Choose("Fill the form with an example", items)):
            take(chosen.value)

    app.run_worker(choose(), group="example", exclusive=True)
