"""The gateway's own tools: an agent finds the tools of all servers by them, reads one, and calls it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, cast

from mcp_studio.errors import UsageError
from mcp_studio.gateway.clients import Client
from mcp_studio.gateway.directory import matches, readable
from mcp_studio.gateway.exchange import Context
from mcp_studio.gateway.gateway import Gateway
from mcp_studio.jsontext import Json, dumps
from mcp_studio.registry.record import ToolRecord
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.toolset.tokens import search_tools, tokenizer

_ABOUT = 300
"""Characters of a description in a list; the whole of it is in the definition."""
_HOT = 10
"""Tools that are tools of their own because they are used most."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What a registered tool may be called: never like a tool of a server, which has a dot."""
_LARGEST = 64 * 1024
"""Bytes of a registered tool."""
_MOST = 1_000
"""Tools that one client may register."""


class OwnTools:
    """Answers calls of these tools."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._registry = gateway.studio.registry
        self._handlers: dict[str, Callable[[Context, Client, dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "search_tools": self._search, "get_tool_definition": self._definition, "list_categories": self._categories,
            "list_tools_by_category": self._by_category, "call_tool": self._call, "register_tool": self._register,
        }  # fmt: skip

    def definitions(self, client: Client) -> list[dict[str, Any]]:
        """Those that a client may use."""
        return [tool for name, tool in search_tools().items() if name != "register_tool" or client.rules.register]

    async def hot(self, client: Client) -> list[dict[str, Any]]:
        """The definitions of tools that are tools of their own."""
        await self._registry.ready()
        used = {record.name for record in self._registry.hot(_HOT)}
        patterns = self._gateway.settings.hot
        return [
            offer.definition
            for offer in self._gateway.directory.offers("tool").values()
            if client.sees(offer.ref) and (str(offer.ref) in used or matches(str(offer.ref), patterns))
        ]

    def listed(self, client: Client, definitions: list[dict[str, Any]]) -> None:
        """A client was given these instead of all tools that it sees."""
        offers = self._gateway.directory.offers("tool")
        instead = [one.definition for one in offers.values() if client.sees(one.ref)]
        self._gateway.studio.spawn(self._account(client, definitions, instead))

    async def _account(self, client: Client, given: list[Any], instead: list[Any]) -> None:
        """Count what a client reads, beside its requests."""
        tokens = tokenizer().tokens

        def count(values: list[Any]) -> int:
            return sum(tokens(dumps(value).decode("utf-8", "replace")) for value in values)

        client.read += await asyncio.to_thread(count, given)
        client.spared += await asyncio.to_thread(count, instead)

    async def call(self, ctx: Context, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do what one of them is for.

        Raises:
            UsageError: the arguments do not fit, or there is no such tool, category or method.
        """
        tool = search_tools()[name]
        if wrong := errors(quick(build(tool["inputSchema"]), arguments)):
            raise UsageError(f"{name}: {'; '.join(one.sentence for one in wrong)}")
        parts: dict[str, dict[str, Any]] = tool["inputSchema"]["properties"]
        given = {key: part["default"] for key, part in parts.items() if "default" in part} | arguments
        client = self._gateway.client_of(ctx)
        if name != "call_tool":  # which has to work whatever becomes of the registry
            await self._registry.ready()
        result = await self._handlers[name](ctx, client, given)
        if tool["annotations"]["readOnlyHint"]:
            self._gateway.studio.spawn(self._account(client, [result.get("structuredContent")], []))
        return result

    # ------------------------------------------------------------------ each of them

    async def _search(self, ctx: Context, client: Client, given: dict[str, Any]) -> dict[str, Any]:
        found = await self._registry.asearch(
            given["query"], given["search_method"], given["limit"],
            where=lambda record: self._name(client, record) is not None, once=True,
        )  # fmt: skip
        rows: list[Json] = [
            {**self._row(client, hit.record), "score": round(hit.score, 4), "why": str(safe(hit.why, _ABOUT))}
            for hit in found.hits
        ]
        return _answer({"tools": rows, **({"note": found.note} if found.note else {})})

    async def _definition(self, ctx: Context, client: Client, given: dict[str, Any]) -> dict[str, Any]:
        name = given["tool_name"]
        if (offer := self._gateway.offer(client, "tool", name)) is not None:
            record = self._registry.get(str(offer.ref))
            definition: dict[str, Any] = offer.definition
        elif (record := self._registry.get(name)) is not None and self._name(client, record):
            definition = cast("dict[str, Any]", readable(record.definition))
        else:
            raise _unknown(name)
        tags = [str(safe(tag, 100)) for tag in (record.tags if record else ()) if not tag.startswith(_CLIENT)]
        more = {"category": safe(record.group, 100), "tags": tags} if record else {}
        return _answer({"definition": definition, **more})

    async def _categories(self, ctx: Context, client: Client, given: dict[str, Any]) -> dict[str, Any]:
        counts = Counter(record.group for record in self._registry.records() if self._name(client, record))
        return _answer({"categories": {str(safe(name, 100)): count for name, count in sorted(counts.items())}})

    async def _by_category(self, ctx: Context, client: Client, given: dict[str, Any]) -> dict[str, Any]:
        records = self._registry.by_category(given["category"], 1_000_000)
        rows: list[Json] = [cast("Json", self._row(client, one)) for one in records if self._name(client, one)]
        if not rows:
            raise UsageError(f"There is no category {given['category'][:100]!r}.", hint="See list_categories.")
        left = {"more": len(rows) - given["limit"]} if len(rows) > given["limit"] else {}
        return _answer({"tools": rows[: given["limit"]], **left})

    async def _call(self, ctx: Context, client: Client, given: dict[str, Any]) -> dict[str, Any]:
        name = given["tool_name"]
        offer = self._gateway.offer(client, "tool", name)
        if offer is None:
            await self._registry.ready()
            record = self._registry.get(name)
            if record is not None and not record.server and self._name(client, record):
                raise UsageError(f"{name} is registered as a description only: nobody here can call it.")
            raise _unknown(name)
        return await self._gateway.call_tool(ctx, offer, given.get("arguments") or {})

    async def _register(self, ctx: Context, client: Client, given: dict[str, Any]) -> dict[str, Any]:
        name = given["name"]
        if not client.rules.register:
            raise UsageError("This client may not register tools.", hint="[gateway] register = true allows it.")
        taken = search_tools().keys() | self._gateway.directory.offers("tool").keys()
        if not _NAME.fullmatch(name) or name in taken or name.lower().startswith("mcp__"):
            hint = "Letters, digits, _ and - make a name, and it is none of a tool that there is."
            raise UsageError(f"A tool cannot be registered as {name[:80]!r}.", hint=hint)
        if len(dumps(cast("Json", given))) > _LARGEST:
            raise UsageError(f"{name} is too large: more than {_LARGEST // 1024} KB.")
        mark = _mark(client)
        if sum(mark in one.tags for one in self._registry.records()) >= _MOST:
            raise UsageError(f"More than {_MOST:,} tools are registered.")
        tags = (mark, *(tag for tag in given.get("tags", ()) if not tag.startswith(_CLIENT)))
        record = ToolRecord(
            name, description=given["description"], tags=tags, category=given.get("category", ""),
            input_schema=given.get("input_schema") or {"type": "object"}, source="program",
        )  # fmt: skip
        self._registry.add([record], replace_own=False)
        return _answer({"registered": name})

    # ------------------------------------------------------------------ what a client may know of

    def _name(self, client: Client, record: ToolRecord) -> str | None:
        """What a client knows a tool by; None where it is none of its business."""
        if record.server:
            offer = self._gateway.offer(client, "tool", record.name)
            return offer.name if offer else None
        return record.name if record.source != "program" or _mark(client) in record.tags else None

    def _row(self, client: Client, record: ToolRecord) -> dict[str, Json]:
        return {
            "name": self._name(client, record), "description": str(safe(record.description, _ABOUT)),
            "category": str(safe(record.group, 100)),
        }  # fmt: skip


_CLIENT = "client:"


def _mark(client: Client) -> str:
    """The tag of what a client has registered: it alone finds that."""
    return f"{_CLIENT}{client.name}"


def _unknown(name: str) -> UsageError:
    return UsageError(f"There is no tool {name[:100]!r}.", hint="Find one with search_tools.")


def _answer(value: dict[str, Any]) -> dict[str, Any]:
    text = dumps(cast("Json", value)).decode("utf-8", "replace")
    return {"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": False}
