"""What an edit of a form changes, and the states before each edit: undo and redo. No widget."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from typing import TypeVar

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.place import Path, path_of, pointer

T = TypeVar("T")
MOST = 200
"""Steps that are kept. Values share their unchanged parts, so that a step costs little."""
PAUSE = 1.5
"""Seconds without a key after which further typing is a step of its own."""
Rename = Callable[[str | int], str | int | None]
"""The new key or index of what had one; None when it is gone."""


@record(frozen=True)
class State:
    """Everything that an edit changes; none of it is changed in place."""

    value: Json
    pending: Mapping[str, str]
    """Text by JSON pointer that is no JSON, and so cannot be in the value."""
    chosen: Mapping[Path, int]
    """The variants of unions that the person chose."""
    kept: Mapping[tuple[Path, int], Json]
    """What the other variants held when they were left."""
    folds: Mapping[Path, bool]
    json_places: Set[Path]
    """Places that are edited as JSON though rows could show them."""
    touched: Set[Path]
    """Places that somebody had a chance to fill."""


class History:
    """States before edits, and where the edits were. `now` gives seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._past: list[tuple[State, Path]] = []
        self._future: list[tuple[State, Path]] = []
        self._typing: Hashable = None
        self._last = 0.0

    def note(self, before: State, at: Path, typing: Hashable = None) -> None:
        """An edit is about to change this state; one that goes on `typing` the same thing is part of the last step."""
        now = self._now()
        goes_on = typing is not None and typing == self._typing and now - self._last < PAUSE and self._past
        self._typing, self._last = typing, now
        self._future.clear()
        if not goes_on:
            self._past.append((before, at))
            del self._past[:-MOST]

    def pause(self) -> None:
        """What is typed next is a step of its own."""
        self._typing = None

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def undo(self, now: State) -> tuple[State, Path] | None:
        """The state before the last edit and where that was; None when nothing is left to be undone."""
        return self._turn(self._past, self._future, now)

    def redo(self, now: State) -> tuple[State, Path] | None:
        """The state that was undone last; None when there is none."""
        return self._turn(self._future, self._past, now)

    def _turn(
        self, source: list[tuple[State, Path]], target: list[tuple[State, Path]], now: State
    ) -> tuple[State, Path] | None:
        self._typing = None
        if not source:
            return None
        state, at = source.pop()
        target.append((now, at))
        return state, at


def followed(state: State, holder: Path, rename: Rename) -> State:
    """The state after items moved or keys changed below `holder`; the value is left to the caller."""
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

    waiting = ((to(path_of(place, state.value)), text) for place, text in state.pending.items())
    return State(
        state.value,
        {pointer(*path): text for path, text in waiting if path is not None},
        by_place(state.chosen),
        {(new, at): item for (path, at), item in state.kept.items() if (new := to(path)) is not None},
        by_place(state.folds),
        places(state.json_places),
        places(state.touched),
    )


def without(state: State, path: Path) -> State:
    """A state that knows nothing of what was at a place and inside it; the value is left to the caller."""
    if not path:
        return State(state.value, {}, {}, {}, {}, frozenset(), frozenset())
    last = path[-1]
    return followed(state, path[:-1], lambda part: None if part == last and type(part) is type(last) else part)
