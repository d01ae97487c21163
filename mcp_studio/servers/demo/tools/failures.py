"""Tools that fail, each in its own way."""

from __future__ import annotations

import os
import sys

from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from mcp_studio.servers.demo import tool as content
from mcp_studio.servers.demo.tool import READ, SET, Args, Result, Toolbox, inputs
from mcp_studio.servers.demo.turn import ToolTrouble, Turn

TOOLS = Toolbox()


@TOOLS.tool(
    "fail_as_tool",
    "Fail as a tool",
    "A result marked as an error (isError): the tool ran and could not do it.",
    inputs({"reason": {"type": "string", "default": "The shop is closed on Sundays."}}),
)
async def fail_as_tool(turn: Turn, args: Args) -> Result:
    """A tool error."""
    raise ToolTrouble(args.get("reason", "The shop is closed on Sundays."))


@TOOLS.tool(
    "fail_as_request",
    "Fail as a request",
    "A JSON-RPC error instead of a result: the request itself is refused.",
    inputs({"code": {"type": "integer", "default": -31050}, "message": {"type": "string", "default": "Not today"}}),
)
async def fail_as_request(turn: Turn, args: Args) -> Result:
    """A JSON-RPC error with data."""
    data = {"opens": "9:00", "shelves": ["poetry", "travel"]}
    raise MCPError(args.get("code", -31050), args.get("message", "Not today"), data)


@TOOLS.tool(
    "fail_by_exception",
    "Fail by an exception",
    "An exception that the tool does not catch; its traceback goes to stderr.",
    inputs(),
)
async def fail_by_exception(turn: Turn, args: Args) -> Result:
    """A bug."""
    raise RuntimeError("the ladder slipped")


@TOOLS.tool(
    "fail_output_schema",
    "Break the output schema",
    "Promises a whole number and answers with a word: the structured result breaks its own schema.",
    inputs(),
    output={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
)
async def fail_output_schema(turn: Turn, args: Args) -> Result:
    """A structured result that is wrong."""
    return content.result("Many.", structured={"count": "many"})


@TOOLS.tool(
    "fail_by_leaving",
    "Fail by leaving",
    "The server process ends in the middle of the call. Reconnect afterwards.",
    inputs({"exit_code": {"type": "integer", "minimum": 0, "maximum": 255, "default": 3}}),
    hints={"destructiveHint": True},
)
async def fail_by_leaving(turn: Turn, args: Args) -> Result:
    """A crash."""
    sys.stderr.write("The shop burned down.\n")
    sys.stderr.flush()
    os._exit(args.get("exit_code", 3))


GUESTS = Toolbox()
"""Tools that are there only while the guest is."""

_PRESENT = {"present": {"type": "boolean", "default": True, "description": "false takes it away again"}}


@TOOLS.tool(
    "invite_guest",
    "Invite a guest",
    "Adds the tool read_palm to this server, or takes it away: the list of tools changes while you look.",
    inputs(_PRESENT),
    hints=SET,
)
async def invite_guest(turn: Turn, args: Args) -> Result:
    """Add or remove a tool."""
    turn.shop.guest = args.get("present", True)
    await turn.audience.tell(ToolsListChanged())
    return content.result("The guest is here: try read_palm." if turn.shop.guest else "The guest has left.")


@TOOLS.tool(
    "announce_reading",
    "Announce a reading",
    "Adds the prompt invitation to this server, or takes it away: the list of prompts changes.",
    inputs(_PRESENT),
    hints=SET,
)
async def announce_reading(turn: Turn, args: Args) -> Result:
    """Add or remove a prompt."""
    turn.shop.reading = args.get("present", True)
    await turn.audience.tell(PromptsListChanged())
    return content.result("Announced: see the prompt invitation." if turn.shop.reading else "The reading is cancelled.")


@GUESTS.tool("read_palm", "Read a palm", "Only here while the guest is.", inputs(), hints=READ)
async def read_palm(turn: Turn, args: Args) -> Result:
    """The guest's tool."""
    return content.result("You will read a long book about moss.")
