"""What the protocol core tells its session."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.caching import Hint
from mcp_studio.protocol.outgoing import RequestId


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
