"""Rules about results by the method that they answer (specification, schema, and the page of each feature)."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import META_SERVER, RESULT_TYPES, VERSIONS, at_least
from mcp_studio.protocol.views import header_problem
from mcp_studio.trace.lint.methods import check_asking, has_tasks
from mcp_studio.trace.lint.rules import Look, Spot, escaped, kind_of, quoted

_BLOCKS = {
    "text": "2024-11-05",
    "image": "2024-11-05",
    "resource": "2024-11-05",
    "audio": "2025-03-26",
    "resource_link": "2025-06-18",
}
"""Content block type -> the version that brought it."""
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_PREFIX = r"[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
_NAME = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?"
# Patterns as texts: they are compiled when the first message needs them, not at every start.
_KEYS = 100
_ANNOTATIONS = "server/resources#annotations"
_ICONS = 50


def check_block(block: Look, version: str) -> None:
    """One content block (specification, server/tools, "Tool Result")."""
    kind = block.raw.get("type")
    if not isinstance(kind, str):
        block.say("content-block", f"{block.name} has no type.", "type")
        return
    if kind not in _BLOCKS:
        block.say("content-block", f"{block.name} has the unknown type {quoted(kind)}.", "type")
        return
    if version and not at_least(version, _BLOCKS[kind]):
        block.say("content-block", f"{block.name} has the type {kind}, which came with {_BLOCKS[kind]}.", "type")
    check_annotations(block)
    if kind == "text":
        block.needs("text")
    elif kind in ("image", "audio"):
        block.needs("data")
        block.needs("mimeType")
    elif kind == "resource_link":
        check_uri(block)
        block.needs("name")
    elif inner := block.inner("resource", f"the resource of {block.name}", required=True):
        check_resource(inner)


def check_resource(resource: Look) -> None:
    """One item of `contents`: a URI, and either text or bytes (specification, server/resources)."""
    check_uri(resource)
    resource.may("mimeType")
    if "text" in resource.raw:
        resource.may("text")
    elif "blob" in resource.raw:
        resource.may("blob")
    else:
        resource.say("missing-field", f"{resource.name} has neither text nor blob.")


def check_annotations(look: Look) -> None:
    """Specification, server/resources, "Annotations": for whom it is, and how much it matters."""
    notes = look.inner("annotations", f"the annotations of {look.name}")
    if notes is None:
        return
    if any(who not in ("user", "assistant") for who in notes.items("audience", required=False)[:_ICONS]):
        notes.say("wrong-type", "The audience is neither user nor assistant.", "audience", _ANNOTATIONS)
    if notes.may("priority", "a number") and not 0 <= notes.raw["priority"] <= 1:
        notes.say("wrong-type", "The priority is not between 0 and 1.", "priority", _ANNOTATIONS)
    notes.may("lastModified")


def check_uri(look: Look, key: str = "uri") -> None:
    """A URI that must be there."""
    if look.needs(key) and not re.match(_SCHEME, look.raw[key]):
        look.say(
            "resource-uri", f"{quoted(look.raw[key])} is no URI: it has no scheme.", key, "server/resources#resource"
        )


def check_icons(look: Look) -> None:
    """Specification, basic, "icons": https or data, nothing that runs or reads something local."""
    for index, icon in enumerate(look.items("icons", required=False)[:_ICONS]):
        inner = look.item("icons", index, icon, f"an icon of {look.name}")
        if inner is None or not inner.needs("src"):
            continue
        source = cast("str", inner.raw["src"])
        if not source.lower().startswith(("https:", "data:")):
            scheme = source.split(":", 1)[0][:20] if ":" in source else "no scheme"
            inner.say(
                "icon-source", f"{inner.name} is neither https nor data ({quoted(scheme)}).", "src", "basic#icons"
            )


def check_meta(look: Look) -> None:
    """Specification, basic, "_meta": an object whose keys are names with an optional prefix."""
    if "_meta" not in look.raw:
        return
    meta = look.raw["_meta"]
    if not isinstance(meta, dict):
        look.say("wrong-type", f"_meta of {look.name} is {kind_of(meta)}; it must be an object.", "_meta", "basic#meta")
        return
    for key in list(cast("dict[str, Json]", meta))[:_KEYS]:
        prefix, slash, name = key.rpartition("/")
        if (slash and not re.fullmatch(_PREFIX, prefix)) or not re.fullmatch(_NAME, name):
            look.say("meta-key", f"{quoted(key)} is no valid key of _meta.", "_meta", "basic#meta")


_TOOL_NAME = r"[A-Za-z0-9_.-]{1,128}"
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
            item.say(
                "duplicate-name", f"{_capitalized(name)} is listed more than once.", listed.identity, listed.section
            )
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
        _listed_prompt(item)
    else:
        item.needs("uriTemplate")
        item.needs("name")
        item.may("mimeType")
        check_annotations(item)


def _tool(tool: Look, version: str) -> None:
    if tool.needs("name") and not re.fullmatch(_TOOL_NAME, tool.raw["name"]):
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


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed_prompt(prompt: Look) -> None:
    prompt.needs("name")
    for index, raw in enumerate(prompt.items("arguments", required=False)):
        argument = prompt.item("arguments", index, raw, f"an argument of {prompt.name}")
        if argument is not None:
            argument.needs("name")
            argument.may("required", "true or false")


_CACHED = frozenset({*LISTS, "server/discover", "resources/read"})
_INPUT = frozenset({"tools/call", "prompts/get", "resources/read"})
_COMPLETIONS = 100


def check_result(method: str, result: dict[str, Json], version: str, client: Json, names: Names) -> list[Spot]:
    """Everything about one result; `client` are the capabilities that we declared."""
    look = Look(result, "/result", f"the answer to {method}", "", [])
    check_meta(look)
    modern = at_least(version, "2026-07-28")
    if modern:
        _server_info(look)
    if modern and _interim(look, method, client):
        return look.spots
    if modern and method in _CACHED:
        _cache(look)
    if method in LISTS:
        return look.spots + check_list(method, result, version, names)
    if method in _CHECKS:
        _CHECKS[method](look, version)
    return look.spots


def _interim(look: Look, method: str, client: Json) -> bool:
    """Check `resultType`; True when it is not the final result, and has no other shape to be checked."""
    kind = look.raw.get("resultType")
    if "resultType" not in look.raw:
        look.say("result-type", f"{_capital(look)} has no resultType.", "resultType")
        return False
    if kind == "task" and has_tasks(client):
        return True
    if kind not in RESULT_TYPES:
        what = quoted(kind) if isinstance(kind, str) else kind_of(kind)
        look.say("result-type", f"The resultType {what} is unknown, which makes the result invalid.", "resultType")
        return True
    if kind != "input_required":
        return False
    if method not in _INPUT:
        look.say("input-required", f"{method} must not be answered with input_required.", "resultType")
    asked, state = look.raw.get("inputRequests"), look.raw.get("requestState")
    if "inputRequests" not in look.raw and "requestState" not in look.raw:
        look.say("input-required", "It asks for input, but has neither inputRequests nor requestState.")
    if state is not None and not isinstance(state, str):
        look.say("input-required", f"The requestState is {kind_of(state)}; it must be a string.", "requestState")
    if isinstance(asked, dict):
        _input_requests(look, cast("dict[str, Json]", asked), client)
    elif "inputRequests" in look.raw:
        look.say("input-required", f"inputRequests are {kind_of(asked)}; they must be an object.", "inputRequests")
    return True


def _input_requests(look: Look, asked: dict[str, Json], client: Json) -> None:
    for key, request in list(asked.items())[:_COMPLETIONS]:
        where = f"inputRequests/{escaped(key)}"
        body = mapping(request)
        method, params = body.get("method"), body.get("params")
        if method not in ("elicitation/create", "sampling/createMessage", "roots/list"):
            what = quoted(method) if isinstance(method, str) else "no method"
            look.say("input-required", f"An input request has {what}, which cannot be asked for.", where)
            continue
        known = mapping(params)
        look.spots += check_asking(cast("str", method), known, client, f"/result/{where}")


def _server_info(look: Look) -> None:
    """Specification 2026-07-28, basic, "_meta": results may say who the server is."""
    meta = look.raw.get("_meta")
    if not isinstance(meta, dict) or META_SERVER not in meta:
        return
    known = Look(cast("dict[str, Json]", meta), "/result/_meta", "the _meta", "basic#meta", look.spots)
    if known.may(META_SERVER, "an object"):
        info = Look(
            known.raw[META_SERVER], f"/result/_meta/{escaped(META_SERVER)}", "the serverInfo", "basic#meta", look.spots
        )
        for key in ("name", "version"):
            info.needs(key)
        for key in ("title", "description", "websiteUrl"):
            info.may(key)


def _cache(look: Look) -> None:
    """Specification 2026-07-28, server/utilities/caching: hints on every complete result of these methods."""
    ttl, scope = look.raw.get("ttlMs"), look.raw.get("cacheScope")
    if isinstance(ttl, bool) or not isinstance(ttl, int) or ttl < 0:
        what = "no ttlMs" if "ttlMs" not in look.raw else "a ttlMs that is not a whole number from 0"
        look.say("cache-hints", f"{_capital(look)} has {what}.", "ttlMs")
    if scope not in ("public", "private"):
        what = "no cacheScope" if "cacheScope" not in look.raw else "a cacheScope that is neither public nor private"
        look.say("cache-hints", f"{_capital(look)} has {what}.", "cacheScope")


def _call(look: Look, version: str) -> None:
    look.section = "server/tools#tool-result"
    content = look.items("content")
    for index, raw in enumerate(content):
        if block := look.item("content", index, raw, f"content block {index + 1}"):
            check_block(block, version)
    look.may("isError", "true or false")
    if "structuredContent" not in look.raw:
        return
    section = "server/tools#structured-content"
    structured = look.raw["structuredContent"]
    if not at_least(version, "2026-07-28") and not isinstance(structured, dict):
        what = kind_of(structured)
        look.say(
            "structured-content", f"structuredContent is {what}; it must be an object.", "structuredContent", section
        )
    if not any(isinstance(raw, dict) and cast("dict[str, Json]", raw).get("type") == "text" for raw in content):
        text = "There is structuredContent, but no text block with the same for older clients."
        look.say("structured-text", text, "content", section)


def _read(look: Look, version: str) -> None:
    look.section = "server/resources#resource-contents"
    for index, raw in enumerate(look.items("contents")):
        if item := look.item("contents", index, raw, f"content {index + 1}"):
            check_resource(item)


def _prompt(look: Look, version: str) -> None:
    look.section = "server/prompts#promptmessage"
    look.may("description")
    for index, raw in enumerate(look.items("messages")):
        message = look.item("messages", index, raw, f"message {index + 1}")
        if message is None:
            continue
        if message.raw.get("role") not in ("user", "assistant"):
            message.say("wrong-type", f"The role of {message.name} is neither user nor assistant.", "role")
        if block := message.inner("content", f"the content of {message.name}", required=True):
            check_block(block, version)


def _complete(look: Look, version: str) -> None:
    look.section = "server/utilities/completion#completion-results"
    completion = look.inner("completion", "the completion", required=True)
    if completion is None:
        return
    values = completion.items("values")
    if len(values) > _COMPLETIONS:
        completion.say("completion-values", f"There are {len(values):,} values; at most 100 are allowed.", "values")
    if any(not isinstance(value, str) for value in values[:_COMPLETIONS]):
        completion.say("completion-values", "A value is not a string.", "values")
    completion.may("hasMore", "true or false")
    completion.may("total", "a number")


def _initialize(look: Look, version: str) -> None:
    look.section = "basic/lifecycle#initialization"
    look.needs("capabilities", "an object")
    look.may("instructions")
    if look.needs("protocolVersion") and look.raw["protocolVersion"] not in VERSIONS[:-1]:
        text = f"The server settles on the version {quoted(look.raw['protocolVersion'])}."
        look.say("unknown-version", text, "protocolVersion", "basic/lifecycle#version-negotiation")
    if info := look.inner("serverInfo", "the serverInfo", required=True):
        info.needs("name")
        info.needs("version")
        check_icons(info)


def _discover(look: Look, version: str) -> None:
    look.section = "schema#discoverresult"
    look.needs("capabilities", "an object")
    look.may("instructions")
    versions = look.items("supportedVersions")
    if any(not isinstance(item, str) for item in versions):
        look.say("wrong-type", "A supported version is not a string.", "supportedVersions")


def _capital(look: Look) -> str:
    return look.name[:1].upper() + look.name[1:]


_CHECKS = {
    "initialize": _initialize,
    "server/discover": _discover,
    "tools/call": _call,
    "resources/read": _read,
    "prompts/get": _prompt,
    "completion/complete": _complete,
}
