"""Every tool of the demo server, by theme."""

from __future__ import annotations

from mcp_studio.servers.demo.tool import Tool
from mcp_studio.servers.demo.tools import asking, failures, forms, results, running, shelves
from mcp_studio.servers.demo.tools import failures as changing


def all_tools() -> list[Tool]:
    """All tools in the order of the list: the shop first, then what there is to try."""
    boxes = (
        shelves.TOOLS,
        running.TOOLS,
        asking.TOOLS,
        results.TOOLS,
        forms.TOOLS,
        changing.TOOLS,
        failures.TOOLS,
    )
    return [tool for box in boxes for tool in box]
