"""Signals: a store says that something changed, and readers ask the store what changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Signal(Generic[T]):
    """Calls every listener synchronously, in the order in which they connected, in the task that emits."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: list[Callable[[T], object]] = []

    def connect(self, listener: Callable[[T], object]) -> Callable[[], None]:
        """Add a listener; the returned function removes the listener and may be called any number of times."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def emit(self, event: T) -> None:
        """Call all listeners; a listener must be cheap and must not raise."""
        for listener in tuple(self._listeners):
            listener(event)
