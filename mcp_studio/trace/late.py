"""What the trace needs only once there is something to keep, or somebody looks at a message: imported then."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.trace.lint.rules import Spot
from mcp_studio.trace.message import WireMessage


def check_typed(entries: Sequence[tuple[WireMessage, str]]) -> list[list[Spot]]:
    """Messages, each with its version, through `lint.typed.check_all`; slow, for a thread."""
    from mcp_studio.trace.lint.typed import Job, check_all

    jobs = [Job(entry.direction, entry.kind, entry.method, version, entry.body) for entry, version in entries]
    return check_all(jobs)
