"""The form of a call, a prompt, a template or a question: a view on one JSON value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.message import Message

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.place import pointer
from mcp_studio.schema.problem import SchemaProblem
from mcp_studio.tui.form.fields import Fields
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offer import Complete

_EMPTY = Form()


class FormView(Fields):
    """Rows of fields that edit one value, which stays the truth: `show` a form, `Changed` tells of every edit.

    Tab and the arrows walk the fields, enter goes on or opens, space toggles and opens, escape closes, ctrl+d goes
    through what a field can be when it holds nothing: not sent, empty text, null.
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

    def __init__(
        self,
        form: Form = _EMPTY,
        value: Json = None,
        *,
        complete: Complete | None = None,
        empty: str = "No arguments.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`complete` asks a server for completions of text fields; `empty` is said while there are no fields."""
        super().__init__(FormModel(form, value), complete, empty, id=id, classes=classes)

    def show(
        self, form: Form, value: Json, pending: Mapping[str, str] | None = None, complete: Complete | None = None
    ) -> None:
        """Show another form; `pending` is what the property of that name held when this form was left."""
        self.complete = complete
        self._at = 0
        self._rows.scroll_rows(0)
        self.take(FormModel(form, value, pending))

    @property
    def value(self) -> Json:
        """The value as it is now."""
        return self._model.value

    def set_value(self, value: Json) -> None:
        """Show another value in the same form, as after editing it as JSON."""
        if value is not self._model.value:
            model = FormModel(self._model.form, value)
            model.asked = self._model.asked
            self.take(model)

    @property
    def pending(self) -> Mapping[str, str]:
        """Text by field that is no JSON, and so cannot be in the value."""
        return dict(self._model.pending)

    @property
    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """What is wrong with the text in `pending`."""
        return self._model.unreadable()

    @property
    def problems(self) -> tuple[SchemaProblem, ...]:
        """Everything that the fields alone know to be wrong."""
        return self._model.problems()

    def show_problems(self, problems: Iterable[SchemaProblem]) -> None:
        """Tell problems of a whole check at the fields that they are about, the others above."""
        self._model.tell(problems)
        self.draw_all()

    def focus_first_problem(self) -> bool:
        """Go to the first field with an error, and tell what is missing everywhere; False when there is none."""
        field = self._model.first_problem()
        self.draw_all()
        if field is not None:
            self.go(self._model.form.fields.index(field))
        return field is not None

    def focus_field(self, place: str) -> bool:
        """Go to the field of this JSON pointer, or of the value that it lies in; False when no field shows it."""
        for index, field in enumerate(self._model.form.fields if self._model.drawable else ()):
            if place == pointer(field.name) or place.startswith(f"{pointer(field.name)}/"):
                self.go(index)
                return True
        return False

    def edited(self) -> None:
        """Tell that the value is another one."""
        self.post_message(self.Changed(self, self._model.value, self._model.problems()))
