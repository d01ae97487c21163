"""Checking the structured content of a result against the tool's outputSchema (specification, server/tools)."""

from __future__ import annotations

from mcp_studio.call.call import Call
from mcp_studio.call.outcome import Succeeded
from mcp_studio.jsontext import mapping
from mcp_studio.limits import MB
from mcp_studio.protocol.views import ToolView
from mcp_studio.schema.worker import Checker
from mcp_studio.trace.server_tap import ServerTap

_CHECKED = 2 * MB
"""Larger results are not checked."""


async def structured_problems(call: Call, tool: ToolView | None, tap: ServerTap, checker: Checker) -> tuple[str, ...]:
    """What does not match, in words; the call learns the places, the trace what is wrong."""
    outcome = call.outcome
    if tool is None or tool.output_schema is None or not isinstance(outcome, Succeeded):
        return ()
    result = mapping(outcome.result)
    if "structuredContent" not in result:
        missing = "The tool has an outputSchema, but the result has no structuredContent."
        tap.judged(outcome.request_id, [("", missing)])
        return (missing,)
    if outcome.size > _CHECKED:
        return ("The structuredContent is too large to be checked.",)
    found = await checker.check(tool.output_schema, result["structuredContent"])
    call.violated(found)
    tap.judged(outcome.request_id, [(item.pointer, item.message) for item in found if item.severity == "error"])
    return tuple(f"structuredContent{item.pointer}: {item.message}" for item in found)
