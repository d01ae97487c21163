"""Rules about the JSON-RPC envelope (specification, basic, "Messages")."""

from __future__ import annotations

import json
import math
from typing import cast

from mcp_studio.jsontext import Json, JsonProblem, items_of, mapping
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.versions import (
    HEADER_MISMATCH,
    LOG_LEVELS,
    META_SUBSCRIPTION,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
)
from mcp_studio.trace.lint.rules import Spot, escaped, kind_of, quoted

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


_BOM = b"\xef\xbb\xbf"
_READ = 1 << 20
"""Bytes of a frame whose encoding is checked."""
_DUPLICATES = 10
_NULLS = 20
_FREE = frozenset(
    "inputSchema outputSchema requestedSchema structuredContent input data _meta metadata experimental "
    "inputRequests task error extensions".split()
)
"""Members whose values are anybody's own, or are looked at elsewhere."""


def check_bytes(frame: bytes) -> list[Spot]:
    """What is wrong with a frame before it is read; costs next to nothing for plain ASCII."""
    if frame.isascii() if len(frame) <= _READ else frame[:_READ].isascii():
        return []
    spots: list[Spot] = []
    if frame.startswith(_BOM):
        spots.append(Spot("byte-order-mark", "The message begins with a byte order mark, which JSON must not."))
    try:
        frame[:_READ].decode()
    except UnicodeDecodeError as problem:
        # A character that the cut divided is no fault.
        if len(frame) <= _READ or problem.end < _READ - 3:
            bad = frame[problem.start : problem.start + 4].hex(" ")
            spots.append(Spot("invalid-utf8", f"Byte {problem.start:,} is not UTF-8 ({bad} …)."))
    return spots


def nulls(value: Json, where: str) -> list[Spot]:
    """Members that are null where the schema knows no null; what servers and people say themselves is passed over."""
    spots: list[Spot] = []
    todo: list[tuple[Json, str]] = [(value, where)]
    while todo and len(spots) < _NULLS:
        node, path = todo.pop()
        if isinstance(node, dict):
            for key, inner in cast("dict[str, Json]", node).items():
                if inner is None and key != "data":
                    text = f'"{key[:80]}" is null; an optional member is left out instead.'
                    spots.append(Spot("not-in-schema", text, f"{path}/{escaped(key)}"))
                elif isinstance(inner, (dict, list)) and key not in _FREE:
                    todo.append((cast("Json", inner), f"{path}/{escaped(key)}"))
        elif isinstance(node, list):
            todo += [(inner, f"{path}/{index}") for index, inner in enumerate(cast("list[Json]", node))]
    return spots


def duplicate_keys(text: str) -> list[Spot]:
    """Keys that an object has twice; readers differ in which they take."""
    seen: list[str] = []

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(items)
        if len(made) < len(items):
            names = [name for name, _ in items]
            seen.extend(sorted({name for name in names if names.count(name) > 1} - set(seen)))
        return made

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError, JsonProblem):
        return []
    return [Spot("duplicate-key", f'An object has the key "{name[:80]}" twice.') for name in seen[:_DUPLICATES]]


_REMEMBERED = 2_000


class Running:
    """A request of ours without an answer."""

    __slots__ = ("acknowledged", "filter", "logs", "method", "paged", "progress", "token", "version")

    def __init__(self, method: str, version: str = "") -> None:
        self.method = method
        self.version = version
        self.token: RequestId | None = None
        self.progress: float | None = None
        """The newest progress that was told."""
        self.paged = False
        """It carries a cursor."""
        self.logs = False
        """It carries a log level (2026-07-28)."""
        self.filter: dict[str, Json] = {}
        """What a `subscriptions/listen` wants to hear."""
        self.acknowledged = False


class Requests:
    """Bounded: of what is over, the newest are remembered."""

    def __init__(self) -> None:
        self._open: dict[RequestId, Running] = {}
        self._over: dict[RequestId, str] = {}
        self._dropped: set[RequestId] = set()
        self._tokens: dict[RequestId, RequestId] = {}
        self._lasting: dict[RequestId, Running] = {}
        self._asked: dict[RequestId, bool] = {}

    def opened(self, identity: RequestId, running: Running) -> None:
        """A request of ours went out."""
        self._open[identity] = running
        if running.token is not None:
            self._tokens[running.token] = identity
        while len(self._tokens) > _REMEMBERED:
            del self._tokens[next(iter(self._tokens))]

    def get(self, identity: RequestId | None) -> Running | None:
        """The open request with this id."""
        return self._open.get(identity) if identity is not None else None

    def knows(self, identity: RequestId) -> bool:
        """Whether a request with this id is open, or was not long ago."""
        return identity in self._open or identity in self._over

    def listening(self) -> dict[RequestId, Running]:
        """The open subscriptions of the stateless era."""
        return {key: item for key, item in self._open.items() if item.method == "subscriptions/listen"}

    def wants_logs(self) -> bool:
        """Whether an open request carries a log level."""
        return any(running.logs for running in self._open.values())

    def with_token(self, token: RequestId) -> Running | None:
        """The open request that carries a progress token."""
        return self._open.get(self._tokens.get(token, "")) or self._lasting.get(token)

    def lasts(self, running: Running) -> None:
        """The answer is a task: progress goes on under the same token (basic/utilities/tasks)."""
        if running.token is not None:
            self._lasting[running.token] = running
            if len(self._lasting) > _REMEMBERED:
                del self._lasting[next(iter(self._lasting))]

    def ended_with_token(self, token: RequestId) -> str | None:
        """The method of an answered request with this token, empty if it was given up, None if there was none."""
        identity = self._tokens.get(token)
        if identity is None:
            return None
        return "" if identity in self._dropped else self._over.get(identity, "")

    def dropped(self, identity: RequestId) -> None:
        """Nobody waits for an answer any more; one that comes late is no fault."""
        if running := self._open.pop(identity, None):
            self._settle(identity, running.method)
            self._dropped.add(identity)

    def answered(self, identity: RequestId | None) -> tuple[Running | None, list[Spot]]:
        """The request that a response is for, which is over then; and what is wrong with the response's id."""
        if identity is None:
            return None, [Spot("response-without-id", "The response does not say which request it answers.", "/id")]
        if (running := self._open.pop(identity, None)) is not None:
            self._settle(identity, running.method)
            return running, []
        if isinstance(identity, str) and identity.isdecimal() and len(identity) < 19 and int(identity) in self._open:
            running, _ = self.answered(int(identity))
            text = "The id of the response is a string; that of the request is the same number."
            return running, [Spot("response-id-type", text, "/id")]
        if identity in self._dropped:
            self._dropped.discard(identity)
            return None, []
        if identity in self._over:
            method = self._over[identity]
            return None, [Spot("duplicate-response", f"A request ({method[:80]}) is answered a second time.", "/id")]
        return None, [Spot("orphan-response", "No request of ours has the id of this response.", "/id")]

    def asked(self, identity: RequestId) -> list[Spot]:
        """The server asks something."""
        reused = identity in self._asked
        self._asked[identity] = True
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return [Spot("request-id-reused", "The id was used by an earlier request.", "/id")] if reused else []

    def _settle(self, identity: RequestId, method: str) -> None:
        self._over[identity] = method
        if len(self._over) > _REMEMBERED:
            gone = next(iter(self._over))
            del self._over[gone]
            self._dropped.discard(gone)


def check_progress(params: dict[str, Json], requests: Requests) -> list[Spot]:
    """Types, whether the token is one of a running request, and whether it went forward."""
    token, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
    if isinstance(token, bool) or not isinstance(token, (int, str)):
        what = kind_of(cast("Json", token)) if "progressToken" in params else "missing"
        return [Spot("progress-type", f"The progressToken is {what}.", "/params/progressToken")]
    spots: list[Spot] = []
    for name, value in (("progress", done), ("total", total)):
        if (value is not None or name == "progress" or name in params) and not _usable(value):
            what = kind_of(value) if name in params else "missing"
            spots.append(Spot("progress-type", f"{name} is {what}; it must be a usable number.", f"/params/{name}"))
    text = params.get("message")
    if "message" in params and not isinstance(text, str):
        spots.append(Spot("progress-type", f"The message is {kind_of(text)}.", "/params/message"))
    running = requests.with_token(token)
    if running is None:
        return spots + _idle(token, requests)
    if spots or not isinstance(done, (int, float)):
        return spots
    if running.progress is not None and done <= running.progress:
        how = "stays the same" if done == running.progress else "goes backwards"
        spots.append(Spot("progress-not-increasing", f"Progress of {running.method} {how}.", "/params/progress"))
    if isinstance(total, (int, float)) and done > total:
        spots.append(Spot("progress-beyond-total", f"Progress of {running.method} is beyond its total.", "/params"))
    running.progress = done
    return spots


def _idle(token: int | str, requests: Requests) -> list[Spot]:
    where = "/params/progressToken"
    method = requests.ended_with_token(token)
    if method is None:
        return [Spot("progress-without-token", "No request carried the token of this progress.", where)]
    if not method:
        return []  # we no longer want it; the server could not know in time
    return [Spot("progress-after-end", f"There is progress of {method} after its answer.", where)]


def _usable(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
"""Notices that a modern server sends on a subscription, and the member of the filter that asks for them."""
_ACK = "notifications/subscriptions/acknowledged"
_LEVELS = frozenset(LOG_LEVELS)


class Subscribed:
    """The resources that we subscribed to in the handshake era."""

    def __init__(self) -> None:
        self._uris: set[str] = set()

    def add(self, uri: str) -> None:
        """We subscribed. That it may end is not followed: an update that comes a little late is no fault."""
        self._uris.add(uri)

    def wants(self, uri: str) -> bool:
        """Whether an update of it is expected; one of something inside a subscribed resource is."""
        return uri in self._uris or any(uri.startswith(other) for other in self._uris)


def check_log(params: dict[str, Json], requests: Requests, modern: bool) -> list[Spot]:
    """`notifications/message`: a level, data, and in the stateless era only where a request asked for logs."""
    spots: list[Spot] = []
    level = params.get("level")
    if not isinstance(level, str) or level not in _LEVELS:
        what = quoted(level) if "level" in params else "missing"
        spots.append(
            Spot("log-level", f"The level is {what}; it must be one of the eight of RFC 5424.", "/params/level")
        )
    if "data" not in params:
        spots.append(Spot("missing-field", "The log message has no data.", "/params", "server/utilities/logging"))
    logger = params.get("logger", "")
    if not isinstance(logger, str):
        spots.append(Spot("wrong-type", f"The logger is {kind_of(logger)}; it must be a string.", "/params/logger"))
    if modern and not requests.wants_logs():
        spots.append(Spot("log-not-asked", "A log message came, though no open request carries a log level."))
    return spots


def check_change(
    method: str, params: dict[str, Json], requests: Requests, subscribed: Subscribed, modern: bool
) -> list[Spot]:
    """Notices of change: sent only to who asked, and named after the subscription."""
    spots: list[Spot] = []
    if method == "notifications/resources/updated" and not isinstance(params.get("uri"), str):
        text = "The update does not say which resource (uri)."
        spots.append(Spot("missing-field", text, "/params/uri", "server/resources#subscriptions"))
    if modern and (method in _FILTERS or method == _ACK):
        return spots + _on_subscription(method, params, requests)
    if method == "notifications/resources/updated" and not spots and not subscribed.wants(params["uri"]):
        spots.append(Spot("not-subscribed", "An update came of a resource that nobody subscribed to.", "/params/uri"))
    return spots


def _on_subscription(method: str, params: dict[str, Json], requests: Requests) -> list[Spot]:
    where = "/params/_meta"
    meta = params.get("_meta")
    identity = mapping(meta).get(META_SUBSCRIPTION)
    if identity is None:
        return [Spot("subscription-id", f"{method} does not say to which subscription it belongs.", where)]
    running = requests.listening().get(identity) if isinstance(identity, (int, str)) else None
    if running is None:
        if isinstance(identity, (int, str)) and requests.knows(identity):
            return []  # it was ended; the server could not know in time
        return [Spot("subscription-id", f"{method} names a subscription that does not exist.", where)]
    if method == _ACK:
        running.acknowledged = True
        return []
    spots: list[Spot] = []
    if not running.acknowledged:
        text = "A notice came before the subscription was acknowledged."
        spots.append(Spot("subscription-ack", text, "", "basic/patterns/subscriptions#acknowledgment"))
    if not _asked_for(method, params, running):
        text = f"{method} was not asked for by the subscription."
        spots.append(Spot("subscription-filter", text, "", "basic/patterns/subscriptions#notification-filter"))
    return spots


def _asked_for(method: str, params: dict[str, Json], running: Running) -> bool:
    wanted = running.filter.get(_FILTERS[method])
    if method != "notifications/resources/updated":
        return wanted is True
    uris = items_of(wanted)
    uri = str(params.get("uri"))
    return any(isinstance(other, str) and uri.startswith(other) for other in uris)
