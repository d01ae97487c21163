"""A URL of which nobody has said how it is spoken to: Streamable HTTP, or HTTP+SSE where only that is there.

Specification 2025-03-26 to 2025-11-25, basic/transports, "Backwards Compatibility": a server that refuses the POST of
`initialize` with status 400, 404 or 405, and opens an event stream with an `endpoint` event on GET, is an older one.
What was found out is remembered by whoever makes the transport, and then tried first.
"""

from __future__ import annotations

from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import ConfigError, ConnectionLost, SignInNeeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.protocol.outgoing import Outgoing, RequestId
from mcp_studio.protocol.skim import Node
from mcp_studio.protocol.versions import MODERN_VERSIONS
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.edge import Edge
from mcp_studio.transport.http import HttpTransport
from mcp_studio.transport.http_errors import HttpFailure
from mcp_studio.transport.http_sse import SseTransport
from mcp_studio.transport.tap import Tap
from mcp_studio.transport.tasks import Tasks

_REFUSALS = frozenset({400, 404, 405})
_PATIENCE = 5.0
"""Seconds that a server gets to show its older side."""


class FallbackTransport:
    """Implements `base.Transport` by one of two others, and `base.Sink` for the first of them."""

    def __init__(
        self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None, spoken: str = ""
    ) -> None:
        edge = edge or Edge(config, limits, tap)
        modern = config.era == "modern" or config.protocol_version in MODERN_VERSIONS
        self._older_first = spoken == "sse" and not modern
        self._tap = tap
        self._newer = HttpTransport(config, limits, tap, edge)
        self._older = SseTransport(config, limits, tap, edge, min(edge.connect, _PATIENCE))
        self._active: HttpTransport | SseTransport = self._newer
        self._sink: Sink | None = None
        self._tasks = Tasks(self._unforeseen)
        self._tried = False

    # ------------------------------------------------------------------ as a transport

    @property
    def kind(self) -> Kind:
        """What the server turned out to speak."""
        return self._active.kind

    async def open(self, sink: Sink) -> Opened:
        """Prepare the connections; see `HttpTransport.open`. Where HTTP+SSE was spoken last time, open its stream."""
        self._sink = sink
        if self._older_first:
            try:
                opened = await self._older.open(sink)
            except (SignInNeeded, ConfigError):
                raise
            except StudioError as problem:
                self._tried = True
                self._tap.note(f"there was HTTP+SSE at this address last time, and not now: {problem.message}")
            else:
                self._active = self._older
                return opened
        return await self._newer.open(self)

    async def send(self, out: Outgoing) -> None:
        """Send by the transport that the server speaks."""
        await self._active.send(out)

    async def send_raw(self, data: bytes, *, headers: tuple[tuple[str, str], ...] = (), newlines: bool = False) -> None:
        """Send by the transport that the server speaks; see `Transport.send_raw`."""
        await self._active.send_raw(data, headers=headers, newlines=newlines)

    def negotiated(self, version: str) -> None:
        """The protocol version is settled."""
        self._active.negotiated(version)

    def abandon(self, request_id: RequestId) -> None:
        """Nobody waits for this request any more."""
        self._active.abandon(request_id)

    def standing(self, request_id: RequestId | None) -> str:
        """How far a request has got over HTTP; see `Transport.standing`."""
        return self._active.standing(request_id)

    async def close(self) -> None:
        """End both within `limits.close`; any number of times."""
        self._sink = None
        self._tasks.cancel()
        # Both close the edge that they share: first the one that may have to say something over it.
        for transport in (self._active, self._older, self._newer):
            await transport.close()

    # ------------------------------------------------------------------ as the sink of the newer one

    def frame(self, data: bytes, root: Node | None = None) -> None:
        """One frame came in."""
        if self._sink is not None:
            self._sink.frame(data, root)

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        """A message got no answer; for the handshake that may mean that the server is an older one."""
        refused = isinstance(error, HttpFailure) and error.status in _REFUSALS
        if out.method == "initialize" and refused and not self._tried and self._sink is not None:
            self._tried = True
            self._tasks.spawn(self._try(out, error, self._sink), out)
        elif self._sink is not None:
            self._sink.undelivered(out, error)

    def closed(self, error: StudioError | None) -> None:
        """The transport ended by itself."""
        if self._sink is not None:
            self._sink.closed(error)

    async def _try(self, out: Outgoing, refusal: StudioError, sink: Sink) -> None:
        """Look for HTTP+SSE at the same address; without it, what the POST was refused with stands."""
        try:
            await self._older.open(sink)
        except StudioError as problem:
            self._tap.note(f"no HTTP+SSE at this address either: {problem.message}")
            sink.undelivered(out, problem if isinstance(problem, SignInNeeded) else refusal)
            return
        self._tap.note("the handshake was refused, but there is HTTP+SSE (2024-11-05) at this address: using that")
        self._active = self._older
        try:
            await self._older.repeat(out)
        except ConnectionLost as problem:
            sink.undelivered(out, problem)

    def _unforeseen(self, out: Outgoing | None, error: StudioError) -> None:
        self._tap.note(error.message)
        if out is not None and self._sink is not None:
            self._sink.undelivered(out, error)
