"""The only way to the network for signing in: every request bounded in time, size and reach, and told to the tap."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from mcp_studio import __version__
from mcp_studio.auth.exchanges import learn, readable, shown, tellable
from mcp_studio.auth.failed import AuthFailed
from mcp_studio.auth.model import AuthExchange, NextRequest
from mcp_studio.auth.network import check_url
from mcp_studio.auth.pools import Pools
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.transport.credentials import HeaderList
from mcp_studio.transport.http_body import Breather, decoder
from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable
from mcp_studio.transport.network_errors import network_failure
from mcp_studio.transport.oversize import size_text
from mcp_studio.transport.tap import Headers, HttpRequest, HttpResponse, Tap

if TYPE_CHECKING:
    import httpcore2

FIRST = 1 << 20
"""Numbers of exchanges from here on are those of signing in; the HTTP edge counts from 1."""
_numbers = itertools.count(FIRST)
_REDIRECTS = 3
_LONGER = "Try again later; [limits] sign_in_request is how many seconds are waited."

Gate = Callable[[NextRequest], Awaitable[None]]
"""Awaited before each request, for as long as a person likes."""
Record = Callable[[AuthExchange], None]
"""Told of each exchange twice: when it goes out, and when its answer is there."""


class Fetched(NamedTuple):
    """An answer, whatever its status."""

    url: str
    """Where it came from, after redirects."""
    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str:
        """All values of a header (named in lower case), joined as HTTP allows."""
        return ", ".join(value for found, value in self.headers if found.lower() == name)

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.header("content-type").split(";", 1)[0].strip().lower()


class Fetcher:
    """Requests on behalf of one server's sign-in; an async context manager that closes what it opened."""

    def __init__(
        self,
        config: ServerConfig,
        limits: Limits,
        tap: Tap,
        redactor: Redactor,
        *,
        gate: Gate | None = None,
        record: Record | None = None,
    ) -> None:
        self._server = config.name
        self._limits = limits
        self._tap = tap
        self._redactor = redactor
        self._pools = Pools(config, limits.sign_in_request)
        self.gate = gate
        self.record = record

    async def __aenter__(self) -> Fetcher:
        return self

    async def __aexit__(self, *_: object) -> None:
        closing = asyncio.ensure_future(self._pools.close(self._limits.close))
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await closing  # Bounded; cut short it would leave connections open.
            raise

    async def send(
        self,
        purpose: str,
        method: str,
        url: str,
        *,
        headers: HeaderList | None = None,
        body: bytes = b"",
        secrets: Iterable[str] = (),
        follow: bool = True,
    ) -> Fetched:
        """Send one request and read its whole answer.

        Redirects are followed for GET alone, within the origin, at most three times; others are failures.

        Args:
            purpose: what it is for, in words: `metadata of the authorization server`.
            secrets: what of headers and body must not be shown.
            follow: False gives a redirect back as the answer.

        Raises:
            AuthFailed: where it should go is not allowed, or it is redirected elsewhere.
            HttpUnreachable, HttpLost, HttpBroken: no answer, or none that can be read.
            LimitExceeded: the answer is too large.
        """
        for secret in secrets:
            self._redactor.learn(secret, f"requests about {self._server}")
        seen = {url}
        while True:
            fetched = await self._once(purpose, method, url, headers or [], body)
            if not follow or fetched.status not in (301, 302, 303, 307, 308):
                return fetched
            url = self._onward(fetched, purpose, method, seen)
            seen.add(url)

    def _onward(self, fetched: Fetched, purpose: str, method: str, seen: set[str]) -> str:
        """Where a redirect leads, if it may be followed."""
        here, location = fetched.url, fetched.header("location")
        try:
            onward = urljoin(here, location).partition("#")[0]
            same = _origin(onward) == _origin(here)
        except ValueError:
            onward, same = location, False
        here = self._redactor.url(here)
        said = f"The {purpose} ({here}) is redirected to {self._redactor.url(onward)[:300]}"
        hint = "The answer should come from the address that was asked."
        if not location:
            raise AuthFailed(
                f"The {purpose} ({here}) is redirected to nowhere: HTTP status {fetched.status}.", hint=hint
            )
        if method != "GET":
            raise AuthFailed(f"{said}; a {method} with secrets in it is not sent on.", hint=hint)
        if not same:
            raise AuthFailed(f"{said}, on another origin; it was not followed.", hint=hint)
        if onward in seen:
            raise AuthFailed(f"{said}, where it came from: a circle.", hint=hint)
        if len(seen) > _REDIRECTS:
            raise AuthFailed(f"The {purpose} is redirected more than {_REDIRECTS} times.", hint=hint)
        return onward

    async def _once(self, purpose: str, method: str, url: str, headers: HeaderList, body: bytes) -> Fetched:
        check_url(url, purpose, await self._pools.reach(), plain=self._pools.plain)
        lines = _lines(url, method, headers, body)
        clean = tuple(self._redactor.headers(lines))
        kind = next((value for name, value in lines if name.lower() == "content-type"), "")
        told = tellable(method, kind, body)
        text = self._redactor.body(kind, told).decode("utf-8", "replace")
        if self.gate is not None:
            await self.gate(NextRequest(purpose, method, self._redactor.url(url), clean, text))
        number, began = next(_numbers), time.monotonic()
        pending = AuthExchange(number, purpose, method, self._redactor.url(url), shown(clean, text), 0, "", 0.0)
        self._note(pending)
        self._tap.http_request(HttpRequest(number, method, url, lines, told, purpose))
        answer: Fetched | str = "abandoned before its end"
        try:
            answer = fetched = await self._exchange(purpose, method, url, lines, body)
            return fetched
        except StudioError as problem:
            answer = problem.message
            raise
        finally:
            self._told(pending, answer, (time.monotonic() - began) * 1000)

    def _told(self, pending: AuthExchange, fetched: Fetched | str, ms: float) -> None:
        """Tell everybody how it ended, what is secret in it before all."""
        number, purpose = pending.number, pending.purpose
        if isinstance(fetched, str):
            self._tap.http_response(HttpResponse(number, 0, "", (), error=fetched, purpose=purpose))
            self._note(pending._replace(response=self._redactor.text(fetched), ms=ms))
            return
        body = readable(fetched.body)
        learn(self._redactor, body, self._server)
        body = tellable(pending.method, fetched.media_type, body)
        self._tap.http_response(HttpResponse(number, fetched.status, "", fetched.headers, body=body, purpose=purpose))
        text = shown(
            tuple(self._redactor.headers(fetched.headers)),
            body.decode("utf-8", "replace"),
            lambda text: self._redactor.body(fetched.media_type, text.encode("utf-8", "replace")).decode(),
        )
        self._note(pending._replace(status=fetched.status, response=text, ms=ms))

    def _note(self, exchange: AuthExchange) -> None:
        if self.record is not None:
            self.record(exchange)

    async def _exchange(self, purpose: str, method: str, url: str, lines: Headers, body: bytes) -> Fetched:
        import httpcore2

        place, seconds = urlsplit(url).netloc, self._limits.sign_in_request
        problems = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, httpcore2.ProxyError)
        raw = [(name.encode("ascii"), value.encode()) for name, value in lines]
        whole = httpcore2.URL(url)
        whole.target = _target(url)  # What follows a semicolon of the path is lost there.
        came = silent = "did not answer"
        try:
            async with asyncio.timeout(seconds):
                pool = await self._pools.get(url, purpose)
                async with pool.stream(
                    method, whole, headers=raw, content=body, extensions={"timeout": {"pool": seconds}}
                ) as response:
                    came = f"began its answer, with status {response.status}, and did not end it"
                    return await self._read(response, url, purpose)
        except TimeoutError:
            raise HttpUnreachable(f"{place} {came} within {seconds:g} seconds ({purpose}).", hint=_LONGER) from None
        except (*problems, httpcore2.UnsupportedProtocol, OSError, UnicodeError) as problem:
            raise self._failure(problem, place, purpose, begun=came is not silent) from problem

    def _failure(self, problem: BaseException, place: str, purpose: str, *, begun: bool) -> StudioError:
        if isinstance(problem.__context__, AuthFailed):
            return problem.__context__
        if "buffer too long" in str(problem) and not begun:
            return _large_headers(purpose)
        under_way = type(problem).__name__ in ("ReadError", "RemoteProtocolError", "WriteError", "LocalProtocolError")
        failure = network_failure(problem, place, under_way=under_way)
        failure.message = f"{failure.message.removesuffix('.')} ({purpose})."
        return failure

    async def _read(self, response: httpcore2.Response, url: str, purpose: str) -> Fetched:
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
        if sum(len(name) + len(value) + 4 for name, value in headers) > self._limits.headers:
            raise _large_headers(purpose)
        fetched, bound = Fetched(url, response.status, headers, b""), self._limits.metadata
        if fetched.media_type == "text/event-stream":
            return fetched  # It may never end, and nothing of signing in is told so.
        breathe, whole = Breather(), BytesIO()
        try:
            content = decoder(fetched.header("content-encoding"))
            async for raw in response.aiter_stream():
                for piece in content.feed(raw):
                    await breathe()
                    if whole.tell() + len(piece) > bound:
                        raise LimitExceeded(f"The {purpose} is larger than {size_text(bound)}.", limit="metadata")
                    whole.write(piece)
        except HttpFailure as problem:
            words = f"The {purpose} cannot be read. {problem.message}"
            raise HttpFailure(words, hint=problem.hint, status=response.status) from None
        return fetched._replace(body=whole.getvalue())


def _large_headers(purpose: str) -> LimitExceeded:
    return LimitExceeded(f"The response headers ({purpose}) are larger than allowed.", limit="headers")


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def _target(url: str) -> bytes:
    parts = urlsplit(url)
    return f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}".encode("ascii")


def _lines(url: str, method: str, headers: HeaderList, body: bytes) -> Headers:
    """The header lines of a request: those that are given, and those that HTTP itself needs."""
    own = [("Host", urlsplit(url).netloc), ("User-Agent", f"mcp-studio/{__version__}"), ("Accept", "application/json")]
    # A connection for each: what a server sends beyond its answer is no answer to anything else.
    own += [("Accept-Encoding", "identity"), ("Connection", "close")]
    given = {name.lower() for name, _ in headers}
    lines = [line for line in own if line[0].lower() not in given] + headers
    return (*lines, ("Content-Length", str(len(body)))) if body or method == "POST" else tuple(lines)
