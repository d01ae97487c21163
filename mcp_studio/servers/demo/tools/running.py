"""Tools that take their time: progress, cancellation, logging, noise on stderr."""

from __future__ import annotations

import sys
import time
from typing import Any

import anyio
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult

from mcp_studio.servers.demo import tool
from mcp_studio.servers.demo.shop import GENRES
from mcp_studio.servers.demo.tool import READ, Args, Result, Schema, Toolbox, inputs, whole
from mcp_studio.servers.demo.turn import LEVELS, Turn

TOOLS = Toolbox()

BIND = "bind_edition"
BINDING = inputs(
    {
        "copies": whole(1, 100, 5, "How many"),
        "seconds_per_copy": {"type": "number", "minimum": 0, "maximum": 60, "default": 1},
        "ask": {"type": "boolean", "default": False, "description": "Have the colour of the cover asked"},
    }
)
COUNTS: Schema = {
    "type": "object",
    "properties": {
        "copies": {"type": "integer"},
        "shelves": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["copies", "shelves"],
}


@TOOLS.tool(
    "take_stock",
    "Take stock",
    "Count every shelf, with a progress message for each.",
    inputs({"seconds_per_shelf": {"type": "number", "minimum": 0, "maximum": 60, "default": 0.5}}),
    hints=READ,
    output=COUNTS,
)
async def take_stock(turn: Turn, args: Args) -> Result:
    """Progress with known steps."""
    counts: dict[str, int] = {}
    for number, genre in enumerate(GENRES):
        await turn.progress(number, len(GENRES), f"Counting {genre}")
        await anyio.sleep(args.get("seconds_per_shelf", 0.5))
        counts[genre] = sum(book.stock for book in turn.shop.books(genre))
    await turn.progress(len(GENRES), len(GENRES), "Done")
    copies = sum(counts.values())
    return tool.result(f"{copies} copies on {len(counts)} shelves.", structured={"copies": copies, "shelves": counts})


@TOOLS.tool(
    "wait_for_parcel",
    "Wait for a parcel",
    "Take some seconds, with progress of unknown length. Cancel it: the server stops at once and says so on stderr.",
    inputs({"seconds": {"type": "number", "minimum": 0, "maximum": 3600, "default": 10}}),
    hints=READ,
)
async def wait_for_parcel(turn: Turn, args: Args) -> Result:
    """Slow, cancellable, progress without a total."""
    seconds = args.get("seconds", 10)
    began = time.monotonic()
    streets = 0
    try:
        while (left := began + seconds - time.monotonic()) > 0:
            await turn.progress(streets, None, f"The parcel is {streets} streets closer")
            streets += 1
            await anyio.sleep(min(1.0, left))
    except anyio.get_cancelled_exc_class():
        _to_stderr(f"wait_for_parcel was cancelled after {time.monotonic() - began:.1f} s")
        raise
    return tool.result(f"The parcel came after {seconds:g} seconds.")


@TOOLS.tool(
    BIND,
    "Bind an edition",
    "Bind copies, as a task for clients that can follow one. With `ask` the work stops until a colour is known.",
    BINDING,
    hints=READ,
    execution={"taskSupport": "optional"},
)
async def bind_edition(turn: Turn, args: Args) -> Result:
    """The same without a task: the call waits."""
    copies = args.get("copies", 5)
    colour = ""
    if args.get("ask", False):
        params = ElicitRequestFormParams(message=QUESTION, requested_schema=FORM)
        answer = await turn.ask("colour", ElicitRequest(params=params), ElicitResult)
        colour = str((answer.content or {}).get("colour", "")) if answer.action == "accept" else ""
    for number in range(copies):
        await turn.progress(number, copies, f"{number} of {copies} copies bound")
        await anyio.sleep(args.get("seconds_per_copy", 1))
    return tool.result(f"{copies} copies are bound{f' in {colour}' if colour else ''}.")


@TOOLS.tool(
    "log_every_level",
    "Log at every level",
    "Send one log message per level, from debug to emergency. A client gets those that it asked for.",
    inputs(),
    hints=READ,
)
async def log_every_level(turn: Turn, args: Args) -> Result:
    """Eight log messages."""
    sent = [
        level for level in LEVELS if await turn.log(level, {"shelf": "travel", "text": f"This is the level {level}"})
    ]
    return tool.result(f"Sent: {', '.join(sent) or 'none; this request asked for no log messages'}")


@TOOLS.tool(
    "write_to_stderr",
    "Write to stderr",
    "Write lines to the server's standard error output.",
    inputs({"lines": whole(1, 10_000, 5, "How many"), "text": {"type": "string", "default": "the cat is on the till"}}),
    hints=READ,
)
async def write_to_stderr(turn: Turn, args: Args) -> Result:
    """Noise beside the protocol."""
    lines = args.get("lines", 5)
    words = args.get("text", "the cat is on the till")
    for number in range(1, lines + 1):
        _to_stderr(f"{number}: {words}")
    return tool.result(f"Wrote {lines} lines to stderr.")


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


QUESTION = "Which colour should the cover have?"


COLOURS = ("red", "green", "blue")
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "title": "Colour", "enum": list(COLOURS)}},
    "required": ["colour"],
}
