"""Editing one place of a form: typing, choosing, taking away. Rows say what is edited. No widget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from mcp_studio.jsontext import Json, depth
from mcp_studio.schema import place
from mcp_studio.schema.check import equal
from mcp_studio.schema.field import (
    AS_JSON,
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    JsonField,
    List,
    Map,
    Object,
    Text,
    Union,
    resolve_union,
    starter,
)
from mcp_studio.schema.place import Path, pointer
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.tui.form.history import State
from mcp_studio.tui.form.moving import without
from mcp_studio.tui.form.outline import ABSENT, Row
from mcp_studio.tui.form.state import FormState
from mcp_studio.tui.form.variants import turned

LARGEST = 200_000
"""Characters that can be edited in one place; a text area gets slow with more."""
_DEPTH = 200


class Editing(FormState):
    """The value is the truth: what has no field, the order of keys, and absent against null stay as they are.

    Blank is absent. Text that is no number stays in the value as text, and is reported; only text that is no JSON,
    in a place for JSON, cannot be in the value: it waits in `pending`, the place keeping its last value.
    """

    def text(self, row: Row) -> str:
        """What an editor of this row starts with: what was typed last, or how the value is written."""
        waiting = self.pending.get(pointer(*row.path)) if self.pending else None
        if waiting is not None:
            return waiting
        value = self.get(row.path)
        if value is None and (not isinstance(row.field, AS_JSON) or not self.has(row.path)):
            return ""
        return to_text(row.field, value)

    def closed(self, row: Row) -> bool:
        """Whether the value is too large, or nested too deep, for an editor in the form."""
        return depth(self.get(row.path), _DEPTH) > _DEPTH or len(self.text(row)) > LARGEST

    # One place

    def type(self, row: Row, text: str) -> None:
        """Text was typed; blank takes the value away, where it may be absent."""
        field = row.field
        typing = ("type", row.path)
        if isinstance(field, JsonField) and not isinstance(row.given, JsonField):
            # What is typed may come to fit the rows; it is not taken out of the person's hands because of that.
            self._state = replace(self._state, as_json=self._state.as_json | {row.path})
        if not text and not row.stays:
            self.clear(row, typing=typing)
            return
        try:
            value = self._blank(row) if not text else from_text(field, text)
        except ValueError:
            if isinstance(field, AS_JSON):
                self._wait(row.path, text)
                return
            value = text
        self.put(row.path, value, typing=typing)

    def _blank(self, row: Row) -> Json:
        """What an emptied place holds that cannot be absent."""
        if isinstance(row.field, AS_JSON):
            raise ValueError
        return "" if isinstance(row.field, Text) else None

    def _wait(self, path: Path, text: str) -> None:
        state = replace(self._state, pending={**self.pending, pointer(*path): text})
        self._edit(state, path, typing=("type", path), same_rows=True)

    def put(self, path: Path, value: Json, *, typing: object = None) -> None:
        """Give a place a value; objects on the way are made.

        Raises:
            NoPlace: the value has no such place.
        """
        state = self._read(path)
        same = typing is not None and not self._matters(path, value)
        self._edit(replace(state, value=self._with(state.value, path, value)), path, typing=typing, same_rows=same)

    def _read(self, path: Path) -> State:
        """The state without text that waits at a place, or inside it."""
        if not self.pending:
            return self._state
        start = pointer(*path)
        kept = {key: text for key, text in self.pending.items() if key != start and not key.startswith(start + "/")}
        return replace(self._state, pending=kept)

    def _matters(self, path: Path, value: object) -> bool:
        """Whether the rows may be others when a place has this value."""
        if isinstance(value, (dict, list)) or isinstance(self.get(path), (dict, list)) or not self.has(path[:-1]):
            return True
        field: Field | None = self.root
        for at in range(len(path) + 1):
            if isinstance(field, Union) and (field.by_value or path[:at] not in self._state.chosen):
                return True
            field = self.field_at(path[: at + 1]) if at < len(path) else None
        row = self.row_at(path)
        return row is None or self.rows[row].fold is not None

    def _with(self, value: Json, path: Path, new: Json) -> Json:
        """The value with something at a place; missing objects on the way begin as their schema says."""
        for at in range(1, len(path)):
            above = path[:at]
            if place.get_or_none(value, above) is None and isinstance(path[at], str):
                field = self.field_at(above)
                begun = starter(resolve_union(field, None, self._state.chosen.get(above))) if field else None
                value = place.put(value, above, begun if isinstance(begun, dict) else {}, self._before(value, above))
        return place.put(value, path, new, self._before(value, path))

    def _before(self, value: Json, path: Path) -> tuple[str, ...]:
        """The keys behind which a new key belongs: of the fields before it, else all that are there."""
        if not path or not isinstance(path[-1], str):
            return ()
        holder = path[:-1]
        field = self.root if not holder else self.field_at(holder)
        there = place.get_or_none(value, holder)
        if field is not None:
            field = resolve_union(field, there, self._state.chosen.get(holder))
        names = [one.name for one in field.fields()] if isinstance(field, Object) else []
        if path[-1] in names:
            return tuple(names[: names.index(path[-1])])
        return tuple(cast("dict[str, Json]", there)) if isinstance(there, dict) else ()

    def clear(self, row: Row, *, typing: object = None) -> None:
        """Take the value away: it is not sent. Items and entries become blank."""
        if row.stays:
            if row.path:
                self.put(row.path, "" if isinstance(row.field, Text) else None)
            return
        self.drop(row.path, typing=typing)

    def drop(self, path: Path, *, typing: object = None) -> None:
        """Take away what is at a place, and all that was remembered of it."""
        state = without(self._read(path), path) if typing is None else self._read(path)
        same = typing is not None and not self._matters(path, ABSENT)
        self._edit(replace(state, value=place.remove(state.value, path)), path, typing=typing, same_rows=same)

    def next_nothing(self, row: Row) -> None:
        """From any value to absent, then to what is empty and null where these are values, then to absent again."""
        kinds: list[Any] = [] if row.stays else [ABSENT]
        field = row.given if row.kind != "inner" else row.field
        content = self.settle(row.path, row.given, self.get(row.path))
        if isinstance(content, Text):
            kinds.append("")
        elif isinstance(content, (List, Choices)):
            kinds.append([])
        elif isinstance(content, (Object, Map)):
            kinds.append({})
        kinds += [None] if field.nullable and not isinstance(field, Choice) else []
        if not kinds:
            return
        waiting = pointer(*row.path) in self.pending
        now = self.get(row.path) if self.has(row.path) and not waiting else ABSENT
        known = next((at for at, kind in enumerate(kinds) if not waiting and (now is kind or _empty(now, kind))), -1)
        following = kinds[(known + 1) % len(kinds)]
        if following is ABSENT:
            self.drop(row.path)
        else:
            self.put(row.path, following)

    # Flags, choices

    def toggle(self, row: Row) -> None:
        """The next state of a flag: true, false, and not sent where it need not be."""
        value = self.get(row.path)
        if value is True:
            self.put(row.path, False)
        elif value is False and not row.field.required and not row.stays:
            self.drop(row.path)
        else:
            self.put(row.path, True)

    def step(self, row: Row, by: int) -> None:
        """The option or variant after or before the chosen one."""
        at, count = self.chosen(row), len(_values(row.field))
        self.choose(row, (at + by) % count if at >= 0 else 0 if by > 0 else count - 1)

    def choose(self, row: Row, option: int) -> None:
        """Take an option of a choice, or a variant of a union."""
        if isinstance(row.field, Union):
            self.turn(row, option)
        else:
            self.put(row.path, _values(row.field)[option])

    def chosen(self, row: Row) -> int:
        """The number of the chosen option or variant, -1 when it is none of them."""
        if isinstance(row.field, Union):
            return self.variant(row.path, row.field)
        if not self.has(row.path):
            return -1
        value = self.get(row.path)
        return next((index for index, one in enumerate(_values(row.field)) if equal(one, value)), -1)

    def picked(self, row: Row) -> set[int]:
        """The numbers of the options that the list has."""
        items = self.items(row.path)
        return {index for index, one in enumerate(_values(row.field)) if any(equal(one, item) for item in items)}

    def pick(self, row: Row, index: int) -> None:
        """Add an option to the list, or take it out; the rest of the list stays as it is."""
        items = self.items(row.path)
        value = _values(row.field)[index]
        kept = [item for item in items if not equal(item, value)]
        self.put(row.path, kept if len(kept) < len(items) else [*items, value])

    def turn(self, row: Row, variant: int) -> None:
        """Choose another variant of a union: what fits it goes along, and the old one can be come back to."""
        path, field = row.path, cast("Union", row.field)
        before = self.variant(path, field)
        if before == variant:
            return
        now: object = self.get(path) if self.has(path) else ABSENT
        state = self._read(path)
        kept = dict(state.kept)
        if before >= 0 and now is not ABSENT:
            kept[path, before] = now
        made = turned(now, field.variants[variant].field(), kept.get((path, variant), ABSENT))
        chosen = {at: one for at, one in state.chosen.items() if at[: len(path)] != path}
        folds = {**state.folds, path: True}
        state = replace(state, kept=kept, chosen={**chosen, path: variant}, folds=folds)
        self._edit(replace(state, value=self._with(state.value, path, made)), path)

    def items(self, path: Path) -> list[Json]:
        """The items of the list at a place; none where there is no list."""
        listed = self.get(path)
        return cast("list[Json]", listed) if isinstance(listed, list) else []


def _values(field: Field) -> list[Json]:
    if isinstance(field, (Choice, Choices)):
        return [option.value for option in field.options]
    if isinstance(field, Flag):
        return [True, False]
    return [field.value] if isinstance(field, Const) else list(getattr(field, "variants", ()))


def _empty(now: object, kind: object) -> bool:
    return kind is not None and kind is not ABSENT and type(now) is type(kind) and now == kind
