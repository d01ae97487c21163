"""`python -m mcp_studio.servers.module FILE`: serve the functions and tools of a Python file on stdin and stdout."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import mapping, printable
from mcp_studio.protocol.versions import INVALID_PARAMS
from mcp_studio.servers import stdio
from mcp_studio.servers.toolserver import Answer, RequestError, ToolPeer, ToolServer, Turn
from mcp_studio.toolset.function import tool_of
from mcp_studio.toolset.registry import Tool, ToolObjects

NAME = "mcp_studio_module"
"""The module's name while it runs: no module that it imports has this name."""


def tools_in(file: Path) -> list[Tool]:
    """Run a file and collect its tools: those that its `__all__` names, else all public ones of its own.

    Raises:
        UsageError: there is no such file, or it has no tools.
        StudioError: the file cannot be run, or an object in it cannot be a tool; the error says where.
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
    except (Exception, SystemExit) as problem:  # a person's own code can raise anything
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


def result_of(value: Any) -> Answer:
    """The result of a tool's return value: a text unchanged, an object with structured content, others as JSON."""
    if value is None:
        return {"content": []}
    try:
        text = value if isinstance(value, str) else printable(value)
    except (TypeError, ValueError):
        text = str(value)
    structured = {"structuredContent": value} if isinstance(value, dict) and text[:1] == "{" else {}
    return {"content": [{"type": "text", "text": text}], **structured}


def build(file: Path) -> ToolServer:
    """Build a server of the tools in a file.

    Raises:
        StudioError: the file cannot be used.
    """
    objects = ToolObjects(tools=tools_in(file))

    async def listed(turn: Turn) -> Answer:
        return {"tools": [
            {"name": name, "description": one["description"], "inputSchema": one["input_schema"] or {"type": "object"}}
            for name, one in objects.describe().items()
        ]}  # fmt: skip

    async def called(turn: Turn) -> Answer:
        """Call a tool; an exception becomes a tool error, and its traceback goes to standard error."""
        name = str(turn.request.params.get("name"))
        if name not in objects.tools:
            raise RequestError(INVALID_PARAMS, f"Unknown tool: {name[:100]}")
        try:
            return result_of(await objects.acall(name, mapping(turn.request.params.get("arguments"))))
        except StudioError as problem:
            said = problem.message
        except Exception as problem:  # a person's own code
            traceback.print_exc(file=sys.stderr)
            said = f"{type(problem).__name__}: {problem}"
        return {"isError": True, "content": [{"type": "text", "text": said}]}

    server = ToolServer(file.stem, file.stem, f"The tools of {file.name}.")
    server.handlers |= {"tools/list": listed, "tools/call": called}
    return server


def main() -> int:
    """Serve the file that the command line names."""
    if len(sys.argv) != 2:
        sys.stderr.write("Usage: python -m mcp_studio.servers.module FILE\n")
        return 2
    # The file may print for a person, but standard output belongs to the protocol.
    source, sink = open(os.dup(0), "rb", 0), open(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)
    try:
        asyncio.run(stdio.serve(ToolPeer(build(Path(sys.argv[1]))), source, sink))
    except StudioError as problem:
        sys.stderr.write(f"{problem.message} {problem.hint}".strip() + "\n")
        return problem.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
