"""`python -m mcp_studio.servers.module FILE`: serve the functions and tools of a Python file on stdin and stdout."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

import anyio
import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from mcp_studio import __version__
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import printable
from mcp_studio.registry.objects import ToolObjects, description_of, schema_of
from mcp_studio.toolset.module import tools_in

Context = ServerRequestContext[Any, Any]


class ModuleServer:
    """The handlers of the two requests that it is about."""

    def __init__(self, objects: ToolObjects) -> None:
        self._objects = objects

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """tools/list."""
        tools = [
            {"name": name, "description": description_of(tool), "inputSchema": schema_of(tool) or {"type": "object"}}
            for name, tool in self._objects.tools.items()
        ]
        return {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """tools/call: what the tool raises is a tool error, and its traceback goes to standard error."""
        if params.name not in self._objects.tools:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        try:
            value = await self._objects.acall(params.name, (ctx.params or {}).get("arguments") or {})
            return {"resultType": "complete", **result_of(value)}
        except StudioError as problem:
            said = problem.message
        except Exception as problem:  # the person's own code
            traceback.print_exc(file=sys.stderr)
            said = f"{type(problem).__name__}: {problem}"
        return {"resultType": "complete", "isError": True, "content": [{"type": "text", "text": said}]}


def result_of(value: Any) -> dict[str, Any]:
    """What a tool has returned as a result: text as it is, an object as structured content too, all else as JSON."""
    if value is None:
        return {"content": []}
    try:
        text = value if isinstance(value, str) else printable(value)
    except (TypeError, ValueError):
        text = str(value)
    structured = {"structuredContent": value} if isinstance(value, dict) and text[:1] == "{" else {}
    return {"content": [{"type": "text", "text": text}], **structured}


async def serve(file: Path, source: TextIO, sink: TextIO) -> None:
    """Serve one client until it closes `source`.

    Raises:
        StudioError: the file cannot be used.
    """
    handlers = ModuleServer(ToolObjects(tools={tool.name: tool for tool in tools_in(file)}))
    server: Server[Any] = Server(file.stem, version=__version__, instructions=f"The tools of {file.name}.")
    server.add_request_handler("tools/list", types.PaginatedRequestParams, handlers.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, handlers.call_tool)
    async with stdio_server(anyio.wrap_file(source), anyio.wrap_file(sink)) as streams:
        await server.run(*streams, server.create_initialization_options())


def main() -> int:
    """Serve the file that the command line names."""
    if len(sys.argv) != 2:
        sys.stderr.write("Usage: python -m mcp_studio.servers.module FILE\n")
        return 2
    # What the file prints is for a person: standard output is the protocol's alone.
    source, sink = open(os.dup(0), encoding="utf-8", errors="replace"), open(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)
    try:
        anyio.run(serve, Path(sys.argv[1]), source, sink)
    except StudioError as problem:
        sys.stderr.write(f"{problem.message} {problem.hint}".strip() + "\n")
        return problem.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
