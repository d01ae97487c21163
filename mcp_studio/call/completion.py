"""Values that a server suggests for an argument (specification, server/utilities/completion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import ProtocolError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.versions import at_least
from mcp_studio.record import record
from mcp_studio.session.manager import ConnectionManager

MOST = 100
"""Values of one answer; the specification allows no more."""
_COUNTABLE = 10**12
"""A larger total is none that anybody has counted."""


@record(frozen=True)
class Completion:
    """One answer."""

    values: tuple[str, ...] = ()
    """At most 100, foreign text as it came."""
    total: int | None = None
    """How many there are in all, where the server says."""
    has_more: bool = False
    """There are more than these."""
    declared: bool = True
    """The server declares `completions`; where it does not, it was not asked."""

    @property
    def count(self) -> str:
        """`2 of 120`, `100 and more`, or an empty string where these are all."""
        if self.total is not None and self.total > len(self.values):
            return f"{len(self.values)} of {self.total:,}"
        return f"{len(self.values)} and more" if self.has_more else ""


async def complete(
    manager: ConnectionManager, ref: Ref, argument: str, value: str, known: Mapping[str, str]
) -> Completion:
    """Ask for the values of an argument of a prompt, or of a variable of a template.

    Args:
        known: the other arguments so far; sent as context in versions that know it (since 2025-06-18).

    Raises:
        StudioError: not connected, no answer, a refusal, or an answer without values.
    """
    status = manager.status(ref.server)
    connection = manager.connection(ref.server)
    if "completions" not in (status.capabilities or {}):
        return Completion(declared=False)
    subject = {"type": "ref/prompt", "name": ref.name}
    if ref.kind == "template":
        subject = {"type": "ref/resource", "uri": ref.name}
    params: dict[str, Json] = {"ref": subject, "argument": {"name": argument, "value": value}}
    if known and at_least(status.version, "2025-06-18"):
        params["context"] = {"arguments": dict(known)}
    event = (await connection.request("completion/complete", params)).event
    if not isinstance(event, Answered):
        raise ProtocolError(f"The server refused completion/complete: {event.said}.")
    return read(event.result)


def read(result: Json) -> Completion:
    """The values in a result.

    Raises:
        ProtocolError: there are none.
    """
    found = result.get("completion") if isinstance(result, dict) else None
    known = cast("dict[str, Json]", found) if isinstance(found, dict) else {}
    values, total = known.get("values"), known.get("total")
    if not isinstance(values, list):
        raise ProtocolError("The answer to completion/complete has no array 'values'.")
    texts = [item for item in cast("list[Json]", values) if isinstance(item, str)]
    usable = isinstance(total, int) and not isinstance(total, bool) and 0 <= total <= _COUNTABLE
    return Completion(
        tuple(texts[:MOST]),
        int(cast("int", total)) if usable else None,
        known.get("hasMore") is True or len(texts) > MOST,
    )
