"""The form of a call, a prompt, a template or a question: a view on one JSON value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.message import Message

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Field, Form, SchemaProblem
from mcp_studio.schema.place import Path, pointer
from mcp_studio.tui import late
from mcp_studio.tui.form.helped import Helped
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offer import Complete
from mcp_studio.tui.form.outline import Row
from mcp_studio.tui.form_keys import keys_of

_EMPTY = Form()


class FormView(Helped):
    """Rows that edit one value, which stays the truth: `show` a form, `Changed` tells of every edit.

    Tab and the arrows walk the rows, enter goes on or opens, space toggles, opens and folds, escape closes, ctrl+d goes
    through what a place can be when it holds nothing: not sent, empty, null. `form_keys` has the others.
    """

    class Changed(Message):
        """The person edited the value: it is another object now. `problems` is what the fields alone know."""

        def __init__(self, form: FormView, value: Json, problems: tuple[SchemaProblem, ...]) -> None:
            super().__init__()
            self.form = form
            self.value = value
            self.problems = problems

        @property
        def control(self) -> FormView:
            """The form it is about."""
            return self.form

    class RowChanged(Message):
        """The cursor is on another row: other keys may act now (`FormView.acts`)."""

    def __init__(
        self,
        form: Form = _EMPTY,
        value: Json = None,
        *,
        complete: Complete | None = None,
        empty: str = "No arguments.",
        sends: bool = True,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`complete` asks a server for completions of text fields; `empty` is said while there are no rows.

        Args:
            sends: what is filled in will be sent; else it is only kept here.
        """
        self._sends = sends
        super().__init__(FormModel(form, value), complete, empty, id=id, classes=classes)

    def show(
        self,
        form: Form,
        value: Json,
        pending: Mapping[str, str] | None = None,
        complete: Complete | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Show another form.

        Args:
            pending: text by JSON pointer that was no JSON when this form was left.
            again: it is this form, and only described in another way: row and cursor stay.
        """
        self.complete = complete
        row, cursor = self.row, self._overlay.cursor
        if not again:
            self._at, self._key = 0, None
            self._rows.scroll_rows(0)
        self.take(FormModel(form, value, pending))
        if again and row is not None and self.row is not None and self.row.key == row.key:
            self._overlay.cursor = cursor

    # The value

    @property
    def value(self) -> Json:
        """The value as it is now."""
        return self._model.value

    @property
    def root(self) -> Field:
        """The field of the whole value."""
        return self._model.root

    def set_value(self, value: Json) -> None:
        """Show another value in the same form, as after editing it as JSON; it can be undone."""
        if value is not self._model.value:
            self._model.replace(value)
            self.take(self._model)

    @property
    def pending(self) -> Mapping[str, str]:
        """Text by JSON pointer that is no JSON, and so cannot be in the value."""
        return dict(self._model.pending)

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """What is wrong with the text in `pending`."""
        return self._model.unreadable()

    @property
    def problems(self) -> tuple[SchemaProblem, ...]:
        """Everything that the fields alone know to be wrong."""
        return self._model.problems()

    # Single places

    @property
    def current_place(self) -> tuple[Path, Field] | None:
        """The path of the current row and the field that edits it; None where that edits nothing."""
        row = self.row
        return (row.path, row.field) if row is not None and row.kind not in ("add", "rest") else None

    def has_at(self, path: Path) -> bool:
        """Whether the value has something at a place."""
        return self._model.has(path)

    def get_at(self, path: Path) -> Json:
        """What the value has at a place; None when nothing."""
        return self._model.get(path)

    def text_at(self, path: Path) -> str:
        """What an editor at a place starts with: what was typed last, or how the value is written."""
        return self._model.text(self._row_of(path))

    def put_value(self, path: Path, value: Json) -> None:
        """Give a place a value, in one step that can be undone, and go there.

        Raises:
            NoPlace: the value has no such place any more.
        """
        self._model.history.pause()
        self._model.put(path, value)
        self._edited_at(path)

    def put_text(self, path: Path, text: str) -> None:
        """The same as if this text had been typed there.

        Raises:
            NoPlace: the value has no such place any more.
        """
        self._model.history.pause()
        self._model.type(self._row_of(path), text)
        self._model.history.pause()
        self._edited_at(path)

    def clear_at(self, path: Path) -> None:
        """Take the value of a place away: it is not sent."""
        self._model.clear(self._row_of(path))
        self._edited_at(path)

    def _row_of(self, path: Path) -> Row:
        index = self._model.row_at(path)
        if index is not None:
            return self._model.rows[self._model.inner_at(path, index)]
        field = self._model.leaf_at(path)
        return Row(path, field, 0, "item" if path and isinstance(path[-1], int) else "field", field)

    def _edited_at(self, path: Path) -> None:
        self._model.open_to(path)
        self._find()
        self._changed()
        if (index := self._model.nearest(path)) is not None:
            self.go(self._model.inner_at(path, index))

    # Problems

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Tell problems of a whole check at the rows that they are about, the others above."""
        self._model.tell(problems)
        self._redraw()

    def begin(self) -> None:
        """Take the focus, on the first row that is no heading of others."""
        first = next((at for at, row in enumerate(self._model.rows) if row.fold is not True), None)
        if first is not None:
            self.go(first)

    def focus_first_problem(self) -> bool:
        """Go to the first row with an error, and tell what is missing everywhere; False when there is none."""
        return self.go_to_problem(-1)

    def focus_field(self, place: str) -> bool:
        """Go to the row of this JSON pointer, or of what it lies in, unfolding what is around it.

        False when no row shows it.
        """
        path = self._model.path_of(place)
        self._model.open_to(path)
        index = self._model.nearest(path)
        if index is None:
            return False
        self._redraw()
        self.go(self._model.inner_at(path, index))
        return True

    # Around the form

    @property
    def acts(self) -> tuple[str, ...]:
        """The ids of the actions that are worth knowing on the current row, the most useful first."""
        row = self.row
        troubled = row is not None and self._model.told.next_error(-1, inside=False) is not None
        keys = keys_of(row, troubled) if row is not None else ()
        return keys if self._sends else tuple(key for key in keys if key != "form-sent")

    def action_show_sent(self) -> None:
        """See what will be sent."""
        self._typed(self._overlay.text)
        place = pointer(*self.row.path) if self.row is not None else ""
        title = "What will be sent" if self._sends else "What is filled in"
        self.app.push_screen(late.sent(title, self._model.value, place, len(self._model.pending)))

    def edited(self) -> None:
        """Tell that the value is another one."""
        self.post_message(self.Changed(self, self._model.value, self._model.problems()))

    def row_changed(self) -> None:
        """Tell that other keys may act."""
        self.post_message(self.RowChanged())
