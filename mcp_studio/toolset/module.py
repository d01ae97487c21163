"""The tools in a Python file: its public functions, and its objects that have a name and can be called."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.registry.objects import Tool
from mcp_studio.toolset.function import tool_of

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
        raise StudioError(f"{file}, line {line}: {type(problem).__name__}: {problem}") from None
    return module


def _public(module: ModuleType) -> Iterator[tuple[str, object]]:
    named = getattr(module, "__all__", None)
    for name, thing in vars(module).copy().items():
        own = inspect.isfunction(thing) and thing.__module__ == NAME
        tool = not inspect.isclass(thing) and isinstance(getattr(thing, "name", None), str) and hasattr(thing, "call")
        if name in named if named is not None else not name.startswith("_") and (own or tool):
            yield name, thing
