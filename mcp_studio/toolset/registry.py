"""Tools that are Python objects of this process: validation, timeouts, retries and a queue for them; their registry."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.record import record
from mcp_studio.registry.record import ToolRecord, tags_of
from mcp_studio.registry.registry import ToolRegistry
from mcp_studio.registry.storage import Storage
from mcp_studio.schema.field import defaults
from mcp_studio.schema.form import build
from mcp_studio.schema.place import pointer
from mcp_studio.signal import Signal
from mcp_studio.threads import in_thread

MOST_WAITING = 1_000
"""The most calls that wait in a queue."""


class Tool(Protocol):
    """The interface of a tool: any object with a name and `call`, which may be a coroutine function.

    `description`, `input_schema`, `output_schema` and `cost` (of one call, in any unit) are optional attributes.
    """

    name: str

    def call(self, arguments: dict[str, Any], /) -> Any:
        """Run the tool. The caller gets its exceptions."""


@record(frozen=True)
class CallRules:
    """How tools of this process are called.

    `allow` and `deny` are patterns of names such as `files.*`; a denied tool cannot be called, even if it is allowed
    too.
    """

    validate: bool = False
    """Fill in the schema's defaults and check arguments before the call. Tools of servers (`ref`) are excluded: their
    calls are checked anyway, and their schemas are foreign."""
    timeout: float | None = None
    """Seconds for each attempt; then it raises TimeoutError. A function in a thread continues: nothing can stop it."""
    retries: int = 0
    """Further attempts after one that raised."""
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    workers: int = 4
    """How many functions run in threads at once; others wait in a queue."""

    def allows(self, name: str) -> bool:
        """Whether a tool may be called, and is described."""
        allowed, denied = (any(fnmatchcase(name, one) for one in patterns) for patterns in (self.allow, self.deny))
        return allowed and not denied


class CallReport(NamedTuple):
    """One call that has ended."""

    name: str
    ms: float
    error: str = ""
    """The class and text of the exception; empty without one."""
    cost: float = 0.0
    tries: int = 1


class Queue:
    """Runs a limited number of functions in threads. A function that hangs does not keep the program from ending."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._jobs: deque[tuple[futures.Future[Any], Callable[[], Any]]] = deque()
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], Any]) -> futures.Future[Any]:
        """Queue a function.

        Raises:
            UsageError: the queue is full.
        """
        future: futures.Future[Any] = futures.Future()
        with self._lock:
            if len(self._jobs) >= MOST_WAITING:
                raise UsageError(f"{MOST_WAITING:,} calls wait for their turn already; this one was not begun.")
            self._jobs.append((future, work))
            if self._running < self._most:
                self._running += 1
                in_thread(self._drain)
        return future

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._running -= 1
                    return
                future, work = self._jobs.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as problem:  # boundary: the caller of the future gets it
                    future.set_exception(problem)


class ToolObjects:
    """The tools of this process, by name."""

    def __init__(self, rules: CallRules | None = None, tools: Iterable[Tool] = ()) -> None:
        self.rules = rules or CallRules()
        self.tools = {tool.name: tool for tool in tools}
        self.reported: Signal[CallReport] = Signal()
        """Emitted after each call: its duration, cost and error."""
        self._queue = Queue(self.rules.workers)

    def describe(self) -> dict[str, dict[str, Any]]:
        """The tools that may be called: `{name: {"description": …, "input_schema": …}}`."""
        tools = {name: record_of(tool) for name, tool in self.tools.items() if self.rules.allows(name)}
        return {name: {"description": one.description, "input_schema": one.input_schema} for name, one in tools.items()}

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool and wait for its result.

        Raises:
            KeyError: there is no tool of this name.
            UsageError: the tool is not allowed, the arguments do not fit, or it is asynchronous and a loop runs here.
            TimeoutError: the call took longer than the timeout.
            Exception: whatever the tool raises.
        """
        if inspect.iscoroutinefunction(self.tools[name].call):
            return _run(self.acall(name, arguments))
        tool, values = self._ready(name, arguments)
        for attempt in self._attempts(tool):
            with attempt:
                return self._once(tool, values)

    def _once(self, tool: Tool, values: dict[str, Any]) -> Any:
        if self.rules.timeout is None:
            result = tool.call(values)
        else:
            future = Queue(1).submit(lambda: tool.call(values))
            if not futures.wait([future], self.rules.timeout).done:
                raise _timeout_error(tool, self.rules.timeout)
            result = future.result()
        return _run(result) if inspect.isawaitable(result) else result

    async def acall(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool without blocking the loop: coroutines are awaited, functions run in threads, through a queue."""
        tool, values = self._ready(name, arguments)
        for attempt in self._attempts(tool):
            with attempt:
                return await self._awaited(tool, values)

    def submit(self, name: str, arguments: Mapping[str, Any] | None = None) -> futures.Future[Any]:
        """Queue a call; its future has the result, and can be cancelled until the call begins.

        Raises:
            KeyError: there is no tool of this name.
            UsageError: the queue is full.
        """
        if name not in self.tools:
            raise KeyError(name)
        return self._queue.submit(lambda: self.call(name, arguments))

    async def _awaited(self, tool: Tool, values: dict[str, Any]) -> Any:
        deadline = asyncio.timeout(self.rules.timeout)
        try:
            async with deadline:
                if inspect.iscoroutinefunction(tool.call):
                    return await tool.call(values)
                result = await asyncio.wrap_future(self._queue.submit(lambda: tool.call(values)))
                return await result if inspect.isawaitable(result) else result
        except TimeoutError:
            if deadline.expired():
                raise _timeout_error(tool, self.rules.timeout) from None
            raise

    def _ready(self, name: str, arguments: Mapping[str, Any] | None) -> tuple[Tool, dict[str, Any]]:
        tool, values = self.tools[name], dict(arguments or {})
        if not self.rules.allows(name):
            raise UsageError(f"The tool {name!r} is not allowed here.", hint="See `allow` and `deny` of the registry.")
        schema = mapping(getattr(tool, "input_schema", None))
        if self.rules.validate and schema and not hasattr(tool, "ref"):
            values = {**defaults(build(schema)), **values}
            if found := _problems(schema, values):
                raise UsageError(f"The arguments of {name!r} do not fit its schema: {'; '.join(found)}.")
        return tool, values

    def _attempts(self, tool: Tool) -> Iterator[AbstractContextManager[None]]:
        """As many attempts as the rules allow; exceptions of all but the last one are suppressed."""
        began = time.perf_counter()
        return (self._attempt(tool, began, tries) for tries in range(1, max(0, self.rules.retries) + 2))

    @contextmanager
    def _attempt(self, tool: Tool, began: float, tries: int) -> Generator[None]:
        try:
            yield
        except Exception as problem:
            if tries <= self.rules.retries:
                return
            self._report(tool, began, tries, f"{type(problem).__name__}: {problem}"[:500])
            raise
        self._report(tool, began, tries)

    def _report(self, tool: Tool, began: float, tries: int, error: str = "") -> None:
        ms, cost = (time.perf_counter() - began) * 1000, getattr(tool, "cost", 0.0)
        cost = tries * float(cost) if isinstance(cost, int | float) else 0.0
        self.reported.emit(CallReport(tool.name, ms, error, cost, tries))


class Registry(ToolRegistry, ToolObjects):
    """Tools by name; those that are Python objects can be called. Any thread may use it.

    Args:
        storage: stores tags, categories and use; without one they end with the registry.
        rules: how tools are called.
        catalog: the tools of servers, such as `studio.catalog`, to find them too.
    """

    def __init__(
        self,
        storage: Storage | str | Path | None = None,
        *,
        rules: CallRules | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        ToolRegistry.__init__(self, storage, catalog=catalog)
        ToolObjects.__init__(self, rules)
        self.reported.connect(lambda report: self.used(report.name))

    def register(self, tool: object, *, category: str = "", tags: Iterable[str] = ()) -> None:
        """Add an object with `name` and `call(arguments)`; see `Tool`.

        Raises:
            TypeError: the object has no name, or nothing to call.
            UsageError: a server's tool, or one that was added by hand, has this name.
            StorageProblem: the storage cannot be written.
        """
        tool = check_tool(tool)
        former = self.get(tool.name)
        if former is None or getattr(tool, "ref", None) != former.ref:
            entry = record_of(tool)
            self.add([former.defined(entry) if former and former.source == "process" else entry])
            if category:
                self.categorize([tool.name], category)
            if new := tags_of(tags):
                self.tag([tool.name], new)
        self.tools[tool.name] = tool

    def unregister(self, name: str) -> None:
        """Remove a tool of this process.

        Raises:
            KeyError: there is no tool of this name.
        """
        del self.tools[name]
        if (entry := self.get(name)) and entry.source == "process":
            self.remove([name])


def check_tool(tool: object) -> Tool:
    """Return an object if it is a tool.

    Raises:
        TypeError: it has no name, or nothing to call.
    """
    name, call = getattr(tool, "name", None), getattr(tool, "call", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f"A tool needs a `name`, which is text; {type(tool).__name__} has none.")
    if not callable(call):
        raise TypeError(f"The tool {name!r} needs `call(arguments)`; {type(tool).__name__} has none.")
    return cast("Tool", tool)


def record_of(tool: Tool) -> ToolRecord:
    """The record of a tool; a tool without a description is described by its class's docstring."""
    text = getattr(tool, "description", None)
    return ToolRecord(
        tool.name, source="process", description=text if isinstance(text, str) else inspect.getdoc(type(tool)) or "",
        input_schema=mapping(getattr(tool, "input_schema", None)),
        output_schema=mapping(getattr(tool, "output_schema", None)) or None,
    )  # fmt: skip


def _run(awaitable: Awaitable[Any]) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asyncio.wait_for(awaitable, None))
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    raise UsageError("This tool is asynchronous, and a loop is running here: use `await registry.acall(…)`.")


def _timeout_error(tool: Tool, seconds: float | None) -> TimeoutError:
    return TimeoutError(f"The tool {tool.name!r} did not answer within {seconds:g} seconds.")


def _problems(schema: dict[str, Json], value: dict[str, Any]) -> list[str]:
    """The problems of arguments, by the program's own schema."""
    from jsonschema.validators import Draft202012Validator, validator_for

    checked = validator_for(schema, default=Draft202012Validator)(schema)
    errors = sorted(checked.iter_errors(value), key=lambda one: list(map(str, one.absolute_path)))[:20]
    return [f"{pointer(*one.absolute_path)} {one.message}".strip()[:500] for one in errors]
