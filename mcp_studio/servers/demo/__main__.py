"""`python -m mcp_studio.servers.demo`: serve the bookshop on stdin and stdout, or on loopback with `--http PORT`.

This module has its lists, resources, prompts and completions; `tools` has its tools.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import sys
from collections.abc import Callable, Iterable
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import INVALID_PARAMS, LOG_LEVELS
from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.content import LISTS, Block, Result, problems
from mcp_studio.servers.demo.resources import CATALOGUE, MONTHS, NOTES, ORDERS, book_uri, catalogue
from mcp_studio.servers.demo.shop import GENRES, Shop, as_line
from mcp_studio.servers.demo.tasks import TaskDesk
from mcp_studio.servers.demo.tools import Tools
from mcp_studio.servers.toolserver import RequestError, ToolServer, Turn, run

Arguments = dict[str, str]
Message = dict[str, Any]
LIMIT = 100
"""The most values of one completion."""


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
        _says("user", content.media("image", resources.PICTURE, "image/png")),
        _says("user", content.link(book_uri(book), book.id, book.title, "application/json")),
        _says("user", f"Here are the catalogue, our lantern and {book.title!r}. What belongs together?"),
    ]


def _invitation(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", "Write an invitation to a reading among the shelves, on Thursday at seven.")]


FILLERS: dict[str, Callable[[Shop, Arguments], list[Message]]] = {
    "hello": _hello, "recommend": _recommend, "review": _review, "gift": _gift, "show_and_tell": _show_and_tell,
    "invitation": _invitation,
}  # fmt: skip
"""The functions that make the messages of prompts, by name."""


def complete(shop: Shop, owner: str, argument: str, value: str, known: dict[str, Json]) -> dict[str, Any]:
    """Complete an argument of a prompt or template that begins with `value`; `known` has the other arguments."""
    typed = value.casefold()
    words = dict.fromkeys(_values(shop, owner, argument, known))
    starting = [word for word in words if word.casefold().startswith(typed)]
    inside = [word for word in words if typed in word.casefold() and word not in starting]
    found = starting + inside
    return {"completion": {"values": found[:LIMIT], "total": len(found), "hasMore": len(found) > LIMIT}}


def _values(shop: Shop, owner: str, argument: str, known: dict[str, Json]) -> Iterable[str]:
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


def page(member: str, items: list[dict[str, Any]], turn: Turn, size: int) -> Result:
    """The requested page of `items`, as a list result whose list is called `member`.

    Raises:
        Refused: the cursor is not one of ours.
    """
    starts = range(size, len(items), size)
    cursors = {start: base64.urlsafe_b64encode(f"after:{start}".encode()).decode() for start in starts}
    cursor = turn.request.params.get("cursor")
    start = 0 if cursor is None else next((start for start, one in cursors.items() if one == cursor), -1)
    if start < 0:
        raise RequestError(INVALID_PARAMS, f"Unknown cursor: {str(cursor)[:60]}")
    following = {"nextCursor": cursors[start + size]} if start + size in cursors else {}
    return {member: items[start : start + size], **following}


INSTRUCTIONS = """\
A small bookshop on which to try a client. list_books, add_book and sell_book work on the same books as the
resources and prompts. form_* tools have arguments of every kind, show_* results of every kind, fail_* every kind
of failure, and ask_* ask you back. Nothing is kept when the server stops.
"""


class Demo:
    """The shop and the handlers of every request."""

    def __init__(self) -> None:
        self.shop = Shop()
        self.server = server = ToolServer("mcp-studio-demo", "The Paper Lantern", INSTRUCTIONS)
        description = "A bookshop on which every feature of an MCP client can be tried"
        mapping(server.greeting["serverInfo"])["description"] = description
        changes: dict[str, Json] = {"listChanged": True}
        server.greeting["capabilities"] = {
            "tools": changes, "prompts": changes, "resources": {"subscribe": True, **changes}, "logging": {},
            "completions": {},
        }  # fmt: skip
        server.state = self._state
        self._tools = Tools(self.shop, server, TaskDesk(server))
        server.handlers |= {
            "tools/list": self.list_tools, "tools/call": self.call_tool, "resources/list": self.list_resources,
            "resources/templates/list": self.list_templates, "resources/read": self.read_resource,
            "prompts/list": self.list_prompts, "prompts/get": self.get_prompt, "completion/complete": self.complete,
            "logging/setLevel": self.set_level,
        }  # fmt: skip

    def _state(self, uri: str) -> int:
        """The state of a resource. Only the clock changes without a call, while a client watches it."""
        return self.shop.tick() if uri == resources.CLOCK else 0

    def tools(self) -> list[dict[str, Any]]:
        """The current tools."""
        return LISTS["tools"] + LISTS["guests"] if self.shop.guest else LISTS["tools"]

    async def list_tools(self, turn: Turn) -> Result:
        """tools/list, 25 to a page."""
        # The validator is loaded now, so that the first call is quick.
        asyncio.get_running_loop().run_in_executor(None, problems, {}, {})
        return page("tools", self.tools(), turn, 25)

    async def call_tool(self, turn: Turn) -> Result:
        """tools/call. Wrong arguments are a tool error, an unknown tool is invalid params (server/tools)."""
        params = turn.request.params
        name, args = str(params.get("name")), params.get("arguments") or {}
        tool = next((tool for tool in self.tools() if tool["name"] == name), None)
        if tool is None:
            raise RequestError(INVALID_PARAMS, f"Unknown tool: {name[:100]}")
        if wrong := problems(tool["inputSchema"], args):
            return content.failure("\n".join(wrong))
        try:
            return await getattr(self._tools, name, self._tools.echo)(turn, args)
        except StudioError as trouble:
            return content.failure(trouble.message)

    async def list_resources(self, turn: Turn) -> Result:
        """resources/list, 8 to a page."""
        return page("resources", resources.listed(self.shop), turn, 8)

    async def list_templates(self, turn: Turn) -> Result:
        """resources/templates/list, which may be remembered for a minute."""
        fresh = {"ttlMs": 60_000, "cacheScope": "public"} if turn.modern else {}
        return {**page("resourceTemplates", LISTS["resourceTemplates"], turn, 8), **fresh}

    async def read_resource(self, turn: Turn) -> Result:
        """resources/read; what is not there is -32002 up to 2025-11-25, invalid params later."""
        uri = str(turn.request.params.get("uri"))
        try:
            return {"contents": [resources.read(self.shop, uri)]}
        except StudioError as problem:
            raise RequestError(INVALID_PARAMS if turn.modern else -32002, problem.message, {"uri": uri}) from None

    def prompts(self) -> list[dict[str, Any]]:
        """The current prompts."""
        return LISTS["prompts"] + LISTS["reading"] if self.shop.reading else LISTS["prompts"]

    async def list_prompts(self, turn: Turn) -> Result:
        """prompts/list, 4 to a page."""
        return page("prompts", self.prompts(), turn, 4)

    async def get_prompt(self, turn: Turn) -> Result:
        """prompts/get."""
        name = str(turn.request.params.get("name"))
        prompt = next((prompt for prompt in self.prompts() if prompt["name"] == name), None)
        if prompt is None:
            raise RequestError(INVALID_PARAMS, f"Unknown prompt: {name[:100]}")
        arguments = {key: str(value) for key, value in mapping(turn.request.params.get("arguments")).items()}
        needed = [entry["name"] for entry in prompt.get("arguments", []) if entry.get("required")]
        if missing := [name for name in needed if not arguments.get(name)]:
            raise RequestError(INVALID_PARAMS, f"Missing: {', '.join(missing)}")
        try:
            messages = FILLERS[name](self.shop, arguments)
        except StudioError as problem:
            raise RequestError(INVALID_PARAMS, problem.message) from None
        return {"description": prompt["description"], "messages": messages}

    async def complete(self, turn: Turn) -> Result:
        """completion/complete."""
        params = turn.request.params
        ref, argument = mapping(params.get("ref")), mapping(params.get("argument"))
        known = mapping(mapping(params.get("context")).get("arguments"))
        owner = str(ref.get("name") or ref.get("uri"))
        return complete(self.shop, owner, str(argument.get("name")), str(argument.get("value", "")), known)

    async def set_level(self, turn: Turn) -> Result:
        """logging/setLevel, for this session only."""
        level = str(turn.request.params.get("level"))
        if level not in LOG_LEVELS:
            raise RequestError(INVALID_PARAMS, f"Unknown level: {level[:100]}")
        turn.peer.level = level
        return {}


def main() -> int:
    """Serve until the client leaves (stdio) or the process is interrupted (HTTP)."""
    description = "A bookshop on which every feature of an MCP client can be tried."
    parser = argparse.ArgumentParser(prog="python -m mcp_studio.servers.demo", description=description)
    where = "serve Streamable HTTP on 127.0.0.1 instead (0 takes a free port); the first line on stdout is the URL"
    parser.add_argument("--http", type=int, metavar="PORT", help=where)
    try:
        return run(Demo().server, parser.parse_args().http, guarded=False)
    except StudioError as problem:
        sys.stderr.write(f"{problem.message}\n")
        return problem.exit_code


if __name__ == "__main__":
    sys.exit(main())
