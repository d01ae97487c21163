"""A server of both eras, whose tools may be the marked methods of objects, without the SDK, whose import costs more
than most of its calls.

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
from mcp_studio.servers import loopback, stdio
from mcp_studio.servers.http import CONNECTIONS, PATH, HttpServer
from mcp_studio.servers.stdio import Put, nowhere
from mcp_studio.toolset.function import FunctionTool

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Answer = dict[str, Json]
TOKEN = "MCP_STUDIO_SERVER_TOKEN"
"""Environment variable with the token that clients over HTTP have to show."""
_FRESH = ("server/discover", *versions.LISTS, "resources/read")
"""What has to say how long it may be remembered (2026-07-28)."""
_READING = 1.0
"""Seconds in which a client has to take what it is told of changes."""
_INTERVAL = 0.5
"""Seconds between two looks at what is watched."""
_WATCHED = 500
_PATIENCE = 30.0
"""Seconds for an answer of the client; what a person or a model has to answer may take any time."""


class Mark(NamedTuple):
    """What `tool` says of a method."""

    title: str
    changes: bool
    annotations: dict[str, Json]
    quick: bool


def tool(
    title: str, *, changes: bool = False, destroys: bool = False, repeatable: bool = False, quick: bool = False
) -> Callable[[FunctionT], FunctionT]:
    """Mark a method as a tool, whose docs, parameters and result type become the definition.

    Args:
        changes: it changes something.
        destroys: something can be lost by that.
        repeatable: a second call with the same arguments changes nothing more.
        quick: it runs in the event loop; otherwise in a thread.
    """
    annotations: dict[str, Json] = {"title": title, "readOnlyHint": not changes, "openWorldHint": False}
    if changes:
        annotations |= {"destructiveHint": destroys, "idempotentHint": repeatable}

    def mark(function: FunctionT) -> FunctionT:
        function.__dict__["mark"] = Mark(title, changes, annotations, quick)
        return function

    return mark


class Refused(Exception):
    """A request that is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.error: dict[str, Json] = {"code": code, "message": message} | ({} if data is None else {"data": data})


class InputWanted(Exception):
    """The client has to answer first, and to call again with that (2026-07-28, input_required).

    Args:
        asked: the members of the result that say so.
    """

    def __init__(self, asked: Answer) -> None:
        super().__init__("input required")
        self.asked = asked


@dataclass(eq=False)
class Turn:
    """One request that is answered."""

    peer: ToolPeer
    request: Request
    put: Put
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    left: bool = False
    """The client does not want the answer any more."""

    @property
    def modern(self) -> bool:
        """The request is of the stateless era."""
        return versions.META_VERSION in self.meta

    @property
    def meta(self) -> dict[str, Json]:
        """What the request says of itself."""
        return mapping(self.request.params.get("_meta"))

    @property
    def capabilities(self) -> dict[str, Json]:
        """What the client can do."""
        return mapping(self.meta.get(versions.META_CAPABILITIES)) if self.modern else self.peer.capabilities

    async def progress(self, done: float, message: str, total: float | None = None) -> None:
        """Tell how far it is, if the client wants to know."""
        if (token := self.meta.get("progressToken")) is not None:
            params: dict[str, Json] = {"progressToken": token, "progress": done, "message": message}
            params |= {} if total is None else {"total": total}
            await self.put({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    async def ask(self, method: str, params: dict[str, Json], key: str = "") -> dict[str, Json]:
        """Ask the client, and give its answer.

        Args:
            key: tells the questions of one request apart. In the stateless era the request comes again with each
                answer, and is answered from its start: ask before anything is changed.

        Raises:
            InputWanted: the answer comes with the next call.
            StudioError: it does not answer.
        """
        if not self.modern:
            return await self.peer.ask(method, params, self.put)
        # The state holds nothing but the client's own answers of earlier rounds, so that it needs no seal.
        given = mapping(loads_or(str(self.request.params.get("requestState", ""))))
        given |= mapping(self.request.params.get("inputResponses"))
        found = given.get(key or method)
        if not isinstance(found, dict):
            state: Answer = {"requestState": dumps(given).decode()} if given else {}
            raise InputWanted({"inputRequests": {key or method: {"method": method, "params": params}}, **state})
        return found


_TURN: ContextVar[Turn] = ContextVar("turn")


def report(done: float, message: str) -> None:
    """Tell how far the call is that this thread works for; it ends here if its client has cancelled it."""
    turn = _TURN.get()
    if turn.left:
        raise StudioError("The call was cancelled.")
    asyncio.run_coroutine_threadsafe(turn.progress(done, message), turn.loop).result()


def cancelled() -> Callable[[], bool]:
    """What tells, from any thread, whether the client has cancelled the call that this one works for."""
    turn = _TURN.get(None)
    return lambda: turn is not None and turn.left


class ToolServer:
    """What is served: whatever `handlers` answer."""

    def __init__(self, name: str, title: str, instructions: str) -> None:
        self.greeting: Answer = {
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "title": title, "version": __version__},
            "instructions": instructions,
        }
        self.of_era: dict[bool, Answer] = {False: {}, True: {}}
        """Capabilities of one era alone; True is the stateless one."""
        self.handlers: dict[str, Callable[[Turn], Awaitable[Answer]]] = {"ping": _pong}
        self.noticed: dict[str, Callable[[], None]] = {}
        """What is done when a client sends a notification."""
        self.prepare: Callable[[Turn], Awaitable[None]] | None = None
        """Comes before every call of a tool."""
        self.state: Callable[[str], object] | None = None
        """The state of a resource by its address: where it changes, those who watch are told."""
        self.peers = WeakSet[ToolPeer]()
        self._tools: dict[str, tuple[FunctionTool, Mark]] = {}

    def add(self, toolbox: object, *, prefix: str = "", changes: bool = True) -> None:
        """Offer the marked methods of an object as tools.

        Args:
            prefix: what their names begin with.
            changes: those that change something too.
        """
        self.handlers |= {"tools/list": self._list_tools, "tools/call": self._call_tool}
        for method, function in vars(type(toolbox)).items():
            mark: Mark | None = getattr(function, "mark", None)
            if mark is not None and (changes or not mark.changes):
                self._tools[prefix + method] = FunctionTool(getattr(toolbox, method), prefix + method), mark

    async def announce(self, kind: str, uri: str = "") -> None:
        """Tell every client whom it concerns that a list, or a resource, has changed: the notification of that kind."""
        for peer in tuple(self.peers):
            await peer.tell(kind, uri)

    async def _list_tools(self, turn: Turn) -> Answer:
        return {"tools": [_definition(*one) for one in self._tools.values()]}

    async def _call_tool(self, turn: Turn) -> Answer:
        name, given = str(turn.request.params.get("name")), turn.request.params.get("arguments") or {}
        if name not in self._tools:
            raise Refused(versions.INVALID_PARAMS, f"Unknown tool: {safe(name, 100)}")
        function, mark = self._tools[name]
        try:
            if self.prepare is not None:
                await self.prepare(turn)
            _TURN.set(turn)
            value = function.call(mapping(given)) if mark.quick else await asyncio.to_thread(function.call, given)
        except StudioError as problem:
            said = f"{problem.message} {problem.hint}".strip()
            return {"isError": True, "content": [{"type": "text", "text": said}]}
        # What is text for people is that for models too.
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
    """A schema without the titles that pydantic makes of names: models pay for each word."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema


class ToolPeer:
    """A server as one client sees it; over HTTP all clients of the stateless era are one."""

    def __init__(self, server: ToolServer) -> None:
        self.capabilities: dict[str, Json] = {}
        self.version = ""
        """The version that was agreed on by handshake."""
        self.level = versions.LOG_LEVELS[0]
        """The least severe log message that the client wants, in the handshake era."""
        self.aside: Put = nowhere
        self._server = server
        server.peers.add(self)
        self._ids = itertools.count(1)
        self._running: dict[Turn, asyncio.Task[None]] = {}
        self._asked: dict[RequestId, asyncio.Future[dict[str, Json]]] = {}
        self._listening: dict[Turn, dict[str, Json]] = {}
        """Streams of `subscriptions/listen`, and what each is about."""
        self._subscribed: list[str] = []
        self._seen: dict[str, object] = {}
        self._watching: asyncio.Task[None] | None = None

    def take(self, message: Message, put: Put) -> asyncio.Task[None] | None:
        """Take a message; a request is answered in a task of its own, which is returned."""
        if isinstance(message, Request):
            turn = Turn(self, message, put)
            task = self._running[turn] = asyncio.create_task(self._answer(turn))
            task.add_done_callback(lambda _: self._running.pop(turn, None))
            return task
        if isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                for turn, task in self._running.items():
                    # Over HTTP a stateless client cancels by leaving: another's request may have the same id.
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
        """The client is gone."""
        for task in (*self._running.values(), *([self._watching] if self._watching else [])):
            task.cancel()

    async def ask(self, method: str, params: dict[str, Json], put: Put) -> dict[str, Json]:
        """Ask the client; what it refuses is empty.

        Raises:
            StudioError: it does not answer.
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
        except Refused as refused:
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
            raise Refused(versions.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
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
            raise Refused(versions.METHOD_NOT_FOUND, f"Method not found: {safe(method, 100)}")
        return await server.handlers[method](turn)

    # ------------------------------------------------------------------ what is watched

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
        """Remember how resources are now: what changes from here on is told."""
        if len({*self._seen, *uris}) > _WATCHED:
            raise Refused(versions.INVALID_PARAMS, f"At most {_WATCHED} resources are watched.")
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
        """Say that a resource, or else a list, has changed, if the client wants to hear of it."""
        params: dict[str, Json] = {"uri": uri} if uri else {}
        message: dict[str, Json] = {"jsonrpc": "2.0", "method": f"notifications/{kind}"}
        subscribed = self.version and (not uri or uri in self._subscribed)
        wishes = [self.aside({**message, "params": params})] if subscribed else []
        for turn, wanted in tuple(self._listening.items()):
            of_list = f"{kind.partition('/')[0]}ListChanged" in wanted
            if uri in items_of(wanted.get("resourceSubscriptions")) if uri else of_list:
                meta: Json = {versions.META_SUBSCRIPTION: turn.request.id}
                wishes.append(turn.put({**message, "params": {**params, "_meta": meta}}))
        with suppress(TimeoutError):  # who does not read its stream misses it, and holds up nobody else
            async with asyncio.timeout(_READING):
                await asyncio.gather(*wishes)


def run(server: ToolServer, port: int | None, *, guarded: bool = True) -> int:
    """Serve one client on stdin and stdout, or any number of them on loopback; gives the exit code.

    Args:
        port: 0 takes a free one; None is standard input and output.
        guarded: clients over HTTP have to show a token.

    Raises:
        StudioError: the port cannot be used.
    """
    try:
        if port is None:
            asyncio.run(stdio.serve(ToolPeer(server), sys.stdin.buffer, sys.stdout.buffer))
        else:
            loopback.serve(HttpServer(lambda: ToolPeer(server)), port, PATH, lifespan="off",
                           token=os.environ.get(TOKEN, "") if guarded else None,
                           limit_concurrency=CONNECTIONS)  # fmt: skip
    except KeyboardInterrupt:
        return 130
    return 0
