"""The interface of transports: they carry frames without interpreting them, and end in bounded time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import mapping
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import Parsed, parse


class Sink(Protocol):
    """Receives what a transport delivers. Every method is synchronous, cheap, and does not raise."""

    def frame(self, data: bytes) -> Parsed:
        """A frame came in: JSON text, valid or not, but never stray output. Returns its messages."""
        ...

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        """HTTP failed to answer `out` (error status, refused, timed out): only this message is affected."""

    def closed(self, error: StudioError | None) -> None:
        """The transport ended by itself; called at most once, and never after `close` was called."""


class Opened(NamedTuple):
    """The server that was started or reached, in words for `doctor` and the trace."""

    target: str
    """The argv or URL that was used."""
    pid: int = 0


class Transport(Protocol):
    """One way to a server. The connection's owner task calls all methods; any task may call `send`."""

    async def open(self, sink: Sink) -> Opened:
        """Start or reach the server.

        Raises:
            Unreachable: with a sentence that says what to try.
            SignInNeeded: the server requires credentials.
        """
        ...

    async def send(self, out: Outgoing) -> None:
        """Send one message; returns when it is written (stdio) or under way (HTTP).

        Raises:
            ConnectionLost: the transport has ended, or the server has not read for `limits.write` seconds.
        """

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Send a hand-written frame unchanged, well-formed or not, and report it to the tap as sent.

        It becomes one line on stdio (with a newline added), one frame on a WebSocket, and over HTTP the body of one
        POST with the headers that a message has at this time. Returns when the frame is written, over HTTP when the
        response has begun, or after `limits.write` seconds without one. The HTTP answer goes to the tap, and to the
        sink if it is JSON; `Sink.undelivered` is not called.

        Args:
            newlines: allow newlines inside the frame even if they end it (stdio).

        Raises:
            UsageError: the frame contains a newline, which would end it on this transport.
            StudioError: there was no HTTP response.
            ConnectionLost: as `send`.
        """

    def negotiated(self, version: str) -> None:
        """The protocol version is negotiated: HTTP sends it in headers, and opens its stream for older eras."""

    def abandon(self, request_id: int | str) -> None:
        """The caller no longer waits for this request: HTTP closes its response stream."""

    async def close(self) -> None:
        """Stop the transport and everything that it started, in bounded time; it may be called more than once."""


Headers = Sequence[tuple[str, str]]
"""Header lines in order, with their names as sent."""
HEADER_VALUE = r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*"
"""The characters that a header value may have."""


class HttpRequest(NamedTuple):
    """One HTTP request that is being sent."""

    exchange: int
    """The number that pairs request and response; unique per connection."""
    method: str
    url: str
    headers: Headers
    body: bytes = b""
    """The body of an exchange outside MCP; those of MCP carry frames, which the tap gets separately."""
    purpose: str = ""
    """What an exchange outside MCP is for, in words: `metadata of the authorization server`; empty for MCP."""


class HttpResponse(NamedTuple):
    """The head of one HTTP response, or why there was none."""

    exchange: int
    status: int
    """0 if the exchange failed before a status line came."""
    reason: str
    headers: Headers
    error: str = ""
    body: bytes = b""
    """The body of an exchange outside MCP."""
    purpose: str = ""
    """The purpose of its request."""


class Tap(Protocol):
    """Listens to one connection. Every method is synchronous, cheap, and must not raise.

    The listener gets the bytes as they crossed the wire, and has to redact and sanitize them.
    """

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """A JSON-RPC frame was sent (without its newline)."""

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """A frame came in that looks like JSON, valid or not."""

    def stray(self, line: bytes) -> None:
        """A line of a child's standard output is no JSON."""

    def stderr(self, line: bytes) -> None:
        """A line of a child's standard error came in."""

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request was sent."""

    def http_response(self, response: HttpResponse) -> None:
        """The head of an HTTP response came in, or the exchange failed."""

    def note(self, text: str, method: str = "", target: str = "") -> None:
        """The connection's state changed: started, exited, killed, reconnected.

        `method` says it for programs: `started` with the command line as target, or how it ended, such as `exit 3`.
        """


HeaderList = list[tuple[str, str]]


class RequestContext(NamedTuple):
    """One HTTP request that is about to be sent: the facts that its credentials may depend on."""

    server: str
    method: str
    """The HTTP method."""
    url: str
    body: bytes = b""
    refused: Headers = ()
    """The credentials of this request that the server refused before."""

    @property
    def rpc_method(self) -> str:
        """The method of the JSON-RPC message in the body; empty if there is none."""
        method = mapping(parse(self.body).value).get("method")
        return method if isinstance(method, str) else ""


MakeHeaders = Callable[[RequestContext], Awaitable[HeaderList]]
"""Generates headers for each request (`transport.headers`); a `StudioError` says why there are none."""


class RefusedRequest(NamedTuple):
    """A request that a server did not accept: status 401 or 403, or 400 with a DPoP nonce."""

    status: int
    method: str
    url: str
    sent: Headers
    """The headers that `Credentials.lines` returned for the request."""
    headers: Headers
    """The headers of the response."""
    body: str
    """The beginning of the response's body; foreign."""
    tries: int
    """How often this request was refused, including this time."""

    def header(self, name: str) -> str:
        """All values of a response header, joined as HTTP allows; `name` is in lower case."""
        return ", ".join(value for field, value in self.headers if field.lower() == name)


class Credentials(Protocol):
    """The credentials for one server; any task may use them, for several requests at a time."""

    @property
    def present(self) -> bool:
        """Whether there are credentials to send."""
        ...

    async def lines(self, method: str, url: str) -> HeaderList:
        """Headers for one request to the server's own origin; they replace configured ones of the same name.

        A token that is about to expire is refreshed first. This never asks a person.

        Raises:
            StudioError: the credentials cannot be used, and renewing them takes a person.
        """
        ...

    def seen(self, url: str, headers: Headers) -> None:
        """Take the headers of every response (DPoP nonces, RFC 9449 8.2); synchronous and cheap."""

    async def refused(self, refused: RefusedRequest) -> bool:
        """Return whether to send the request again with new `lines`; may refresh a token, or ask a person.

        Raises:
            StudioError: why there are no better credentials; `SignInNeeded` if a person could help.
        """
        ...


Message = MutableMapping[str, Any]
"""A message between an application and its HTTP server (ASGI)."""
Receive = Callable[[], Awaitable[Message]]


async def body_of(receive: Receive, most: int, seconds: float) -> bytes | int:
    """The whole body of a client's request, or the HTTP status that says why it cannot be had."""
    body = bytearray()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while len(body) <= most:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return 400
                body += message.get("body", b"")
                if not message.get("more_body") and len(body) <= most:
                    return bytes(body)
            return 413
    return 408


log = logging.getLogger(__name__)
Then = Callable[[asyncio.Task[None]], object]


class Tasks:
    """Starts tasks and ends them together.

    Args:
        failed: called with the unexpected error of a task, which is logged, and with the message that the task was
            about, or None.
    """

    def __init__(self, failed: Callable[[Outgoing | None, StudioError], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed = failed

    def spawn(
        self, work: Coroutine[Any, Any, None], out: Outgoing | None = None, *, then: Then = bool
    ) -> asyncio.Task[None]:
        """Start a task, about a message or about the whole connection; `then` is called with it when it has ended."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, out, then))
        return task

    def cancel(self) -> None:
        """Cancel all tasks but the calling one."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    async def end(self, seconds: float, grace: float = 0.0) -> None:
        """Give all tasks `grace` seconds to finish, then cancel them, and wait at most `seconds` for their end."""
        if self._tasks and grace:
            await asyncio.wait(tuple(self._tasks), timeout=grace)
        self.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)

    def _done(self, out: Outgoing | None, then: Then, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        then(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            if not isinstance(problem, StudioError):
                log.error("a task failed", exc_info=problem)
            self._failed(out, StudioError(f"The exchange failed unexpectedly: {type(problem).__name__}: {problem}"))
