"""The only way to the network for signing in: every request is traced, and bounded in time, size and destination."""

from __future__ import annotations

import asyncio
import itertools
import re
import ssl
import time
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urljoin, urlsplit

from mcp_studio import __version__
from mcp_studio.auth import discovery
from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.model import AuthExchange, AuthFailed
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.limits import Limits, size_text
from mcp_studio.redact import MARK, Redactor, is_secret_name
from mcp_studio.transport import http_client
from mcp_studio.transport.base import HeaderList, Headers, HttpRequest, HttpResponse, Tap
from mcp_studio.transport.http_errors import HttpUnreachable, network_failure, no_such_host
from mcp_studio.transport.http_response import Breather, Decoder, text

if TYPE_CHECKING:
    import httpx2

_NAT64 = IPv6Network("64:ff9b::/96")
PUBLIC, PRIVATE, LOOPBACK = range(3)
"""How near an address is. An authorization server may not be nearer than the MCP server that names it."""
_WHERE = ("public", "in a private network", "on this machine")


def _destination(address: str) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address leads to (mapped, 6to4, Teredo, NAT64), or the address itself."""
    target = ip_address(address.partition("%")[0])
    if isinstance(target, IPv4Address):
        return target
    if target in _NAT64:
        return IPv4Address(int(target) & 0xFFFF_FFFF)
    teredo = target.teredo
    return target.ipv4_mapped or target.sixtofour or (teredo[1] if teredo else target)


def nearness(address: str) -> int:
    """How near an address is: `PUBLIC`, `PRIVATE` or `LOOPBACK`."""
    target = _destination(address)
    if target.is_loopback or target.is_unspecified:
        return LOOPBACK
    return PUBLIC if target.is_global and not target.is_multicast else PRIVATE


def check_address(address: str, host: str, what: str, reach: int) -> None:
    """Check whether we may connect to an address, given how near the MCP server is (`reach`).

    Raises:
        AuthFailed: the address is nearer to us than the MCP server.
    """
    near, target = nearness(address), _destination(address)
    # Cloud machines serve their secrets at link-local addresses, and no authorization server is there.
    if near > reach or target.is_link_local or target.is_multicast:
        raise AuthFailed(
            f"{host} ({what}) has the address {address}, one {_WHERE[near]}; nothing was sent there, because the MCP "
            f"server itself is {_WHERE[reach]}.",
            hint="An MCP server should name an authorization server that everybody reaches who reaches the server.",
        )


class Network:
    """The connections for one MCP server's sign-in.

    A name is resolved once, and the connection goes to the checked address, so that a changed DNS answer (DNS
    rebinding) cannot redirect it.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._host = urlsplit(config.url).hostname or ""
        self._addresses: dict[str, list[str]] = {}

    async def reach(self) -> int:
        """How near the MCP server is."""
        if discovery.is_loopback(self._config.url):
            return LOOPBACK
        if http_client.route_to(self._config.url):
            return PUBLIC  # the proxy may resolve the name to another address, or this machine may not resolve it
        try:
            return min(nearness(address) for address in await self._resolve(self._host))
        except (OSError, ValueError):  # no such host
            return PUBLIC

    async def _resolve(self, host: str) -> list[str]:
        if host not in self._addresses:
            self._addresses[host] = await http_client.look_up(host)
        return self._addresses[host]

    async def way(self, url: str, what: str) -> tuple[httpx2.AsyncHTTPTransport, list[str]]:
        """The transport of one request, and the addresses to try in turn.

        Raises:
            AuthFailed: nothing may be sent to this address.
            HttpUnreachable: the name does not resolve.
            ConfigError: the certificates or the proxy cannot be used.
        """
        host, route = urlsplit(url).hostname or "", http_client.route_to(url)
        addresses: list[str] = []
        try:
            # Only the proxy knows where a name leads, so only the proxy can close its private network to us.
            addresses = [str(ip_address(host))] if route else await self._resolve(host)
        except (OSError, UnicodeError) as problem:
            raise no_such_host(host) from problem
        except ValueError:
            pass
        reach = await self.reach()
        for address in addresses:
            check_address(address, host, what, reach)
        return await asyncio.to_thread(self._transport, url, route), [host] if route else addresses

    def _transport(self, url: str, route: http_client.Route | None) -> httpx2.AsyncHTTPTransport:
        import httpx2

        parts = urlsplit(url)
        # Only the server's own host gets to see the client certificate.
        others = Tls(ca=self._config.tls.ca)
        trust = self._config.tls if parts.hostname == self._host else others
        verify = self._context(trust) if parts.scheme == "https" else http_client.plain()
        proxy = http_client.proxy_of(route, lambda: self._context(others)) if route else None
        return httpx2.AsyncHTTPTransport(verify=verify, proxy=proxy)

    def _context(self, trust: Tls) -> ssl.SSLContext:
        return http_client.context(trust, server=self._config.name, file=self._config.source.file)


_SHOWN = 64 * 1024
"""The most characters of a body that are shown."""
_LONGEST = 64 * 1024
"""The most characters of a secret that the redactor learns; longer tokens are rejected."""
_MANY = 16
"""The most secrets that the redactor learns of one body: a flood of them would make it slow and large."""
_FORM = "application/x-www-form-urlencoded"
_FIELDS = re.compile(rb"\s*+[\w.~%+*\[\]-]{1,80}+=[^\s&=<>\"']*+(?:&[\w.~%+*\[\]-]{1,80}+=[^\s&=<>\"']*+)*+\s*+\Z")
"""The body of a form; a value with unescaped characters means that the body is no form."""


def shown(headers: Headers, body: str, clean: Callable[[str], str] = str) -> str:
    """Headers and body as one text. `clean` removes secrets from the body."""
    lines = "\n".join(f"{name}: {value}" for name, value in headers)
    body = clean(body)
    if len(body) > _SHOWN:
        body = f"{body[:_SHOWN]}\n… {len(body) - _SHOWN:,} characters more"
    return f"{lines}\n\n{body}" if body else lines


def json_of(body: bytes) -> Json:
    """The JSON value of a small answer; None if the answer is no JSON.

    A byte order mark is ignored (RFC 8259 8.1), because files written on Windows have one.
    """
    try:
        return loads(body.removeprefix(BOM_UTF8), most=64, values=50_000)
    except (JsonProblem, LimitExceeded):
        return None


def _fields(media_type: str, body: bytes) -> dict[str, Json] | None:
    """The fields of a JSON object or a form; None for anything else."""
    raw = json_of(body)
    if isinstance(raw, dict):
        return mapping(raw)
    if raw is None and media_type == _FORM and _FIELDS.match(body):
        return dict(parse_qsl(body.decode("utf-8", "replace")))
    return None


def traceable(method: str, media_type: str, body: bytes) -> bytes:
    """The body as the trace may show it.

    The body of a POST or of its answer is masked as a whole unless it can be parsed: an HTML page or half an answer may
    repeat a secret in any form.
    """
    if method == "GET" or not body.strip() or _fields(media_type, body) is not None:
        return body
    return f"{MARK} ({len(body):,} bytes that are neither a JSON object nor a form)".encode()


def secrets_in(media_type: str, body: bytes) -> list[str]:
    """The values in a body that must not be shown: tokens, codes, client secrets."""
    values: dict[str, None] = {}
    for name, value in (_fields(media_type, body) or {}).items():
        # Not `code`, because errors have one too: the sender of a code registers it.
        if is_secret_name(name) or name.lower() == "assertion":
            values |= dict.fromkeys(_texts(value))
    return [one for one in values if len(one) <= _LONGEST][:_MANY]


def _texts(value: Json) -> Iterator[str]:
    """All texts in a value: a token may be inside a list or an object."""
    if isinstance(value, str):
        yield value
    for inner in (*mapping(value).values(), *items_of(value)):
        yield from _texts(inner)


FIRST = 1 << 20
"""The number of a sign-in's first exchange; the HTTP transport numbers its own from 1."""
_numbers = itertools.count(FIRST)
_REDIRECTS = 4
"""The most answers to one request, redirects included."""


class Fetched(NamedTuple):
    """An answer with any status."""

    url: str
    """The address that answered, after redirects."""
    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str:
        """All values of a header, joined as HTTP allows; `name` is in lower case."""
        return ", ".join(value for field, value in self.headers if field.lower() == name)

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.header("content-type").split(";", 1)[0].strip().lower()


class Fetcher:
    """Sends the requests of one server's sign-in."""

    def __init__(
        self,
        config: ServerConfig,
        limits: Limits,
        tap: Tap,
        redactor: Redactor,
        *,
        gate: Callable[[AuthExchange], Awaitable[None]] | None = None,
        record: Callable[[AuthExchange], None] = lambda exchange: None,
    ) -> None:
        """`gate` is awaited before each exchange; `record` receives it when it is sent and when it is over."""
        self.config = config
        self._limits = limits
        self._tap = tap
        self.redactor = redactor
        self._network = Network(config)
        self._gate = gate
        self._record = record

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

        Redirects are followed for GET alone, within the origin, at most three times; any other redirect is a failure.

        Args:
            purpose: what the request is for: `metadata of the authorization server`.
            secrets: the parts of the headers that must not be shown.
            follow: False returns a redirect as the answer.

        Raises:
            AuthFailed: the address is not allowed, or the answer is a redirect that is not followed.
            HttpUnreachable, HttpLost, HttpBroken: there is no answer, or it cannot be read.
            LimitExceeded: the answer is too large.
        """
        for secret in secrets:
            self.redactor.learn(secret, f"requests about {self.config.name}")
        for _ in range(_REDIRECTS):
            fetched = await self._once(purpose, method, url, headers or [], body)
            if not follow or fetched.status not in (301, 302, 303, 307, 308):
                return fetched
            url = self._onward(fetched, purpose, method)
        raise AuthFailed(f"The {purpose} ({self.redactor.url(url)}) is redirected too often, and not followed further.")

    def _onward(self, fetched: Fetched, purpose: str, method: str) -> str:
        """The address that a redirect leads to, if it may be followed."""
        here, onward = fetched.url, ""
        with suppress(ValueError, AuthFailed):
            onward = urljoin(here, fetched.header("location")).partition("#")[0]
            if method == "GET" and discovery.same_origin(onward, here):
                return onward
        place = self.redactor.url(onward)[:300] or "nowhere"
        raise AuthFailed(
            f"The {purpose} ({self.redactor.url(here)}) is redirected to {place}, which is not followed.",
            hint="Only a GET is followed, on its own origin. The answer should come from the address that was asked.",
        )

    async def _once(self, purpose: str, method: str, url: str, headers: HeaderList, body: bytes) -> Fetched:
        check_url(url, self.config.url, f"The address ({purpose})")
        lines = _lines(url, method, headers, body)
        clean = tuple(self.redactor.headers(lines))
        kind = next((value.partition(";")[0] for name, value in lines if name.lower() == "content-type"), "")
        for secret in secrets_in(kind, body):
            self.redactor.learn(secret, f"requests about {self.config.name}")
        traced_body = traceable(method, kind, body)
        text, place = self.redactor.body(kind, traced_body).decode("utf-8", "replace"), self.redactor.url(url)
        pending = AuthExchange(next(_numbers), purpose, method, place, shown(clean, text), 0, "", 0.0)
        if self._gate is not None:
            await self._gate(pending)
        began = time.monotonic()
        self._record(pending)
        self._tap.http_request(HttpRequest(pending.number, method, url, lines, traced_body, purpose))
        answer: Fetched | str = "abandoned before its end"
        try:
            answer = fetched = await self._exchange(purpose, method, url, lines, body)
            return fetched
        except StudioError as problem:
            answer = problem.message
            raise
        finally:
            self._trace(pending, answer, (time.monotonic() - began) * 1000)

    def _trace(self, pending: AuthExchange, answer: Fetched | str, ms: float) -> None:
        """Record the end of an exchange, after the redactor has learned the answer's secrets."""
        number, purpose = pending.number, pending.purpose
        if isinstance(answer, str):
            self._tap.http_response(HttpResponse(number, 0, "", (), error=answer, purpose=purpose))
            self._record(pending._replace(response=self.redactor.text(answer), ms=ms))
            return
        for secret in secrets_in(_FORM, answer.body):
            self.redactor.learn(secret, f"answers about {self.config.name}")
        body = traceable(pending.method, answer.media_type, answer.body)
        self._tap.http_response(HttpResponse(number, answer.status, "", answer.headers, body=body, purpose=purpose))
        text = shown(
            tuple(self.redactor.headers(answer.headers)),
            body.decode("utf-8", "replace"),
            lambda text: self.redactor.body(answer.media_type, text.encode("utf-8", "replace")).decode(),
        )
        self._record(pending._replace(status=answer.status, response=text, ms=ms))

    async def _exchange(self, purpose: str, method: str, url: str, lines: Headers, body: bytes) -> Fetched:
        import httpx2

        place, seconds, progress = urlsplit(url).netloc, self._limits.sign_in_request, ""
        raw = [(name.encode("ascii"), value.encode()) for name, value in lines]
        try:
            async with asyncio.timeout(seconds):
                transport, addresses = await self._network.way(url, purpose)
                async with transport, _answered(transport, addresses, method, url, raw, body) as response:
                    progress = f"began its answer, with status {response.status_code}, and did not end it"
                    return await self._read(response, url, purpose)
        except TimeoutError:
            raise HttpUnreachable(
                f"{place} {progress or 'did not answer'} within {seconds:g} seconds ({purpose}).",
                hint="Try again later; [limits] sign_in_request is how many seconds are waited.",
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as problem:
            raise _failure(problem, place, purpose) from problem

    async def _read(self, response: httpx2.Response, url: str, purpose: str) -> Fetched:
        headers = tuple((text(name), text(value)) for name, value in response.headers.raw)
        if sum(len(name) + len(value) + 4 for name, value in headers) > self._limits.headers:
            raise LimitExceeded(f"The response headers ({purpose}) are larger than allowed.", limit="headers")
        fetched, bound = Fetched(url, response.status_code, headers, b""), self._limits.metadata
        if fetched.media_type == "text/event-stream":
            return fetched  # an event stream may never end, and says nothing about signing in
        breathe, whole = Breather(), bytearray()
        content = Decoder(fetched.header("content-encoding"))
        async for raw in response.aiter_raw():
            for piece in content.feed(raw):
                await breathe()
                whole += piece
                if len(whole) > bound:
                    raise LimitExceeded(f"The {purpose} is larger than {size_text(bound)}.", limit="metadata")
        return fetched._replace(body=bytes(whole))


@asynccontextmanager
async def _answered(
    transport: httpx2.AsyncHTTPTransport,
    addresses: list[str],
    method: str,
    url: str,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
) -> AsyncGenerator[httpx2.Response]:
    """The head of the answer, from the first of the addresses that accepts a connection."""
    import httpx2

    host, stream = urlsplit(url).hostname, httpx2.ByteStream(body)
    failure = httpx2.ConnectError(f"{host} has no address")
    for address in addresses:
        place, extensions = httpx2.URL(url).copy_with(host=address), {"sni_hostname": host}
        request = httpx2.Request(method, place, headers=headers, stream=stream, extensions=extensions)
        try:
            response = await transport.handle_async_request(request)
        except httpx2.ConnectError as problem:
            failure = problem
            continue
        try:
            yield response
        finally:
            await response.aclose()
        return
    raise failure


def _failure(problem: BaseException, place: str, purpose: str) -> StudioError:
    under_way = type(problem).__name__ in ("ReadError", "RemoteProtocolError", "WriteError", "LocalProtocolError")
    failure = network_failure(problem, place, under_way=under_way)
    failure.message = f"{failure.message.removesuffix('.')} ({purpose})."
    return failure


def _lines(url: str, method: str, headers: HeaderList, body: bytes) -> Headers:
    """The header lines of a request: the caller's, and those that HTTP requires."""
    own = [("Host", urlsplit(url).netloc), ("User-Agent", f"mcp-studio/{__version__}"), ("Accept", "application/json")]
    # Each request has its own connection: bytes beyond an answer cannot be taken for the next answer.
    own += [("Accept-Encoding", "identity"), ("Connection", "close")]
    names = {name.lower() for name, _ in headers}
    lines = [line for line in own if line[0].lower() not in names] + headers
    return (*lines, ("Content-Length", str(len(body)))) if body or method == "POST" else tuple(lines)
