"""What a form knows, without a screen: the value, and every way to edit it."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.schema import place
from mcp_studio.schema.field import JsonField, List, Map, starter
from mcp_studio.schema.place import Path, pointer
from mcp_studio.tui.form.editing import LARGEST as LARGEST
from mcp_studio.tui.form.editing import Editing
from mcp_studio.tui.form.moving import followed, without


class FormModel(Editing):
    """A value with its form, and the edits of lists and maps in it; those of one place are inherited."""

    def add(self, holder: Path, field: List, index: int | None = None) -> Path:
        """Add an item to a list, at its end or at an index; gives its place.

        A list whose first items have a meaning of their own begins with all of these.
        """
        at = len(self.items(holder)) if index is None else index
        if at == 0 and len(field.first()) > 1 and not self.items(holder):
            begun = starter(field)
            self.put(holder, begun if isinstance(begun, list) and begun else [starter(field.first()[0])])
            self.fold(holder, True)
            return (*holder, 0)
        described = field.item(at) or JsonField("")
        return self.insert((*holder, at), starter(described))

    def insert(self, path: Path, value: Json) -> Path:
        """Put a new item in front of the one at a place."""
        holder, at = path[:-1], cast("int", path[-1])

        def rename(part: str | int) -> str | int:
            return part + 1 if isinstance(part, int) and part >= at else part

        state = followed(self._state, holder, rename)
        pending = {key: text for key, text in state.pending.items() if key != pointer(*holder)}
        state = replace(state, pending=pending, folds={**state.folds, holder: True, path: True})
        listed = self.items(holder)
        self._edit(replace(state, value=self._with(state.value, holder, [*listed[:at], value, *listed[at:]])), path)
        return path

    def duplicate(self, path: Path) -> Path:
        """Put a copy of an item behind it; gives its place."""
        return self.insert((*path[:-1], cast("int", path[-1]) + 1), self.get(path))

    def remove(self, path: Path) -> None:
        """Take an item or an entry away."""
        state = self._state
        last = path[-1]
        if isinstance(last, int):
            gone = last

            def rename(part: str | int) -> str | int | None:
                return part if not isinstance(part, int) or part < gone else None if part == gone else part - 1

            state = followed(state, path[:-1], rename)
        else:
            state = without(state, path)
        self._edit(replace(state, value=place.remove(state.value, path)), path[:-1])

    def move(self, path: Path, by: int) -> Path:
        """Move an item in its list; gives its new place."""
        value, new = place.move(self.value, path, by)
        if new == path:
            return path
        old, to = cast("int", path[-1]), cast("int", new[-1])

        def rename(part: str | int) -> str | int:
            if not isinstance(part, int):
                return part
            if part == old:
                return to
            return part - (old < part <= to) + (to <= part < old)

        state = followed(self._state, path[:-1], rename)
        self._edit(replace(state, value=value), new, typing=("move", path[:-1]))
        return new

    def rename(self, path: Path, key: str) -> Path:
        """Give an entry another key, in the same place.

        Raises:
            NoPlace: there is an entry with that key.
        """
        if path[-1] == key:
            return path
        value = place.rename(self.value, path, key)
        state = followed(self._state, path[:-1], lambda part: key if part == path[-1] else part)
        new = (*path[:-1], key)
        self._edit(replace(state, value=value), new)
        return new

    def enter(self, holder: Path, field: Map, key: str) -> Path:
        """Add an entry to a map; gives its place."""
        path = (*holder, key)
        folds = {**self._state.folds, holder: True, path: True}
        state = replace(self._read(path), folds=folds)
        self._edit(replace(state, value=self._with(state.value, path, starter(field.of(key)))), path)
        return path

    def key_problem(self, holder: Path, key: str, now: str | None) -> str:
        """Why an entry cannot have this key, as a sentence; empty when it can."""
        there = self.get(holder)
        if key != now and isinstance(there, dict) and key in there:
            return "There is an entry with this key already."
        return "" if key else "A key is needed."
