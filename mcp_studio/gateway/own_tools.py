"""The gateway's own tools: with them an agent finds the tools of all servers, reads one, and calls it."""

from __future__ import annotations

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
from mcp_studio.toolset.tokens import search_tools

_ABOUT = 300
"""Characters of a description in a list; the definition has the whole description."""
_HOT = 10
"""The most used tools, which the gateway also lists directly."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""The names for registered tools. They differ from every tool of a server, whose name has a dot."""
_LARGEST = 64 * 1024
"""The largest registered tool in bytes."""
_MOST = 1_000
"""Tools that one client may register."""


class OwnTools:
    """Answers calls of the gateway's own tools."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._registry = gateway.studio.registry
        self._handlers: dict[str, Callable[[Context, Client, dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "search_tools": self._search, "get_tool_definition": self._definition, "list_categories": self._categories,
            "list_tools_by_category": self._by_category, "call_tool": self._call, "register_tool": self._register,
        }  # fmt: skip

    async def listed(self, client: Client) -> list[dict[str, Any]]:
        """The gateway's own tools that a client may use, and the hot tools."""
        await self._registry.ready()
        used = {record.name for record in self._registry.hot(_HOT)}
        patterns = self._gateway.settings.hot
        offers = [one for one in self._gateway.directory.offers("tool").values() if client.sees(one.ref)]
        own = [tool for name, tool in search_tools().items() if name != "register_tool" or client.rules.register]
        own += [one.definition for one in offers if str(one.ref) in used or matches(str(one.ref), patterns)]
        self._gateway.count(client, map(_for_models, own), [_for_models(one.definition) for one in offers])
        return own

    async def call(self, ctx: Context, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call one of the gateway's own tools.

        Raises:
            UsageError: the arguments do not fit, or there is no such tool, category or method.
        """
        tool = search_tools()[name]
        parts: dict[str, dict[str, Any]] = tool["inputSchema"]["properties"]
        wrong = [one.sentence for one in errors(quick(build(tool["inputSchema"]), arguments))]
        if wrong := [*wrong, *(f"{key[:80]!r} is none of its arguments" for key in arguments if key not in parts)]:
            raise UsageError(f"{name}: {'; '.join(wrong)}")
        arguments = {key: part["default"] for key, part in parts.items() if "default" in part} | arguments
        client = self._gateway.client_of(ctx)
        if name != "call_tool":  # call_tool has to work even if the registry fails
            await self._registry.ready()
        result = await self._handlers[name](ctx, client, arguments)
        if tool["annotations"]["readOnlyHint"]:
            self._gateway.count(client, [result.get("structuredContent")])
        return result

    # ------------------------------------------------------------------ each of them

    async def _search(self, ctx: Context, client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
        found = await self._registry.asearch(
            arguments["query"], arguments["search_method"], arguments["limit"],
            where=lambda record: self._name(client, record) is not None, once=True,
        )  # fmt: skip
        rows: list[Json] = [
            {**self._row(client, hit.record), "score": round(hit.score, 4), "why": str(safe(hit.why, _ABOUT))}
            for hit in found.hits
        ]
        note = found.note or ("" if rows else "No tool matches. Use other words, or list_categories.")
        return _answer({"tools": rows, **({"note": note} if note else {})})

    async def _definition(self, ctx: Context, client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
        name = arguments["tool_name"]
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

    async def _categories(self, ctx: Context, client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
        counts = Counter(record.group for record in self._registry.records() if self._name(client, record))
        return _answer({"categories": {str(safe(name, 100)): count for name, count in sorted(counts.items())}})

    async def _by_category(self, ctx: Context, client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
        records = self._registry.by_category(arguments["category"], 1_000_000)
        rows: list[Json] = [cast("Json", self._row(client, one)) for one in records if self._name(client, one)]
        if not rows:
            raise UsageError(f"There is no category {arguments['category'][:100]!r}.", hint="See list_categories.")
        left = {"more": len(rows) - arguments["limit"]} if len(rows) > arguments["limit"] else {}
        return _answer({"tools": rows[: arguments["limit"]], **left})

    async def _call(self, ctx: Context, client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
        name = arguments["tool_name"]
        offer = self._gateway.offer(client, "tool", name)
        if offer is None:
            await self._registry.ready()
            if (record := self._registry.get(name)) and not record.server and self._name(client, record):
                raise UsageError(f"{name} is registered as a description only: nobody here can call it.")
            raise _unknown(name)
        return await self._gateway.call_tool(ctx, offer, arguments.get("arguments") or {})

    async def _register(self, ctx: Context, client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
        name = arguments["name"]
        if not client.rules.register:
            raise UsageError("This client may not register tools.", hint="[gateway] register = true allows it.")
        taken = {one.lower() for one in (*search_tools(), *self._gateway.directory.offers("tool"))}
        mark, known = _mark(client), self._registry.get(name)
        foreign = name.lower() in taken or name.lower().startswith("mcp__") or (known and mark not in known.tags)
        if foreign or not _NAME.fullmatch(name):
            hint = "A name has letters, digits, _ and -, begins with a letter, and no other tool has it."
            raise UsageError(f"A tool cannot be registered as {name[:80]!r}.", hint=hint)
        schema: dict[str, Json] = {"type": "object", **arguments.get("input_schema", {})}
        if schema["type"] != "object":
            raise UsageError(f"The input_schema of {name} has to be of type object.")
        if len(dumps(cast("Json", arguments))) > _LARGEST:
            raise UsageError(f"{name} is too large: more than {_LARGEST // 1024} KB.")
        if sum(mark in one.tags for one in self._registry.records()) >= _MOST:
            raise UsageError(f"More than {_MOST:,} tools are registered.")
        tags = (mark, *(tag for tag in arguments.get("tags", ()) if not tag.startswith(_CLIENT)))
        record = ToolRecord(
            name, description=arguments["description"], tags=tags, category=arguments.get("category", ""),
            input_schema=schema, source="program",
        )  # fmt: skip
        self._registry.add([record], replace_own=known is not None)
        return _answer({"registered": name})

    # ------------------------------------------------------------------ what a client may know of

    def _name(self, client: Client, record: ToolRecord) -> str | None:
        """The name under which a client knows a tool; None if the client may not know the tool."""
        if record.server:
            offer = self._gateway.offer(client, "tool", record.name)
            return offer.name if offer else None
        shown = self._gateway.directory.shows(record.name) and matches(record.name, client.rules.tools or ("*",))
        known = _mark(client) in record.tags if record.source == "program" else shown
        return record.name if known else None

    def _row(self, client: Client, record: ToolRecord) -> dict[str, Json]:
        return {
            "name": self._name(client, record), "description": str(safe(record.description, _ABOUT)),
            "category": str(safe(record.group, 100)),
        }  # fmt: skip


_CLIENT = "client:"


def _mark(client: Client) -> str:
    """The tag of the tools that a client has registered: only this client finds them."""
    return f"{_CLIENT}{client.name}"


def _for_models(definition: dict[str, Any]) -> dict[str, Any]:
    """The part of a definition that clients show to models."""
    return {key: definition.get(key) for key in ("name", "description", "inputSchema")}


def _unknown(name: str) -> UsageError:
    return UsageError(f"There is no tool {name[:100]!r}.", hint="Find one with search_tools.")


def _answer(value: dict[str, Any]) -> dict[str, Any]:
    text = dumps(cast("Json", value)).decode("utf-8", "replace")
    return {"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": False}
