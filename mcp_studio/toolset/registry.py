"""Tools that are Python objects of this process: checked, called in time and again, in a queue; and their registry."""

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

MOST_WAITING = 1_000
"""Calls that wait for their turn."""


class Tool(Protocol):
    """What can be registered: any object with a name and `call`, which may be a coroutine function.

    `description`, `input_schema`, `output_schema` and `cost` (of one call, in whatever is counted) are read where the
    object has them.
    """

    name: str

    def call(self, arguments: dict[str, Any], /) -> Any:
        """Do it. What it raises comes through to the caller."""


@record(frozen=True)
class CallRules:
    """How tools of this process are called.

    `allow` and `deny` are patterns of names such as `files.*`; what is denied is not called, whatever is allowed.
    """

    validate: bool = False
    """Put in what the schema has as defaults, and check arguments against it before the call. Not for tools of servers
    (`ref`): their calls are checked anyway, and their schemas are not the program's own.
    """
    timeout: float | None = None
    """Seconds for each try; TimeoutError after them. A function in a thread goes on by itself: nothing can end it."""
    retries: int = 0
    """Tries after the first one that raised."""
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    workers: int = 4
    """Functions that run in threads at once; others wait in a queue."""

    def allows(self, name: str) -> bool:
        """Whether a tool may be called, and is described."""
        some, others = (any(fnmatchcase(name, one) for one in patterns) for patterns in (self.allow, self.deny))
        return some and not others


class CallReport(NamedTuple):
    """One call that has ended."""

    name: str
    ms: float
    error: str = ""
    """The class of what it raised, and what that says; empty where it raised nothing."""
    cost: float = 0.0
    tries: int = 1


class Queue:
    """Runs functions in threads, so many at once. What hangs in one holds up no end of the program."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._jobs: deque[tuple[futures.Future[Any], Callable[[], Any]]] = deque()
        self._turn = threading.Lock()

    def submit(self, work: Callable[[], Any]) -> futures.Future[Any]:
        """Have a function run when it is its turn.

        Raises:
            UsageError: too many wait already.
        """
        future: futures.Future[Any] = futures.Future()
        with self._turn:
            if len(self._jobs) >= MOST_WAITING:
                raise UsageError(f"{MOST_WAITING:,} calls wait for their turn already; this one was not begun.")
            self._jobs.append((future, work))
            if self._running < self._most:
                self._running += 1
                threading.Thread(target=self._drain, name="tools", daemon=True).start()
        return future

    def _drain(self) -> None:
        while True:
            with self._turn:
                if not self._jobs:
                    self._running -= 1
                    return
                future, work = self._jobs.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as problem:  # boundary: whoever waits for it gets it
                    future.set_exception(problem)


class ToolObjects:
    """The tools of this process, by name."""

    def __init__(self, rules: CallRules | None = None, tools: Iterable[Tool] = ()) -> None:
        self.rules = rules or CallRules()
        self.tools = {tool.name: tool for tool in tools}
        self.reported: Signal[CallReport] = Signal()
        """Tells of each call: how long it took, what it cost, what went wrong."""
        self._queue = Queue(self.rules.workers)

    def describe(self) -> dict[str, dict[str, Any]]:
        """The tools that may be called: `{name: {"description": …, "input_schema": …}}`."""
        found = {name: record_of(tool) for name, tool in self.tools.items() if self.rules.allows(name)}
        return {name: {"description": one.description, "input_schema": one.input_schema} for name, one in found.items()}

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool and wait for what it gives.

        Raises:
            KeyError: there is none of this name.
            UsageError: it is not allowed, the arguments do not fit, or it is asynchronous and a loop runs here.
            TimeoutError: it takes too long, where a timeout is set.
            Exception: whatever the tool raises.
        """
        if inspect.iscoroutinefunction(self.tools[name].call):
            return _run(self.acall(name, arguments))
        tool, given = self._ready(name, arguments)
        for attempt in self._attempts(tool):
            with attempt:
                return self._once(tool, given)

    def _once(self, tool: Tool, given: dict[str, Any]) -> Any:
        if self.rules.timeout is None:
            result = tool.call(given)
        else:
            future = Queue(1).submit(lambda: tool.call(given))
            if not futures.wait([future], self.rules.timeout).done:
                raise _late(tool, self.rules.timeout)
            result = future.result()
        return _run(result) if inspect.isawaitable(result) else result

    async def acall(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """The same without holding up the loop: coroutines are awaited, functions run in threads, in a queue."""
        tool, given = self._ready(name, arguments)
        for attempt in self._attempts(tool):
            with attempt:
                return await self._awaited(tool, given)

    def submit(self, name: str, arguments: Mapping[str, Any] | None = None) -> futures.Future[Any]:
        """Put a call into the queue; its future has the result, and can be cancelled until it is its turn.

        Raises:
            KeyError: there is none of this name.
            UsageError: too many wait already.
        """
        if name not in self.tools:
            raise KeyError(name)
        return self._queue.submit(lambda: self.call(name, arguments))

    async def _awaited(self, tool: Tool, given: dict[str, Any]) -> Any:
        deadline = asyncio.timeout(self.rules.timeout)
        try:
            async with deadline:
                if inspect.iscoroutinefunction(tool.call):
                    return await tool.call(given)
                result = await asyncio.wrap_future(self._queue.submit(lambda: tool.call(given)))
                return await result if inspect.isawaitable(result) else result
        except TimeoutError:
            if deadline.expired():
                raise _late(tool, self.rules.timeout) from None
            raise

    def _ready(self, name: str, arguments: Mapping[str, Any] | None) -> tuple[Tool, dict[str, Any]]:
        tool, given = self.tools[name], dict(arguments or {})
        if not self.rules.allows(name):
            raise UsageError(f"The tool {name!r} is not allowed here.", hint="See `allow` and `deny` of the registry.")
        schema = mapping(getattr(tool, "input_schema", None))
        if self.rules.validate and schema and not hasattr(tool, "ref"):
            given = {**defaults(build(schema)), **given}
            if found := _problems(schema, given):
                raise UsageError(f"The arguments of {name!r} do not fit its schema: {'; '.join(found)}.")
        return tool, given

    def _attempts(self, tool: Tool) -> Iterator[AbstractContextManager[None]]:
        """As many as the rules allow: what all but the last one raise is passed over."""
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
    """Tools by their names; those that are Python objects can be called. From any thread.

    Args:
        storage: where tags, categories and use are kept; without one they end with the registry.
        rules: how tools are called.
        catalog: what servers list, such as `studio.catalog`, to be found too.
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
        """Take up an object with `name` and `call(arguments)`; see `objects.Tool`.

        Raises:
            TypeError: it has no name, or nothing to call.
            UsageError: a server's tool, or one that was added by hand, has this name.
            StorageProblem: it cannot be written.
        """
        tool = checked(tool)
        known = self.get(tool.name)
        if known is None or getattr(tool, "ref", None) != known.ref:
            made = record_of(tool)
            self.add([known.defined(made) if known and known.source == "process" else made])
            if category:
                self.categorize([tool.name], category)
            if new := tags_of(tags):
                self.tag([tool.name], new)
        self.tools[tool.name] = tool

    def unregister(self, name: str) -> None:
        """Forget a tool of this process.

        Raises:
            KeyError: there is none of this name.
        """
        del self.tools[name]
        if (known := self.get(name)) and known.source == "process":
            self.remove([name])


def checked(tool: object) -> Tool:
    """A tool that has what it needs.

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
    """What a tool says of itself; its class describes it where it does not."""
    said = getattr(tool, "description", None)
    return ToolRecord(
        tool.name, source="process", description=said if isinstance(said, str) else inspect.getdoc(type(tool)) or "",
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


def _late(tool: Tool, seconds: float | None) -> TimeoutError:
    return TimeoutError(f"The tool {tool.name!r} did not answer within {seconds:g} seconds.")


def _problems(schema: dict[str, Json], value: dict[str, Any]) -> list[str]:
    """What is wrong with arguments; the schema is the program's own."""
    from jsonschema.validators import Draft202012Validator, validator_for

    checked = validator_for(schema, default=Draft202012Validator)(schema)
    found = sorted(checked.iter_errors(value), key=lambda one: list(map(str, one.absolute_path)))[:20]
    return [f"{pointer(*one.absolute_path)} {one.message}".strip()[:500] for one in found]
