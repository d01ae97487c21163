"""A server as people write them, with the SDK's MCPServer: a little of everything, for end-to-end tests."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import anyio
import sdk_serving
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    EmptyResult,
    PromptReference,
    ResourceTemplateReference,
    SubscribeRequestParams,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

server: MCPServer[Any] = MCPServer(
    "everything-for-tests", version="1.2.3", instructions="Call echo.", log_level="WARNING"
)

NOTE = "note://today"
notes = {"today": "nothing yet"}
subscribed: set[str] = set()


class Point(BaseModel):
    """A point."""

    x: int
    y: int = 0
    label: str = "here"


class Guest(BaseModel):
    """The form of `ask`."""

    name: str = Field(min_length=1, title="Name")
    age: int = Field(ge=0, default=30)
    vegetarian: bool = False


@server.tool(title="Echo", annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Say it back."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool()
def shift(point: Point, by: int = 1) -> Point:
    """Move a point to the right."""
    return point.model_copy(update={"x": point.x + by})


@server.tool()
def fail(reason: str = "as you wish") -> str:
    """Fail as a tool (isError)."""
    raise ToolError(reason)


@server.tool()
def refuse() -> str:
    """Fail as a request (a JSON-RPC error)."""
    raise MCPError(-31050, "not today", {"hint": "tomorrow"})


@server.tool()
def crash() -> str:
    """Fail by a bug."""
    raise RuntimeError("a bug")


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def leave(code: int = 7) -> str:
    """End the process in the middle of the call."""
    os._exit(code)


@server.tool()
async def slow(ctx: Context[Any, Any], seconds: float = 1.0, steps: int = 4) -> str:
    """Take some time and report progress; tells on stderr when it is cancelled."""
    try:
        for step in range(steps):
            await ctx.report_progress(step, steps, f"step {step} of {steps}")
            await anyio.sleep(seconds / steps)
    except anyio.get_cancelled_exc_class():
        print("slow was cancelled", file=sys.stderr, flush=True)
        raise
    return "done"


async def guest() -> Elicit[Guest]:
    """The question of `ask`, as a resolver: it works in both eras."""
    return Elicit("Who are you?", Guest)


@server.tool()
async def ask(answer: Annotated[ElicitationResult[Guest], Resolve(guest)]) -> str:
    """Ask the person for a name and an age."""
    if isinstance(answer, AcceptedElicitation):
        return f"{answer.data.name}, {answer.data.age}, {'green' if answer.data.vegetarian else 'any'}"
    return answer.action


@server.tool()
async def grow(ctx: Context[Any, Any], name: str = "grown") -> str:
    """Add a tool at run time."""

    def grown() -> str:
        """A tool that was not there before."""
        return "new"

    server.add_tool(grown, name=name)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return f"added {name}"


@server.tool()
async def write_note(ctx: Context[Any, Any], text: str) -> str:
    """Change the resource note://today."""
    notes["today"] = text
    await ctx.notify_resource_updated(NOTE)
    if NOTE in subscribed:
        await ctx.session.send_resource_updated(NOTE)
    return "written"


@server.tool()
def big(kilobytes: int = 100) -> str:
    """A long text."""
    return ("0123456789abcde\n" * 64) * kilobytes


@server.tool()
def environment(name: str) -> str:
    """The value of an environment variable, or an empty string."""
    return os.environ.get(name, "")


@server.tool()
def folder() -> str:
    """The folder in which the server runs."""
    return os.getcwd()


@server.tool()
def stderr(text: str, lines: int = 1) -> str:
    """Write to stderr."""
    for _ in range(lines):
        print(text, file=sys.stderr, flush=True)
    return "written"


@server.tool()
def header(name: str, ctx: Context[Any, Any]) -> str:
    """A header of the HTTP request that carried this call."""
    return (ctx.headers or {}).get(name.lower(), "")


@server.resource(NOTE, mime_type="text/plain")
def note() -> str:
    """A note that write_note changes."""
    return notes["today"]


@server.resource("blob://bytes", mime_type="application/octet-stream")
def blob() -> bytes:
    """Sixteen bytes."""
    return bytes(range(16))


@server.resource("text://readme", mime_type="text/markdown")
def readme() -> str:
    """Markdown."""
    return "# Read me\n\nPlease."


@server.resource("word://{word}/{count}", mime_type="text/plain")
def words(word: str, count: int) -> str:
    """A word several times."""
    return " ".join([word] * count)


@server.prompt()
def greet(name: str, mood: str = "glad") -> str:
    """Greet somebody."""
    return f"Say hello to {name}, and be {mood}."


@server.prompt()
def plain() -> str:
    """No arguments."""
    return "Say something."


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: CompletionContext | None
) -> Completion:
    """Names for greet, words for the template."""
    known = {"name": ["Ada", "Alan", "Grace"], "mood": ["glad", "grumpy"], "word": ["one", "only", "two"]}
    found = [value for value in known.get(argument.name, []) if value.startswith(argument.value)]
    return Completion(values=found, total=len(found), has_more=False)


async def subscribe(ctx: object, params: SubscribeRequestParams) -> EmptyResult:
    """resources/subscribe of older clients; one client at a time is enough for tests."""
    subscribed.add(params.uri)
    return EmptyResult()


async def unsubscribe(ctx: object, params: UnsubscribeRequestParams) -> EmptyResult:
    """resources/unsubscribe of older clients."""
    subscribed.discard(params.uri)
    return EmptyResult()


def main() -> None:
    """Serve as the options say; `--tools N` adds N small tools."""
    parser = sdk_serving.options()
    parser.add_argument("--tools", type=int, default=0, help="further tools, named tool_0001 and so on")
    given = parser.parse_args()
    for number in range(1, given.tools + 1):
        server.add_tool(echo, name=f"tool_{number:04}", description=f"Echo number {number}.")
    server._lowlevel_server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    server._lowlevel_server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
    sdk_serving.serve(server, given)


if __name__ == "__main__":
    main()
