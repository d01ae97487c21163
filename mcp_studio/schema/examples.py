"""Filling a form with an example: a value that its schema allows.

Everything is made up from the schema, and the same for the same seed. A pattern of a server is read by `regex`, and
never run where it could take long. A schema can ask for more than is made up, or for what is not known here; the
example then says so.
"""

from __future__ import annotations

from typing import Literal

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.check import quick
from mcp_studio.schema.example_leaves import Cannot
from mcp_studio.schema.example_valid import Maker
from mcp_studio.schema.field import Form
from mcp_studio.schema.fits import Judge
from mcp_studio.schema.resolve import Resolver

Kind = Literal["minimal", "typical", "full"]
KINDS: tuple[Kind, ...] = ("minimal", "typical", "full")
_LABELS = ("only what is required", "typical values", "everything filled in")
_ATTEMPTS = 4
"""Values that are made up for one example, as long as something speaks against them."""
_SPENT = 1_000
"""Fields of a value that is too large to be made up once more."""


@record(frozen=True)
class Example:
    """A value made up for a form."""

    label: str
    """How much of the form it fills in."""
    value: Json
    kind: Kind
    remark: str = ""
    """Why it may not be what it says, as a sentence; empty when nothing speaks against it."""


def example(form: Form, kind: Kind, seed: int = 0) -> Example:
    """The first value that nothing speaks against; else the first, with what speaks against it."""
    at = KINDS.index(kind)
    found: Example | None = None
    for attempt in range(_ATTEMPTS):
        maker = Maker(at, seed + 1_000 * attempt)
        try:
            value = maker.make(form.top)
        except Cannot as problem:
            return found or Example(_LABELS[at], {}, kind, f"No valid value was found: {problem}.")
        remark = " ".join(dict.fromkeys(maker.remarks)) or _doubt(form, value)
        if not remark:
            return Example(_LABELS[at], value, kind)
        found = found or Example(_LABELS[at], value, kind, remark)
        if maker.spent > _SPENT:
            break
    return found or Example(_LABELS[at], {}, kind, "No valid value was found.")


def valid(form: Form, seed: int = 0) -> tuple[Example, ...]:
    """A minimal, a typical and a full value; each of them once."""
    found = [example(form, kind, seed) for kind in KINDS]
    return tuple(one for index, one in enumerate(found) if all(one.value != other.value for other in found[:index]))


def _doubt(form: Form, value: Json) -> str:
    """What speaks against a value being valid, as a sentence; empty when nothing does that is known here."""
    wrong = next((problem for problem in quick(form, value) if problem.severity == "error"), None)
    if wrong:
        return f"{wrong.said}."
    if isinstance(form.schema, dict) and Judge(Resolver(form.schema)).wrong(form.schema, value):
        return "It breaks a rule of the schema that is not known here in words."
    return ""
