"""What the protocol core tells its session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, cast

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.versions import NAMED, Hint, begun

RequestId = int | str
"""The id of a request: JSON-RPC allows both kinds."""
OutgoingKind = Literal["request", "notification", "response"]


class Outgoing(NamedTuple):
    """One frame that the protocol core wants sent.

    `version`, `method`, `target` and `headers` are for HTTP: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name` and
    `Mcp-Param-*` (specification 2026-07-28, basic/transports/streamable-http); stdio ignores them.
    """

    frame: bytes
    kind: OutgoingKind
    id: RequestId | None = None
    method: str = ""
    target: str = ""
    """What `Mcp-Name` says: tool or prompt name, or resource URI."""
    version: str = ""
    """The protocol version this message is stamped with; empty before the handshake is done."""
    modern: bool = False
    """Whether it is a message of the stateless era."""
    headers: tuple[tuple[str, str], ...] = ()
    """`Mcp-Param-*` headers, already encoded."""
    params: dict[str, Json] | None = None
    """Those of a request."""


def request_out(
    identity: RequestId,
    method: str,
    params: dict[str, Json],
    version: str,
    modern: bool,
    headers: tuple[tuple[str, str], ...] = (),
    traced: bool = False,
) -> Outgoing:
    """A request as it goes out, with what it is about; `traced` begins a trace where it is in none."""
    if traced:
        params = begun(params)
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": identity, "method": method}
    if params:
        message["params"] = params
    subject = params.get(NAMED[method]) if method in NAMED else ""
    return Outgoing(dumps(message), "request", identity, method, str(subject or ""), version, modern, headers, params)


class Ready(NamedTuple):
    """The era and version are settled; requests can be sent."""

    version: str
    modern: bool
    capabilities: dict[str, Json]
    server_info: dict[str, Json]
    instructions: str
    offered: str = ""
    """The version that we had offered."""
    hint: Hint | None = None
    """For how long the server calls its `server/discover` fresh (2026-07-28)."""


class NegotiationFailed(NamedTuple):
    """No common version, or the server refused; the connection is of no use."""

    error: StudioError


class Discovered(NamedTuple):
    """A modern server answered `server/discover` once `initialize` had been sent."""


class Answered(NamedTuple):
    """A request got its result; `problems` says what is wrong with it, in words."""

    id: RequestId
    result: Json
    problems: tuple[str, ...] = ()


def refusal(code: int, message: str) -> str:
    """How a JSON-RPC error is told: some servers have no words for it."""
    return f"{message} ({code})" if message.strip() else f"error {code} without a message"


class Refused(NamedTuple):
    """A request got a JSON-RPC error."""

    id: RequestId
    code: int
    message: str
    data: Json = None
    problems: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """Message and code; foreign text."""
        return refusal(self.code, self.message)


class Broken(NamedTuple):
    """A request's answer cannot be read, or there will be none."""

    id: RequestId
    error: StudioError


class Progressed(NamedTuple):
    """Progress of a request that we wait for."""

    id: RequestId
    progress: float
    total: float | None
    message: str


class Notified(NamedTuple):
    """Any other notification."""

    method: str
    params: dict[str, Json]


class Asked(NamedTuple):
    """The server asks for something; it must get a response."""

    id: RequestId
    method: str
    params: dict[str, Json]
    unwanted: str = ""
    """Why it may not ask at all: the response is an error that says so."""


class Withdrawn(NamedTuple):
    """The server no longer wants the answer to what it asked."""

    id: RequestId


class Fault(NamedTuple):
    """The server breaks the protocol in a way that costs nothing but should be known; in plain words."""

    text: str


Event = (
    Ready | NegotiationFailed | Discovered | Answered | Refused | Broken
    | Progressed | Notified | Asked | Withdrawn | Fault
)  # fmt: skip

NONE = object()
"""No such member at all, where null is a value too."""


def request(
    method: str, params: Json = NONE, *, identity: Json = NONE, meta: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """A request, or without an `identity` a notification.

    Args:
        meta: added to the `_meta` of params that are an object or absent; what stands there already stays.
    """
    message: dict[str, Json] = {"jsonrpc": "2.0"}
    if identity is not NONE:
        message["id"] = identity
    message["method"] = method
    given: Json = {} if params is NONE else params
    if meta and isinstance(given, dict):
        body = cast("dict[str, Json]", given)
        own = body.get("_meta", {})
        if isinstance(own, dict):
            given = {**body, "_meta": {**meta, **cast("dict[str, Json]", own)}}
    if params is not NONE or given:
        message["params"] = given
    return message
