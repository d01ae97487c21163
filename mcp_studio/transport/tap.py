"""The wire tap: everything that crosses the wire is told here first, before any code can fail on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Headers = Sequence[tuple[str, str]]
"""Header lines in their order, names as sent."""


class HttpRequest(NamedTuple):
    """One HTTP request as it leaves."""

    exchange: int
    """Number that pairs request and response; unique per connection."""
    method: str
    url: str
    headers: Headers
    body: bytes = b""
    """Of an exchange that is no part of MCP; those of MCP carry frames, which are told by themselves."""
    purpose: str = ""
    """What such an exchange is for, in words: `metadata of the authorization server`; empty for MCP."""


class HttpResponse(NamedTuple):
    """The head of one HTTP response, or why there was none."""

    exchange: int
    status: int
    """0 when the exchange failed before a status line came."""
    reason: str
    headers: Headers
    error: str = ""
    body: bytes = b""
    """Of an exchange that is no part of MCP."""
    purpose: str = ""
    """As of its request."""


class Tap(Protocol):
    """Listener of one connection. Every method is synchronous, cheap, and must not raise.

    Raw bytes are given as they crossed the wire; redaction and sanitizing are the listener's duty.
    """

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """A JSON-RPC frame goes out (without its newline)."""
        ...

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """A frame came in that looks like JSON, valid or not."""
        ...

    def stray(self, line: bytes) -> None:
        """A line on a child's standard output that is no JSON."""
        ...

    def stderr(self, line: bytes) -> None:
        """A line of a child's standard error."""
        ...

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request goes out."""
        ...

    def http_response(self, response: HttpResponse) -> None:
        """An HTTP response head came in, or the exchange failed."""
        ...

    def note(self, text: str) -> None:
        """Something happened to the connection: started, exited, killed, reconnected."""
        ...
