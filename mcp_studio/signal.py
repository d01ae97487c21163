"""Signals: a store says that something changed, readers ask it what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Signal(Generic[T]):
    """Calls every listener, in the order they connected, synchronously and in the emitting task."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: list[Callable[[T], object]] = []

    def connect(self, listener: Callable[[T], object]) -> Callable[[], None]:
        """Add a listener; the returned function removes it again (any number of times)."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def emit(self, event: T) -> None:
        """Tell all listeners; a listener must be cheap and must not raise."""
        for listener in tuple(self._listeners):
            listener(event)
