"""`python -m mcp_studio.servers.module FILE`: serve the functions and tools of a Python file on stdin and stdout."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import anyio
import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from mcp_studio import __version__
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import printable
from mcp_studio.toolset.function import tool_of
from mcp_studio.toolset.registry import Tool, ToolObjects

Context = ServerRequestContext[Any, Any]
NAME = "mcp_studio_module"
"""What the module is called while it runs, so that nothing that it imports is hidden by it."""


def tools_in(file: Path) -> list[Tool]:
    """Run a file and take its tools: what its `__all__` names, else all that is public and its own.

    Raises:
        UsageError: there is no such file, or it has no tools.
        StudioError: it cannot be run, or something in it cannot be a tool; says where.
    """
    if not file.is_file():
        raise UsageError(f"There is no file {file}.")
    tools: dict[str, Tool] = {}
    for name, thing in _public(_run(file)):
        try:
            tool = tool_of(thing)
        except TypeError as problem:
            raise StudioError(f"{file}: {name}: {problem}") from None
        if tool.name in tools:
            raise StudioError(f"{file}: two tools are called {tool.name!r}.")
        tools[tool.name] = tool
    if not tools:
        hint = "Public functions, and objects with `name` and `call(arguments)`, become tools."
        raise UsageError(f"{file} has no tools.", hint=hint)
    return list(tools.values())


def _run(file: Path) -> ModuleType:
    module = ModuleType(NAME)
    module.__file__ = str(file)
    sys.modules[NAME] = module  # annotations are looked up there
    sys.path.insert(0, str(file.absolute().parent))
    try:
        exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
    except (Exception, SystemExit) as problem:  # code of a person's own: anything can happen
        lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(file)]
        line = problem.lineno if isinstance(problem, SyntaxError) else lines[-1] if lines else 0
        said = problem.msg if isinstance(problem, SyntaxError) else problem
        raise StudioError(f"{file}, line {line}: {type(problem).__name__}: {said}") from None
    return module


def _public(module: ModuleType) -> Iterator[tuple[str, object]]:
    named = getattr(module, "__all__", None)
    for name, thing in vars(module).copy().items():
        own = inspect.isfunction(thing) and thing.__module__ == NAME
        tool = not inspect.isclass(thing) and isinstance(getattr(thing, "name", None), str) and hasattr(thing, "call")
        if name in named if named is not None else not name.startswith("_") and (own or tool):
            yield name, thing


class ModuleServer:
    """The handlers of the two requests that it is about."""

    def __init__(self, objects: ToolObjects) -> None:
        self._objects = objects

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """tools/list."""
        tools = [
            {"name": name, "description": one["description"], "inputSchema": one["input_schema"] or {"type": "object"}}
            for name, one in self._objects.describe().items()
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
    handlers = ModuleServer(ToolObjects(tools=tools_in(file)))
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
