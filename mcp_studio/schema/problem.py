"""What checking a value against a schema found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Severity = Literal["error", "warning"]


class SchemaProblem(NamedTuple):
    """One thing wrong with a value, at a JSON pointer."""

    pointer: str
    message: str
    severity: Severity = "error"

    @property
    def place(self) -> str:
        """Where it is, by names: the property `a/b` for `/a~1b`, `list › 0` for `/list/0`; foreign text."""
        parts = (part.replace("~1", "/").replace("~0", "~") for part in self.pointer.split("/")[1:])
        return " › ".join(parts)

    @property
    def said(self) -> str:
        """Where and what, in a line; foreign text."""
        return f"{self.place} {self.message}".strip()


def errors(problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """Those that are more than warnings."""
    return [problem for problem in problems if problem.severity == "error"]
