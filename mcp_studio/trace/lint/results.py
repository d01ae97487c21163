"""Rules about results by the method that they answer (specification, schema, and the page of each feature)."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.large import hint_at
from mcp_studio.protocol.versions import META_SERVER, RESULT_TYPES, VERSIONS, at_least
from mcp_studio.trace.lint.content import check_block, check_icons, check_meta, check_resource
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.listings import LISTS, Names, check_list
from mcp_studio.trace.lint.methods import check_asking, has_tasks
from mcp_studio.trace.lint.shape import Look
from mcp_studio.trace.lint.words import escaped, kind_of, quoted

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
    structured = hint_at(look.raw, "structuredContent")
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
