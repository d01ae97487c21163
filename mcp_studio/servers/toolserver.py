"""A server of both eras, whose tools can be marked methods of objects.

It does not use the SDK, whose import costs more than most of its calls.

Specification 2024-11-05 to 2026-07-28: lifecycle, server/tools, server/resources, server/utilities/completion,
basic/utilities/progress and cancellation, client/roots.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, get_type_hints
from weakref import WeakSet

from mcp_studio import __version__
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps, items_of, loads_or, mapping
from mcp_studio.protocol import versions
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.message import Failure, Message, Notification, Request, Response
from mcp_studio.safetext import safe
from mcp_studio.servers import loopback
from mcp_studio.servers.stdio import Put, nowhere
from mcp_studio.toolset.function import FunctionTool

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Answer = dict[str, Json]
TOKEN = "MCP_STUDIO_SERVER_TOKEN"
"""The environment variable with the token that clients over HTTP have to send."""
_FRESH = ("server/discover", *versions.LISTS, "resources/read")
"""The results that have to say how long they may be cached (2026-07-28)."""
_READING = 1.0
"""Seconds for a client to read a notification of a change."""
_INTERVAL = 0.5
"""Seconds between two checks of watched resources."""
_WATCHED = 500
_PATIENCE = 30.0
"""Seconds for the client's own answers; those of a person or a model may take any time."""


class Mark(NamedTuple):
    """The facts about a tool that `tool` attaches to its method."""

    title: str
    changes: bool
    annotations: dict[str, Json]
    quick: bool


def tool(
    title: str, *, changes: bool = False, destroys: bool = False, repeatable: bool = False, quick: bool = False
) -> Callable[[FunctionT], FunctionT]:
    """Mark a method as a tool; its docstring, parameters and result type become the definition.

    Args:
        changes: whether the tool changes something.
        destroys: whether the change can lose something.
        repeatable: whether a second call with the same arguments changes nothing more.
        quick: whether the tool runs in the event loop; otherwise it runs in a thread.
    """
    annotations: dict[str, Json] = {"title": title, "readOnlyHint": not changes, "openWorldHint": False}
    if changes:
        annotations |= {"destructiveHint": destroys, "idempotentHint": repeatable}

    def mark(function: FunctionT) -> FunctionT:
        function.__dict__["mark"] = Mark(title, changes, annotations, quick)
        return function

    return mark


class RequestError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.error: dict[str, Json] = {"code": code, "message": message} | ({} if data is None else {"data": data})


class InputWanted(Exception):
    """The client has to answer a question first, and repeat the call with the answer (2026-07-28, input_required).

    Args:
        asked: the members of the result that ask.
    """

    def __init__(self, asked: Answer) -> None:
        super().__init__("input required")
        self.asked = asked


@dataclass(eq=False)
class Turn:
    """One request that is being answered."""

    peer: ToolPeer
    request: Request
    put: Put
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    left: bool = False
    """Whether the client has cancelled the request."""

    @property
    def modern(self) -> bool:
        """Whether the request is of the stateless era."""
        return versions.META_VERSION in self.meta

    @property
    def meta(self) -> dict[str, Json]:
        """The metadata of the request."""
        return mapping(self.request.params.get("_meta"))

    @property
    def capabilities(self) -> dict[str, Json]:
        """The capabilities of the client."""
        return mapping(self.meta.get(versions.META_CAPABILITIES)) if self.modern else self.peer.capabilities

    async def progress(self, done: float, message: str, total: float | None = None) -> None:
        """Report progress, if the client wants it."""
        if (token := self.meta.get("progressToken")) is not None:
            params: dict[str, Json] = {"progressToken": token, "progress": done, "message": message}
            params |= {} if total is None else {"total": total}
            await self.put({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    async def ask(self, method: str, params: dict[str, Json], key: str = "") -> dict[str, Json]:
        """Ask the client, and return its answer.

        Args:
            key: identifies the question within one request. In the stateless era the client repeats the request with
                each answer, and the handler runs from its start: ask before changing anything.

        Raises:
            InputWanted: the answer comes with the next call.
            StudioError: the client does not answer.
        """
        if not self.modern:
            return await self.peer.ask(method, params, self.put)
        # The state contains only the client's own answers of earlier rounds, so that it needs no seal.
        given = mapping(loads_or(str(self.request.params.get("requestState", ""))))
        given |= mapping(self.request.params.get("inputResponses"))
        found = given.get(key or method)
        if not isinstance(found, dict):
            state: Answer = {"requestState": dumps(given).decode()} if given else {}
            raise InputWanted({"inputRequests": {key or method: {"method": method, "params": params}}, **state})
        return found


_TURN: ContextVar[Turn] = ContextVar("turn")


def report(done: float, message: str) -> None:
    """Report the progress of this thread's call; raises if the client has cancelled the call."""
    turn = _TURN.get()
    if turn.left:
        raise StudioError("The call was cancelled.")
    asyncio.run_coroutine_threadsafe(turn.progress(done, message), turn.loop).result()


def cancelled() -> Callable[[], bool]:
    """A function that returns, in any thread, whether the client has cancelled the current call."""
    turn = _TURN.get(None)
    return lambda: turn is not None and turn.left


class ToolServer:
    """A server; `handlers` answer its requests."""

    def __init__(self, name: str, title: str, instructions: str) -> None:
        self.greeting: Answer = {
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "title": title, "version": __version__},
            "instructions": instructions,
        }
        self.of_era: dict[bool, Answer] = {False: {}, True: {}}
        """Capabilities of one era only; True is the stateless one."""
        self.handlers: dict[str, Callable[[Turn], Awaitable[Answer]]] = {"ping": _pong}
        self.noticed: dict[str, Callable[[], None]] = {}
        """The functions that are called for a client's notifications."""
        self.prepare: Callable[[Turn], Awaitable[None]] | None = None
        """Called before every call of a tool."""
        self.state: Callable[[str], object] | None = None
        """Returns the state of a resource by its address; clients that watch it are notified when the state changes."""
        self.peers = WeakSet[ToolPeer]()
        self._tools: dict[str, tuple[FunctionTool, Mark]] = {}

    def add(self, toolbox: object, *, prefix: str = "", changes: bool = True) -> None:
        """Offer the marked methods of an object as tools.

        Args:
            prefix: the prefix of their names.
            changes: whether to include tools that change something.
        """
        self.handlers |= {"tools/list": self._list_tools, "tools/call": self._call_tool}
        for method, function in vars(type(toolbox)).items():
            mark: Mark | None = getattr(function, "mark", None)
            if mark is not None and (changes or not mark.changes):
                self._tools[prefix + method] = FunctionTool(getattr(toolbox, method), prefix + method), mark

    async def announce(self, kind: str, uri: str = "") -> None:
        """Notify every interested client that a list or a resource has changed."""
        for peer in tuple(self.peers):
            await peer.tell(kind, uri)

    async def _list_tools(self, turn: Turn) -> Answer:
        return {"tools": [_definition(*one) for one in self._tools.values()]}

    async def _call_tool(self, turn: Turn) -> Answer:
        name, given = str(turn.request.params.get("name")), turn.request.params.get("arguments") or {}
        if name not in self._tools:
            raise RequestError(versions.INVALID_PARAMS, f"Unknown tool: {safe(name, 100)}")
        function, mark = self._tools[name]
        try:
            if self.prepare is not None:
                await self.prepare(turn)
            _TURN.set(turn)
            value = function.call(mapping(given)) if mark.quick else await asyncio.to_thread(function.call, given)
        except StudioError as problem:
            said = f"{problem.message} {problem.hint}".strip()
            return {"isError": True, "content": [{"type": "text", "text": said}]}
        # Text for people is text for models too.
        text = next((value[key] for key in ("content", "tree", "diff") if key in value), None)
        return {"content": [{"type": "text", "text": dumps(value).decode() if text is None else text}],
                "structuredContent": value}  # fmt: skip


async def _pong(turn: Turn) -> Answer:
    return {}


def _definition(function: FunctionTool, mark: Mark) -> Answer:
    from pydantic import TypeAdapter

    result = TypeAdapter(get_type_hints(function.function, include_extras=True)["return"])
    return {
        "name": function.name,
        "title": mark.title,
        "description": function.description,
        "inputSchema": _plain(function.input_schema),
        "outputSchema": _plain(result.json_schema(mode="serialization")),
        "annotations": mark.annotations,
    }


def _plain(schema: Any) -> Any:
    """A schema without the titles that pydantic derives from names: models pay for each word."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema


class ToolPeer:
    """The server for one client; over HTTP all clients of the stateless era share one peer."""

    def __init__(self, server: ToolServer) -> None:
        self.capabilities: dict[str, Json] = {}
        self.version = ""
        """The version that the handshake agreed on."""
        self.level = versions.LOG_LEVELS[0]
        """The least severe log message that the client wants, in the handshake era."""
        self.aside: Put = nowhere
        self._server = server
        server.peers.add(self)
        self._ids = itertools.count(1)
        self._running: dict[Turn, asyncio.Task[None]] = {}
        self._asked: dict[RequestId, asyncio.Future[dict[str, Json]]] = {}
        self._listening: dict[Turn, dict[str, Json]] = {}
        """The streams of `subscriptions/listen`, and what each subscribes to."""
        self._subscribed: list[str] = []
        self._seen: dict[str, object] = {}
        self._watching: asyncio.Task[None] | None = None

    def take(self, message: Message, put: Put) -> asyncio.Task[None] | None:
        """Take a message; a request is answered in its own task, which is returned."""
        if isinstance(message, Request):
            turn = Turn(self, message, put)
            task = self._running[turn] = asyncio.create_task(self._answer(turn))
            task.add_done_callback(lambda _: self._running.pop(turn, None))
            return task
        if isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                for turn, task in self._running.items():
                    # Over HTTP a stateless client cancels by leaving: another client's request may have the same id.
                    if turn.request.id == message.params.get("requestId") and (turn.put is put or not turn.modern):
                        task.cancel()
            elif message.method in self._server.noticed:
                self._server.noticed[message.method]()
        elif isinstance(message, Response | Failure) and message.id in self._asked:
            answer, future = message.result if isinstance(message, Response) else None, self._asked[message.id]
            if not future.done():
                future.set_result(mapping(answer))
        return None

    def close(self) -> None:
        """End all work, because the client has left."""
        for task in (*self._running.values(), *([self._watching] if self._watching else [])):
            task.cancel()

    async def ask(self, method: str, params: dict[str, Json], put: Put) -> dict[str, Json]:
        """Ask the client; the answer is empty if the client refuses.

        Raises:
            StudioError: the client does not answer.
        """
        identity = f"server-{next(self._ids)}"
        answer = self._asked[identity] = asyncio.get_running_loop().create_future()
        try:
            await put({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
            return await asyncio.wait_for(answer, _PATIENCE if method == "roots/list" else None)
        except TimeoutError:
            raise StudioError(f"Your client did not answer {method} for {_PATIENCE:.0f} seconds.") from None
        finally:
            del self._asked[identity]

    async def _answer(self, turn: Turn) -> None:
        request, answer = turn.request, dict[str, Json]()
        try:
            result = await self._result(turn)
            if turn.modern:
                fresh: Answer = {"ttlMs": 0, "cacheScope": "private"} if request.method in _FRESH else {}
                meta: Json = {versions.META_SERVER: self._server.greeting["serverInfo"]}
                result = {"resultType": "complete", **fresh, **result, "_meta": meta}
            answer["result"] = result
        except InputWanted as wanted:
            answer["result"] = {"resultType": "input_required", **wanted.asked}
        except RequestError as refused:
            answer["error"] = refused.error
        except StudioError as problem:
            answer["error"] = {"code": versions.INTERNAL_ERROR, "message": f"{problem.message} {problem.hint}".strip()}
        except asyncio.CancelledError:
            turn.left = True
            raise
        except Exception:
            traceback.print_exc(file=sys.stderr)
            answer["error"] = {
                "code": versions.INTERNAL_ERROR,
                "message": "The server failed; its standard error says how.",
            }
        await turn.put({"jsonrpc": "2.0", "id": request.id, **answer})

    async def _result(self, turn: Turn) -> Answer:
        method, params, server = turn.request.method, turn.request.params, self._server
        version = turn.meta.get(versions.META_VERSION)
        if turn.modern and version not in versions.MODERN_VERSIONS:
            data: Json = {"supported": list(versions.MODERN_VERSIONS), "requested": version}
            raise RequestError(versions.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        offers = mapping(server.greeting["capabilities"])
        if method == ("server/discover" if turn.modern else "initialize"):
            greeting: Answer = {**server.greeting, "capabilities": {**offers, **server.of_era[turn.modern]}}
            if turn.modern:
                return {"supportedVersions": list(versions.MODERN_VERSIONS), **greeting}
            self.capabilities = mapping(params.get("capabilities"))
            wanted = str(params.get("protocolVersion"))
            self.version = wanted if wanted in versions.HANDSHAKE_VERSIONS else versions.LATEST_HANDSHAKE
            return {"protocolVersion": self.version, **greeting}
        if "subscribe" in mapping(offers.get("resources")):
            if turn.modern and method == "subscriptions/listen":
                return await self._listen(turn)
            if not turn.modern and method in ("resources/subscribe", "resources/unsubscribe"):
                uri = str(params.get("uri"))
                self._subscribed = [one for one in self._subscribed if one != uri]
                if method == "resources/subscribe":
                    self._watch([uri])
                    self._subscribed.append(uri)
                return {}
        if method not in server.handlers or (method == "ping" and turn.modern):
            raise RequestError(versions.METHOD_NOT_FOUND, f"Method not found: {safe(method, 100)}")
        return await server.handlers[method](turn)

    # ------------------------------------------------------------------ subscriptions

    async def _listen(self, turn: Turn) -> Answer:
        wanted, offers = mapping(turn.request.params.get("notifications")), self._server.greeting["capabilities"]
        uris: list[Json] = [uri for uri in items_of(wanted.get("resourceSubscriptions")) if isinstance(uri, str)]
        self._watch([str(uri) for uri in uris])
        honoured: dict[str, Json] = {"resourceSubscriptions": uris} if uris else {}
        for kind, offer in mapping(offers).items():
            if "listChanged" in mapping(offer) and wanted.get(f"{kind}ListChanged") is True:
                honoured[f"{kind}ListChanged"] = True
        meta: Json = {versions.META_SUBSCRIPTION: turn.request.id}
        await turn.put({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                        "params": {"notifications": honoured, "_meta": meta}})  # fmt: skip
        self._listening[turn] = honoured
        try:
            await asyncio.Event().wait()  # until the client leaves
        finally:
            del self._listening[turn]
        return {}

    def _watch(self, uris: list[str]) -> None:
        """Remember the current state of resources, to notify the client of later changes."""
        if len({*self._seen, *uris}) > _WATCHED:
            raise RequestError(versions.INVALID_PARAMS, f"At most {_WATCHED} resources are watched.")
        assert self._server.state is not None
        for uri in uris:
            self._seen.setdefault(uri, self._server.state(uri))
        if self._watching is None:
            self._watching = asyncio.create_task(self._look(self._server.state))

    async def _look(self, state: Callable[[str], object]) -> None:
        while True:
            await asyncio.sleep(_INTERVAL)
            listened = (items_of(wanted.get("resourceSubscriptions")) for wanted in self._listening.values())
            wanted = {*self._subscribed, *(str(uri) for uris in listened for uri in uris)}
            self._seen = {uri: seen for uri, seen in self._seen.items() if uri in wanted}
            for uri, seen in tuple(self._seen.items()):
                if (now := state(uri)) != seen:
                    self._seen[uri] = now
                    await self.tell("resources/updated", uri)

    async def tell(self, kind: str, uri: str = "") -> None:
        """Notify the client that a resource, or a list, has changed, if it has subscribed to that."""
        params: dict[str, Json] = {"uri": uri} if uri else {}
        message: dict[str, Json] = {"jsonrpc": "2.0", "method": f"notifications/{kind}"}
        subscribed = self.version and (not uri or uri in self._subscribed)
        wishes = [self.aside({**message, "params": params})] if subscribed else []
        for turn, wanted in tuple(self._listening.items()):
            of_list = f"{kind.partition('/')[0]}ListChanged" in wanted
            if uri in items_of(wanted.get("resourceSubscriptions")) if uri else of_list:
                meta: Json = {versions.META_SUBSCRIPTION: turn.request.id}
                wishes.append(turn.put({**message, "params": {**params, "_meta": meta}}))
        with suppress(TimeoutError):  # a client that does not read misses it, and delays nobody
            async with asyncio.timeout(_READING):
                await asyncio.gather(*wishes)


def run(server: ToolServer, port: int | None, *, guarded: bool = True) -> int:
    """Serve as `loopback.run` does; `guarded` decides whether clients over HTTP have to send a token."""
    token = os.environ.get(TOKEN, "") if guarded else None
    return loopback.run(lambda: ToolPeer(server), port, token=token)
