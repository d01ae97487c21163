"""HTTP+SSE: one GET stream for all that the server says, and a POST for each message to the endpoint it names there.

Specification 2024-11-05, basic/transports, "HTTP with SSE"; later versions keep it for older servers ("Backwards
Compatibility"). There is nothing to resume: when the stream ends, the session is lost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.versions import MODERN_VERSIONS
from mcp_studio.transport.base import Opened, Sink, Tap
from mcp_studio.transport.edge import Edge
from mcp_studio.transport.http_connection import HttpConnection, Waiting
from mcp_studio.transport.http_errors import (
    HttpBroken,
    HttpFailure,
    HttpLost,
    HttpUnreachable,
    refused,
)
from mcp_studio.transport.http_response import Response
from mcp_studio.transport.lines import Oversize
from mcp_studio.transport.sse import SseEvent, SseParser

if TYPE_CHECKING:
    import httpx2

_HINT = "It may speak Streamable HTTP: try without a transport."
_STAY = "It has to stay open while the server is used: what stands before it may end streams that are quiet, or long."


class SseTransport(HttpConnection):
    """The transport of one server of protocol version 2024-11-05 at a URL; implements `base.Transport`.

    Args:
        edge: the HTTP edge to use, where it has credentials.
    """

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        super().__init__(config, limits, tap, edge)
        self._modern = config.era == "modern" or config.protocol_version in MODERN_VERSIONS
        self._named: asyncio.Future[httpx2.URL] | None = None

    async def open(self, sink: Sink) -> Opened:
        """Open the stream and wait until the server has named its endpoint.

        Raises:
            Unreachable: there is no such stream, it names no endpoint in time, or one on another origin.
            SignInNeeded: the server wants credentials.
            ConfigError: the URL, a header or the environment's proxy cannot be used, or the era has no such transport.
        """
        if self._modern:
            raise ConfigError(
                "HTTP+SSE ended with the older era, and the modern one is asked for.",
                hint="Leave out the transport, or ask for the legacy era.",
            )
        await self.edge.open()
        self.sink = sink
        named = self._named = asyncio.get_running_loop().create_future()
        stream = self.tasks.spawn(self._listen())
        try:
            endpoint = await asyncio.shield(named)
            self.endpoint = endpoint
        finally:
            if self.endpoint is None:
                self.sink = None
                stream.cancel()
        # Without its query: what is secret in a URL is known where it is one, and here it is only text.
        self.tap.note(f"messages go to {endpoint.copy_with(query=None)}")
        return Opened(self.edge.target)

    async def send(self, out: Outgoing) -> None:
        """Post one message in its own task.

        Raises:
            ConnectionLost: the transport is not open, or the stream has ended.
        """
        self.check()
        waiting = Waiting(out, out.id) if out.kind == "request" and out.id is not None else None
        await self.post(out, self._post(out, waiting), waiting)

    async def _post(self, out: Outgoing, waiting: Waiting | None) -> None:
        head = None if waiting is not None and self.version else self.edge.connect
        try:
            await self.tell(out, head=head)
        except StudioError as error:
            self.failed(out, error)
        finally:
            if waiting is not None and self.waiting.get(waiting.id) is waiting:
                del self.waiting[waiting.id]

    async def _listen(self) -> None:
        edge, loop = self.edge, asyncio.get_running_loop()
        lines = [("Accept", "text/event-stream"), ("Cache-Control", "no-store")]
        try:
            async with edge.exchange("GET", lines, head=edge.connect) as answer:
                await self._accept(answer)
                # Counted from here: before, the server may have asked to wait, or a token may have been renewed.
                naming = loop.call_later(self.edge.connect, self._mute)
                try:
                    parser = SseParser(self.limits.message)
                    while chunk := await answer.chunk():
                        for event in parser.feed(chunk):
                            self._event(event, answer)
                            await answer.breathe()
                finally:
                    naming.cancel()
            raise HttpLost(f"{edge.place} ended the stream of events; the session is lost with it.", hint=_STAY)
        except StudioError as error:
            self.end(error)

    async def _accept(self, answer: Response) -> None:
        """Return if this is an event stream, raise what it is otherwise."""
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
        elif event.kind == "endpoint" and self._named is not None and not self._named.done():
            reference = event.data.decode("utf-8", "replace").strip()
            self._named.set_result(self.edge.within(answer.url, reference))
        else:
            self.tap.received(event.data, answer.exchange)  # Not for us; shown all the same.

    def _mute(self) -> None:
        """The stream is open, and nothing on it says where messages go."""
        if self._named is not None and not self._named.done():
            place, seconds = self.edge.place, f"{self.edge.connect:g} seconds"
            why = f"{place} did not name an endpoint for messages within {seconds}."
            self._named.set_exception(HttpUnreachable(why, hint=_HINT))

    def end(self, error: StudioError) -> None:
        """The stream is over: a failure of opening, or the end of the transport."""
        if self._named is not None and not self._named.done():
            self._named.set_exception(error)
        else:
            super().end(error)
