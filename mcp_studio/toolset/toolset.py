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
"""Characters of a name: the APIs of models take no longer ones."""


class NotConnected(Unreachable):
    """The toolset is not connected, or not any more."""


class ToolsetOptions(TypedDict, total=False):
    """What every toolset can be told."""

    filter: Callable[[ToolRecord], bool] | Sequence[str]
    """Which tools it has: patterns of names such as `read_*`, or a function that says yes or no."""
    prefix: str
    """What is put before the name of every tool."""
    raw: bool
    """Calls give the whole result as the server sent it, not its text."""
    reconnect: bool
    """A server that has ended is started again by the next call (this is so unless it is False)."""
    timeout: float
    """Seconds for connecting, and for each call."""


class Toolset:
    """What all toolsets do. Use one as `async with … as toolset`, or call `connect` and `disconnect`.

    Tools can be called from any loop and thread while the one that connected runs.
    """

    def __init__(self, **options: Unpack[ToolsetOptions]) -> None:
        self._options = options
        seconds = options.get("timeout")
        self._timeouts = Timeouts(seconds, seconds, seconds, "timeout") if seconds else Timeouts()
        self._ends: AsyncExitStack | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._studio: Studio
        self._approved = True
        """The program named the server itself, and consents to what it calls there."""
        self._functions: dict[str, ToolFunction] = {}
        self.problems: dict[str, StudioError] = {}
        """Servers that could not be reached, and why."""

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.disconnect()

    @property
    def is_connected(self) -> bool:
        """Whether its tools can be called."""
        return self._ends is not None

    async def connect(self) -> None:
        """Start or reach what it is about, and read its tools; nothing happens where that was done.

        Raises:
            StudioError: it cannot be started or reached.
        """
        if self._ends is not None:
            return
        async with AsyncExitStack() as ends:
            self._loop = asyncio.get_running_loop()
            await self._open(ends)
            self._take(await self._listed())
            self._ends = ends.pop_all()

    async def disconnect(self) -> None:
        """Close it; any number of times."""
        ends, self._ends = self._ends, None
        if ends is not None:
            await ends.aclose()

    async def refresh_tools(self) -> list[ToolFunction]:
        """Read the list of tools again.

        Raises:
            NotConnected: it is not connected.
        """
        self._connected()
        self._take(await self._listed(again=True))
        return self.get_tools()

    def get_tools(self) -> list[ToolFunction]:
        """Its tools, as read last.

        Raises:
            NotConnected: it is not connected.
        """
        self._connected()
        return list(self._functions.values())

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool by the name that models know, as their answers say it.

        Raises:
            KeyError: it has no such tool.
            NotConnected: it is not connected.
            StudioError: it failed; `present.outcomes.ToolError` where the tool itself says so.
        """
        self._connected()
        return await self._functions[name].call(dict(arguments or {}))

    def openai_tools(self, api: Literal["chat", "responses"] = "chat") -> list[dict[str, Any]]:
        """The definitions of its tools for OpenAI's Chat Completions or Responses API."""
        tools = self._definitions("parameters")
        return [{"type": "function", **(one if api == "responses" else {"function": one})} for one in tools]

    def anthropic_tools(self) -> list[dict[str, Any]]:
        """The definitions of its tools for Anthropic's Messages API."""
        return self._definitions("input_schema")

    def _definitions(self, key: str) -> list[dict[str, Any]]:
        return [{"name": one.name, "description": one.description, key: one.input_schema} for one in self.get_tools()]

    # ------------------------------------------------------------------ what kinds have of their own

    async def _open(self, ends: AsyncExitStack) -> None:
        """Open the studio that it is about, or take it; `ends` closes it."""
        raise NotImplementedError

    def _name(self, record: ToolRecord) -> str:
        """What models are to call a tool by, before what is put before it and taken out of it."""
        return record.tool

    async def _listed(self, again: bool = False) -> list[ToolRecord]:
        """Its tools; read anew where they are to be `again`."""
        manager, found, self.problems = self._studio.manager, list[ToolRecord](), {}
        for name in manager.names():
            if again and manager.status(name).state == "ready":
                manager.refresher.again(name)
            status = await manager.settle(name)
            if status.state != "ready":
                self.problems[name] = status.error or Unreachable(f"{name} is {status.state}.")
                continue
            await manager.listed(name)
            entries = self._studio.catalog.listing(name, "tool").entries
            found += listed_by(name, (entry.view.raw for entry in entries if not entry.excluded))
        return found

    async def _call(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        """Call one."""
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

    # ------------------------------------------------------------------ what is common

    def _connected(self) -> None:
        if self._ends is None:
            hint = "Use `async with toolset:`, or `await toolset.connect()` first."
            raise NotConnected(f"The {type(self).__name__} is not connected.", hint=hint)

    def _take(self, records: Iterable[ToolRecord]) -> None:
        chosen = {one.ref: one for one in records if self._wanted(one)}
        names = usable_names({ref: self._options.get("prefix", "") + self._name(one) for ref, one in chosen.items()})
        made = [(name, chosen[ref]) for ref, name in names.items()]
        self._functions = {name: function_of(one, name, partial(self._called, one)) for name, one in made}

    def _wanted(self, record: ToolRecord) -> bool:
        wanted = self._options.get("filter", "*")
        if callable(wanted):
            return wanted(record)
        patterns = (wanted,) if isinstance(wanted, str) else wanted
        return any(fnmatchcase(name, one) for one in patterns for name in (record.tool, record.name))

    async def _called(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        """Call a tool on the loop that connected."""
        self._connected()
        if self._loop is None or self._loop is asyncio.get_running_loop():
            return await self._call(record, arguments)
        waiting = asyncio.run_coroutine_threadsafe(self._call(record, arguments), self._loop)
        return await asyncio.wrap_future(waiting)


class _OneServer(Toolset):
    """The tools of one server, which the toolset starts or reaches by itself."""

    def __init__(self, server: ServerConfig, **options: Unpack[ToolsetOptions]) -> None:
        super().__init__(**options)
        self._server = replace(server, secrets=tuple(secret_values(server)), timeouts=self._timeouts)

    async def _open(self, ends: AsyncExitStack) -> None:
        config = Config(servers={self._server.name: self._server})
        self._studio = await ends.enter_async_context(Studio.open(config, Paths.default(), can_ask=False))
        status = await self._studio.manager.settle(self._server.name)
        if status.state != "ready":
            raise status.error or Unreachable(f"{self._server.name} is {status.state}.")


class RemoteToolset(_OneServer):
    """The tools of a server at a URL: http, https, ws or wss.

    Args:
        headers: sent with every request; their values are redacted everywhere.
        transport: `sse` for an older server; else it is found out.
        name: what the server is called in errors.

    Raises:
        UsageError: it is no URL of a server.
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
    """The tools of a program that is started, or of Python objects and functions in this process.

    Args:
        command: the program and its arguments; a text is taken apart as a shell does.
        tools: functions, and objects with `name` and `call(arguments)`, instead of a program.
        env: variables of the program, besides those that every server gets.
        cwd: the folder that it runs in.
        name: what the server is called in errors.

    Raises:
        TypeError: one of `tools` is none.
        UsageError: there is neither a program nor a tool, or there are both.
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

    async def _open(self, ends: AsyncExitStack) -> None:
        if not self._objects.tools:
            await super()._open(ends)

    async def _listed(self, again: bool = False) -> list[ToolRecord]:
        if not self._objects.tools:
            return await super()._listed(again)
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

    What is not read-only at a trusted server is asked about, where somebody can answer, and denied where nobody can.
    Servers that cannot be reached are left out; `problems` says why.

    Args:
        studio: one that is open, and stays so; without one a studio with what is configured is opened.
        approved: the program consents to all calls; rules that deny still do.
    """

    def __init__(
        self, studio: Studio | None = None, *, approved: bool = False, **options: Unpack[ToolsetOptions]
    ) -> None:
        super().__init__(**options)
        self._given, self._approved = studio, approved

    async def _open(self, ends: AsyncExitStack) -> None:
        if (studio := self._given) is None:
            paths = Paths.default()
            config = await asyncio.to_thread(load, paths, Path.cwd())
            studio = await ends.enter_async_context(Studio.open(config, paths, can_ask=False))
        self._studio = studio

    async def _call(self, record: ToolRecord, arguments: dict[str, Any]) -> Any:
        self._studio.registry.used(record.name)
        return await super()._call(record, arguments)

    def _name(self, record: ToolRecord) -> str:
        return record.ref.flat


def usable_names(wished: Mapping[Ref, str], taken: Collection[str] = ()) -> dict[Ref, str]:
    """Names that models can use and no two share, nor one with those that are `taken`.

    All that would be called the same carry a mark of their own instead, so that none of them stands in the place
    of another, whichever was there first.
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
    """A result as text: texts as they are, other blocks as JSON, one below the other; structured content alone as JSON.

    Foreign text, for programs and models; it is no text for a terminal.
    """
    known = mapping(result)
    blocks = [
        text if isinstance(text := mapping(block).get("text"), str) else printable(block)
        for block in items_of(known.get("content"))
    ]
    if not blocks and "structuredContent" in known:
        return printable(known["structuredContent"])
    return "\n".join(blocks)
