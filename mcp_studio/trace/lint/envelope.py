"""Rules about the JSON-RPC envelope (specification, basic, "Messages")."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
)
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.words import kind_of, quoted

_RESOURCE_NOT_FOUND = -32002
_CALL = frozenset({"jsonrpc", "id", "method", "params"})
_ANSWER = frozenset({"jsonrpc", "id", "result", "error"})
_PLAIN = frozenset({"jsonrpc", "id", "result"})
_LONG = 1_000
_MODERN_CODES = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
_RETIRED = {_RESOURCE_NOT_FOUND: "-32602 in 2026-07-28", URL_ELICITATION_REQUIRED: "an input_required result"}
_JSONRPC = (-32700, -32600, -32601, -32602, -32603)


def check_envelope(value: Json, modern: bool) -> list[Spot]:
    """What is wrong with one message, whatever it is about."""
    if not isinstance(value, dict):
        return [Spot("not-a-message", f"A message is an object, not {kind_of(value)}.")]
    message = cast("dict[str, Json]", value)
    if message.keys() == _PLAIN and message["jsonrpc"] == "2.0" and type(message["id"]) is int:
        if isinstance(message["result"], dict):
            return []  # what nearly every answer is
    spots: list[Spot] = []
    if message.get("jsonrpc") != "2.0":
        has = f"{quoted(message['jsonrpc'])} as jsonrpc" if "jsonrpc" in message else "no jsonrpc member"
        spots.append(Spot("jsonrpc-version", f'The message has {has}; it must be "2.0".', "/jsonrpc"))
    if "id" in message:
        spots += _identity(message["id"], "error" in message and "method" not in message)
    if "method" in message:
        spots += _call(message)
    elif "result" in message or "error" in message:
        spots += _answer(message, modern)
    else:
        return [*spots, Spot("not-a-message", "It has no method, no result and no error.")]
    if not message.keys() <= (_CALL if "method" in message else _ANSWER):
        known = _CALL if "method" in message else _ANSWER
        names = ", ".join(quoted(name) for name in list(message.keys() - known)[:5])
        spots.append(Spot("unknown-member", f"The message has members that JSON-RPC does not know: {names}."))
    return spots


def _identity(identity: Json, error: bool) -> list[Spot]:
    if isinstance(identity, str):
        if len(identity) > _LONG:
            return [Spot("id-long", f"The id has {len(identity):,} characters.", "/id")]
    elif isinstance(identity, bool) or not isinstance(identity, int):
        if identity is None and error:
            return []  # JSON-RPC's way to say that the request could not be read; judged with the requests
        return [Spot("id-type", f"The id is {kind_of(identity)}; it must be a string or an integer.", "/id")]
    return []


def _call(message: dict[str, Json]) -> list[Spot]:
    method = message["method"]
    if not isinstance(method, str):
        return [Spot("method-type", f"The method is {kind_of(method)}; it must be a string.", "/method")]
    spots: list[Spot] = []
    if "id" in message and method.startswith("notifications/"):
        spots.append(Spot("notification-id", f"{method[:80]} is a notification and must have no id.", "/id"))
    if "params" in message and not isinstance(message["params"], dict):
        what = kind_of(message["params"])
        spots.append(Spot("params-type", f"The params of {method[:80]} are {what}; they must be an object.", "/params"))
    return spots


def _answer(message: dict[str, Json], modern: bool) -> list[Spot]:
    spots: list[Spot] = []
    if "result" in message and "error" in message:
        spots.append(Spot("result-and-error", "The response has both a result and an error."))
    if "id" not in message and "error" not in message:
        spots.append(Spot("id-type", "The response has no id.", ""))
    if "result" in message and not isinstance(message["result"], dict):
        what = kind_of(message["result"])
        spots.append(Spot("result-object", f"The result is {what}; it must be an object.", "/result"))
    if "error" in message:
        spots += _error(message["error"], modern)
    return spots


def _error(error: Json, modern: bool) -> list[Spot]:
    if not isinstance(error, dict):
        what = kind_of(error)
        return [Spot("error-object", f"The error is {what}; it must be an object with code and message.", "/error")]
    known = cast("dict[str, Json]", error)
    spots: list[Spot] = []
    if not isinstance(known.get("message"), str):
        spots.append(Spot("error-object", "The error has no message that is a string.", "/error/message"))
    code = known.get("code")
    if isinstance(code, bool) or not isinstance(code, int):
        what = f"{kind_of(code)} as its code" if "code" in known else "no code"
        return [*spots, Spot("error-code", f"The error has {what}; it must be an integer.", "/error/code")]
    return spots + _code(code, modern)


def _code(code: int, modern: bool) -> list[Spot]:
    """Specification 2026-07-28, basic, "Error Codes"; earlier versions leave the server range to the server."""
    if not -32768 <= code <= -32000 or code in _JSONRPC:
        return []
    where = "/error/code"
    if code < -32099:
        return [Spot("error-code-reserved", f"{code} is reserved by JSON-RPC and means nothing.", where)]
    if not modern or code in _MODERN_CODES:
        return []
    if code in _RETIRED:
        return [Spot("error-code-reserved", f"{code} is of earlier versions; it became {_RETIRED[code]}.", where)]
    if code < -32019:
        return [
            Spot("error-code-reserved", f"{code} is reserved for the specification, which has no such code.", where)
        ]
    return [Spot("error-code-legacy", f"{code} has no fixed meaning, and new servers should not use it.", where)]
