"""A message on its way out, with what a transport needs to know about it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.trace_context import begun
from mcp_studio.protocol.versions import NAMED

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
    return Outgoing(dumps(message), "request", identity, method, str(subject or ""), version, modern, headers)
