"""What checking a value against a schema found."""

from __future__ import annotations

from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class SchemaProblem(NamedTuple):
    """One thing wrong with a value, at a JSON pointer."""

    pointer: str
    message: str
    severity: Severity = "error"
