"""What a server offers for a field. Imports nothing, so that the main screen can name it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from mcp_studio.record import record


@record(frozen=True)
class Offer:
    """One answer of a server (server/utilities/completion)."""

    values: Sequence[str] = ()
    """Foreign text as it came."""
    count: str = ""
    """`20 of 120`, where these are not all."""


Complete = Callable[[str, str], Awaitable[Offer]]
"""Given a field's name and what is typed, what the server offers for it; it never raises."""
