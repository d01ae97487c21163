"""The bounded HTTP edge: one origin, verified TLS, a deadline per phase, every byte counted, all told to the tap.

httpx2 carries the bytes. It is imported when the edge is opened, in a thread: importing it and loading the
certificates takes tens of milliseconds, and a studio with child processes alone never needs it.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.transport import http_client
from mcp_studio.transport.credentials import Credentials, Refused
from mcp_studio.transport.http_answer import Answer, text
from mcp_studio.transport.http_errors import (
    HttpFailure,
    HttpLost,
    HttpUnreachable,
    excerpt,
    network_failure,
    no_such_host,
)
from mcp_studio.transport.http_headers import configured, merged
from mcp_studio.transport.http_names import look_up
from mcp_studio.transport.tap import HttpRequest, HttpResponse, Tap

if TYPE_CHECKING:
    import httpx2

HeaderList = list[tuple[str, str]]
_REDIRECTS = 5
_CREDENTIALS = 5
"""How many times one request is sent anew with other credentials, whatever these say."""
_REFUSAL, _PATIENCE = 64 * 1024, 5.0
"""Bytes and seconds of a refusal's body that are read before the credentials are asked."""
_ABANDONED = "abandoned before its end: the connection was closed"


class _Phases:
    """Follows one request by httpx2's trace events, and moves its deadline along."""

    def __init__(self, head: float | None) -> None:
        self.head = head
        self.stage: Literal["name", "queue", "connect", "sent"] = "name"
        self.deadline = asyncio.timeout(None)

    async def __call__(self, event: str, info: dict[str, Any]) -> None:
        if self.stage == "queue":
            self.stage = "connect"
        if event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
            self.stage = "sent"
            self.deadline.reschedule(None)
        elif event == "http11.receive_response_headers.started" and self.stage == "sent" and self.head is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time() + self.head)


class Edge:
    """All HTTP traffic of one connection."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, credentials: Credentials | None = None) -> None:
        self._config = config
        self._access = credentials
        self._limits = limits
        self._tap = tap
        self.connect = config.timeouts.connect or limits.connect
        """Seconds that connecting may take, all phases together."""
        self.place = ""
        """Host and port, for sentences."""
        self.target = ""
        """The URL without credentials."""
        self._configured = False
        self._numbers = itertools.count(1)
        self._headers: HeaderList = []
        self._client: http_client.Client | None = None
        self._known = False
        """Whether the host's name resolved and nothing has failed since."""

    async def open(self) -> None:
        """Load httpx2 and prepare the connection pool; nothing is sent.

        Raises:
            ConfigError: the URL, a header, or a proxy named by the environment cannot be used.
        """
        if self._client is not None:
            return  # Shared by two transports: see `http_fallback`.
        headers = configured(self._config)
        client = await asyncio.to_thread(http_client.load, self._config, self._limits, self.connect)
        signed = any(name.lower() == "authorization" for name, _ in headers)
        if client.userinfo and not signed:
            headers.append(("Authorization", f"Basic {base64.b64encode(client.userinfo).decode()}"))
        self._configured = signed or bool(client.userinfo)
        self._headers = headers
        self._client = client
        self.place = client.place
        self.target = str(client.url)

    @property
    def credentials(self) -> bool:
        """Whether there are credentials to send, configured or from signing in."""
        return self._configured or (self._access is not None and self._access.present)

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        headers: HeaderList,
        body: bytes = b"",
        *,
        head: float | None,
        url: httpx2.URL | None = None,
        again: bool = False,
    ) -> AsyncGenerator[Answer, None]:
        """Send one request and wait up to `head` seconds for the head of its response (None: as long as it takes).

        It goes to the configured address, or to another `url` that `within` gave. With `again` the body is a frame
        that the tap has been told of before.

        Redirects are followed within the origin, when they keep the method (307, 308), at most five times.

        Raises:
            HttpUnreachable: it never reached the server, or is redirected elsewhere.
            HttpLost: the connection ended, or `head` seconds passed.
            HttpBroken: what came is not HTTP.
            LimitExceeded: the headers are larger than `limits.headers`.
        """
        url, hops, tries = url or self._ready().url, 0, 0
        while hops <= _REDIRECTS:
            signed = await self._signed(method, url)
            answer = await self._send(method, url, merged(headers, signed), body, head, first=not again)
            again = True
            try:
                onward = self._redirect(answer)
                if onward is None and await self._refused(answer, method, signed, tries):
                    onward, tries = url, tries + 1
                elif onward is None:
                    yield answer
                    return
                else:
                    hops += 1
            except asyncio.CancelledError:
                self._ended(answer, _ABANDONED)
                raise
            except LimitExceeded as error:
                self._ended(answer, error.message)
                raise
            finally:
                await answer.close()
            url = onward
        raise HttpUnreachable(f"{self.place} redirects more than {_REDIRECTS} times.", hint="Check the URL.")

    async def _signed(self, method: str, url: httpx2.URL) -> HeaderList:
        return await self._access.lines(method, str(url)) if self._access is not None else []

    async def _refused(self, answer: Answer, method: str, signed: HeaderList, tries: int) -> bool:
        """Whether credentials that are better than those that were sent have been found."""
        if self._access is None:
            return False
        self._access.seen(str(answer.url), answer.headers)
        nonce = answer.status == 400 and bool(answer.header("dpop-nonce"))
        if (answer.status not in (401, 403) and not nonce) or tries >= _CREDENTIALS:
            return False
        body = await answer.peek(_REFUSAL, _PATIENCE)
        told = Refused(answer.status, method, str(answer.url), signed, answer.headers, excerpt(body), tries + 1)
        return await self._access.refused(told)

    def within(self, base: httpx2.URL, reference: str) -> httpx2.URL:
        """The address that a server names relative to `base`, if it is on the configured origin.

        Raises:
            HttpUnreachable: it is elsewhere, or no address.
        """
        client = self._ready()
        found = client.join(base, reference)
        if found is None or not reference:
            raise HttpUnreachable(f"{self.place} names an endpoint that is no address: {excerpt(reference.encode())}")
        if not client.same_origin(found):
            raise HttpUnreachable(
                f"{self.place} wants its messages sent to {found.scheme}://{found.netloc.decode('ascii', 'replace')}, "
                "on another origin; nothing was sent there.",
                hint="If that is the server you mean, use its address.",
            )
        return found

    async def close(self, seconds: float) -> None:
        """Close all connections, or drop them after so many seconds; any number of times."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await client.transport.aclose()
        except TimeoutError:
            self._tap.note("The connections did not close in time; they were dropped.")

    def _ready(self) -> http_client.Client:
        if self._client is None:
            raise HttpLost("The connection is closed.")
        return self._client

    async def _send(
        self, method: str, url: httpx2.URL, headers: HeaderList, body: bytes, head: float | None, *, first: bool
    ) -> Answer:
        client = self._ready()
        number = next(self._numbers)
        request = client.request(method, url, merged(self._headers, headers), body)
        lines = tuple((text(name), text(value)) for name, value in request.headers.raw)
        self._tap.http_request(HttpRequest(number, method, str(url), lines))
        if body and first:
            self._tap.sent(body, number)  # Once: a redirect repeats the frame, the request it carries is the same.
        try:
            response = await self._head(client, request, head)
        except StudioError as error:
            self._tap.http_response(HttpResponse(number, 0, "", (), error=error.message))
            raise
        except asyncio.CancelledError:
            self._tap.http_response(HttpResponse(number, 0, "", (), error=_ABANDONED))
            raise
        answer = Answer(number, response, url, client.problems, self._broken)
        self._tap.http_response(HttpResponse(number, answer.status, answer.reason, answer.headers))
        if sum(len(name) + len(value) + 4 for name, value in answer.headers) > self._limits.headers:
            await answer.close()
            raise self._headers_too_large()
        return answer

    async def _head(self, client: http_client.Client, request: httpx2.Request, head: float | None) -> httpx2.Response:
        """Connect, send, wait for the head: connecting has its own deadline, writing that of `limits.write`."""
        phases = _Phases(head)
        try:
            async with asyncio.timeout(self.connect) as phases.deadline:
                await self._look_up(client.peer)
                phases.stage = "queue"
                request.extensions["trace"] = phases
                return await client.transport.handle_async_request(request)
        except TimeoutError:
            raise self._too_slow(client, phases) from None
        except client.problems as problem:
            if "buffer too long" in str(problem):
                raise self._headers_too_large() from None
            self._known = phases.stage == "sent"
            raise network_failure(problem, self.place, under_way=self._known) from problem

    async def _look_up(self, peer: str) -> None:
        """Resolve the name that connections go to, unless it did and nothing has failed since."""
        if peer and not self._known:
            try:
                await look_up(peer)
            except (OSError, UnicodeError) as problem:
                raise no_such_host(peer) from problem
        self._known = True

    def _too_slow(self, client: http_client.Client, phases: _Phases) -> HttpFailure:
        if phases.stage == "sent":
            return HttpLost(f"{self.place} did not answer within {phases.head:g} seconds.")
        self._known = False
        if phases.stage == "name":
            return HttpUnreachable(f"The host name {client.peer} did not resolve within {self.connect:g} seconds.")
        if phases.stage == "queue":
            return HttpUnreachable(f"{http_client.CONNECTIONS} requests to {self.place} are open already.")
        hint = "Is the server running, and is a firewall in between?"
        return HttpUnreachable(f"No connection to {self.place} within {self.connect:g} seconds.", hint=hint)

    def _broken(self, answer: Answer, problem: Exception) -> HttpFailure:
        error = network_failure(problem, self.place, under_way=True)
        self._ended(answer, error.message)
        return error

    def _ended(self, answer: Answer, error: str) -> None:
        self._tap.http_response(HttpResponse(answer.exchange, answer.status, answer.reason, (), error=error))

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
            raise HttpUnreachable(f"{self.place} redirects to something that is no address.", status=answer.status)
        here = client.same_origin(onward)
        if here and answer.status in (307, 308):
            return onward
        why = f"with status {answer.status}, which drops the message" if here else "on another origin"
        raise HttpUnreachable(
            f"{self.place} redirects to {onward}, {why}; it was not followed.",
            hint="If that is the server you mean, use its address.",
            status=answer.status,
        )
