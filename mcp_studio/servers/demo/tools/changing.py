"""Tools that change what the server offers, while it runs."""

from __future__ import annotations

from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

from mcp_studio.servers.demo import content
from mcp_studio.servers.demo.content import Result
from mcp_studio.servers.demo.tool import READ, SET, Args, Toolbox, inputs
from mcp_studio.servers.demo.turn import Turn

TOOLS = Toolbox()
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
