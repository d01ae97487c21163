"""Rules on results that the SDK's types cannot express, and rules that the catalog relies on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mcp_studio.jsontext import Json, dumps, items_of, mapping
from mcp_studio.protocol.versions import EXTENSION_TASKS, LATEST_MODERN, RESULT_TYPES, VERSIONS
from mcp_studio.protocol.views import header_problem
from mcp_studio.safetext import hidden_in
from mcp_studio.trace.lint.methods import INPUT_REQUESTS, check_asking, declares
from mcp_studio.trace.lint.rules import Spot, escaped, kind_of, quoted

_TOOL_NAME = r"[A-Za-z0-9_.-]{1,128}"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_LABEL = r"[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY = rf"({_LABEL}(\.{_LABEL})*/)?([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_ITEMS = 5_000
"""The most items of one result that are checked."""
_NAMES = 20_000
_KEYS, _ICONS, _REQUESTS = 100, 50, 100
_COMPLETIONS = 100
_INPUT = frozenset({"tools/call", "prompts/get", "resources/read"})


class ListShape(NamedTuple):
    """The result of a list method."""

    key: str
    """The member with the items."""
    identity: str
    """The member that identifies an item."""
    noun: str
    section: str


LISTS = {
    "tools/list": ListShape("tools", "name", "tool", "server/tools#tool"),
    "resources/list": ListShape("resources", "uri", "resource", "server/resources#resource"),
    "resources/templates/list": ListShape("resourceTemplates", "uriTemplate", "template", "server/resources#resource"),
    "prompts/list": ListShape("prompts", "name", "prompt", "server/prompts#prompt"),
}


class Pages:
    """The names on the pages of each list so far."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {method: set() for method in LISTS}
        self._next: dict[str, Json] = {}

    def begin(self, method: str, cursor: Json) -> None:
        """Record a request for a page: the next one, or the first of a new list."""
        if cursor is None or cursor != self._next.get(method):
            self._names[method].clear()

    def add(self, method: str, name: str) -> bool:
        """Add a name; False if the list has it already."""
        names = self._names[method]
        known = name in names
        if len(names) < _NAMES:
            names.add(name)
        return not known

    def end(self, method: str, cursor: Json) -> None:
        """Record the cursor of the next page."""
        self._next[method] = cursor


def check_result(method: str, result: dict[str, Json], version: str, client: Json, pages: Pages) -> Iterator[Spot]:
    """The problems of one result; `client` are our capabilities."""
    if version >= LATEST_MODERN and "resultType" in result:
        kind = result["resultType"]
        if kind == "task" and declares(client, f"extensions.{EXTENSION_TASKS}"):
            return
        if kind not in RESULT_TYPES:
            text = f"The resultType {quoted(kind)} is unknown, which makes the result invalid."
            yield Spot("result-type", text, "/result/resultType")
            return
        if kind == "input_required":
            yield from _input_required(method, result, client)
            return
    yield from _meta(result, "the result", "/result")
    if method in LISTS:
        yield from _list(method, result, version, pages)
    elif method == "tools/call":
        yield from _call(result)
    elif method == "resources/read":
        for index, item in enumerate(items_of(result.get("contents"))[:_ITEMS]):
            yield from _uri(mapping(item), f"/result/contents/{index}")
    elif method == "completion/complete":
        values = items_of(mapping(result.get("completion")).get("values"))
        if len(values) > _COMPLETIONS:
            text = f"There are {len(values):,} values; at most {_COMPLETIONS} are allowed."
            yield Spot("completion-values", text, "/result/completion/values")
    elif method == "initialize":
        yield from _icons(mapping(result.get("serverInfo")), "the serverInfo", "/result/serverInfo")
        settled = result.get("protocolVersion")
        if isinstance(settled, str) and settled not in VERSIONS[:-1]:
            text = f"The server settles on the version {quoted(settled)}."
            yield Spot("unknown-version", text, "/result/protocolVersion", "basic/lifecycle#version-negotiation")


# ---------------------------------------------------------------------- lists


def _list(method: str, result: dict[str, Json], version: str, pages: Pages) -> Iterator[Spot]:
    """Check one page of a list. Everything that makes the catalog leave out an item is reported here too."""
    shape, cursor = LISTS[method], result.get("nextCursor")
    pages.end(method, cursor)
    if "nextCursor" in result and not isinstance(cursor, str):
        text = f"nextCursor is {kind_of(cursor)}; it must be a string, or be left out."
        yield Spot("cursor-type", text, "/result/nextCursor")
    for index, item in enumerate(items_of(result.get(shape.key))[:_ITEMS]):
        where = f"/result/{shape.key}/{index}"
        if not isinstance(item, dict):
            yield Spot("wrong-type", f"A {shape.noun} is {kind_of(item)}; it must be an object.", where, shape.section)
        else:
            yield from _item(method, mapping(item), where, version, pages)


def _item(method: str, item: dict[str, Json], where: str, version: str, pages: Pages) -> Iterator[Spot]:
    shape = LISTS[method]
    identity, place = item.get(shape.identity), f"{where}/{shape.identity}"
    name = f"the {shape.noun} {quoted(identity)}"
    if shape.identity not in item:
        name = f"a {shape.noun}"
        yield Spot("missing-field", f"The {shape.identity} of a {shape.noun} is missing.", place, shape.section)
    elif not isinstance(identity, str):
        text = f"The {shape.identity} of a {shape.noun} is {kind_of(identity)}; it must be a string."
        yield Spot("wrong-type", text, place, shape.section)
    elif not pages.add(method, identity):
        yield Spot("duplicate-name", f"There is more than one of {name}.", place, shape.section)
    if method == "tools/list":
        yield from _tool(item, name, where, version)
    elif method == "resources/list":
        yield from _uri(item, where)
    yield from _icons(item, name, where)
    yield from _meta(item, name, where)


def _tool(tool: dict[str, Json], name: str, where: str, version: str) -> Iterator[Spot]:
    identity = tool.get("name")
    if isinstance(identity, str) and not re.fullmatch(_TOOL_NAME, identity):
        text = f"The name of {name} is not 1 to 128 of the characters A-Z a-z 0-9 _ - ."
        yield Spot("tool-name", text, f"{where}/name", "server/tools#tool-names")
    schema = tool.get("inputSchema")
    if mapping(schema).get("type") != "object":
        text = f'The inputSchema of {name} is no JSON Schema of "type": "object".'
        yield Spot("tool-schema", text, f"{where}/inputSchema" + ("/type" if isinstance(schema, dict) else ""))
    elif version >= LATEST_MODERN and (wrong := header_problem(schema)):
        yield Spot("header-annotation", f"In {name}: {wrong}.", f"{where}/inputSchema")


def _uri(item: dict[str, Json], where: str) -> Iterator[Spot]:
    uri = item.get("uri")
    if isinstance(uri, str) and not re.match(_SCHEME, uri):
        yield Spot("resource-uri", f"{quoted(uri)} is no URI: it has no scheme.", f"{where}/uri")


def _icons(item: dict[str, Json], name: str, where: str) -> Iterator[Spot]:
    """Specification, basic, "icons": https or data, nothing that runs or reads local files."""
    for index, icon in enumerate(items_of(item.get("icons"))[:_ICONS]):
        source = mapping(icon).get("src")
        if isinstance(source, str) and not source.lower().startswith(("https:", "data:")):
            text = f"An icon of {name} is neither https nor data ({quoted(source, 20)})."
            yield Spot("icon-source", text, f"{where}/icons/{index}/src")


def _meta(item: dict[str, Json], name: str, where: str) -> Iterator[Spot]:
    """Specification, basic, "_meta": keys are names with an optional prefix."""
    for key in list(mapping(item["_meta"]))[:_KEYS] if "_meta" in item else ():
        if not re.fullmatch(_META_KEY, key):
            yield Spot("meta-key", f"{quoted(key)} is no valid key of _meta of {name}.", f"{where}/_meta")


# ---------------------------------------------------------------------- calls


def _call(result: dict[str, Json]) -> Iterator[Spot]:
    content = items_of(result.get("content"))[:_ITEMS]
    for index, block in enumerate(content):
        if mapping(block).get("type") == "resource_link":
            yield from _uri(mapping(block), f"/result/content/{index}")
    if "structuredContent" in result and not any(mapping(block).get("type") == "text" for block in content):
        text = "There is structuredContent, but no text block with the same for older clients."
        yield Spot("structured-text", text, "/result/content")


def _input_required(method: str, result: dict[str, Json], client: Json) -> Iterator[Spot]:
    if method not in _INPUT:
        yield Spot("input-required", f"{method} must not be answered with input_required.", "/result/resultType")
    if "inputRequests" not in result and "requestState" not in result:
        yield Spot("input-required", "It requests input, but has neither inputRequests nor requestState.", "/result")
    for key, request in list(mapping(result.get("inputRequests")).items())[:_REQUESTS]:
        where, question = f"/result/inputRequests/{escaped(key)}", mapping(request)
        wanted = question.get("method")
        if wanted in INPUT_REQUESTS:
            yield from check_asking(wanted, mapping(question.get("params")), client, where)
        else:
            yield Spot("input-required", f"{quoted(wanted)} cannot be asked for in a result.", where)


_ORDERS = (
    # `\b` in front would cost four times; a tag may follow any letter.
    rb"(?s)(?<![a-z])(?:(?:ignore|disregard|forget)\b.{0,40}\b(?:instructions?|rules|prompts?)\b"
    rb"|do(?:n't| not) (?:tell|inform|mention|reveal|show)\b.{0,30}\b(?:user|person|human|anyone)\b"
    rb"|system prompt\b|(?:always|first|must)\b.{0,30}\b(?:read|send|include|pass)\b.{0,60}"
    rb"(?:~/|\.ssh|\.env\b|password|api key|credential))|<(?:important|system|secret|instructions?)>"
)
"""Phrases, in small letters, by which a text gives orders to a model, against the person who uses the model."""
_TEXTS = ("title", "description", "inputSchema", "arguments")
_READ = 20_000
"""Bytes of a definition that are checked."""


def caution_of(definition: Mapping[str, Json]) -> str:
    """A sentence on suspicious texts in a definition, including its arguments; empty where there are none."""
    # The letter of an escaped line end or tab would join the word behind it.
    text = re.sub(rb"\\u00[01].|\\[bfnrt]", b" ", dumps([definition.get(key) for key in _TEXTS])[:_READ])
    found = re.search(_ORDERS, text.lower())
    order = text[slice(*found.span())].decode("utf-8", "replace") if found else ""
    cautions = [f'its description gives orders to a model ("{" ".join(order.split())[:60]}")'] if order else []
    if not text.isascii() and hidden_in(text.decode("utf-8", "replace")):
        cautions.append("its description has characters that cannot be seen")
    return ", and ".join(cautions)
