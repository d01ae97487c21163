"""The demo server: its prompts with their completions, and which request goes to which handler."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from mcp_studio import __version__
from mcp_studio.servers import loopback
from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.content import LISTS, Block, problems
from mcp_studio.servers.demo.resources import CATALOGUE, MONTHS, NOTES, ORDERS, book_uri, catalogue
from mcp_studio.servers.demo.shop import GENRES, Shop, ShopError, as_line
from mcp_studio.servers.demo.tasks import CORE, TaskDesk
from mcp_studio.servers.demo.tools import FUNCTIONS, echo
from mcp_studio.servers.demo.turn import Audience, InputWanted, ToolTrouble, Turn

Arguments = dict[str, str]
Message = dict[str, Any]
LIMIT = 100
"""The most values that one answer may hold."""


def _says(role: str, block: Block | str) -> Message:
    return {"role": role, "content": content.text(block) if isinstance(block, str) else block}


def _hello(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", "What can I do in this bookshop? Use its tools to find out, and tell me in three sentences.")]


def _recommend(shop: Shop, arguments: Arguments) -> list[Message]:
    reader = arguments.get("reader") or "somebody who has read everything"
    shelf = "\n".join(map(as_line, shop.books(arguments["genre"]))) or "Nothing on that shelf."
    return [_says("user", f"Recommend one of these {arguments['genre']} books to {reader}:\n{shelf}")]


def _review(shop: Shop, arguments: Arguments) -> list[Message]:
    book = shop.book(arguments["book"])
    tone = arguments.get("tone") or "fair"
    return [
        _says("user", f"I would like a {tone} review of {book.title!r}."),
        _says("assistant", f"Gladly. Did you finish {book.title!r}, or did you stop somewhere?"),
        _says("user", "I stopped two pages before the end. Write it anyway."),
    ]


def _gift(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", f"Write a card for a gift: {arguments['title']!r} by {arguments['author']}.")]


def _show_and_tell(shop: Shop, arguments: Arguments) -> list[Message]:
    book = shop.book(arguments["book"])
    return [
        _says("user", content.embedded(CATALOGUE, "application/json", catalogue(shop))),
        _says("user", content.media("image", resources.png(64), "image/png")),
        _says("user", content.link(book_uri(book), book.id, book.title, "application/json")),
        _says("user", f"Here are the catalogue, our lantern and {book.title!r}. What belongs together?"),
    ]


def _invitation(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", "Write an invitation to a reading among the shelves, on Thursday at seven.")]


FILLERS: dict[str, Callable[[Shop, Arguments], list[Message]]] = {
    "hello": _hello, "recommend": _recommend, "review": _review, "gift": _gift, "show_and_tell": _show_and_tell,
    "invitation": _invitation,
}  # fmt: skip
"""What makes the messages of a prompt, by its name."""


def prompts(shop: Shop) -> list[dict[str, Any]]:
    """The prompts of the moment."""
    return LISTS["prompts"] + LISTS["reading"] if shop.reading else LISTS["prompts"]


def missing(prompt: dict[str, Any], arguments: Arguments) -> list[str]:
    """Required arguments that are not there."""
    wanted: list[dict[str, Any]] = prompt.get("arguments", [])
    return [entry["name"] for entry in wanted if entry.get("required") and not arguments.get(entry["name"])]


def complete(shop: Shop, owner: str, argument: str, value: str, known: dict[str, str]) -> dict[str, Any]:
    """Values for an argument of a prompt or template that go on from `value`; `known` are the others' values."""
    typed = value.casefold()
    words = dict.fromkeys(_values(shop, owner, argument, known))
    starting = [word for word in words if word.casefold().startswith(typed)]
    inside = [word for word in words if typed in word.casefold() and word not in starting]
    found = starting + inside
    return {"completion": {"values": found[:LIMIT], "total": len(found), "hasMore": len(found) > LIMIT}}


def _values(shop: Shop, owner: str, argument: str, known: dict[str, str]) -> Iterable[str]:
    if (owner, argument) == ("gift", "title"):
        author = known.get("author", "")
        return [book.title for book in shop.books() if author in ("", book.author)]
    if argument in ("book", "id"):
        return [book.id for book in shop.books()]
    if argument in ("author", "name"):
        return sorted({book.author for book in shop.books()})
    fixed: dict[str, Iterable[str]] = {
        "genre": GENRES,
        "tone": ("kind", "fair", "merciless"),
        "order": ORDERS,
        "month": MONTHS,
        "year": [str(year) for year in range(2026, 1900, -1)],
        "path": NOTES,
    }
    return fixed.get(argument, ())


def page(member: str, items: list[dict[str, Any]], cursor: str | None, size: int) -> dict[str, Any]:
    """One page of `items` as a list result whose list is called `member`.

    Raises:
        MCPError: invalid params, when the cursor is not one of ours.
    """
    start = 0 if cursor is None else _decode(cursor, len(items))
    made: dict[str, Any] = {member: items[start : start + size]}
    if start + size < len(items):
        made["nextCursor"] = base64.urlsafe_b64encode(f"after:{start + size}".encode()).decode()
    return made


def _decode(cursor: str, length: int) -> int:
    try:
        word, _, number = base64.urlsafe_b64decode(cursor).decode().partition(":")
        start = int(number)
    except ValueError:
        word, start = "", 0
    if word != "after" or not 0 < start < length:
        raise MCPError(INVALID_PARAMS, f"Unknown cursor: {cursor[:60]}")
    return start


Context = ServerRequestContext[Any, Any]

TICK = 2.0
"""Seconds between two ticks of the clock."""


class Demo:
    """The shop, its audience and the handlers for every request."""

    def __init__(self) -> None:
        self.shop = Shop()
        self.audience = Audience()
        self._listed = anyio.Event()

    def tools(self) -> list[dict[str, Any]]:
        """The tools of the moment."""
        return LISTS["tools"] + LISTS["guests"] if self.shop.guest else LISTS["tools"]

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The schema of a tool's arguments; None where there is no such tool."""
        return next((tool["inputSchema"] for tool in self.tools() if tool["name"] == name), None)

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """tools/list, 25 to a page."""
        self._listed.set()
        return page("tools", self.tools(), params.cursor, 25)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """tools/call. Wrong arguments are a tool error, an unknown tool is invalid params (server/tools)."""
        schema = self.input_schema(params.name)
        if schema is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        args: dict[str, Any] = (ctx.params or {}).get("arguments") or {}
        if wrong := problems(schema, args):
            return content.failure("\n".join(wrong))
        try:
            return await FUNCTIONS.get(params.name, echo)(Turn(ctx, params, self.shop, self.audience), args)
        except (ToolTrouble, ShopError) as trouble:
            return content.failure(str(trouble))
        except InputWanted as wanted:
            return wanted.result

    async def list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """resources/list, 8 to a page."""
        return page("resources", resources.listed(self.shop), params.cursor, 8)

    async def list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """resources/templates/list."""
        return page("resourceTemplates", LISTS["resourceTemplates"], params.cursor, 8)

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> HandlerResult:
        """resources/read; what is not there is -32002 up to 2025-11-25, invalid params later."""
        reason = "There is no such resource."
        try:
            if (item := resources.read(self.shop, params.uri)) is not None:
                return {"contents": [item]}
        except ShopError as error:
            reason = str(error)
        code = types.INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else -32002
        raise MCPError(code, reason, {"uri": params.uri})

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> HandlerResult:
        """resources/subscribe."""
        self.audience.subscribe(ctx, params.uri)
        return {}

    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> HandlerResult:
        """resources/unsubscribe."""
        self.audience.unsubscribe(ctx, params.uri)
        return {}

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """prompts/list, 4 to a page."""
        return page("prompts", prompts(self.shop), params.cursor, 4)

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> HandlerResult:
        """prompts/get."""
        prompt = next((prompt for prompt in prompts(self.shop) if prompt["name"] == params.name), None)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}")
        arguments = params.arguments or {}
        if names := missing(prompt, arguments):
            raise MCPError(types.INVALID_PARAMS, f"Missing: {', '.join(names)}")
        try:
            messages = FILLERS[params.name](self.shop, arguments)
        except ShopError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        return {"description": prompt["description"], "messages": messages}

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> HandlerResult:
        """completion/complete."""
        owner = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
        known = (params.context.arguments if params.context else None) or {}
        return complete(self.shop, owner, params.argument.name, params.argument.value, known)

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> HandlerResult:
        """logging/setLevel, for this session only."""
        self.audience.listener(ctx).level = params.level
        return {}

    async def initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        """An older client is ready: it will hear of changed lists."""
        self.audience.listener(ctx)

    async def tick(self) -> None:
        """Let the clock tick while somebody watches it."""
        while True:
            await self.audience.until_watched(resources.CLOCK)
            await anyio.sleep(TICK)
            self.shop.ticks += 1
            await self.audience.tell(ResourceUpdated(resources.CLOCK))

    async def warm_up(self) -> None:
        """Once the tools are known, load what checks their arguments, so that the first call is quick."""
        await self._listed.wait()
        await anyio.to_thread.run_sync(problems, {}, {})

    @asynccontextmanager
    async def lifespan(self, server: object) -> AsyncGenerator[None, None]:
        """What runs beside the requests."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.tick)
            tasks.start_soon(self.warm_up)
            yield
            tasks.cancel_scope.cancel()


INSTRUCTIONS = """\
A small bookshop on which to try a client. list_books, add_book and sell_book work on the same books as the
resources and prompts. form_* tools have arguments of every kind, show_* results of every kind, fail_* every kind
of failure, and ask_* ask you back. Nothing is kept when the server stops.
"""


ParamsT = TypeVar("ParamsT", bound=BaseModel)


class DemoServer(Server[Any]):
    """A server that announces to older clients, too, that its lists change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """The answer to `initialize`."""
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        options = super().create_initialization_options(
            notification_options or changes, experimental_capabilities, extensions
        )
        core = types.ServerTasksCapability.model_validate(CORE)
        options.capabilities = options.capabilities.model_copy(update={"tasks": core, "extensions": None})
        return options

    def answer(self, method: str, params: type[ParamsT], handler: Callable[[Context, ParamsT], Awaitable[Any]]) -> None:
        """Register a handler of raw results; they are complete unless they say otherwise (resultType, 2026-07-28)."""

        async def complete(ctx: Context, given: ParamsT) -> HandlerResult:
            result = await handler(ctx, given)
            return {"resultType": "complete", **result} if isinstance(result, dict) else result

        self.add_request_handler(method, params, complete)


def build() -> Server[Any]:
    """A demo server with a fresh shop."""
    demo = Demo()
    fresh = CacheHint(ttl_ms=0, scope="private")
    server = DemoServer(
        "mcp-studio-demo",
        version=__version__,
        title="The Paper Lantern",
        description="A bookshop on which every feature of an MCP client can be tried",
        instructions=INSTRUCTIONS,
        cache_hints={
            "server/discover": fresh,
            "tools/list": fresh,
            "prompts/list": fresh,
            "resources/list": fresh,
            "resources/templates/list": CacheHint(ttl_ms=60_000, scope="public"),
            "resources/read": fresh,
        },
        lifespan=demo.lifespan,
        get_tool_input_schema=demo.input_schema,
        on_subscriptions_listen=demo.audience.listen,
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    TaskDesk().add_to(server)
    add = server.answer
    add("tools/list", types.PaginatedRequestParams, demo.list_tools)
    add("tools/call", types.CallToolRequestParams, demo.call_tool)
    add("resources/list", types.PaginatedRequestParams, demo.list_resources)
    add("resources/templates/list", types.PaginatedRequestParams, demo.list_templates)
    add("resources/read", types.ReadResourceRequestParams, demo.read_resource)
    add("resources/subscribe", types.SubscribeRequestParams, demo.subscribe)
    add("resources/unsubscribe", types.UnsubscribeRequestParams, demo.unsubscribe)
    add("prompts/list", types.PaginatedRequestParams, demo.list_prompts)
    add("prompts/get", types.GetPromptRequestParams, demo.get_prompt)
    add("completion/complete", types.CompleteRequestParams, demo.complete)
    add("logging/setLevel", types.SetLevelRequestParams, demo.set_level)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, demo.initialized)
    return server


def stdio() -> None:
    """Serve one client on stdin and stdout, until it closes stdin."""

    async def run() -> None:
        server = build()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def http(port: int) -> None:
    """Serve any number of clients on loopback; the URL is written as the first line on stdout.

    Raises:
        OSError: the port is taken.
    """
    loopback.serve(build().streamable_http_app(), port, "/mcp", lifespan="on")
