"""Calls in JSON values: arguments, JSON-RPC requests, and what models and their programs write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from mcp_studio.call.copying.pasted import Meant, Pasted, PasteProblem
from mcp_studio.config.jsonc import loads_lenient
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping

_METHODS: dict[str, Meant] = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
_AROUND = ("message", "body", "request", "frame", "sent", "payload", "data", "params", "item", "output")
"""Members under which logs and answers of models hold a message."""
_LISTS = ("tool_calls", "content", "output", "messages", "function_calls", "choices")
_LOOKED_AT = 1_000
_WORDS = {"tool_use": "tool-use block", "server_tool_use": "tool-use block", "mcp_tool_use": "tool-use block"}


def read(text: str) -> Json:
    """The JSON value of a text, with comments and trailing commas forgiven, or of its lines as a list.

    Raises:
        PasteProblem: it is none; says where.
    """
    try:
        return loads(text, exact=True)
    except LimitExceeded as problem:
        raise PasteProblem(problem.message) from None
    except JsonProblem as strict:
        if strict.reason == "Extra data" and (several := _lines(text)):
            return several
    try:
        return loads_lenient(text, exact=True)
    except LimitExceeded as problem:
        raise PasteProblem(problem.message) from None
    except JsonProblem as problem:
        raise PasteProblem(f"It looks like JSON, but is not valid: {problem}.", problem.line) from None


def _lines(text: str) -> list[Json]:
    """The values of a text that has one on each line; empty where a line is none."""
    try:
        return [loads(line, exact=True) for line in text.splitlines() if line.strip()]
    except (JsonProblem, LimitExceeded):
        return []


def call_in(value: Json) -> Pasted:
    """The call that a value describes, or the arguments that it is.

    Raises:
        PasteProblem: it is neither.
    """
    if isinstance(value, str):
        value = _inside(value)
    found = _found(value, 4)
    first = next(found, None)
    if first is not None:
        more = sum(1 for _ in found)
        if not more:
            return first
        count = "one more call" if more == 1 else f"{more} more calls"
        return replace(first, remarks=(*first.remarks, f"The first is taken; there is {count} in the text."))
    if isinstance(value, dict):
        if reason := _no_call(cast("dict[str, Json]", value)):
            raise PasteProblem(reason)
        return Pasted("JSON", cast("dict[str, Json]", value))
    if isinstance(value, list):
        raise PasteProblem("It is a list with no call in it; arguments are an object: {…}.")
    raise PasteProblem("It is a single value; arguments are an object: {…}.")


def _inside(text: str) -> Json:
    try:
        return loads(text, exact=True)
    except (JsonProblem, LimitExceeded):
        return text


def _no_call(value: dict[str, Json]) -> str:
    """Why a JSON-RPC message is no call; empty for an object that is none."""
    if value.get("jsonrpc") is None:
        return ""
    if isinstance(method := value.get("method"), str):
        wanted = ", ".join(_METHODS)
        return f"It is a JSON-RPC message of {method[:60]}; what can be filled in is one of {wanted}."
    return "It is an answer, not a request." if "result" in value or "error" in value else ""


def _found(value: Json, levels: int) -> Iterator[Pasted]:
    """The calls in a value, in their order."""
    if isinstance(value, list):
        for item in cast("list[Json]", value)[:_LOOKED_AT]:
            yield from _found(item, levels - 1) if levels else ()
        return
    if not isinstance(value, dict):
        return
    known = cast("dict[str, Json]", value)
    if (call := _rpc(known) or _block(known) or _function(known) or _params(known)) is not None:
        yield call
        return
    if levels and _wraps(known):
        for key in (*_AROUND, *_LISTS):
            inner = _inside(known[key]) if key in _AROUND and isinstance(known.get(key), str) else known.get(key)
            before = _found(inner, levels - 1)
            if (first := next(before, None)) is not None:
                yield first
                yield from before
                return


def _wraps(value: dict[str, Json]) -> bool:
    """Whether an object is something around a call, and not the arguments of one that have calls in them."""
    marks = ("role", "direction", "tool_calls", "choices", "stop_reason", "server", "time", "timestamp", "jsonrpc")
    return any(mark in value for mark in marks) or (len(value) == 1 and next(iter(value)) in (*_AROUND, *_LISTS))


def _rpc(value: dict[str, Json]) -> Pasted | None:
    method = value.get("method")
    kind = _METHODS.get(method, "") if isinstance(method, str) else ""
    params = value.get("params")
    if not kind or (not isinstance(params, dict) and "jsonrpc" not in value):
        return None
    known = mapping(params)
    name = known.get("uri" if kind == "resource" else "name")
    remarks = () if isinstance(name, str) else (f"The request of {method} names nothing.",)
    arguments = {} if kind == "resource" else _object(known.get("arguments"), str(method))
    return Pasted("JSON-RPC request", arguments, kind, name if isinstance(name, str) else "", remarks=remarks)


def _block(value: dict[str, Json]) -> Pasted | None:
    """`{"type": "tool_use", "name": …, "input": …}`."""
    kind, name = value.get("type"), value.get("name")
    if kind not in _WORDS or not isinstance(name, str):
        return None
    server = value.get("server_name")
    return _named(_WORDS[str(kind)], name, _object(value.get("input"), name), server if isinstance(server, str) else "")


def _function(value: dict[str, Json]) -> Pasted | None:
    """A function call, its arguments as text: `{"type": "function", "function": {…}}`, or `"function_call"`."""
    inner = value.get("function") if value.get("type") in ("function", None) else None
    if not isinstance(inner, dict):
        inner = value.get("function_call")
    if not isinstance(inner, dict) and value.get("type") in ("function_call", "mcp_call"):
        inner = value
    known = mapping(inner)
    name, server = known.get("name"), known.get("server_label")
    if not isinstance(name, str) or "arguments" not in known:
        return None
    arguments = _object(known["arguments"], name)
    return _named("function call", name, arguments, server if isinstance(server, str) else "")


def _params(value: dict[str, Json]) -> Pasted | None:
    """The params of a call alone: `{"name": …, "arguments": {…}}` and nothing else."""
    name, arguments = value.get("name"), value.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict) or value.keys() - {"name", "arguments", "_meta"}:
        return None
    return _named("params of a call", name, cast("dict[str, Json]", arguments), "", kind="")


def _named(form: str, name: str, arguments: dict[str, Json], server: str, kind: Meant = "tool") -> Pasted:
    """Programs that give models the tools of several servers call them `mcp__SERVER__TOOL`."""
    prefix, mark, rest = name.removeprefix("mcp__").partition("__")
    if name.startswith("mcp__") and mark and rest:
        server, name = server or prefix, rest
    return Pasted(form, arguments, kind, name, server)


def _object(value: Json, what: str) -> dict[str, Json]:
    """Arguments: an object, or its text.

    Raises:
        PasteProblem: they are something else.
    """
    if isinstance(value, str):
        try:
            value = loads(value, exact=True) if value.strip() else {}
        except (JsonProblem, LimitExceeded) as problem:
            raise PasteProblem(f"The arguments of {what[:60]} are text that is no JSON: {problem}.") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PasteProblem(f"The arguments of {what[:60]} are no object.")
    return cast("dict[str, Json]", value)
