"""Toolsets: tools of a program, of a server at a URL or of a whole studio, as coroutine functions and for models."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import load
from mcp_studio.config.model import Config, ServerConfig, Timeouts
from mcp_studio.config.secrets import secret_values
from mcp_studio.config.servers import wrong_address
from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, items_of, mapping, printable
from mcp_studio.paths import Paths
from mcp_studio.present.outcomes import failure
from mcp_studio.registry.record import ToolRecord, listed_by
from mcp_studio.studio import Studio
from mcp_studio.toolset.function import ToolFunction, function_of, tool_of
from mcp_studio.toolset.registry import CallRules, ToolObjects, record_of

LONGEST = 64
"""The most characters of a name that the APIs of models accept."""


class NotConnected(Unreachable):
    """The toolset is not connected, or not any more."""


class ToolsetOptions(TypedDict, total=False):
    """The options of every toolset."""

    filter: Callable[[ToolRecord], bool] | Sequence[str]
    """The tools of the toolset: patterns of names such as `read_*`, or a function that returns whether to include a
    tool."""
    prefix: str
    """A prefix for the name of every tool."""
    raw: bool
    """Whether calls return the server's whole result, and not its text."""
    reconnect: bool
    """Whether a call restarts a server that has ended; True by default."""
    timeout: float
    """Seconds for connecting, and for each call."""


class Toolset:
    """The base of all toolsets. Use one as `async with … as toolset`, or call `connect` and `disconnect`.

    Tools can be called from any loop and thread while the loop that connected runs.
    """

    def __init__(self, **options: Unpack[ToolsetOptions]) -> None:
        self._options = options
        seconds = options.get("timeout")
        self._timeouts = Timeouts(seconds, seconds, seconds, "timeout") if seconds else Timeouts()
        self._exit_stack: AsyncExitStack | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._studio: Studio
        self._approved = True
        """Whether the program consents to all calls: it named the server itself."""
        self._functions: dict[str, ToolFunction] = {}
        self.problems: dict[str, StudioError] = {}
        """The servers that could not be reached, and why."""

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.disconnect()

    @property
    def is_connected(self) -> bool:
        """Whether the tools can be called."""
        return self._exit_stack is not None

    async def connect(self) -> None:
        """Start or reach the servers, and list their tools; does nothing if the toolset is connected.

        Raises:
            StudioError: a server cannot be started or reached.
        """
        if self._exit_stack is not None:
            return
        async with AsyncExitStack() as stack:
            self._loop = asyncio.get_running_loop()
            await self._open(stack)
            self._set_tools(await self._list_tools())
            self._exit_stack = stack.pop_all()

    async def disconnect(self) -> None:
        """Disconnect; it may be called more than once."""
        stack, self._exit_stack = self._exit_stack, None
        if stack is not None:
            await stack.aclose()

    async def refresh_tools(self) -> list[ToolFunction]:
        """List the tools again.

        Raises:
            NotConnected: the toolset is not connected.
        """
        self._check_connected()
        self._set_tools(await self._list_tools(again=True))
        return self.get_tools()

    def get_tools(self) -> list[ToolFunction]:
        """The tools, as last listed.

        Raises:
            NotConnected: the toolset is not connected.
        """
        self._check_connected()
        return list(self._functions.values())

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool by the name that models use, as it is in their answers.

        Raises:
            KeyError: there is no tool of this name.
            NotConnected: the toolset is not connected.
            StudioError: the call failed; `present.outcomes.ToolError` if the tool itself says so.
        """
        self._check_connected()
        return await self._functions[name].call(dict(arguments or {}))

    def openai_tools(self, api: Literal["chat", "responses"] = "chat") -> list[dict[str, Any]]:
        """The definitions of the tools for OpenAI's Chat Completions or Responses API."""
        tools = self._definitions("parameters")
        return [{"type": "function", **(one if api == "responses" else {"function": one})} for one in tools]

    def anthropic_tools(self) -> list[dict[str, Any]]:
        """The definitions of the tools for Anthropic's Messages API."""
        return self._definitions("input_schema")

    def _definitions(self, key: str) -> list[dict[str, Any]]:
        return [{"name": one.name, "description": one.description, key: one.input_schema} for one in self.get_tools()]

    # ------------------------------------------------------------------ for subclasses

    async def _open(self, stack: AsyncExitStack) -> None:
        """Set `_studio` to an open studio; `stack` closes what this opens."""
        raise NotImplementedError

    def _name(self, record: ToolRecord) -> str:
        """The name of a tool before the prefix and the replacement of characters that models do not accept."""
        return record.tool

    async def _list_tools(self, again: bool = False) -> list[ToolRecord]:
        """The tools; `again` lists them anew."""
        manager, tools, self.problems = self._studio.manager, list[ToolRecord](), {}
        for name in manager.names():
            if again and manager.status(name).state == "ready":
                manager.refresher.again(name)
            status = await manager.settle(name)
            if status.state != "ready":
                self.problems[name] = status.error or Unreachable(f"{name} is {status.state}.")
                continue
            await manager.listed(name)
            entries = self._studio.catalog.listing(name, "tool").entries
            tools += listed_by(name, (entry.view.raw for entry in entries if not entry.excluded))
        return tools

    async def _call(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        studio, status = self._studio, self._studio.manager.status(record.server)
        if status.state != "ready" and not self._options.get("reconnect", True):
            raise NotConnected(f"{record.server} is {status.state}.") from status.error
        call = studio.caller.call_tool(
            record.ref, arguments, origin="program", approved=self._approved, timeouts=self._timeouts
        )
        outcome = await call.join()
        if not isinstance(outcome, Succeeded):
            raise failure(outcome)
        return outcome.result if self._options.get("raw") else text_of(outcome.result)

    # ------------------------------------------------------------------ for all toolsets

    def _check_connected(self) -> None:
        if self._exit_stack is None:
            hint = "Use `async with toolset:`, or `await toolset.connect()` first."
            raise NotConnected(f"The {type(self).__name__} is not connected.", hint=hint)

    def _set_tools(self, records: Iterable[ToolRecord]) -> None:
        chosen = {one.ref: one for one in records if self._passes_filter(one)}
        names = usable_names({ref: self._options.get("prefix", "") + self._name(one) for ref, one in chosen.items()})
        pairs = [(name, chosen[ref]) for ref, name in names.items()]
        self._functions = {name: function_of(one, name, partial(self._call_on_loop, one)) for name, one in pairs}

    def _passes_filter(self, record: ToolRecord) -> bool:
        accepted = self._options.get("filter", "*")
        if callable(accepted):
            return accepted(record)
        patterns = (accepted,) if isinstance(accepted, str) else accepted
        return any(fnmatchcase(name, one) for one in patterns for name in (record.tool, record.name))

    async def _call_on_loop(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        """Call a tool on the loop that connected."""
        self._check_connected()
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return await self._call(record, arguments)
        future = asyncio.run_coroutine_threadsafe(self._call(record, arguments), self._loop)
        return await asyncio.wrap_future(future)


class _OneServer(Toolset):
    """The tools of one server, which the toolset starts or reaches itself."""

    def __init__(self, server: ServerConfig, **options: Unpack[ToolsetOptions]) -> None:
        super().__init__(**options)
        self._server = replace(server, secrets=tuple(secret_values(server)), timeouts=self._timeouts)

    async def _open(self, stack: AsyncExitStack) -> None:
        config = Config(servers={self._server.name: self._server})
        self._studio = await stack.enter_async_context(Studio.open(config, Paths.default(), can_ask=False))
        status = await self._studio.manager.settle(self._server.name)
        if status.state != "ready":
            raise status.error or Unreachable(f"{self._server.name} is {status.state}.")


class RemoteToolset(_OneServer):
    """The tools of a server at a URL: http, https, ws or wss.

    Args:
        headers: sent with every request; their values are redacted everywhere.
        transport: `sse` for an older server; by default the toolset detects it.
        name: the name of the server in errors.

    Raises:
        UsageError: the URL is invalid.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        transport: Literal["", "http", "sse", "websocket"] = "",
        name: str = "remote",
        **options: Unpack[ToolsetOptions],
    ) -> None:
        if wrong := wrong_address(url):
            raise UsageError(f"`{url}` is no URL of a server: it {wrong}.")
        server = ServerConfig(name, url=url, headers=dict(headers or {}), transport=transport)
        super().__init__(server, **options)


class LocalToolset(_OneServer):
    """The tools of a program that the toolset starts, or of Python objects and functions in this process.

    Args:
        command: the program and its arguments; a text is split as a shell does.
        tools: functions, and objects with `name` and `call(arguments)`, instead of a program.
        env: environment variables of the program, besides those that every server gets.
        cwd: the working folder of the program.
        name: the name of the server in errors.

    Raises:
        TypeError: one of `tools` is no tool.
        UsageError: there are neither a program nor tools, or both.
    """

    def __init__(
        self,
        command: str | Sequence[str] = (),
        *,
        tools: Iterable[object] = (),
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        name: str = "local",
        **options: Unpack[ToolsetOptions],
    ) -> None:
        words, objects = shlex.split(command) if isinstance(command, str) else list(command), [*map(tool_of, tools)]
        if bool(words) == bool(objects):
            raise UsageError("A LocalToolset needs a command, or tools, and not both.")
        server = ServerConfig(name, command="".join(words[:1]), args=tuple(words[1:]), env=dict(env or {}), cwd=cwd)
        super().__init__(server, **options)
        self._objects = ToolObjects(CallRules(timeout=options.get("timeout")), objects)

    async def _open(self, stack: AsyncExitStack) -> None:
        if not self._objects.tools:
            await super()._open(stack)

    async def _list_tools(self, again: bool = False) -> list[ToolRecord]:
        if not self._objects.tools:
            return await super()._list_tools(again)
        return [*map(record_of, self._objects.tools.values())]

    async def _call(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        if record.source != "process":
            return await super()._call(record, arguments)
        result = await self._objects.acall(record.name, arguments)
        if self._options.get("raw") or isinstance(result, str):
            return result
        try:
            return printable(result)
        except TypeError:  # an object of the program's own
            return str(result)


class StudioToolset(Toolset):
    """The tools of all servers of a studio, named `mcp__server__tool`, under its policy.

    A call that is not read-only at a trusted server needs approval, and is denied if nobody can give it. Servers that
    cannot be reached are left out; `problems` says why.

    Args:
        studio: an open studio, which stays open; without one the toolset opens a studio with the configured servers.
        approved: the program consents to all calls; rules that deny still apply.
    """

    def __init__(
        self, studio: Studio | None = None, *, approved: bool = False, **options: Unpack[ToolsetOptions]
    ) -> None:
        super().__init__(**options)
        self._open_studio, self._approved = studio, approved

    async def _open(self, stack: AsyncExitStack) -> None:
        if (studio := self._open_studio) is None:
            paths = Paths.default()
            config = await asyncio.to_thread(load, paths, Path.cwd())
            studio = await stack.enter_async_context(Studio.open(config, paths, can_ask=False))
        self._studio = studio

    async def _call(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        self._studio.registry.used(record.name)
        return await super()._call(record, arguments)

    def _name(self, record: ToolRecord) -> str:
        return record.ref.flat


def usable_names(wished: Mapping[Ref, str], taken: Collection[str] = ()) -> dict[Ref, str]:
    """Unique names that models can use; none of them is in `taken`.

    Tools that would get the same name get distinct suffixes instead, so that no tool takes the place of another,
    whichever came first.
    """

    def marked(name: str, ref: Ref) -> str:
        mark = sha256(f"{ref.server}\0{ref.name}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return f"{name[: LONGEST - 13]}_{mark}"

    usable = {ref: re.sub(r"[^A-Za-z0-9_-]", "_", wish) for ref, wish in wished.items()}
    names = {ref: name if 0 < len(name) <= LONGEST else marked(name, ref) for ref, name in usable.items()}
    counts = Counter(names.values())
    marks = {ref: marked(name, ref) for ref, name in names.items() if counts[name] > 1 or name in taken}
    used = set(marks.values())
    return {ref: marks.get(ref, name) for ref, name in names.items() if ref in marks or name not in used}


def text_of(result: Json) -> str:
    """A result as text: texts unchanged, other blocks as JSON, one per line; structured content alone as JSON.

    The text is foreign: it is for programs and models, not for a terminal.
    """
    answer = mapping(result)
    blocks = [
        text if isinstance(text := mapping(block).get("text"), str) else printable(block)
        for block in items_of(answer.get("content"))
    ]
    if not blocks and "structuredContent" in answer:
        return printable(answer["structuredContent"])
    return "\n".join(blocks)
