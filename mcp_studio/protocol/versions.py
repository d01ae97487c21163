"""Protocol versions, error codes and `_meta` keys of the specification."""

import os
import re
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json, loads_or, mapping

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that `initialize` negotiates, oldest first."""
MODERN_VERSIONS = ("2026-07-28",)
"""Stateless versions, which `server/discover` finds, oldest first."""
VERSIONS = HANDSHAKE_VERSIONS + MODERN_VERSIONS
_KNOWN = frozenset(VERSIONS)
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]
LATEST_MODERN = MODERN_VERSIONS[-1]

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_SERVER = "io.modelcontextprotocol/serverInfo"

META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_TASK = "io.modelcontextprotocol/related-task"
EXTENSION_TASKS = "io.modelcontextprotocol/tasks"

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages (RFC 5424), least severe first."""

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042
USER_REJECTED = -1
"""The code for a sampling request that a person refused (client/sampling)."""

NAMED = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId", "tasks/result": "taskId",
}  # fmt: skip
"""Methods whose subject goes into the `Mcp-Name` header, with the parameter that holds the subject."""
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
"""Methods that list what a server offers, in pages."""
RESULT_TYPES = ("complete", "input_required")
"""Values of `resultType` (2026-07-28); any other value makes the result invalid."""
TASK_RESULT = "task"
"""A further `resultType`, for `tools/call` alone, where the client has declared the tasks extension."""


def era_of(version: str) -> Literal["legacy", "modern", ""]:
    """The era that a version belongs to; empty for an unknown version."""
    return "legacy" if version in HANDSHAKE_VERSIONS else "modern" if version in MODERN_VERSIONS else ""


def contradiction(era: str, version: str) -> str:
    """A sentence on a version that does not belong to the era; empty where they agree or one of them is open."""
    agrees = era == "auto" or not version or era_of(version) == era
    return "" if agrees else f"`{version}` belongs to the {era_of(version)} era, but `{era}` is asked for."


def at_least(version: str, minimum: str) -> bool:
    """Whether a version is known and not older than `minimum`."""
    # Versions are dates, so they sort as texts.
    return version >= minimum and version in _KNOWN


LONGEST = 24 * 3600.0
"""Seconds after which a result is stale, whatever the server says."""


class Hint(NamedTuple):
    """The server's statement on how long and for whom a result may be cached."""

    ttl: float
    """Seconds for which the result is fresh; 0 means stale at once."""
    scope: str
    """`public` or `private`: whether others may get the result; any other value reads as `private`."""
    problem: str = ""
    """What is wrong with the hint, and how we read it."""


class Cached(NamedTuple):
    """Says that a result came from the cache, without asking the server."""

    age: float
    """Seconds since the result was read from the server."""
    hint: Hint


def hint_of(result: Json) -> Hint | None:
    """The caching hint of a result; None where the server gives none.

    A lifetime that is negative or no integer counts as 0, and one above a day as a day; an unknown scope as private.
    """
    known = mapping(result)
    if "ttlMs" not in known and "cacheScope" not in known:
        return None
    ttl, first = _ttl(known)
    scope, problems = known.get("cacheScope"), [first]
    if scope not in ("public", "private"):
        problems.append("cacheScope is neither public nor private and is taken as private")
        scope = "private"
    return Hint(ttl, str(scope), "; ".join(filter(None, problems)))


def narrowest(hints: list[Hint | None]) -> Hint | None:
    """The hint of a list that came in pages: as fresh as its first page to expire, private if any page is private."""
    present = [hint for hint in hints if hint is not None]
    if not present:
        return None
    ttl = 0.0 if len(present) < len(hints) else min(hint.ttl for hint in present)
    scope = "private" if any(hint.scope == "private" for hint in present) else "public"
    return Hint(ttl, scope, "; ".join(dict.fromkeys(hint.problem for hint in present if hint.problem)))


def _ttl(known: dict[str, Json]) -> tuple[float, str]:
    value = known.get("ttlMs")
    if "ttlMs" not in known:
        return 0.0, "ttlMs is missing and is taken as 0"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value % 1:
        return 0.0, "ttlMs is not an integer and is taken as 0"
    if value < 0:
        return 0.0, "ttlMs is negative and is taken as 0"
    if value > LONGEST * 1000:
        return LONGEST, "ttlMs is longer than a day and is taken as a day"
    return value / 1000, ""


KEYS = ("traceparent", "tracestate", "baggage")
"""The members of `_meta` that make up a trace context; unlike all others they have no prefix."""
Params = dict[str, Json] | None
_KEY = b'"traceparent"'
_LARGE = 1 << 20
_SHAPE = r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\Z"


class Context(NamedTuple):
    """The content of a `traceparent`."""

    trace: str
    """The id of the whole trace, 32 hexadecimal digits."""
    span: str
    """The id of the sender's span, 16 digits."""
    sampled: bool = True

    @property
    def text(self) -> str:
        """The text of the `traceparent`."""
        return f"00-{self.trace}-{self.span}-{'01' if self.sampled else '00'}"


def fresh(trace: str = "") -> Context:
    """A new span, in an existing trace or in a new one."""
    return Context(trace or os.urandom(16).hex(), os.urandom(8).hex())


def read(text: Json) -> Context | None:
    """Read a `traceparent`; None where the text is invalid (W3C Trace Context, 3.2.2)."""
    found = re.match(_SHAPE, text) if isinstance(text, str) else None
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    if not found[2].strip("0") or not found[3].strip("0"):
        return None
    return Context(found[2], found[3], bool(int(found[4], 16) & 1))


def of_frame(frame: bytes) -> dict[str, Json]:
    """The trace context in the `_meta` of a message, without members that are not texts; empty where there is none."""
    if not any(b'"%b"' % key.encode() in frame for key in KEYS) or len(frame) > _LARGE:
        return {}
    message = mapping(loads_or(frame))
    meta = mapping(mapping(message.get("params", message.get("result"))).get("_meta"))
    return {key: meta[key] for key in KEYS if isinstance(meta.get(key), str)}


def begun(params: dict[str, Json]) -> dict[str, Json]:
    """The parameters of a request, with a new `traceparent` where they have none."""
    meta = mapping(params.get("_meta"))
    return params if "traceparent" in meta else {**params, "_meta": {**meta, "traceparent": fresh().text}}


def continued(params: Params, earlier: bytes) -> Params:
    """The parameters of a request that follows an earlier one, in the trace of the earlier one if that had a trace."""
    context = read(of_frame(earlier).get("traceparent")) if _KEY in earlier else None
    meta = mapping((params or {}).get("_meta"))
    if context is None or "traceparent" in meta:
        return params
    return {**(params or {}), "_meta": {**meta, "traceparent": fresh(context.trace).text}}
