"""Data classes that are cheap to make: `dataclasses` compiles up to eight functions for a class at once, this compiles
one, and that when the first object of the class is made.

Dozens of them are made at every start. They are data classes for `dataclasses.fields`, `replace` and `match`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(field_specifiers=(field,))
def record(*, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A data class with slots, all of whose fields are for `__init__`.

    Args:
        frozen: its fields cannot be set, and it has a hash.
        eq: two of them are equal when their fields are; otherwise each is equal to itself alone.
    """
    return lambda kind: _made(kind, frozen, eq)


def _made(kind: type[T], frozen: bool, eq: bool) -> type[T]:
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(kind)

    def first(one: Any, *given: Any, **named: Any) -> None:
        made.__init__ = _init(made, frozen)
        made.__init__(one, *given, **named)

    made.__init__ = first
    if "__repr__" not in vars(made):
        made.__repr__ = _repr
    if eq:
        _compared(made, frozen)
    if frozen:
        made.__setattr__ = made.__delattr__ = _refuse
        made.__getstate__, made.__setstate__ = _state, _restore
    return made


def _init(kind: Any, frozen: bool) -> Any:
    """`__init__`, the one function worth compiling: it is called for every message and call."""
    given, body = [], []
    known: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
    for one in fields(kind):
        name, value = one.name, one.name
        if one.default_factory is not MISSING:
            known[f"new_{name}"] = one.default_factory
            given.append(f"{name}=MISSING")
            value = f"new_{name}() if {name} is MISSING else {name}"
        elif one.default is not MISSING:
            known[f"default_{name}"] = one.default
            given.append(f"{name}=default_{name}")
        else:
            given.append(name)
        body.append(f" put(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    exec("\n".join([f"def __init__(self, {', '.join(given)}):", *body]), known)
    made = known["__init__"]
    made.__qualname__, made.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    return made


def _compared(kind: Any, frozen: bool) -> None:
    names = [one.name for one in fields(kind) if one.compare]
    values: Callable[[Any], Any] = attrgetter(*names)

    def same(one: Any, other: Any) -> bool:
        return values(one) == values(other) if type(one) is type(other) else NotImplemented

    kind.__eq__ = same
    kind.__hash__ = (lambda one: hash(values(one))) if frozen else None


@recursive_repr()
def _repr(one: Any) -> str:
    said = ", ".join(f"{item.name}={getattr(one, item.name)!r}" for item in fields(one))
    return f"{type(one).__qualname__}({said})"


def _refuse(one: Any, name: str, _value: object = None) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _state(one: Any) -> list[Any]:
    return [getattr(one, item.name) for item in fields(one)]


def _restore(one: Any, state: list[Any]) -> None:
    for item, value in zip(fields(one), state, strict=True):
        object.__setattr__(one, item.name, value)
