"""HTTP+SSE: a GET stream for all messages of the server, and a POST for each of ours to the endpoint that it names.

Specification 2024-11-05, basic/transports, "HTTP with SSE"; later versions keep it for older servers ("Backwards
Compatibility"). Nothing can be resumed: when the stream ends, the session is lost.
"""

from __future__ import annotations

import asyncio

from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.lines import Oversize
from mcp_studio.protocol.versions import MODERN_VERSIONS
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.http_connection import HttpConnection, PendingRequest
from mcp_studio.transport.http_errors import HttpBroken, HttpFailure, HttpLost, HttpUnreachable, refused
from mcp_studio.transport.http_response import Response
from mcp_studio.transport.sse import SseEvent, SseParser

_HINT = "It may speak Streamable HTTP: try without a transport."
_STAY = "It has to stay open while the server is used: what stands before it may end streams that are quiet, or long."


class SseTransport(HttpConnection):
    """The transport of one server of protocol version 2024-11-05 at a URL; implements `base.Transport`.

    Args:
        edge: the HTTP edge to use, if it has credentials.
    """

    async def open(self, sink: Sink) -> Opened:
        """Open the stream and wait until the server has named its endpoint.

        Raises:
            Unreachable: there is no such stream, it names no endpoint in time, or one on another origin.
            SignInNeeded: the server requires credentials.
            ConfigError: the URL, a header or the environment's proxy cannot be used, or the era has no such transport.
        """
        if self.config.era == "modern" or self.config.protocol_version in MODERN_VERSIONS:
            raise ConfigError(
                "HTTP+SSE ended with the older era, and the modern one is asked for.",
                hint="Leave out the transport, or ask for the legacy era.",
            )
        await self.edge.open()
        await self.hold(sink, self._listen())
        assert self.endpoint is not None
        # Without its query: secrets in a URL are redacted where it is known as a URL, and here it is only text.
        self.tap.note(f"messages go to {self.endpoint.copy_with(query=None)}")
        return Opened(self.edge.target)

    async def send(self, out: Outgoing) -> None:
        """Post one message in its own task.

        Raises:
            ConnectionLost: the transport is not open, or the stream has ended.
        """
        self.check()
        waiting = PendingRequest(out, out.id) if out.kind == "request" and out.id is not None else None
        await self.post(out, self.tell(out), waiting)

    async def _listen(self) -> None:
        edge, loop = self.edge, asyncio.get_running_loop()
        lines = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]
        try:
            async with edge.exchange("GET", lines, head=edge.connect) as answer:
                await self._accept(answer)
                # The deadline begins here: before, the server may have asked to wait, or a token may have been renewed.
                deadline = loop.call_later(self.edge.connect, self._no_endpoint)
                try:
                    parser = SseParser(self.limits.message)
                    while chunk := await answer.chunk():
                        for event in parser.feed(chunk):
                            self._event(event, answer)
                            await answer.breathe()
                finally:
                    deadline.cancel()
            raise HttpLost(f"{edge.place} ended the stream of events; the session is lost with it.", hint=_STAY)
        except StudioError as error:
            self.end(error)

    async def _accept(self, answer: Response) -> None:
        """Return if the answer is an event stream; otherwise raise what it is."""
        try:
            body = await self.expect_stream(answer)
            if body is None:
                return
            problem: HttpFailure = refused(answer, self.edge.place, body)
        except HttpBroken as broken:
            problem = broken
        hint = _HINT if answer.status < 300 or answer.status in (400, 404, 405, 406) else problem.hint
        message = f"There is no HTTP+SSE stream: {problem.message}"
        raise HttpUnreachable(message, hint=hint, http=problem.http, retry_after=problem.retry_after)

    def _event(self, event: SseEvent, answer: Response) -> None:
        if isinstance(event.data, Oversize):
            self.too_long(event.data)
        elif event.kind == "message":
            self.deliver(event.data, answer.exchange)
        elif event.kind == "endpoint" and self.opening is not None and not self.opening.done():
            self.endpoint = self.edge.within(answer.url, event.data.decode("utf-8", "replace").strip())
            self.opening.set_result(None)
        else:
            self.tap.received(event.data, answer.exchange)  # The event is not for us; the trace shows it anyway.

    def _no_endpoint(self) -> None:
        """End a connection whose open stream has not named the address for messages."""
        if self.endpoint is None:
            why = f"{self.edge.place} did not name an endpoint for messages within {self.edge.connect:g} seconds."
            self.end(HttpUnreachable(why, hint=_HINT, how="timeout"))
