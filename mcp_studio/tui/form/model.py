"""The model of a form, without widgets: the value, and every way to edit it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import field, replace
from typing import TypeVar

from mcp_studio.jsontext import Json, depth, items_of, mapping
from mcp_studio.record import record
from mcp_studio.schema import field as fields
from mcp_studio.schema import place
from mcp_studio.schema.check import equal, is_any_type, quick
from mcp_studio.schema.field import Field, SchemaProblem
from mcp_studio.schema.keywords import REQUIRED
from mcp_studio.schema.place import Path, path_of, pointer
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.tui.form.rows import ABSENT, Outline, Row

LARGEST = 200_000
"""Characters that can be edited in one place; a text area gets slow with longer text."""
MOST_STEPS = 200
"""Steps that can be undone. A step costs little, because values share their unchanged parts."""
PAUSE = 1.5
"""Seconds without a key after which further typing becomes a step of its own."""
_DEPTH = 200
T = TypeVar("T")


@record(frozen=True)
class State:
    """Everything that an edit changes. No part is changed in place."""

    value: Json
    pending: Mapping[Path, str] = field(default_factory=dict[Path, str])
    """Typed text that is no JSON, so that the value cannot hold it."""
    chosen: Mapping[Path, int] = field(default_factory=dict[Path, int])
    """The variants of unions that the person chose."""
    former: Mapping[Path, Mapping[int, Json]] = field(default_factory=dict[Path, Mapping[int, Json]])
    """The values that the other variants had when the person left them."""
    folds: Mapping[Path, bool] = field(default_factory=dict[Path, bool])
    json_places: Set[Path] = frozenset()
    """Places that are edited as JSON though rows could show them."""
    touched: Set[Path] = frozenset()
    """Places that the person had a chance to fill."""


Step = tuple[State, Path]
"""A state before an edit, and the place of that edit."""


class RowProblems:
    """The problems, spread over the rows of an outline.

    The row of a problem's place shows it, or the row of the nearest place around it. `at` has the problems by row
    number; `errors` and `warnings` count, by place, the problems inside folded and open parts. Missing values are
    shown only at `touched` places, or everywhere if `touched` is None.
    """

    def __init__(
        self, problems: Iterable[SchemaProblem], rows: Mapping[Path, int], value: Json, touched: Set[Path] | None
    ) -> None:
        self.at = defaultdict[int, list[SchemaProblem]](list)
        self.errors, self.warnings = Counter[Path](), Counter[Path]()
        self.loose: list[SchemaProblem] = []
        """Problems that no row can show."""
        self._places: list[tuple[int, Path]] = []
        for problem in dict.fromkeys(problems):  # fields and schema may report the same problem
            path = path_of(problem.pointer, value)
            if problem.message == REQUIRED and touched is not None and path not in touched:
                continue
            self._add(path, problem, rows)

    def _add(self, path: Path, problem: SchemaProblem, rows: Mapping[Path, int]) -> None:
        counts = self.errors if problem.severity == "error" else self.warnings
        counts.update(path[:length] for length in range(len(path)))
        length = next((length for length in range(len(path), -1, -1) if path[:length] in rows), None)
        if length is None:
            known, problem = self.loose, SchemaProblem("", problem.sentence, problem.severity)
        else:
            row = rows[path[:length]]
            known = self.at[row]
            if problem.severity == "error":
                self._places.append((row, path))
            if inner := " › ".join(f"#{part + 1}" if isinstance(part, int) else part for part in path[length:]):
                problem = SchemaProblem(problem.pointer, f"{inner} {problem.message}", problem.severity)
        if all(one.message != problem.message for one in known):
            known.append(problem)

    def next_error(self, after: int, *, inside: bool) -> Path | None:
        """Return the place of the next error after a row, around the end; `inside`: also in the row's own fold."""
        ordered = sorted(self._places, key=lambda one: one[0])
        for row, path in ordered:
            if row > after or (row == after and inside):
                return path
        return ordered[0][1] if ordered else None


class FormModel:
    """The value and its form. The value is the truth: unknown members, the order of keys, absent and null all stay.

    A blank field is absent. Text that is no number stays in the value as text and is reported. Only text that is no
    JSON, in a place for JSON, cannot be in the value: it waits in `pending`, and the place keeps its last value.
    """

    def __init__(self, form: fields.Form, value: Json = None, pending: Mapping[str, str] | None = None) -> None:
        self.form = form
        self.root = form.top
        self.edits = 0
        """The number of edits, undone and repeated ones included."""
        self._past: list[Step] = []
        self._future: list[Step] = []
        self._typing: Hashable = None
        """What the last edit was, if the next one may join its step."""
        self._last = 0.0
        self._shows_missing = False
        self._checked: tuple[SchemaProblem, ...] = ()
        self._rows: list[Row] | None = None
        self._index: dict[Path, int] = {}
        self._inner: dict[Path, int] = {}
        self._row_problems: RowProblems | None = None
        start: Json = ([] if isinstance(self.root, fields.List) else {}) if value is None else value
        self._state = State(start)
        places = {path_of(key, start): text for key, text in (pending or {}).items() if key}
        waiting = {path: text for path, text in places.items() if self.field_at(path) is not None or self.has(path)}
        parts = frozenset(path for path in waiting if isinstance(self.field_at(path), fields.AS_JSON))
        self._state = State(start, waiting, json_places=parts)

    # What there is

    @property
    def value(self) -> Json:
        return self._state.value

    @property
    def pending(self) -> Mapping[Path, str]:
        """Text by place that is no JSON, so that the value cannot hold it."""
        return self._state.pending

    def has(self, path: Path) -> bool:
        return place.has(self.value, path)

    def get(self, path: Path) -> Json:
        """The value at the place; None if there is none."""
        return place.get_or_none(self.value, path)

    def items(self, path: Path) -> list[Json]:
        """The items of the list at the place; empty if there is no list."""
        return items_of(self.get(path))

    def field_at(self, path: Path) -> Field | None:
        """The field of a place, without resolving unions; None if the schema does not describe the place."""
        return fields.field_at(self.root, path, self.value, self._state.chosen)

    def settle(self, path: Path, field: Field, value: Json) -> Field:
        """Return the variant of a union that the person chose or that the value matches; any other field unchanged."""
        return fields.resolve_union(field, value, self._state.chosen.get(path))

    def text(self, row: Row) -> str:
        """The text with which an editor of this row starts: the pending text, or the value as text."""
        if row.path in self.pending:
            return self.pending[row.path]
        value = self.get(row.path)
        if value is None and (not isinstance(row.field, fields.AS_JSON) or not self.has(row.path)):
            return ""
        return to_text(row.field, value)

    def is_closed(self, row: Row) -> bool:
        """Whether the value is too large, or nested too deep, for an editor in the form."""
        return depth(self.get(row.path), _DEPTH) > _DEPTH or len(self.text(row)) > LARGEST

    # Rows

    @property
    def rows(self) -> list[Row]:
        """All rows, according to the present value and folds."""
        if self._rows is None:
            state = self._state
            rows = self._rows = Outline(self.settle, state.folds, state.json_places).make(self.root, state.value)
            beside = ("inner", "add", "rest")
            self._index = {row.path: index for index, row in enumerate(rows) if row.kind not in beside}
            self._inner = {row.path: index for index, row in enumerate(rows) if row.kind == "inner"}
        return self._rows

    def row_at(self, path: Path) -> int | None:
        """The number of the row of a place; None if the place has no row now."""
        return self._index.get(path) if self.rows else None

    def inner_at(self, path: Path, index: int) -> int:
        """The row of a variant's value, below the row of its chooser; the row itself if there is no such row."""
        return self._inner.get(path, index)

    def nearest(self, path: Path) -> int | None:
        """The number of the row of a place, or of the nearest place around it."""
        rows = (self.row_at(path[:length]) for length in range(len(path), -1, -1))
        return next((row for row in rows if row is not None), None)

    def row_of(self, path: Path) -> Row:
        """The row that edits a place, even if the row is folded away."""
        index = self.row_at(path)
        if index is not None:
            return self.rows[self.inner_at(path, index)]
        field = self.field_at(path) or fields.JsonField("")
        return Row(path, field, 0, "item" if path and isinstance(path[-1], int) else "field", field)

    def fold(self, paths: Iterable[Path], open: bool) -> None:
        """Open or close parts."""
        self._redraw(replace(self._state, folds={**self._state.folds, **dict.fromkeys(paths, open)}))

    def open_to(self, path: Path) -> None:
        """Open everything around a place."""
        if self.row_at(path) is None:
            self.fold((path[:length] for length in range(len(path))), True)

    def leave_json(self, path: Path) -> None:
        """Show a part as rows again after the person leaves its JSON, unless the text is no JSON yet."""
        places = self._state.json_places
        if path in places and path not in self.pending:
            self._redraw(replace(self._state, json_places=places - {path}))

    def _redraw(self, state: State) -> None:
        self._state = state
        self._rows = self._row_problems = None

    # Problems

    def tell(self, problems: Iterable[SchemaProblem]) -> bool:
        """Take the problems that the check of the whole schema found; returns whether they differ from those before."""
        before, self._checked = self._checked, tuple(problems)
        if before != self._checked:
            self._row_problems = None
        return before != self._checked

    def ask(self) -> None:
        """Show missing values at every place from now on, as after an attempt to send."""
        self._shows_missing = True
        self._row_problems = None

    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """The problems of typed text that is no JSON."""
        found: list[SchemaProblem] = []
        for path, text in self._state.pending.items():
            try:
                from_text(self.row_of(path).field, text)
            except ValueError as problem:
                found.append(SchemaProblem(pointer(*path), str(problem)))
        return tuple(found)

    def problems(self) -> tuple[SchemaProblem, ...]:
        """Every problem that the fields alone can find; a check of the whole schema may find more."""
        waiting, found = self.unreadable(), quick(self.form, self.value, self._state.chosen)
        places = {problem.pointer for problem in waiting}
        return (*waiting, *(problem for problem in found if problem.pointer not in places))

    @property
    def row_problems(self) -> RowProblems:
        """The problems that the rows show now."""
        if self._row_problems is None:
            waiting = {pointer(*path) for path in self.pending}
            checked = (problem for problem in self._checked if problem.pointer not in waiting)
            index = {**self._index, **self._inner} if self.rows else {}
            touched = None if self._shows_missing else self._state.touched
            self._row_problems = RowProblems((*self.problems(), *checked), index, self.value, touched)
        return self._row_problems

    # Editing: every edit goes through `_edit`

    def _edit(self, state: State, at: Path, *, typing: Hashable = None) -> None:
        """Take the state after an edit. Edits with the same `typing`, one shortly after the other, are one step."""
        now = time.monotonic()
        if typing is None or typing != self._typing or now - self._last > PAUSE:
            self._past = [*self._past[1 - MOST_STEPS :], (self._state, at)]
        self._typing, self._last = typing, now
        self._future = []
        self.edits += 1
        self._redraw(replace(state, touched=state.touched | {at}))
        # The check was about the old value of this place, so its problems there no longer hold.
        self._checked = still_true(self._checked, at, self.value)

    def pause(self) -> None:
        """Let the text that is typed next be a step of its own."""
        self._typing = None

    def undo(self) -> Path | None:
        """Return to the state before the last edit; returns the place of that edit, or None if there was none."""
        return self._turn(self._past, self._future)

    def redo(self) -> Path | None:
        """Repeat the edit that was undone last; returns its place, or None if there was none."""
        return self._turn(self._future, self._past)

    def _turn(self, source: list[Step], target: list[Step]) -> Path | None:
        if not source:
            return None
        state, at = source.pop()
        target.append((self._state, at))
        self._typing, self._checked = None, ()
        self.edits += 1
        self._redraw(state)
        return at

    def replace(self, value: Json) -> None:
        """Take another whole value, as after editing it as JSON."""
        state = self._state
        self._edit(State(value, folds=state.folds, touched=state.touched), ())

    def type(self, row: Row, text: str) -> None:
        """Take typed text. Blank text removes the value where it may be absent."""
        field, typing = row.field, ("type", row.path)
        if isinstance(field, fields.JsonField) and not isinstance(row.given, fields.JsonField):
            # The text may come to fit the rows while it is typed; the editor stays all the same.
            self._state = replace(self._state, json_places=self._state.json_places | {row.path})
        if not text and not row.stays:
            self.clear(row, typing=typing)
            return
        try:
            value = from_text(field, text) if text or isinstance(field, (fields.Text, *fields.AS_JSON)) else None
        except ValueError:
            if isinstance(field, fields.AS_JSON):
                waiting = {**self.pending, row.path: text}
                self._edit(replace(self._state, pending=waiting), row.path, typing=typing)
                return
            value = text
        self.put(row.path, value, typing=typing)

    def put(self, path: Path, value: Json, *, typing: Hashable = None) -> None:
        """Set the value of a place, and create missing objects on the way.

        Raises:
            NoPlace: the value has no such place.
        """
        self._edit(self._with(self._read(path), path, value), path, typing=typing)

    def clear(self, row: Row, *, typing: Hashable = None) -> None:
        """Remove the value, so that it is not sent. Items and entries become blank instead."""
        if row.stays:
            if row.path:
                self.put(row.path, "" if isinstance(row.field, fields.Text) else None)
            return
        state = self._read(row.path) if typing is not None else without(self._state, row.path)
        self._edit(replace(state, value=place.remove(state.value, row.path)), row.path, typing=typing)

    def _read(self, path: Path) -> State:
        """The state without the pending text at a place and inside it."""
        pending = {at: text for at, text in self.pending.items() if at[: len(path)] != path}
        return replace(self._state, pending=pending)

    def _with(self, state: State, path: Path, new: Json) -> State:
        """The state with `new` at a place of the value; missing objects on the way start as their schema says."""
        value = state.value
        for length in range(1, len(path)):
            above = path[:length]
            if place.get_or_none(value, above) is None and isinstance(path[length], str):
                field = self.field_at(above)
                blank = fields.starter(self.settle(above, field, None)) if field else None
                value = place.put(value, above, blank if isinstance(blank, dict) else {}, self._before(value, above))
        return replace(state, value=place.put(value, path, new, self._before(value, path)))

    def _before(self, value: Json, path: Path) -> tuple[str, ...] | None:
        """The keys of the fields before this one, after which a new key is put; None if a new key comes last."""
        holder, field = path[:-1], self.field_at(path[:-1])
        field = self.settle(holder, field, place.get_or_none(value, holder)) if field else None
        names = [one.name for one in field.fields()] if isinstance(field, fields.Object) else []
        return tuple(names[: names.index(str(path[-1]))]) if path and path[-1] in names else None

    # Flags, choices, variants

    def toggle(self, row: Row) -> None:
        """Switch a flag to its next state: true, then false, then not sent if it is optional."""
        if self.get(row.path) is False and not row.field.required and not row.stays:
            self.clear(row)
        else:
            self.put(row.path, self.get(row.path) is not True)

    def chosen(self, row: Row) -> int:
        """The number of the chosen option or variant; -1 if the value matches none."""
        if not isinstance(row.field, fields.Union):
            value = self.get(row.path)
            options = enumerate(option_values(row.field) if self.has(row.path) else ())
            return next((index for index, one in options if equal(one, value)), -1)
        if row.path in self._state.chosen:
            return self._state.chosen[row.path]
        return row.field.choose(self.get(row.path)) if self.has(row.path) else -1

    def choose(self, row: Row, option: int) -> None:
        """Take an option of a choice, or a variant of a union."""
        if isinstance(row.field, fields.Union):
            self._vary(row.path, row.field, self.chosen(row), option)
        else:
            self.put(row.path, option_values(row.field)[option])

    def step(self, row: Row, by: int) -> None:
        """Choose the next or the previous option or variant."""
        field = row.field
        count = len(field.variants) if isinstance(field, fields.Union) else len(option_values(field))
        at = self.chosen(row)
        self.choose(row, (at + by) % count if at >= 0 else 0 if by > 0 else count - 1)

    def picked(self, row: Row) -> set[int]:
        """The numbers of the options that are in the list."""
        items = self.items(row.path)
        values = option_values(row.field)
        return {index for index, one in enumerate(values) if any(equal(one, item) for item in items)}

    def pick(self, row: Row, index: int) -> None:
        """Add an option to the list, or remove it; the other items stay as they are."""
        items, value = self.items(row.path), option_values(row.field)[index]
        others = [item for item in items if not equal(item, value)]
        self.put(row.path, others if len(others) < len(items) else [*items, value])

    def _vary(self, path: Path, field: fields.Union, before: int, variant: int) -> None:
        """Choose another variant of a union. Fitting members go along; the old variant's value is remembered."""
        if before == variant:
            return
        now: Json = self.get(path) if self.has(path) else ABSENT
        state = self._read(path)
        values = dict(state.former.get(path, {}))
        if before >= 0 and now is not ABSENT:
            values[before] = now
        value = _carried(now, field.variants[variant].field(), values.get(variant, ABSENT))
        former = {**state.former, path: values}
        chosen = {at: one for at, one in state.chosen.items() if at[: len(path)] != path}
        state = replace(state, former=former, chosen={**chosen, path: variant}, folds={**state.folds, path: True})
        self._edit(self._with(state, path, value), path)

    # Lists and maps

    def add(self, holder: Path, field: fields.List, at: int) -> Path:
        """Add an item to a list; returns its place."""
        return self.insert((*holder, at), fields.starter(field.item(at) or fields.JsonField("")))

    def insert(self, path: Path, value: Json) -> Path:
        """Insert a new item before the item at a place."""
        holder, at = path[:-1], int(path[-1])
        rest = followed(self._state, holder, lambda part: part + 1 if isinstance(part, int) and part >= at else part)
        pending = {at: text for at, text in rest.pending.items() if at != holder}
        state = replace(rest, pending=pending, folds={**rest.folds, holder: True, path: True})
        items = self.items(holder)
        self._edit(self._with(state, holder, [*items[:at], value, *items[at:]]), path)
        return path

    def duplicate(self, path: Path) -> Path:
        """Insert a copy of an item after it; returns the copy's place."""
        return self.insert((*path[:-1], int(path[-1]) + 1), self.get(path))

    def remove(self, path: Path) -> None:
        """Remove an item or an entry."""
        gone, state = path[-1], without(self._state, path)
        if isinstance(gone, int):
            state = followed(state, path[:-1], lambda part: part - 1 if isinstance(part, int) and part > gone else part)
        self._edit(replace(state, value=place.remove(state.value, path)), path[:-1])

    def move(self, path: Path, by: int) -> Path:
        """Move an item in its list by one place, 1 or -1; returns its new place."""
        value, new = place.move(self.value, path, by)
        if new != path:
            swapped = {path[-1]: new[-1], new[-1]: path[-1]}
            state = followed(self._state, path[:-1], lambda part: swapped.get(part, part))
            self._edit(replace(state, value=value), new)
        return new

    def rename(self, path: Path, key: str) -> Path:
        """Give an entry another key, in the same place.

        Raises:
            NoPlace: there is an entry with that key.
        """
        value = place.rename(self.value, path, key)
        state = followed(self._state, path[:-1], lambda part: key if part == path[-1] else part)
        new = (*path[:-1], key)
        self._edit(replace(state, value=value), new)
        return new

    def enter(self, holder: Path, field: fields.Map, key: str) -> Path:
        """Add an entry to a map; returns its place."""
        path = (*holder, key)
        state = replace(self._read(path), folds={**self._state.folds, holder: True, path: True})
        self._edit(self._with(state, path, fields.starter(field.of(key))), path)
        return path

    def key_problem(self, holder: Path, key: str, now: str | None) -> str:
        """The reason why an entry cannot have this key, as a sentence; empty if it can."""
        there = self.get(holder)
        if key != now and isinstance(there, dict) and key in there:
            return "There is an entry with this key already."
        return "" if key else "A key is required."


def option_values(field: Field) -> list[Json]:
    """The values that a person can choose in a field."""
    if isinstance(field, (fields.Choice, fields.Choices)):
        return [option.value for option in field.options]
    return [field.value] if isinstance(field, fields.Const) else []


def _carried(value: Json, into: Field, former: Json) -> Json:
    """The value of a newly chosen variant: the fitting members of the value before, and its own former value."""
    if isinstance(into, fields.Object) and isinstance(value, dict):
        names = {field.name: field for field in into.fields()}
        same = {key: item for key, item in mapping(value).items() if key in names and takes(names[key], item)}
        if isinstance(former, dict):
            return {**mapping(former), **same}
        blank = mapping(fields.starter(into))
        return {key: same.get(key, blank.get(key)) for key in names if key in same or key in blank}
    if former is not ABSENT:
        return former
    return value if value is not ABSENT and takes(into, value) else fields.starter(into)


def takes(field: Field, value: Json) -> bool:
    """Whether a field accepts this kind of value; the check judges its contents."""
    if value is None:
        return field.nullable or (isinstance(field, fields.JsonField) and not field.types)
    if isinstance(field, (fields.Const, fields.Choice)):
        return any(equal(one, value) for one in option_values(field))
    kinds = fields.json_types(field)
    return not kinds or is_any_type(kinds, value)


def followed(state: State, holder: Path, rename: Callable[[str | int], str | int | None]) -> State:
    """The state after items moved or keys changed below `holder`; the value is left to the caller.

    `rename` returns the new key or index for an old one; None if the old one is gone.
    """
    depth = len(holder)

    def to(path: Path) -> Path | None:
        if len(path) <= depth or path[:depth] != holder:
            return path
        part = rename(path[depth])
        return None if part is None else (*holder, part, *path[depth + 1 :])

    def places(known: Iterable[Path]) -> Set[Path]:
        return frozenset(new for path in known if (new := to(path)) is not None)

    def by_place(known: Mapping[Path, T]) -> dict[Path, T]:
        return {new: item for path, item in known.items() if (new := to(path)) is not None}

    return State(state.value, by_place(state.pending), by_place(state.chosen), by_place(state.former),
                 by_place(state.folds), places(state.json_places), places(state.touched))  # fmt: skip


def without(state: State, path: Path) -> State:
    """The state without anything known of a place and its inside; the caller changes the value."""
    last = path[-1]
    return followed(state, path[:-1], lambda part: None if part == last and type(part) is type(last) else part)


def still_true(known: Iterable[SchemaProblem], edited: Path, value: Json) -> tuple[SchemaProblem, ...]:
    """The problems that an edit does not affect: none about the edited place, its inside or its surroundings."""
    places = [(path_of(problem.pointer, value), problem) for problem in known]
    return tuple(problem for path, problem in places if path[: len(edited)] != edited and edited[: len(path)] != path)
