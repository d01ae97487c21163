"""Filling a form with an example: valid values, values at the edge of what is allowed, and deliberately wrong ones.

Everything is made up from the schema, and the same for the same seed. A pattern of a server is read by `regex`, and
never run where it could take long. A schema can ask for more than is made up, or for what is not known here; the
example then says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema import example_edges, example_wrong
from mcp_studio.schema.check import quick
from mcp_studio.schema.example_leaves import Cannot
from mcp_studio.schema.example_places import Change, Place, places, spoken
from mcp_studio.schema.example_valid import Maker
from mcp_studio.schema.field import Form
from mcp_studio.schema.fits import Judge
from mcp_studio.schema.resolve import Resolver

Kind = Literal["minimal", "typical", "full", "edge", "invalid"]
KINDS: tuple[Kind, ...] = ("minimal", "typical", "full", "edge", "invalid")
_LABELS = ("only what is required", "typical values", "everything filled in")
MOST = 80
"""Examples of one kind."""
_ATTEMPTS = 4
"""Values that are made up for one example, as long as something speaks against them."""
_SPENT = 1_000
"""Fields of a value that is too large to be made up once more."""


@record(frozen=True)
class Example:
    """A value made up for a form."""

    label: str
    """What is special about it, such as `quantity: text instead of a whole number`; has foreign names in it."""
    value: Json
    kind: Kind
    remark: str = ""
    """Why it may not be what it says, as a sentence; empty when nothing speaks against it."""


def example(form: Form, kind: Kind, seed: int = 0) -> Example:
    """One example; of edge cases and wrong values there are several, and the seed says which.

    It is always of that kind: where a form has no edge case or nothing that could be wrong, it says so and is minimal.
    """
    if kind in ("minimal", "typical", "full"):
        return _valid(form, kind, seed)
    found = edges(form) if kind == "edge" else invalid(form)
    if found:
        return found[seed % len(found)]
    basis = _valid(form, "minimal", seed)
    words = (
        "It has no edge case that is known here." if kind == "edge" else "Nothing is known here that would be wrong."
    )
    return Example(basis.label, basis.value, kind, " ".join(filter(None, (words, basis.remark))))


def valid(form: Form, seed: int = 0) -> tuple[Example, ...]:
    """A minimal, a typical and a full value; each of them once."""
    found = [_valid(form, kind, seed) for kind in ("minimal", "typical", "full")]
    return tuple(one for index, one in enumerate(found) if all(one.value != other.value for other in found[:index]))


def edges(form: Form, seed: int = 0) -> tuple[Example, ...]:
    """Values that are allowed, and that a server may not have thought of."""
    return _changed(form, "edge", seed, example_edges.variations)


def invalid(form: Form, seed: int = 0) -> tuple[Example, ...]:
    """Values with one thing wrong each."""
    return _changed(form, "invalid", seed, example_wrong.variations)


def _valid(form: Form, kind: Kind, seed: int) -> Example:
    """The first value that nothing speaks against; else the first, with what speaks against it."""
    at = KINDS.index(kind)
    found: Example | None = None
    for attempt in range(_ATTEMPTS):
        maker = Maker(at, seed + 1_000 * attempt)
        try:
            value = maker.make(form.top)
        except Cannot as problem:
            return found or Example(_LABELS[at], {}, kind, f"No valid value was found: {problem}.")
        remark = " ".join(dict.fromkeys(maker.remarks)) or doubt(form, value)
        if not remark:
            return Example(_LABELS[at], value, kind)
        found = found or Example(_LABELS[at], value, kind, remark)
        if maker.spent > _SPENT:
            break
    return found or Example(_LABELS[at], {}, kind, "No valid value was found.")


def doubt(form: Form, value: Json) -> str:
    """What speaks against a value being valid, as a sentence; empty when nothing does that is known here."""
    wrong = next((problem for problem in quick(form, value) if problem.severity == "error"), None)
    if wrong:
        return f"{wrong.said}."
    if isinstance(form.schema, dict) and Judge(Resolver(form.schema)).wrong(form.schema, value):
        return "It breaks a rule of the schema that is not known here in words."
    return ""


def _changed(form: Form, kind: Kind, seed: int, vary: Callable[[Place], Iterator[Change]]) -> tuple[Example, ...]:
    """A typical value with one thing changed: the first change of every place, then the second ones, and so on."""
    basis = _valid(form, "typical", seed)
    ways = [(one, vary(one)) for one in places(form.top, basis.value)]
    made: list[Example] = []
    while ways and len(made) < MOST:
        further: list[tuple[Place, Iterator[Change]]] = []
        for place, way in ways:
            if (change := next(way, None)) is not None:
                further.append((place, way))
                made += _one(form, kind, basis, place, change)
        ways = further
    return tuple(made[:MOST])


def _one(form: Form, kind: Kind, basis: Example, place: Place, change: Change) -> list[Example]:
    value = change.made(basis.value)
    against = doubt(form, value)
    if kind == "invalid" and place.loose and not against:
        return []  # of several kinds of values, one may well allow it
    where = spoken(change.path)
    label = f"{where}: {change.words}" if where else change.words
    remark = basis.remark or change.remark or ("" if kind == "invalid" else against)
    if form.strict and change.remark:
        remark = basis.remark
    return [Example(label[:1].upper() + label[1:] if not where else label, value, kind, remark)]
