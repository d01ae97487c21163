"""The MCP server that the gateway's clients see, of both eras, built on the SDK's server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

import mcp_types as types
from mcp.server.context import HandlerResult
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PaginatedRequestParams
from pydantic import BaseModel

from mcp_studio.catalog.listing import EntryKind
from mcp_studio.errors import StudioError
from mcp_studio.gateway.clients import Session, can
from mcp_studio.gateway.directory import Offer
from mcp_studio.gateway.exchange import Context, stateless
from mcp_studio.gateway.gateway import Gateway, refusal
from mcp_studio.gateway.notices import Notices
from mcp_studio.gateway.own_tools import OwnTools
from mcp_studio.gateway.tasks import CORE
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import EXTENSION_TASKS, LOG_LEVELS
from mcp_studio.safetext import safe
from mcp_studio.toolset.tokens import search_tools

_ROOTS = 1.0
"""Seconds that a request waits for the roots of its client."""
_PAGE = 500
"""Entries on one page of a list."""
_LISTS: tuple[tuple[str, str, EntryKind], ...] = (
    ("resources/list", "resources", "resource"),
    ("resources/templates/list", "resourceTemplates", "template"),
    ("prompts/list", "prompts", "prompt"),
)
"""Method, member of the result, kind of the entries; lists of tools are made elsewhere."""

ParamsT = TypeVar("ParamsT", bound=BaseModel)


class GatewayServer(Server[Any]):
    """A server that declares changes of its lists to older clients, too."""

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> InitializationOptions:
        """The options of the answer to `initialize`; they always declare notifications of changes."""
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        options = super().create_initialization_options(changes)
        if EXTENSION_TASKS in self.extensions:  # in the handshake era, tasks are no extension
            core = types.ServerTasksCapability.model_validate(CORE)
            options.capabilities = options.capabilities.model_copy(update={"tasks": core, "extensions": None})
        return options


class Handlers:
    """The handlers of all methods."""

    def __init__(self, gateway: Gateway, own: OwnTools | None, notices: Notices) -> None:
        self._gateway = gateway
        self._own = own
        self.notices = notices

    def add_to(self, server: GatewayServer) -> None:
        self._add(server, "tools/list", PaginatedRequestParams, self._list_tools)
        self._add(server, "tools/call", types.CallToolRequestParams, self._call_tool)
        self._add(server, "logging/setLevel", types.SetLevelRequestParams, self._set_level)
        server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, self._roots)
        if self._own is None:
            for method, member, kind in _LISTS:
                self._add(server, method, PaginatedRequestParams, partial(self._list, member, kind))
            self._add(server, "resources/read", types.ReadResourceRequestParams, self._read)
            for wanted, params in ((True, types.SubscribeRequestParams), (False, types.UnsubscribeRequestParams)):
                method = "resources/subscribe" if wanted else "resources/unsubscribe"
                self._add(server, method, params, partial(self._watch, wanted))
            self._add(server, "prompts/get", types.GetPromptRequestParams, self._get_prompt)
            self._add(server, "completion/complete", types.CompleteRequestParams, self._complete)

    def _add(
        self, server: GatewayServer, method: str, params: type[ParamsT],
        handler: Callable[[Context, ParamsT], Awaitable[dict[str, Any]]],
    ) -> None:  # fmt: skip
        """Register a handler of raw results, which are complete unless they say otherwise (resultType, 2026-07-28)."""

        async def answer(ctx: Context, values: ParamsT) -> HandlerResult:
            client = self._gateway.client_of(ctx)
            try:
                with client.request():
                    await self._gateway.ready()
                    await self._settle(ctx)
                    return ({"resultType": "complete"} if stateless(ctx) else {}) | await handler(ctx, values)
            except StudioError as error:
                if method == "tools/call":
                    return refusal(error)
                raise MCPError(INTERNAL_ERROR, str(safe(f"{error.message} {error.hint}".strip()))) from None

        server.add_request_handler(method, params, answer)

    # ------------------------------------------------------------------ tools

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        if self._own is None:
            return await self._list("tools", "tool", ctx, params)
        return page("tools", await self._own.listed(self._gateway.client_of(ctx)), params.cursor)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        arguments = mapping((ctx.params or {}).get("arguments"))
        if self._own is not None and params.name in search_tools():
            return await self._own.call(ctx, params.name, arguments)
        return await self._gateway.call_tool(ctx, self._offer(ctx, "tool", params.name), arguments)

    def target(self, ctx: Context) -> tuple[Offer, dict[str, Any]] | None:
        """The tool of a server that a request calls, directly or through `call_tool`."""
        params = mapping(cast("Json", ctx.params))
        name, arguments = params.get("name"), mapping(params.get("arguments"))
        if self._own is not None and name == "call_tool":
            name, arguments = arguments.get("tool_name"), mapping(arguments.get("arguments"))
        offer = self._gateway.offer(self._gateway.client_of(ctx), "tool", name) if isinstance(name, str) else None
        return None if offer is None else (offer, arguments)

    def _offer(self, ctx: Context, kind: EntryKind, name: str) -> Offer:
        """The entry that a client names.

        Raises:
            MCPError: the client knows no entry of that name.
        """
        if (offer := self._gateway.offer(self._gateway.client_of(ctx), kind, name)) is None:
            raise MCPError(INVALID_PARAMS, f"Unknown {kind}: {safe(name, 100)}")
        return offer

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """The schema with which the headers of a call are compared (2026-07-28)."""
        offer = self._gateway.directory.find("tool", name)
        return None if offer is None else offer.definition.get("inputSchema")

    # ------------------------------------------------------------------ resources and prompts

    async def _list(self, member: str, kind: EntryKind, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        client, offers = self._gateway.client_of(ctx), self._gateway.directory.offers(kind).values()
        return page(member, [one.definition for one in offers if client.sees(one.ref)], params.cursor)

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        ref = self._gateway.directory.resource(params.uri)
        if ref is None or not self._gateway.client_of(ctx).sees(ref):
            raise MCPError(INVALID_PARAMS, "There is no such resource, or several have it.", {"uri": params.uri})
        return await self._gateway.get(ctx, ref, {"uri": ref.name})

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> dict[str, Any]:
        ref, arguments = self._offer(ctx, "prompt", params.name).ref, dict[str, Json](params.arguments or {})
        return await self._gateway.get(ctx, ref, {"name": ref.name, "arguments": arguments})

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> dict[str, Any]:
        if isinstance(params.ref, types.PromptReference):
            ref = self._offer(ctx, "prompt", params.ref.name).ref
        else:
            ref = self._offer(ctx, "template", params.ref.uri).ref
        known = (params.context.arguments if params.context else None) or {}
        found = await self._gateway.studio.caller.complete(ref, params.argument.name, params.argument.value, known)
        total = {} if found.total is None else {"total": found.total}
        return {"completion": {"values": list(found.values), "hasMore": found.has_more, **total}}

    async def _watch(self, wanted: bool, ctx: Context, params: Any) -> dict[str, Any]:
        if session := self._gateway.sessions.of(ctx.session):
            self.notices.subscribe(session, params.uri, wanted)
        return {}

    # ------------------------------------------------------------------ sessions of the handshake era

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> dict[str, Any]:
        if (session := self._gateway.sessions.of(ctx.session)) and params.level in LOG_LEVELS:
            session.level = params.level
            self._gateway.studio.spawn(self._gateway.set_level())
        return {}

    async def _initialized(self, ctx: Context, params: types.NotificationParams) -> None:
        headers = getattr(ctx.request, "headers", {})
        if ctx.session.client_params is None:
            return  # one of several processes, which have no sessions
        session = Session(self._gateway.client_of(ctx), ctx.session, headers.get("mcp-session-id") or "")
        if (oldest := self._gateway.sessions.begin(session)) is not None:
            self.notices.forget(oldest)
        await self._roots(ctx, params)

    def ended(self, identity: str) -> None:
        """Remove a session that its client has ended over HTTP."""
        if (session := self._gateway.sessions.end(identity)) is not None:
            self.notices.forget(session)
            self._gateway.set_roots()

    async def _roots(self, ctx: Context, params: types.NotificationParams) -> None:
        """Note that a new session's roots are unknown, or that the roots have changed."""
        session, known = self._gateway.sessions.of(ctx.session), ctx.session.client_capabilities
        if session is not None and known is not None and len(self._gateway.clients) == 1:
            session.roots_due = can(known, "roots")

    async def _settle(self, ctx: Context) -> None:
        """Ask for the roots of the session, so that servers know them before they work."""
        session = self._gateway.sessions.of(ctx.session)
        if session is not None and session.roots_due:
            asking = self._gateway.studio.spawn(self._gateway.ask_roots(ctx, session))
            await asyncio.wait((asking,), timeout=_ROOTS)


def page(member: str, items: list[dict[str, Any]], cursor: str | None) -> dict[str, Any]:
    """One page of a list.

    Raises:
        MCPError: the cursor is none of ours.
    """
    start = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() and len(cursor) < 9 else 0
    if cursor is not None and not 0 < start < len(items):
        raise MCPError(INVALID_PARAMS, "Unknown cursor.")
    following = {"nextCursor": str(start + _PAGE)} if start + _PAGE < len(items) else {}
    return {member: items[start : start + _PAGE], **following}
