"""What a call needs only for the file of a skill: imported then."""

from __future__ import annotations

from mcp_studio.catalog.skills import Skill, Verdict
from mcp_studio.jsontext import Json


def verify(skill: Skill, uri: str, result: Json) -> Verdict:
    """See `catalog.verifying.verify`."""
    from mcp_studio.catalog.verifying import verify as check

    return check(skill, uri, result)
