"""The demo server: its name, and which request goes to which handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import HandlerResult
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from pydantic import BaseModel

from mcp_studio import __version__
from mcp_studio.servers.demo.handlers import Context, Demo
from mcp_studio.servers.demo.tasks import CORE, TaskDesk

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
        get_tool_input_schema=lambda name: tool.raw["inputSchema"] if (tool := demo.find_tool(name)) else None,
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
