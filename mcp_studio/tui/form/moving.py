"""What is remembered by place follows the value when items move or keys change. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import TypeVar

from mcp_studio.jsontext import Json
from mcp_studio.schema.place import Path, path_of, pointer
from mcp_studio.tui.form.history import State

T = TypeVar("T")
Part = str | int
Rename = Callable[[Part], Part | None]
"""The new key or index of what had one; None when it is gone."""


def followed(state: State, holder: Path, rename: Rename) -> State:
    """A state whose places below `holder` have other keys or indexes; the value is left to the caller."""

    def to(path: Path) -> Path | None:
        depth = len(holder)
        if len(path) <= depth or path[:depth] != holder:
            return path
        part = rename(path[depth])
        return None if part is None else (*holder, part, *path[depth + 1 :])

    return State(
        state.value,
        _pointers(state.pending, state.value, to),
        _paths(state.chosen, to),
        {(new, at): item for (path, at), item in state.kept.items() if (new := to(path)) is not None},
        _paths(state.folds, to),
        _set(state.as_json, to),
        _set(state.touched, to),
    )


def without(state: State, path: Path) -> State:
    """A state that knows nothing of what was at a place and inside it; the value is left to the caller."""
    if not path:
        return State(state.value, {}, {}, {}, {}, frozenset(), frozenset())
    last = path[-1]
    return followed(state, path[:-1], lambda part: None if part == last and type(part) is type(last) else part)


def _paths(known: Mapping[Path, T], to: Callable[[Path], Path | None]) -> dict[Path, T]:
    return {new: item for path, item in known.items() if (new := to(path)) is not None}


def _set(known: Iterable[Path], to: Callable[[Path], Path | None]) -> Set[Path]:
    return frozenset(new for path in known if (new := to(path)) is not None)


def _pointers(known: Mapping[str, str], value: Json, to: Callable[[Path], Path | None]) -> dict[str, str]:
    found = ((to(path_of(place, value)), text) for place, text in known.items())
    return {pointer(*path): text for path, text in found if path is not None}
