"""The bounded HTTP edge: one origin, verified TLS, a deadline per phase, every byte counted, all told to the tap.

httpx2 carries the bytes. It is imported when the edge is opened, in a thread: importing it and loading the
certificates takes tens of milliseconds, and a studio with child processes alone never needs it.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.transport import http_client
from mcp_studio.transport.http_body import Breather, Plain, decoder
from mcp_studio.transport.http_errors import HttpFailure, HttpLost, HttpUnreachable, network_failure
from mcp_studio.transport.http_headers import configured, merged
from mcp_studio.transport.tap import Headers, HttpRequest, HttpResponse, Tap

if TYPE_CHECKING:
    import httpx2

HeaderList = list[tuple[str, str]]
_REDIRECTS = 5


class Answer:
    """A response whose head is there: read its body once, by `chunk` or by `read`."""

    def __init__(self, exchange: int, response: httpx2.Response, url: httpx2.URL, edge: Edge) -> None:
        self.exchange = exchange
        self.status = response.status_code
        self.reason = _text(response.extensions.get("reason_phrase", b""))
        self.headers: Headers = tuple((_text(name), _text(value)) for name, value in response.headers.raw)
        self.url = url
        self._edge = edge
        self._stream: Any = response.stream
        self._raw: Any = aiter(self._stream)
        self._decoder: Plain | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._breathe = Breather()

    def header(self, name: str) -> str:
        """All values of a header, joined as HTTP allows; an empty string if it is absent."""
        return ", ".join(value for found, value in self.headers if found.lower() == name)

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.header("content-type").split(";", 1)[0].strip().lower()

    async def chunk(self) -> bytes:
        """The next decoded bytes, at most 256 KB; empty at the end.

        Raises:
            HttpLost: the connection ended before the body did.
            HttpBroken: the body's encoding cannot be read.
        """
        await self._breathe()
        if self._decoder is None:
            self._decoder = decoder(self.header("content-encoding"))
        while True:
            for piece in self._pieces:
                if piece:
                    return piece
            raw = await self._edge.read(self)
            if raw is None:
                return b""
            self._pieces = self._decoder.feed(raw)

    async def raw(self) -> bytes | None:
        """The next bytes as they came, None at the end; network errors are still those of httpx2."""
        return await anext(self._raw, None)

    async def read(self, limit: int) -> bytes:
        """The whole decoded body.

        Raises:
            LimitExceeded: it is larger than `limit`, the bound `message`; reading stops there.
            HttpLost: the connection ended before the body did.
        """
        parts: list[bytes] = []
        size = 0
        declared = self.header("content-length")
        if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
            raise too_large(limit)
        while part := await self.chunk():
            size += len(part)
            if size > limit:
                raise too_large(limit)
            parts.append(part)
        return b"".join(parts)

    async def close(self) -> None:
        """Give the connection back, or close it when the body was not read to its end."""
        await self._raw.aclose()
        await self._stream.aclose()


class Edge:
    """All HTTP traffic of one connection."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap) -> None:
        self._config = config
        self._limits = limits
        self._tap = tap
        self.connect = config.timeouts.connect or limits.connect
        """Seconds that connecting may take, all phases together."""
        self.place = ""
        """Host and port, for sentences."""
        self.target = ""
        """The URL without credentials."""
        self.credentials = False
        """Whether an Authorization header is configured."""
        self._numbers = itertools.count(1)
        self._headers: HeaderList = []
        self._client: http_client.Client | None = None

    async def open(self) -> None:
        """Load httpx2 and prepare the connection pool; nothing is sent.

        Raises:
            ConfigError: the URL, a header, or a proxy named by the environment cannot be used.
        """
        headers = configured(self._config)
        client = await asyncio.to_thread(http_client.load, self._config, self._limits, self.connect)
        user = client.userinfo
        if user and not any(name.lower() == "authorization" for name, _ in headers):
            headers.append(("Authorization", f"Basic {base64.b64encode(user).decode()}"))
        self.credentials = any(name.lower() == "authorization" for name, _ in headers)
        self._headers = headers
        self._client = client
        self.place = client.place
        self.target = str(client.url)

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: HeaderList, body: bytes = b"", *, head: float | None
    ) -> AsyncGenerator[Answer, None]:
        """Send one request and wait up to `head` seconds for the head of its response (None: as long as it takes).

        Redirects are followed within the origin, when they keep the method (307, 308), at most five times.

        Raises:
            HttpUnreachable: it never reached the server, or is redirected elsewhere.
            HttpLost: the connection ended, or `head` seconds passed.
            LimitExceeded: the headers are larger than `limits.headers`.
        """
        client = self._ready()
        url = client.url
        for _ in range(_REDIRECTS + 1):
            answer = await self._send(method, url, headers, body, head)
            try:
                onward = self._redirect(answer)
                if onward is None:
                    yield answer
                    return
            finally:
                await self._release(answer)
            url = onward
        raise HttpUnreachable(f"{self.place} redirects more than {_REDIRECTS} times.", hint="Check the URL.")

    async def read(self, answer: Answer) -> bytes | None:
        """The next raw bytes of an answer, None at its end.

        Raises:
            HttpLost: the connection ended before the body did.
        """
        client = self._ready()
        try:
            return await answer.raw()
        except client.problems as problem:
            error = network_failure(problem, self.place, under_way=True)
            self._tap.http_response(
                HttpResponse(answer.exchange, answer.status, answer.reason, (), error=error.message)
            )
            raise error from problem

    async def close(self) -> None:
        """Close all connections; any number of times."""
        client, self._client = self._client, None
        if client is not None:
            await client.transport.aclose()

    def _ready(self) -> http_client.Client:
        if self._client is None:
            raise HttpLost("The connection is closed.")
        return self._client

    async def _send(self, method: str, url: httpx2.URL, headers: HeaderList, body: bytes, head: float | None) -> Answer:
        client = self._ready()
        number = next(self._numbers)
        request = client.request(method, url, merged(self._headers, headers), body)
        sent = tuple((_text(name), _text(value)) for name, value in request.headers.raw)
        self._tap.http_request(HttpRequest(number, method, str(url), sent))
        if body:
            self._tap.sent(body, number)
        try:
            answer = Answer(number, await self._head(client, request, head), url, self)
        except StudioError as error:
            self._tap.http_response(HttpResponse(number, 0, "", (), error=error.message))
            raise
        except asyncio.CancelledError:
            self._tap.http_response(HttpResponse(number, 0, "", (), error="abandoned before an answer came"))
            raise
        self._tap.http_response(HttpResponse(number, answer.status, answer.reason, answer.headers))
        if sum(len(name) + len(value) + 4 for name, value in answer.headers) > self._limits.headers:
            await self._release(answer)
            raise self._headers_too_large()
        return answer

    async def _head(self, client: http_client.Client, request: httpx2.Request, head: float | None) -> httpx2.Response:
        """Connect, send, wait for the head: connecting has its own deadline, writing that of `limits.write`."""
        loop = asyncio.get_running_loop()
        connected = False
        try:
            async with asyncio.timeout(self.connect) as deadline:

                async def progress(event: str, info: dict[str, Any]) -> None:
                    nonlocal connected
                    if event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
                        connected = True
                        deadline.reschedule(None)
                    elif event == "http11.receive_response_headers.started" and connected and head is not None:
                        deadline.reschedule(loop.time() + head)

                request.extensions["trace"] = progress
                return await client.transport.handle_async_request(request)
        except TimeoutError:
            raise self._too_slow(connected, head) from None
        except client.problems as problem:
            if "buffer too long" in str(problem):
                raise self._headers_too_large() from None
            raise network_failure(problem, self.place, under_way=connected) from problem

    def _too_slow(self, connected: bool, head: float | None) -> HttpFailure:
        if connected:
            return HttpLost(f"{self.place} did not answer within {head:g} seconds.")
        hint = "Is the server running, and is a firewall in between?"
        return HttpUnreachable(f"No connection to {self.place} within {self.connect:g} seconds.", hint=hint)

    def _headers_too_large(self) -> LimitExceeded:
        return LimitExceeded(f"The response headers of {self.place} are larger than allowed.", limit="headers")

    def _redirect(self, answer: Answer) -> httpx2.URL | None:
        """Where to go on, None if the answer is no redirect; anything else than this origin is refused."""
        location = answer.header("location")
        if answer.status not in (301, 302, 303, 307, 308) or not location:
            return None
        client = self._ready()
        onward = client.join(answer.url, location)
        if onward is None:
            raise HttpUnreachable(f"{self.place} redirects to an address that is none.", status=answer.status)
        if answer.status in (307, 308) and client.same_origin(onward):
            return onward
        why = "on another origin" if not client.same_origin(onward) else f"with status {answer.status}, for GET only"
        raise HttpUnreachable(
            f"{self.place} redirects to {onward}, {why}; nothing was sent there.",
            hint="If that is the server you mean, use its address.",
            status=answer.status,
        )

    async def _release(self, answer: Answer) -> None:
        problems = self._client.problems if self._client else (OSError,)
        try:
            await answer.close()
        except problems:
            return


def too_large(limit: int) -> LimitExceeded:
    """The error for a message above `limits.message`."""
    return LimitExceeded(f"The server sent a message of more than {limit:,} bytes.", limit="message")


def _text(data: bytes) -> str:
    return data.decode("latin-1")
