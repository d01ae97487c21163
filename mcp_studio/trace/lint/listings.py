"""Rules about what servers list: tools, resources, templates, prompts, and their pages."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.headers import header_problem
from mcp_studio.protocol.versions import at_least
from mcp_studio.trace.lint.content import check_annotations, check_icons, check_meta, check_uri
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.shape import Look
from mcp_studio.trace.lint.words import kind_of, quoted

_NAME = r"[A-Za-z0-9_.-]{1,128}"
_NAMES = 20_000
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class List(NamedTuple):
    """What a list method answers with."""

    key: str
    """The member that holds the items."""
    identity: str
    """The member of an item that tells it apart."""
    word: str
    section: str


LISTS = {
    "tools/list": List("tools", "name", "tool", "server/tools#tool"),
    "resources/list": List("resources", "uri", "resource", "server/resources#resource"),
    "resources/templates/list": List("resourceTemplates", "uriTemplate", "template", "server/resources#resource"),
    "prompts/list": List("prompts", "name", "prompt", "server/prompts#prompt"),
}


class Names:
    """The names that the pages of each list have had so far."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}
        self._next: dict[str, Json] = {}

    def begin(self, method: str, cursor: Json = None) -> None:
        """A page was asked for: the first one, the next one, or another one for itself."""
        if cursor is None or cursor != self._next.get(method):
            self._seen[method] = set()

    def goes_on(self, method: str, cursor: Json) -> None:
        """What the newest page names as the next one."""
        self._next[method] = cursor

    def twice(self, method: str, name: str) -> bool:
        """Whether a name was there already; it is from now on."""
        seen = self._seen.setdefault(method, set())
        if name in seen:
            return True
        if len(seen) < _NAMES:
            seen.add(name)
        return False


def check_list(method: str, result: dict[str, Json], version: str, names: Names) -> list[Spot]:
    """One page of a list."""
    listed, spots = LISTS[method], list[Spot]()
    look = Look(result, "/result", f"the answer to {method}", listed.section, spots)
    cursor = result.get("nextCursor")
    names.goes_on(method, cursor)
    if "nextCursor" in result and not isinstance(cursor, str):
        text = f"nextCursor is {kind_of(cursor)}; it must be a string, or be left out."
        spots.append(Spot("cursor-type", text, "/result/nextCursor"))
    for index, raw in enumerate(look.items(listed.key)):
        identity: Json = mapping(raw).get(listed.identity)
        name = f"the {listed.word} {quoted(identity)}" if isinstance(identity, str) else f"a {listed.word}"
        item = look.item(listed.key, index, raw, name)
        if item is None:
            continue
        _check_item(method, item, version)
        if isinstance(identity, str) and names.twice(method, identity):
            item.say("duplicate-name", f"{_capital(name)} is listed more than once.", listed.identity, listed.section)
    return spots


def _check_item(method: str, item: Look, version: str) -> None:
    item.may("title")
    item.may("description")
    if "icons" in item.raw:
        check_icons(item)
    if "_meta" in item.raw:
        check_meta(item)
    if method == "tools/list":
        _tool(item, version)
    elif method == "resources/list":
        check_uri(item)
        item.needs("name")
        item.may("size", "a number")
        item.may("mimeType")
        check_annotations(item)
    elif method == "prompts/list":
        _prompt(item)
    else:
        item.needs("uriTemplate")
        item.needs("name")
        item.may("mimeType")
        check_annotations(item)


def _tool(tool: Look, version: str) -> None:
    if tool.needs("name") and not re.fullmatch(_NAME, tool.raw["name"]):
        what = (
            "is longer than 128 characters"
            if len(tool.raw["name"]) > 128
            else "has other characters than A-Z a-z 0-9 _ - ."
        )
        if not tool.raw["name"]:
            what = "is empty"
        tool.say("tool-name", f"The name of {tool.name} {what}.", "name", "server/tools#tool-names")
    schema = tool.raw.get("inputSchema")
    if not isinstance(schema, dict):
        what = kind_of(schema) if "inputSchema" in tool.raw else "missing"
        tool.say(
            "tool-schema", f"The inputSchema of {tool.name} is {what}; it must be a JSON Schema object.", "inputSchema"
        )
    else:
        kind = cast("dict[str, Json]", schema).get("type")
        if kind != "object":
            tool.say("tool-schema", f'The inputSchema of {tool.name} is not of "type": "object".', "inputSchema/type")
        if version == "2026-07-28" and (wrong := header_problem(cast("Json", schema))):
            tool.say("header-annotation", f"{tool.name}: {wrong}.", "inputSchema", "server/tools#x-mcp-header")
    if "outputSchema" in tool.raw:
        _output(tool, version)
    if annotations := tool.inner("annotations", f"the annotations of {tool.name}"):
        for hint in _HINTS:
            annotations.may(hint, "true or false")


def _output(tool: Look, version: str) -> None:
    schema, section = tool.raw["outputSchema"], "server/tools#output-schema"
    if not isinstance(schema, dict):
        what = kind_of(schema)
        tool.say("output-schema", f"The outputSchema of {tool.name} is {what}.", "outputSchema", section)
    elif not at_least(version, "2026-07-28") and cast("dict[str, Json]", schema).get("type") != "object":
        text = f'The outputSchema of {tool.name} is not of "type": "object".'
        tool.say("output-schema", text, "outputSchema/type", section)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _prompt(prompt: Look) -> None:
    prompt.needs("name")
    for index, raw in enumerate(prompt.items("arguments", required=False)):
        argument = prompt.item("arguments", index, raw, f"an argument of {prompt.name}")
        if argument is not None:
            argument.needs("name")
            argument.may("required", "true or false")
