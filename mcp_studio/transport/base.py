"""What a transport is: it carries frames, knows nothing of their meaning, and ends in bounded time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import mapping
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import Parsed, parse


class Sink(Protocol):
    """Where a transport delivers. Every method is synchronous, cheap, and does not raise."""

    def frame(self, data: bytes, parsed: Parsed | None = None) -> None:
        """One frame came in: a JSON text, valid or not; never stray output. `parsed` where it was parsed already."""

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        """`out` got no answer on the transport's level (HTTP status, refused, timed out): only it is affected."""

    def closed(self, error: StudioError | None) -> None:
        """The transport ended by itself; called once at most, and never after `close` was called."""


class Opened(NamedTuple):
    """What was started or reached, in words for `doctor` and the trace."""

    target: str
    """The argv or URL actually used."""
    pid: int = 0


class Transport(Protocol):
    """One way to a server. All methods are called by the owner task of the connection, `send` by any task."""

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

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Send a hand-written frame exactly as it is, be it well-formed or not, and tell the tap of it as sent.

        It is one line on stdio (a newline is added), one frame on a WebSocket, and the body of one POST over HTTP
        with the headers that a message has at this time. Returns when it is written, over HTTP when the response has
        begun, or after `limits.write` seconds without one. What HTTP answers goes to the tap, and to the sink as far as
        it is JSON; `Sink.undelivered` is told nothing.

        Args:
            newlines: let newlines inside the frame through where they would end it (stdio).

        Raises:
            UsageError: it has a newline inside, which this transport takes for the end of the frame.
            StudioError: HTTP has brought no response.
            ConnectionLost: as `send` does.
        """

    def negotiated(self, version: str) -> None:
        """The protocol version is settled: HTTP sends it in headers and opens its stream for older eras."""

    def abandon(self, request_id: int | str) -> None:
        """Nobody waits for this request any more: HTTP closes its response stream."""

    async def close(self) -> None:
        """End it in a bounded time, with all that was started; any number of times."""


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

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """A frame came in that looks like JSON, valid or not."""

    def stray(self, line: bytes) -> None:
        """A line on a child's standard output that is no JSON."""

    def stderr(self, line: bytes) -> None:
        """A line of a child's standard error."""

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request goes out."""

    def http_response(self, response: HttpResponse) -> None:
        """An HTTP response head came in, or the exchange failed."""

    def note(self, text: str) -> None:
        """Something happened to the connection: started, exited, killed, reconnected."""


HeaderList = list[tuple[str, str]]


class RequestContext(NamedTuple):
    """One HTTP request that is about to leave: what its credentials may depend on."""

    server: str
    method: str
    """That of HTTP."""
    url: str
    body: bytes = b""
    refused: Headers = ()
    """What was given for this very request before; the server wanted something else."""

    @property
    def rpc_method(self) -> str:
        """The method of the JSON-RPC message in the body; empty where there is none."""
        method = mapping(parse(self.body).value).get("method")
        return method if isinstance(method, str) else ""


MakeHeaders = Callable[[RequestContext], Awaitable[HeaderList]]
"""Gives headers that are made for each request (`transport.headers`); a `StudioError` says why there are none."""


class Refused(NamedTuple):
    """A request that a server did not accept, status 401 or 403 (or 400 with a DPoP nonce)."""

    status: int
    method: str
    url: str
    sent: Headers
    """What `Credentials.lines` had given for it."""
    headers: Headers
    """Of the response."""
    body: str
    """The beginning of the response's body; foreign."""
    tries: int
    """How many times this request was refused, this one included."""

    def header(self, name: str) -> str:
        """All values of a response header (named in lower case), joined as HTTP allows."""
        return ", ".join(value for found, value in self.headers if found.lower() == name)


class Credentials(Protocol):
    """The credentials for one server; used by any task, several requests at a time."""

    @property
    def present(self) -> bool:
        """Whether there is anything to send."""
        ...

    async def lines(self, method: str, url: str) -> HeaderList:
        """Headers for one request to the server's own origin; they replace configured ones of the same name.

        A token that is about to expire is refreshed first. Nobody is asked anything here.

        Raises:
            StudioError: what is there cannot be used and cannot be renewed without a person.
        """
        ...

    def seen(self, url: str, headers: Headers) -> None:
        """The headers of every response (DPoP nonces, RFC 9449 8.2); synchronous and cheap."""

    async def refused(self, refused: Refused) -> bool:
        """Whether to send the request once more, with what `lines` gives then; may refresh, or ask a person.

        Raises:
            StudioError: why there is nothing better to send, in words; a `SignInNeeded` where a person could help.
        """
        ...


log = logging.getLogger(__name__)


class Tasks:
    """Starts tasks and ends them together.

    Args:
        failed: told of an error that nobody foresaw, which is logged: it is that of the message that the task was
            about, or of the whole where that is None.
    """

    def __init__(self, failed: Callable[[Outgoing | None, StudioError], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed = failed

    def spawn(self, work: Coroutine[Any, Any, None], out: Outgoing | None = None) -> asyncio.Task[None]:
        """Start a task, about a message or about the whole."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, out))
        return task

    def cancel(self) -> None:
        """Cancel all but the task that calls this."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    async def end(self, seconds: float, grace: float = 0.0) -> None:
        """Cancel all and wait for their ends, for so long at most; with `grace` they may come to them by themselves."""
        if self._tasks and grace:
            await asyncio.wait(tuple(self._tasks), timeout=grace)
        self.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)

    def _done(self, out: Outgoing | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            if not isinstance(problem, StudioError):
                log.error("a task failed", exc_info=problem)
            self._failed(out, StudioError(f"The exchange failed unexpectedly: {type(problem).__name__}: {problem}"))
