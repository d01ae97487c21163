"""The value of a form and what goes with it: folds, chosen variants, problems, undo. No widget, and no keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import replace

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import AS_JSON, Field, Form, JsonField, List, SchemaProblem, Union, field_at, resolve_union
from mcp_studio.schema.place import Path, get_or_none, has, path_of, pointer
from mcp_studio.schema.text import from_text
from mcp_studio.tui.form.checking import Checks
from mcp_studio.tui.form.history import History, State
from mcp_studio.tui.form.kept_rows import KeptRows
from mcp_studio.tui.form.known import Told, still_told
from mcp_studio.tui.form.outline import Outliner, Row

_SETTLED = 50_000
_BESIDE = frozenset(("inner", "add", "rest"))
"""Kinds of rows that are not the row of their place."""


class FormState:
    """What all rows of a form share. Every edit goes through `_edit`; the outline and the problems follow by need."""

    def __init__(self, form: Form, value: Json = None, pending: Mapping[str, str] | None = None) -> None:
        self.form = form
        self.root = form.top
        self.asked = False
        """Whether what is missing is told everywhere, as after trying to send."""
        self.history = History()
        self._told: tuple[SchemaProblem, ...] = ()
        self._settled: dict[tuple[int, int, int | None], tuple[Field, Json, Field]] = {}
        self._leaves: dict[int, tuple[Field, JsonField]] = {}
        self._kept = KeptRows()
        self._rows: list[Row] | None = None
        self._index: dict[Path, int] = {}
        self._inner: dict[Path, int] = {}
        self._checks = Checks(self.settle, strict=form.strict)
        self._quick: tuple[SchemaProblem, ...] | None = None
        self._shown: Told | None = None
        start: Json = ([] if isinstance(self.root, List) else {}) if value is None else value
        self._state = State(start, {}, {}, {}, {}, frozenset(), frozenset())
        waiting = self._usable(pending or {})
        parts = frozenset(path for path in map(self.path_of, waiting) if isinstance(self.field_at(path), AS_JSON))
        self._state = replace(self._state, pending=waiting, as_json=parts)

    def _usable(self, pending: Mapping[str, str]) -> dict[str, str]:
        """Text that was typed before, by pointer; older drafts have it by the name of a property."""
        places = {place if place[:1] == "/" else pointer(place): text for place, text in pending.items() if place}
        paths = {place: self.path_of(place) for place in places}
        return {
            place: text
            for place, text in places.items()
            if self.field_at(paths[place]) is not None or self.has(paths[place])
        }

    # What there is

    @property
    def value(self) -> Json:
        """The value as it is now."""
        return self._state.value

    @property
    def pending(self) -> Mapping[str, str]:
        """Text by JSON pointer that is no JSON, and so cannot be in the value."""
        return self._state.pending

    def has(self, path: Path) -> bool:
        """Whether the value has something at the place."""
        return has(self.value, path)

    def get(self, path: Path) -> Json:
        """What the value has at the place; None when nothing."""
        return get_or_none(self.value, path)

    def path_of(self, place: str) -> Path:
        """The path of a JSON pointer into the value."""
        return path_of(place, self.value)

    def field_at(self, path: Path) -> Field | None:
        """The field of a place, unions not followed; None where the schema says nothing of it."""
        return field_at(self.root, path, self.value, self._state.chosen)

    def settle(self, path: Path, field: Field, value: Json) -> Field:
        """Of a union the variant that is chosen at a place, or that the value is of; every other field as it is."""
        if not isinstance(field, Union):
            return field
        chosen = self._state.chosen.get(path)
        key = (id(field), id(value), chosen)
        known = self._settled.get(key)
        if known is None:
            if len(self._settled) > _SETTLED:
                self._settled.clear()
            # Field and value are kept, so that no others ever have their ids.
            known = self._settled[key] = field, value, resolve_union(field, value, chosen)
        return known[2]

    def variant(self, path: Path, field: Union) -> int:
        """The number of the chosen variant; -1 when it is none."""
        chosen = self._state.chosen.get(path)
        if chosen is not None:
            return chosen
        return field.choose(self.get(path)) if self.has(path) else -1

    # Rows

    @property
    def rows(self) -> list[Row]:
        """All rows, as the value and the folds are now."""
        if self._rows is None:
            state = self._state
            self._kept.begin(state.folds, state.as_json, state.chosen)
            outliner = Outliner(self.settle, state.folds, state.as_json, self._leaves, self._kept)
            made = self._rows = outliner.make(self.root, state.value)
            self._index = {row[0]: index for index, row in enumerate(made) if row[3] not in _BESIDE}
            self._inner = {row[0]: index for index, row in enumerate(made) if row[3] == "inner"}
        return self._rows

    def row_at(self, path: Path) -> int | None:
        """The number of the row of a place, None where it has none now."""
        rows = self.rows
        index = self._index.get(path)
        return index if index is not None and index < len(rows) else None

    def inner_at(self, path: Path, index: int) -> int:
        """The row of a variant's value below its chooser, where it has one; else the row itself."""
        return self._inner.get(path, index)

    def nearest(self, path: Path) -> int | None:
        """The row of a place, or of what it lies in."""
        rows = (self.row_at(path[:depth]) for depth in range(len(path), -1, -1))
        return next((row for row in rows if row is not None), None)

    def fold(self, path: Path, open: bool) -> None:
        """Fold or unfold a part."""
        self._state = replace(self._state, folds={**self._state.folds, path: open})
        self._redraw()

    def fold_many(self, paths: Iterable[Path], open: bool) -> None:
        """Fold or unfold several parts."""
        self._state = replace(self._state, folds={**self._state.folds, **dict.fromkeys(paths, open)})
        self._redraw()

    def open_to(self, path: Path) -> None:
        """Unfold everything around a place."""
        for depth in range(len(path)):
            index = self.row_at(path[:depth])
            if index is not None and self.rows[index].fold is False:
                self.fold(path[:depth], True)

    def as_json(self, path: Path, on: bool) -> None:
        """Edit a part as JSON though rows could show it, or by its rows again."""
        known = self._state.as_json
        self._state = replace(self._state, as_json=known | {path} if on else known - {path})
        self._redraw()

    def settle_json(self, path: Path) -> None:
        """A part that was edited as JSON is left: it has its rows again, unless the text is no JSON yet."""
        if path in self._state.as_json and pointer(*path) not in self.pending:
            self.as_json(path, False)

    @property
    def json_places(self) -> Set[Path]:
        """The places that are edited as JSON though rows could show them."""
        return self._state.as_json

    def _redraw(self) -> None:
        self._rows = self._shown = None

    # Editing

    def _edit(self, state: State, at: Path, *, typing: Hashable = None, same_rows: bool = False) -> None:
        """Take over another state; `same_rows` where the outline is sure to be the same."""
        self.history.note(self._state, at, typing)
        self._take(replace(state, touched=state.touched | {at}), same_rows=same_rows)
        # What was said about the old value of this place is not true of the new one.
        self._told = still_told(self._told, at, self.value)

    def _take(self, state: State, *, same_rows: bool = False) -> None:
        self._state = state
        self._quick = self._shown = None
        if not same_rows:
            self._rows = None

    def undo(self) -> Path | None:
        """Bring back what was before the last edit; gives the place of the edit, None when there was none."""
        return self._turned(self.history.undo(self._state))

    def redo(self) -> Path | None:
        """Bring back what was undone last; gives the place of the edit."""
        return self._turned(self.history.redo(self._state))

    def _turned(self, turned: tuple[State, Path] | None) -> Path | None:
        if turned is None:
            return None
        state, at = turned
        self._told = ()
        self._take(state)
        self.open_to(at)
        return at

    def replace(self, value: Json) -> None:
        """Another value altogether, as after editing it as JSON."""
        state = self._state
        self._edit(State(value, {}, {}, {}, state.folds, frozenset(), state.touched), ())

    # Problems

    def tell(self, problems: Iterable[SchemaProblem]) -> None:
        """Problems that the whole check found."""
        self._told = tuple(problems)
        self._shown = None

    def unreadable(self) -> tuple[SchemaProblem, ...]:
        """Typed text that is no JSON, and so is not in the value."""
        return tuple(problem for place in self.pending for problem in self._unread(place))

    def _unread(self, place: str) -> list[SchemaProblem]:
        field = self.leaf_at(self.path_of(place))
        try:
            from_text(field, self.pending[place])
        except ValueError as problem:
            return [SchemaProblem(place, str(problem))]
        return []

    def leaf_at(self, path: Path) -> Field:
        """The field that reads text at a place."""
        index = self.row_at(path)
        if index is not None:
            return self.rows[self._inner.get(path, index)].field
        return self.field_at(path) or JsonField("")

    def problems(self) -> tuple[SchemaProblem, ...]:
        """Everything that the fields alone know to be wrong; a whole check may find more."""
        if self._quick is None:
            self._quick = self._checks.problems(self.root, self.value, self._state.chosen)
        waiting = self.unreadable()
        places = {problem.pointer for problem in waiting}
        return (*waiting, *(problem for problem in self._quick if problem.pointer not in places))

    def ask(self) -> None:
        """From now on tell everywhere what is missing."""
        if not self.asked:
            self.asked = True
            self._shown = None

    @property
    def told(self) -> Told:
        """What the rows tell now."""
        if self._shown is None:
            self.rows  # noqa: B018 - makes the index
            unread = {place for place in self.pending}
            known = self.problems()
            said = (problem for problem in self._told if problem.pointer not in unread)
            self._shown = Told(
                (*known, *said),
                {**self._index, **self._inner},
                self.value,
                touched=self._state.touched,
                asked=self.asked,
            )
        return self._shown
