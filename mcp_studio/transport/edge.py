"""The bounded HTTP edge: one origin, verified TLS, a deadline per phase; it counts every byte and reports to the tap.

httpx2 carries the bytes. The edge imports it in a thread when it opens: importing it and loading the certificates takes
tens of milliseconds, and a studio that only has child processes never needs it.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, LimitExceeded, StudioError
from mcp_studio.limits import Limits, size_text
from mcp_studio.record import record
from mcp_studio.transport import http_client
from mcp_studio.transport.base import (
    HEADER_VALUE,
    Credentials,
    HeaderList,
    HttpRequest,
    HttpResponse,
    MakeHeaders,
    RefusedRequest,
    RequestContext,
    Tap,
)
from mcp_studio.transport.http_client import HttpClient, look_up
from mcp_studio.transport.http_errors import (
    HttpDown,
    HttpFailure,
    HttpLost,
    HttpUnreachable,
    answer_of,
    excerpt,
    network_failure,
    no_such_host,
    retry_after,
)
from mcp_studio.transport.http_response import Response, text

if TYPE_CHECKING:
    import httpx2


class Progress:
    """The progress of one request: follows httpx2's trace events, and moves the request's deadline.

    Args:
        head: seconds to wait for the head of the response once the request is sent; None waits forever.
        tunnel: whether a proxy makes the connection first, by CONNECT.
    """

    def __init__(self, head: float | None, *, tunnel: bool) -> None:
        self.stage: Literal["name", "connect", "sent"] = "name"
        self.beyond_proxy = False
        """Whether the proxy has made its connection, so that later failures are the server's."""
        self.deadline = asyncio.timeout(None)
        self._head = head
        self._tunnel = tunnel

    async def __call__(self, event: str, info: dict[str, Any]) -> None:
        """Follow one event of httpx2."""
        if self._tunnel and event == "http11.receive_response_headers.complete":
            self._tunnel, self.beyond_proxy = False, True
        elif event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
            self.stage = "sent"
            self.deadline.reschedule(None)
        elif event == "http11.receive_response_headers.started" and self.stage == "sent" and self._head is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time() + self._head)

    def too_slow(self, client: HttpClient, connect: float) -> HttpFailure:
        """The error of a deadline that has passed."""
        place, seconds = client.place, f"within {connect:g} seconds"
        if self.stage == "sent":
            return HttpLost(
                f"{place} did not answer within {self._head:g} seconds.",
                hint="It took the request, and sends nothing: is it busy, or no HTTP server?",
                how="timeout",
            )
        if self.stage == "name":
            return HttpDown(f"The host name {client.peer} did not resolve {seconds}.", how="timeout")
        hint = "Is the server running, and is a firewall in between?"
        if client.proxy and not self.beyond_proxy:
            place += f" through the proxy {client.proxy}, which {client.proxy_named} names,"
            hint = "Is the proxy running?"
        return HttpDown(f"No connection to {place} {seconds}.", hint=hint, how="timeout")


def onward_of(client: HttpClient, answer: Response) -> httpx2.URL | None:
    """The address of a redirect that is followed; None if the answer is no redirect.

    Raises:
        HttpUnreachable: the redirect leads to another origin, or changes method or body.
    """
    location = answer.header("location")
    if answer.status not in (301, 302, 303, 307, 308) or not location:
        return None
    onward = client.join(answer.url, location)
    same = onward is not None and client.same_origin(onward)
    if same and answer.status in (307, 308):
        return onward
    # The query may contain secrets.
    where = "something that is no address" if onward is None else excerpt(str(onward.copy_with(query=None)).encode())
    why = "which drops the message (307 and 308 keep it)" if same else "which is another origin"
    web = onward is not None and onward.scheme in ("http", "https", "ws", "wss")
    raise HttpUnreachable(
        f"{client.place} redirects to {where} with status {answer.status}, {why}; it was not followed.",
        hint=f"If that is the server you mean, use its address: {where}" if web else "Check the URL.",
        http=answer_of(answer, b""),
    )


_REDIRECTS = 5
_CREDENTIALS = 5
"""How often one request is sent again with other credentials, at most."""
_REFUSAL, PATIENCE = 64 * 1024, 5.0
"""Bytes and seconds of a refusal's body that are read before the credentials are asked for better ones."""
_ABANDONED = "abandoned before its end: the connection was closed"


@record()
class _Attempt:
    """One request, which may be sent several times."""

    method: str
    url: httpx2.URL
    credentials: HeaderList = field(default_factory=HeaderList)
    """The last credentials of the request, besides the configured headers."""
    hops: int = 0
    refusals: int = 0
    paused: bool = False


class Edge:
    """All HTTP traffic of one connection."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, credentials: Credentials | None = None) -> None:
        self._config = config
        self._access = credentials
        self.make: MakeHeaders | None = None
        self._limits = limits
        self._tap = tap
        self.connect = config.timeouts.connect or limits.connect
        """Seconds for connecting, all phases together."""
        self.place = ""
        """Host and port, for sentences."""
        self.target = ""
        """The URL without credentials."""
        self._configured = False
        self._numbers = itertools.count(1)
        self._headers: HeaderList = []
        self._client: HttpClient | None = None
        self._resolved = False
        """Whether the host name has resolved and nothing has failed since."""

    async def open(self) -> None:
        """Load httpx2 and prepare the connection pool; nothing is sent.

        Raises:
            ConfigError: the URL, a header, or the environment's proxy cannot be used.
        """
        headers = configured(self._config)
        client = await asyncio.to_thread(http_client.load, self._config, self._limits, self.connect)
        signed = any(name.lower() == "authorization" for name, _ in headers)
        if client.userinfo and not signed:
            headers.append(("Authorization", f"Basic {base64.b64encode(client.userinfo).decode()}"))
        self._configured = signed or bool(client.userinfo)
        self._headers = headers
        self._client = client
        if self._config.tls.insecure and client.url.scheme in ("https", "wss"):
            self._tap.note("the certificate of this server is not checked: insecure is set")
        self.place = client.place
        self.target = str(client.url)

    @property
    def credentials(self) -> bool:
        """Whether there are credentials to send, configured or from a sign-in."""
        return self._configured or self.make is not None or (self._access is not None and self._access.present)

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        headers: HeaderList,
        body: bytes = b"",
        *,
        head: float | None,
        url: httpx2.URL | None = None,
        once: bool = False,
    ) -> AsyncGenerator[Response, None]:
        """Send one request and wait up to `head` seconds for the head of its response (None: as long as it takes).

        The request goes to the configured address, or to a `url` that `within` returned.

        Redirects within the origin are followed if they keep the method (307, 308), at most five times. A refusal (401,
        403) is shown to the credentials, and the request is sent again if they find better ones; its connection is
        released before, because the credentials may ask a person. After 429 and 503 the request is sent once more after
        the time that Retry-After names, if that is a fraction of the time for connecting; never with `once`.

        Raises:
            HttpUnreachable: the request never reached the server, or is redirected elsewhere.
            HttpLost: the connection ended, or `head` seconds passed.
            HttpBroken: the answer is not HTTP.
            LimitExceeded: the headers are larger than `limits.headers`.
            StudioError: from the credentials, see `Credentials.refused`.
        """
        at = _Attempt(method, url or self._ready().url, paused=once)
        first = True
        while at.hops <= _REDIRECTS:
            answer = await self._send(at, headers, body, head, first=first)
            first = False
            try:
                if (onward := onward_of(self._ready(), answer)) is not None:
                    at.url, at.hops = onward, at.hops + 1
                elif not await self._send_again(answer, at):
                    yield answer
                    return
            except (asyncio.CancelledError, LimitExceeded) as error:
                self._report_end(answer, error.message if isinstance(error, StudioError) else _ABANDONED)
                raise
            finally:
                await answer.close()
        raise HttpUnreachable(f"{self.place} redirects more than {_REDIRECTS} times.", hint="Check the URL.")

    async def _send_again(self, answer: Response, at: _Attempt) -> bool:
        """Whether to send the request again: there are better credentials, or the requested pause is over."""
        if self.make is not None and answer.status == 401 and not at.refusals:
            await answer.settle(_REFUSAL, PATIENCE)
            at.refusals = 1
            return True
        if self._access is not None and await self._refused(self._access, answer, at):
            return True
        # 429 and 503 say that the server did nothing, and may accept the request soon.
        pause = retry_after(answer) if answer.status in (429, 503) and not at.paused else None
        if pause is None or pause > min(self._limits.retry_max, self.connect / 2):
            return False
        await answer.settle(_REFUSAL, PATIENCE)
        at.paused = True
        self._tap.note(f"HTTP status {answer.status} asks to wait {pause:g} seconds; then it is sent once more")
        await asyncio.sleep(pause)
        return True

    async def _refused(self, access: Credentials, answer: Response, at: _Attempt) -> bool:
        """Whether there are better credentials than those that were sent."""
        access.seen(str(answer.url), answer.headers)
        nonce = answer.status == 400 and bool(answer.header("dpop-nonce"))
        if (answer.status not in (401, 403) and not nonce) or at.refusals >= _CREDENTIALS:
            return False
        body = await answer.settle(_REFUSAL, PATIENCE)
        at.refusals += 1
        refusal = RefusedRequest(
            answer.status, at.method, str(answer.url), at.credentials, answer.headers, excerpt(body), at.refusals
        )
        try:
            return await access.refused(refusal)
        except StudioError as error:
            error.http = error.http or answer_of(answer, body)
            raise

    def within(self, base: httpx2.URL, reference: str) -> httpx2.URL:
        """The address that a server names relative to `base`, if it is on the configured origin.

        Raises:
            HttpUnreachable: the address is on another origin, or invalid.
        """
        client = self._ready()
        url = client.join(base, reference)
        if url is None or not reference:
            raise HttpUnreachable(f"{self.place} names an endpoint that is no address: {excerpt(reference.encode())}")
        if not client.same_origin(url):
            raise HttpUnreachable(
                f"{self.place} wants its messages sent to {url.scheme}://{url.netloc.decode('ascii', 'replace')}, "
                "on another origin; nothing was sent there.",
                hint="If that is the server you mean, use its address.",
            )
        return url

    async def close(self, seconds: float) -> None:
        """Close all connections, or drop them after `seconds`; it may be called more than once."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await client.transport.aclose()
        except TimeoutError:
            self._tap.note("The connections did not close in time; they were dropped.")

    def _ready(self) -> HttpClient:
        if self._client is None:
            raise HttpLost("The connection is closed.")
        return self._client

    async def _send(
        self, at: _Attempt, headers: HeaderList, body: bytes, head: float | None, *, first: bool
    ) -> Response:
        client = self._ready()
        signed_in = await self._access.lines(at.method, str(at.url)) if self._access is not None else []
        context = RequestContext(self._config.name, at.method, str(at.url), body, at.credentials)
        at.credentials = merged(signed_in, await self.make(context) if self.make is not None else [])
        number = next(self._numbers)
        request = client.request(at.method, at.url, merged(self._headers, headers, at.credentials), body)
        lines = tuple((text(name), text(value)) for name, value in request.headers.raw)
        self._tap.http_request(HttpRequest(number, at.method, str(at.url), lines))
        if body and first:
            self._tap.sent(body, number)  # Once: a redirect repeats the frame, but it is still the same request.
        try:
            response = await self._head(client, request, head)
        except (StudioError, asyncio.CancelledError) as error:
            why = error.message if isinstance(error, StudioError) else _ABANDONED
            self._tap.http_response(HttpResponse(number, 0, "", (), error=why))
            raise
        answer = Response(number, response, at.url, client.problems, self._broken)
        self._tap.http_response(HttpResponse(number, answer.status, answer.reason, answer.headers))
        if sum(len(name) + len(value) + 4 for name, value in answer.headers) > self._limits.headers:
            await answer.close()
            raise self._headers_too_large()
        return answer

    async def _head(self, client: HttpClient, request: httpx2.Request, head: float | None) -> httpx2.Response:
        """Connect, send, and wait for the head: connecting has its own deadline, writing that of `limits.write`."""
        progress = Progress(head, tunnel=client.tunnels)
        try:
            async with asyncio.timeout(self.connect) as progress.deadline:
                await self._look_up(client)
                progress.stage = "connect"
                request.extensions["trace"] = progress
                return await client.transport.handle_async_request(request)
        except TimeoutError:
            self._resolved = progress.stage == "sent"
            raise progress.too_slow(client, self.connect) from None
        except client.problems as problem:
            if "buffer too long" in str(problem):
                raise self._headers_too_large() from None
            self._resolved = progress.stage == "sent"
            near = bool(client.proxy) and not self._resolved and not progress.beyond_proxy
            place, variable = (client.proxy, client.proxy_named) if near else (self.place, "")
            if client.proxy and type(problem).__name__ == "ProxyError":
                place, variable = self.place, client.proxy_named
            raise network_failure(problem, place, under_way=self._resolved, proxy=variable) from problem

    async def _look_up(self, client: HttpClient) -> None:
        """Resolve the name that connections go to, unless it has resolved and nothing has failed since."""
        if not self._resolved:
            try:
                await look_up(client.peer)
            except (OSError, UnicodeError) as problem:
                raise no_such_host(client.peer, client.proxy_named) from problem
        self._resolved = True

    def _broken(self, answer: Response, problem: Exception) -> HttpFailure:
        error = network_failure(problem, self.place, under_way=True)
        self._report_end(answer, error.message)
        return error

    def _report_end(self, answer: Response, error: str) -> None:
        if not answer.settled:
            self._tap.http_response(HttpResponse(answer.exchange, answer.status, answer.reason, (), error=error))

    def _headers_too_large(self) -> LimitExceeded:
        size = size_text(self._limits.headers)
        return LimitExceeded(
            f"The response headers of {self.place} are larger than {size}, the limit called headers.", limit="headers"
        )


_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade"})


def configured(config: ServerConfig, generated: Mapping[str, str] | None = None) -> HeaderList:
    """The headers of an entry, or generated ones, without those that frame a message: HTTP sets these.

    Raises:
        ConfigError: HTTP cannot carry a name or value; the error does not quote the value.
    """
    headers = config.headers if generated is None else generated
    for name, value in headers.items():
        if not re.fullmatch(_TOKEN, name) or not re.fullmatch(HEADER_VALUE, value):
            part = "value" if re.fullmatch(_TOKEN, name) else "name"
            raise ConfigError(
                f"Server {config.name}: the {part} of header {name!r} has characters that HTTP does not allow.",
                file=config.source.file,
                key=f"servers.{config.name}.headers.{name}",
            )
    return [(name, value.strip(" \t")) for name, value in headers.items() if name.lower() not in _FRAMING]


def merged(*groups: HeaderList) -> HeaderList:
    """One list of headers in which later groups replace equal names of earlier ones."""
    fields = {name.lower(): (name, value) for group in groups for name, value in group}
    return list(fields.values())
