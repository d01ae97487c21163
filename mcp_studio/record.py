"""Data classes that are cheap to create: `dataclasses` compiles up to eight functions for a class, `record` only one,
when the first instance is created.

Every start creates about a hundred such classes. They work with `fields`, `replace` and `match`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@recursive_repr()
def _text(one: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(one, each.name)!r}" for each in fields(one) if each.repr)
    return f"{type(one).__qualname__}({shown})"


@dataclass_transform(field_specifiers=(field,))
def record(*, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A data class with slots.

    Args:
        frozen: instances have a hash, and the type checker forbids to set their fields.
        eq: instances are equal when their fields are; otherwise each is equal to itself alone.
    """

    def make(kind: type[T]) -> type[T]:
        made: Any = dataclass(init=False, eq=False, repr=False, slots=True)(kind)

        def init(one: Any, *values: Any, **named: Any) -> None:
            # Compiled for the first instance: most runs create none of most classes.
            made.__init__ = dataclass(eq=False, repr=False)(type(kind.__name__, (made,), {"__doc__": " "})).__init__
            made.__init__(one, *values, **named)

        made.__init__, made.__repr__ = init, _text
        if eq:
            values: Callable[[Any], Any] = attrgetter(*(one.name for one in fields(made) if one.compare))
            made.__eq__ = lambda one, other: (
                values(one) == values(other) if type(one) is type(other) else NotImplemented
            )
            made.__hash__ = (lambda one: hash(values(one))) if frozen else None
        return made

    return make
