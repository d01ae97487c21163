"""How far one HTTP request has got: what its deadline hangs on, and what is told of one that never ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from mcp_studio.transport.http_errors import HttpDown, HttpFailure, HttpLost
from mcp_studio.transport.oversize import size_text

if TYPE_CHECKING:
    from mcp_studio.transport.http_answer import Answer
    from mcp_studio.transport.http_client import Client


class Phases:
    """Follows one request by httpx2's trace events, and moves its deadline along.

    Args:
        head: seconds that the head of the response may take once the request is sent; None is for ever.
        tunnel: a proxy makes the connection first, by CONNECT.
    """

    def __init__(self, head: float | None, *, tunnel: bool) -> None:
        self.head = head
        self.stage: Literal["name", "queue", "connect", "sent"] = "name"
        self.beyond = False
        """The proxy has made its connection: what fails now is the server's."""
        self.deadline = asyncio.timeout(None)
        self._tunnel = tunnel

    async def __call__(self, event: str, info: dict[str, Any]) -> None:
        """One event of httpx2."""
        if self.stage == "queue":
            self.stage = "connect"
        if self._tunnel and event == "http11.receive_response_headers.complete":
            self._tunnel, self.beyond = False, True
        elif event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
            self.stage = "sent"
            self.deadline.reschedule(None)
        elif event == "http11.receive_response_headers.started" and self.stage == "sent" and self.head is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time() + self.head)


class Standing:
    """How far a request has got over HTTP, for whoever gives up waiting for its answer."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        """The response whose head came last."""
        self.says = ""
        """What is to be told instead."""
        self._phases: Phases | None = None

    def begin(self, phases: Phases) -> Phases:
        """It goes out, perhaps once more."""
        self.answer, self.says, self._phases = None, "", phases
        return phases

    @property
    def words(self) -> str:
        """In words, to be put after a sentence about a deadline; empty where there is nothing to tell."""
        if self.says:
            return self.says
        if self.answer is not None:
            return f"HTTP status {self.answer.status} came, with {size_text(self.answer.size)} of its body"
        if self._phases is None:
            return ""
        return "it was sent, and nothing came back" if self._phases.stage == "sent" else "the connection was never made"


def too_slow(client: Client, phases: Phases, connect: float) -> HttpFailure:
    """A deadline passed in one of the phases."""
    if phases.stage == "sent":
        return HttpLost(
            f"{client.place} did not answer within {phases.head:g} seconds.",
            hint="It took the request, and sends nothing: is it busy, or no HTTP server?",
        )
    if phases.stage == "name":
        return HttpDown(f"The host name {client.peer} did not resolve within {connect:g} seconds.")
    if phases.stage == "queue":
        return HttpDown(f"{client.connections} requests to {client.place} are open already.")
    hint = "Is the server running, and is a firewall in between?"
    if client.proxy and not phases.beyond:
        where = f"{client.place} through the proxy {client.proxy}, which {client.proxy_named} names,"
        return HttpDown(f"No connection to {where} within {connect:g} seconds.", hint="Is the proxy running?")
    return HttpDown(f"No connection to {client.place} within {connect:g} seconds.", hint=hint)
