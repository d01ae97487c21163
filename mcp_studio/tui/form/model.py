"""What a form knows, without a screen: fields, the value they edit, what was typed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from mcp_studio.jsontext import Json, depth
from mcp_studio.schema.check import equal, quick
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Field, Flag, Form, Text
from mcp_studio.schema.place import pointer
from mcp_studio.schema.problem import SchemaProblem
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.schema.wording import REQUIRED, wrong_type

LARGEST = 200_000
"""Characters that can be edited in one place; a text area gets slow with more."""
_DEPTH = 200


class FormModel:
    """The value is the truth: what has no field, the order of keys, and absent against null stay as they are.

    Blank is absent. Text that is no number stays in the value as text, and is reported; only text that is no JSON,
    in a field for JSON, cannot be in the value: it waits in `pending`, the field keeping its last value.
    """

    def __init__(self, form: Form, value: Json = None, pending: Mapping[str, str] | None = None) -> None:
        self.form = form
        self.value: Json = {} if value is None else value
        self.pending = {name: text for name, text in (pending or {}).items() if form.field(name)}
        self.asked = False
        """Whether what is missing is told everywhere, as after trying to send."""
        self._touched: set[str] = set()
        self._told: tuple[SchemaProblem, ...] = ()
        self._quick = quick(form, self.value)

    @property
    def drawable(self) -> bool:
        """Whether the value is an object, so that fields can show it."""
        return isinstance(self.value, dict)

    def _items(self) -> dict[str, Json]:
        return cast("dict[str, Json]", self.value) if isinstance(self.value, dict) else {}

    def has(self, field: Field) -> bool:
        """Whether the value has something for this field."""
        return field.name in self._items()

    def get(self, field: Field) -> Json:
        """What the value has for this field; None when nothing."""
        return self._items().get(field.name)

    def text(self, field: Field) -> str:
        """What an editor of this field starts with: what was typed last, or how the value is written."""
        if field.name in self.pending:
            return self.pending[field.name]
        value = self.get(field)
        if not self.has(field) or (value is None and not isinstance(field, AS_JSON)):
            return ""
        return to_text(field, value)

    def closed(self, field: Field) -> bool:
        """Whether the value is too large, or nested too deep, for an editor in the form."""
        return depth(self.get(field), _DEPTH) > _DEPTH or len(self.text(field)) > LARGEST

    @property
    def others(self) -> tuple[str, ...]:
        """The keys of the value that no field shows."""
        names = {field.name for field in self.form.fields}
        return tuple(key for key in self._items() if key not in names)

    # Editing

    def type(self, field: Field, text: str) -> None:
        """Text was typed into the field; blank takes the value away."""
        self.pending.pop(field.name, None)
        if not text:
            self.clear(field)
            return
        try:
            self.put(field, from_text(field, text))
        except ValueError:
            if isinstance(field, AS_JSON):
                self.pending[field.name] = text
                self._changed(field)
            else:
                self.put(field, text)

    def put(self, field: Field, value: Json) -> None:
        """Give the field a value."""
        self.pending.pop(field.name, None)
        items = self._items()
        if field.name in items:
            self.value = {**items, field.name: value}
        else:
            self.value = self._inserted(field, value)
        self._changed(field)

    def clear(self, field: Field) -> None:
        """Take the field's value away: it is not sent."""
        self.pending.pop(field.name, None)
        self.value = {key: item for key, item in self._items().items() if key != field.name}
        self._changed(field)

    def next_nothing(self, field: Field) -> None:
        """From any value to absent, then to empty text and null where these are values, then to absent again."""
        kinds: list[Any] = [_ABSENT]
        kinds += [""] if isinstance(field, Text) else []
        kinds += [None] if field.nullable and not isinstance(field, Choice) else []
        now = self.get(field) if self.has(field) and field.name not in self.pending else _ABSENT
        known = next((index for index, kind in enumerate(kinds) if now is kind or (now == "" == kind)), -1)
        following = kinds[(known + 1) % len(kinds)]
        if following is _ABSENT:
            self.clear(field)
        else:
            self.put(field, following)

    def toggle(self, field: Field) -> None:
        """The next state of a flag: true, false, and not sent where it need not be."""
        value = self.get(field)
        if value is True:
            self.put(field, False)
        elif value is False and not field.required:
            self.clear(field)
        else:
            self.put(field, True)

    def step(self, field: Choice | Flag, by: int) -> None:
        """The option after or before the chosen one."""
        values = [option.value for option in field.options] if isinstance(field, Choice) else [True, False]
        at = self.chosen(field)
        self.put(field, values[(at + by) % len(values) if at >= 0 else 0 if by > 0 else -1])

    def chosen(self, field: Choice | Flag) -> int:
        """The number of the chosen option, -1 when it is none of them."""
        if not self.has(field):
            return -1
        values = [option.value for option in field.options] if isinstance(field, Choice) else [True, False]
        return next((index for index, value in enumerate(values) if equal(value, self.get(field))), -1)

    def picked(self, field: Choices) -> set[int]:
        """The numbers of the options that the list has."""
        listed = self.get(field)
        items = cast("list[Json]", listed) if isinstance(listed, list) else []
        return {index for index, option in enumerate(field.options) if any(equal(option.value, item) for item in items)}

    def pick(self, field: Choices, index: int) -> None:
        """Add an option to the list, or take it out; the rest of the list stays as it is."""
        listed = self.get(field)
        items = cast("list[Json]", listed) if isinstance(listed, list) else []
        value = field.options[index].value
        kept = [item for item in items if not equal(item, value)]
        self.put(field, kept if len(kept) < len(items) else [*items, value])

    def _inserted(self, field: Field, value: Json) -> dict[str, Json]:
        """The value with a new key: behind the nearest field before it that is there, or in front."""
        before = [known.name for known in self.form.fields]
        before = before[: before.index(field.name)]
        items = list(self._items().items())
        at = next((index for index in range(len(items), 0, -1) if items[index - 1][0] in before), 0)
        return dict([*items[:at], (field.name, value), *items[at:]])

    def _changed(self, field: Field) -> None:
        self._touched.add(field.name)
        self._quick = quick(self.form, self.value)
        # What was said about the old value of this field is not true of the new one.
        self._told = tuple(problem for problem in self._told if not _inside(problem, field) and problem.pointer)

    # Problems

    def tell(self, problems: Iterable[SchemaProblem]) -> None:
        """Problems that the whole check found."""
        self._told = tuple(problems)

    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """Typed text that is no JSON, and so is not in the value."""
        return tuple(problem for field in self.form.fields for problem in self._unread(field))

    def _unread(self, field: Field) -> list[SchemaProblem]:
        if field.name not in self.pending:
            return []
        try:
            from_text(field, self.pending[field.name])
        except ValueError as problem:
            return [SchemaProblem(pointer(field.name), str(problem))]
        return []

    def problems(self) -> tuple[SchemaProblem, ...]:
        """Everything known to be wrong; a whole check may find more."""
        waiting = self.unreadable()
        places = {problem.pointer for problem in waiting}
        return (*waiting, *(problem for problem in self._quick if problem.pointer not in places))

    def shown(self, field: Field) -> tuple[SchemaProblem, ...]:
        """What is told under the field; that it is required only once somebody had a chance to fill it."""
        if waiting := self._unread(field):
            return tuple(waiting)
        own = [problem for problem in self._quick if problem.pointer == pointer(field.name)]
        for problem in self._told:
            if _inside(problem, field):
                place = problem.pointer.removeprefix(pointer(field.name))
                own.append(SchemaProblem("", f"{place} {problem.message}".strip(), problem.severity))
        if not self.asked and field.name not in self._touched:
            own = [problem for problem in own if problem.message != REQUIRED]
        return tuple({problem.message: problem for problem in own}.values())

    def loose(self) -> tuple[SchemaProblem, ...]:
        """What is told about the value as a whole, or about something that no field shows."""
        if not isinstance(self.value, dict):
            return (SchemaProblem("", f"The value {wrong_type('object', self.value)}: edit it as JSON."),)
        return tuple(
            SchemaProblem("", f"{problem.place} {problem.message}".strip(), problem.severity)
            for problem in self._told
            if not any(_inside(problem, field) for field in self.form.fields)
        )

    def first_problem(self) -> Field | None:
        """The first field with an error."""
        self.asked = True
        for field in self.form.fields:
            if any(problem.severity == "error" for problem in self.shown(field)):
                return field
        return None


_ABSENT = object()


def _inside(problem: SchemaProblem, field: Field) -> bool:
    return problem.pointer == pointer(field.name) or problem.pointer.startswith(pointer(field.name) + "/")
