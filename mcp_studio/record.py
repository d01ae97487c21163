"""Data classes that are cheap to make: `dataclasses` compiles up to eight functions for a class, this lets it compile
two. About a hundred of them are made at every start. They work with `fields`, `replace` and `match`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(field_specifiers=(field,))
def record(*, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A data class with slots.

    Args:
        frozen: it has a hash, and the type checker lets nobody set its fields.
        eq: two of them are equal when their fields are; otherwise each is equal to itself alone.
    """

    def make(kind: type[T]) -> type[T]:
        made: Any = dataclass(eq=False, slots=True)(kind)
        if eq:
            _compare(made, frozen)
        return made

    return make


def _compare(kind: Any, frozen: bool) -> None:
    values: Callable[[Any], Any] = attrgetter(*(one.name for one in fields(kind) if one.compare))

    def equal(one: Any, other: Any) -> bool:
        return values(one) == values(other) if type(one) is type(other) else NotImplemented

    kind.__eq__ = equal
    kind.__hash__ = (lambda one: hash(values(one))) if frozen else None
