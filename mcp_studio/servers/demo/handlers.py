"""What the demo server answers to each request. Results are raw JSON, so nothing stands between them and the wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.audience import Audience
from mcp_studio.servers.demo.completion import complete
from mcp_studio.servers.demo.paging import page
from mcp_studio.servers.demo.prompts import prompts
from mcp_studio.servers.demo.shop import Shop, ShopError
from mcp_studio.servers.demo.templates import TEMPLATES
from mcp_studio.servers.demo.tool import Tool, problems
from mcp_studio.servers.demo.tools import all_tools
from mcp_studio.servers.demo.tools.changing import GUESTS
from mcp_studio.servers.demo.turn import InputWanted, ToolTrouble, Turn

Context = ServerRequestContext[Any, Any]

TICK = 2.0
"""Seconds between two ticks of the clock."""


class Demo:
    """The shop, its audience and the handlers for every request."""

    def __init__(self) -> None:
        self.shop = Shop()
        self.audience = Audience()
        self._tools = all_tools()
        self._listed = anyio.Event()

    def tools(self) -> list[Tool]:
        """The tools of the moment."""
        return [*self._tools, *GUESTS] if self.shop.guest else self._tools

    def find_tool(self, name: str) -> Tool | None:
        """The tool of that name, if it is there."""
        return next((tool for tool in self.tools() if tool.name == name), None)

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """tools/list, 25 to a page."""
        self._listed.set()
        return page("tools", [tool.raw for tool in self.tools()], params.cursor, 25)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """tools/call. Wrong arguments are a tool error, an unknown tool is invalid params (server/tools)."""
        tool = self.find_tool(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        args: dict[str, Any] = (ctx.params or {}).get("arguments") or {}
        if wrong := problems(tool.raw["inputSchema"], args):
            return content.failure("\n".join(wrong))
        try:
            return await tool.run(Turn(ctx, params, self.shop, self.audience), args)
        except (ToolTrouble, ShopError) as trouble:
            return content.failure(str(trouble))
        except InputWanted as wanted:
            return wanted.result

    async def list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """resources/list, 8 to a page."""
        return page("resources", resources.listed(self.shop), params.cursor, 8)

    async def list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        """resources/templates/list."""
        return page("resourceTemplates", [template.raw for template in TEMPLATES], params.cursor, 8)

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> HandlerResult:
        """resources/read; what is not there is -32002 up to 2025-11-25, invalid params later."""
        for resource in resources.FIXED:
            if resource.raw["uri"] == params.uri:
                body = resource.read(self.shop)
                item = content.contents(params.uri, resource.raw["mimeType"], body)
                meta = {"_meta": resource.raw["_meta"]} if "_meta" in resource.raw else {}
                return {"contents": [{**item, **meta}]}
        reason = "There is no such resource."
        for template in TEMPLATES:
            values = template.uri.match(params.uri)
            if values is not None:
                try:
                    body = template.read(self.shop, values)
                    return {"contents": [content.contents(params.uri, template.mime, body)]}
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
        return page("prompts", [prompt.raw for prompt in prompts(self.shop)], params.cursor, 4)

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> HandlerResult:
        """prompts/get."""
        prompt = next((prompt for prompt in prompts(self.shop) if prompt.name == params.name), None)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}")
        arguments = params.arguments or {}
        if missing := prompt.missing(arguments):
            raise MCPError(types.INVALID_PARAMS, f"Missing: {', '.join(missing)}")
        try:
            messages = prompt.fill(self.shop, arguments)
        except ShopError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        return {"description": prompt.raw["description"], "messages": messages}

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
