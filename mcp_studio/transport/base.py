"""What a transport is: it carries frames, knows nothing of their meaning, and ends in bounded time."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mcp_studio.config.model import Kind
from mcp_studio.errors import StudioError
from mcp_studio.protocol.outgoing import Outgoing
from mcp_studio.protocol.skim import Node


class Sink(Protocol):
    """Where a transport delivers. Every method is synchronous, cheap, and does not raise."""

    def frame(self, data: bytes, root: Node | None = None) -> None:
        """One frame came in: a JSON text, valid or not; of a large one `root` may be known.

        Stray output is never delivered here.
        """
        ...

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        """`out` got no answer on the transport's level (HTTP status, refused, timed out): only it is affected."""
        ...

    def closed(self, error: StudioError | None) -> None:
        """The transport ended by itself; called once at most, and never after `close` was called."""
        ...


class Opened(NamedTuple):
    """What was started or reached, in words for `doctor` and the trace."""

    target: str
    """The argv or URL actually used."""
    pid: int = 0


class Transport(Protocol):
    """One way to a server. All methods are called by the owner task of the connection, `send` by any task."""

    @property
    def kind(self) -> Kind:
        """How the server is spoken to; where that is found out, it holds once the handshake is done."""
        ...

    async def open(self, sink: Sink) -> Opened:
        """Start or reach the server.

        Raises:
            Unreachable: with a sentence that says what to try.
            SignInNeeded: the server wants credentials.
        """
        ...

    async def send(self, out: Outgoing) -> None:
        """Hand over one message; returns when it is written (stdio) or under way (HTTP).

        Raises:
            ConnectionLost: the transport has ended, or the peer has not read for `limits.write` seconds.
        """
        ...

    async def send_raw(self, data: bytes, *, headers: tuple[tuple[str, str], ...] = (), newlines: bool = False) -> None:
        """Send a hand-written frame exactly as it is, be it well-formed or not, and tell the tap of it as sent.

        It is one line on stdio (a newline is added), one text frame on a WebSocket, and the body of one POST over HTTP
        with the headers that a message has at this time. Returns when it is written, over HTTP when the response has
        begun, or after `limits.write` seconds without one. What HTTP answers goes to the tap, and to the sink as far as
        it is JSON; `Sink.undelivered` is told nothing.

        Args:
            headers: HTTP headers that replace or join those the message would have; ignored where there are none.
            newlines: let newlines inside the frame through where they would end it (stdio).

        Raises:
            UsageError: it has a newline inside, which this transport takes for the end of the frame.
            StudioError: HTTP has brought no response.
            ConnectionLost: as `send` does.
        """
        ...

    def negotiated(self, version: str) -> None:
        """The protocol version is settled: HTTP sends it in headers and opens its stream for older eras."""
        ...

    def abandon(self, request_id: int | str) -> None:
        """Nobody waits for this request any more: HTTP closes its response stream."""
        ...

    def standing(self, request_id: int | str | None) -> str:
        """How far a request without an answer has got, in words; None is for the newest."""
        ...

    async def close(self) -> None:
        """End it in a bounded time, with all that was started; any number of times."""
        ...
