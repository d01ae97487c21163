"""What is wrong with a query, and where."""

from __future__ import annotations

from mcp_studio.errors import StudioError, UsageError


class QueryError(UsageError):
    """A text that is no query.

    Attributes:
        start: where in the text the wrong part begins; the text's length where something is missing at its end.
        end: where it ends, at least `start`.
    """

    def __init__(self, message: str, start: int, end: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.start = start
        self.end = end


class TooSlow(StudioError):
    """A regex that needed too long for a body; it was given up."""
