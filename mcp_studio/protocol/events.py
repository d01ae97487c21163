"""The events that the protocol core reports to its session."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, cast

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.versions import NAMED, Hint, begun

RequestId = int | str
"""The id of a request, which JSON-RPC allows as number or string."""
OutgoingKind = Literal["request", "notification", "response"]


class Outgoing(NamedTuple):
    """A frame that the protocol core asks to send.

    `version`, `method`, `target` and `headers` are for HTTP: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name` and
    `Mcp-Param-*` (specification 2026-07-28, basic/transports/streamable-http); stdio ignores them.
    """

    frame: bytes
    kind: OutgoingKind
    id: RequestId | None = None
    method: str = ""
    target: str = ""
    """The value of `Mcp-Name`: tool or prompt name, or resource URI."""
    version: str = ""
    """The protocol version that the message is stamped with; empty before the handshake is done."""
    modern: bool = False
    """Whether the message belongs to the stateless era."""
    headers: tuple[tuple[str, str], ...] = ()
    """`Mcp-Param-*` headers, already encoded."""
    params: dict[str, Json] | None = None
    """The parameters of a request."""


def request_out(
    identity: RequestId,
    method: str,
    params: dict[str, Json],
    version: str,
    modern: bool,
    headers: tuple[tuple[str, str], ...] = (),
    traced: bool = False,
) -> Outgoing:
    """A request as a frame; `traced` starts a trace where the parameters name none."""
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
    """The version that we offered."""
    hint: Hint | None = None
    """How long the answer to `server/discover` stays fresh (2026-07-28)."""


class NegotiationFailed(NamedTuple):
    """No common version, or the server refused; the connection is of no use."""

    error: StudioError


class Discovered(NamedTuple):
    """A modern server answered `server/discover` after `initialize` had been sent."""


class Answered(NamedTuple):
    """A request got its result; `problems` are sentences on what is wrong with the result."""

    id: RequestId
    result: Json
    problems: tuple[str, ...] = ()


def refusal(code: int, message: str) -> str:
    """A JSON-RPC error as people read it; servers may send an empty message."""
    return f"{message} ({code})" if message.strip() else f"error {code} without a message"


class Refused(NamedTuple):
    """A request got a JSON-RPC error."""

    id: RequestId
    code: int
    message: str
    data: Json = None
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Message and code of the error; foreign text."""
        return refusal(self.code, self.message)


class Broken(NamedTuple):
    """The answer to a request cannot be read, or no answer will come."""

    id: RequestId
    error: StudioError


class Progressed(NamedTuple):
    """Progress of a request that we wait for."""

    id: RequestId
    progress: float
    total: float | None
    message: str


class Notified(NamedTuple):
    """The server sent a notification that is neither progress nor a cancellation of its own request."""

    method: str
    params: dict[str, Json]


class Asked(NamedTuple):
    """The server sent a request and must get a response."""

    id: RequestId
    method: str
    params: dict[str, Json]
    unwanted: str = ""
    """Why the server may not send this request; the response is an error with this text."""


class Withdrawn(NamedTuple):
    """The server withdrew a request of its own and wants no response."""

    id: RequestId


class Violation(NamedTuple):
    """The server broke the protocol in a way that stops nothing; `text` says how."""

    text: str


Event = (
    Ready | NegotiationFailed | Discovered | Answered | Refused | Broken
    | Progressed | Notified | Asked | Withdrawn | Violation
)  # fmt: skip

NONE = object()
"""Marks a missing member, because null is a value."""


def request(
    method: str, params: Json = NONE, *, identity: Json = NONE, meta: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """A request; a notification if `identity` is missing.

    Args:
        meta: members for the `_meta` of params that are an object or missing; members that exist already stay.
    """
    message: dict[str, Json] = {"jsonrpc": "2.0"}
    if identity is not NONE:
        message["id"] = identity
    message["method"] = method
    content: Json = {} if params is NONE else params
    if meta and isinstance(content, dict):
        body = cast("dict[str, Json]", content)
        own = body.get("_meta", {})
        if isinstance(own, dict):
            content = {**body, "_meta": {**meta, **cast("dict[str, Json]", own)}}
    if params is not NONE or content:
        message["params"] = content
    return message
