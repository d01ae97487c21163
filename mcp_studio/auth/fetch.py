"""The only way to the network for signing in: every request bounded in time, size and reach, and told to the tap."""

from __future__ import annotations

import asyncio
import itertools
import re
import socket
import ssl
import threading
import time
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import parse_qsl, urljoin, urlsplit

from mcp_studio import __version__
from mcp_studio.auth.metadata import body_of
from mcp_studio.auth.model import AuthExchange, AuthFailed, NextRequest
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import JsonProblem
from mcp_studio.limits import Limits
from mcp_studio.redact import MARK, Redactor
from mcp_studio.transport import http_client
from mcp_studio.transport.base import HeaderList, Headers, HttpRequest, HttpResponse, Tap
from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable, network_failure, no_such_host
from mcp_studio.transport.http_response import Breather, decoder
from mcp_studio.transport.lines import size_text
from mcp_studio.urls import judge

if TYPE_CHECKING:
    import httpcore2

Reach = Literal["loopback", "private", "public"]
"""Where an MCP server is, and with that how near an authorization server of it may be."""
_WHERE: dict[Reach, str] = {"loopback": "on this machine", "private": "in a private network", "public": "public"}
_NAT64 = IPv6Network("64:ff9b::/96")


def reach_of(addresses: list[str]) -> Reach:
    """Where a host with these addresses is; `public` where nothing is known of it, the strictest."""
    found = [ip_address(one.partition("%")[0]) for one in addresses]
    if found and all(_embedded(one).is_loopback for one in found):
        return "loopback"
    return "private" if found and not any(_is_global(one) for one in found) else "public"


def on_this_machine(host: str) -> bool:
    """Whether a host as written means this machine, whatever names resolve to."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_url(url: str, what: str, reach: Reach, *, plain: bool = False) -> None:
    """Whether a request may be sent to an address, by its looks.

    Args:
        what: what the request is for, for the sentence.
        plain: whether http is allowed to this machine, as the MCP server is on it by its very address.

    Raises:
        AuthFailed: it is no https address, or one that hides where it leads.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise AuthFailed(
            f"Nothing can be sent for this ({what}): the address cannot be read.", hint="It should be an https:// URL."
        ) from None
    said = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:300]  # in the rest may be secrets
    if plain and parts.scheme == "http" and on_this_machine(host):
        pass
    elif parts.scheme != "https":
        local = " (http:// only where both are on this machine)" if parts.scheme == "http" else ""
        raise AuthFailed(
            f"Nothing is sent to {said} ({what}): it is not https.",
            hint=f"Authorization servers have to be reached over https://{local}.",
        )
    if page := judge(url).refusal:
        raise AuthFailed(f"Nothing is sent to {said} ({what}). {page}")
    with suppress(ValueError):
        check_address(str(ip_address(host)), host, what, reach)


def check_address(address: str, host: str, what: str, reach: Reach) -> None:
    """Whether an address may be connected to.

    Raises:
        AuthFailed: it is nearer to us than the MCP server.
    """
    found = ip_address(address.partition("%")[0])
    near = _embedded(found)
    # Where the machines of clouds tell their secrets there is no authorization server, however near the MCP server is.
    if _is_global(found) or (reach == "loopback" and not near.is_link_local):
        return
    elsewhere = near.is_loopback or near.is_link_local or near.is_unspecified or near.is_multicast
    if reach == "private" and not elsewhere:
        return
    kind = "of this machine" if near.is_loopback or near.is_unspecified else "of a private network"
    raise AuthFailed(
        f"{host} ({what}) has the address {address}, one {kind}; nothing was sent there, "
        f"because the MCP server itself is {_WHERE[reach]}.",
        hint="An MCP server should name an authorization server that everybody reaches who reaches the server.",
    )


async def resolve(host: str) -> list[str]:
    """The addresses of a host; looked up in a thread that nobody waits for when the program ends.

    Raises:
        OSError, UnicodeError: it has none.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str] | Exception] = loop.create_future()

    def tell(result: list[str] | Exception) -> None:
        if not found.done():
            found.set_result(result)

    def look() -> None:
        result: list[str] | Exception
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            result = list(dict.fromkeys(str(info[4][0]) for info in infos))
        except (OSError, UnicodeError) as problem:
            result = problem
        with suppress(RuntimeError):  # The loop may have ended meanwhile.
            loop.call_soon_threadsafe(tell, result)

    threading.Thread(target=look, name=f"look up {host}", daemon=True).start()
    result = await found
    if isinstance(result, Exception):
        raise result
    return result


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    inner = _embedded(address)
    return inner.is_global and not inner.is_multicast


def _embedded(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one leads to (mapped, 6to4, Teredo, NAT64), or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


_CONNECTIONS = 4


class Pools:
    """A pool of connections per kind of peer: only the MCP server's own host is shown its client certificate."""

    def __init__(self, config: ServerConfig, seconds: float) -> None:
        """`seconds` are for looking up a name."""
        self._config = config
        self._others = Tls(ca=config.tls.ca)
        self._host = urlsplit(config.url).hostname or ""
        self.plain = on_this_machine(self._host)
        """Whether http may be spoken, on this machine. A name that somebody made lead here is no reason for that."""
        self._seconds = seconds
        self._reach: Reach | None = None
        self._pools: dict[tuple[bool, bool, http_client.Route | None], httpcore2.AsyncConnectionPool] = {}

    async def reach(self) -> Reach:
        """Where the MCP server is."""
        if self._reach is None:
            self._reach = "loopback" if self.plain else await self._far()
        return self._reach

    async def _far(self) -> Reach:
        if http_client.route_to(self._config.url):
            return "public"  # Names may mean something else to the proxy, or nothing here.
        try:
            async with asyncio.timeout(self._seconds):
                return reach_of(await resolve(self._host))
        except (OSError, UnicodeError):  # A TimeoutError is one.
            return "public"

    async def get(self, url: str, what: str) -> httpcore2.AsyncConnectionPool:
        """A pool for an address that `check_url` has allowed.

        Raises:
            AuthFailed: its name leads nearer than the MCP server is.
            HttpUnreachable: the name does not resolve.
            ConfigError: certificates or a proxy that cannot be used.
        """
        parts = urlsplit(url)
        host, route = parts.hostname or "", http_client.route_to(url)
        if route is None:
            await self._check(host, what)
        # Through a proxy only it knows where the name leads: what is private to it has to be closed there.
        key = (host == self._host, parts.scheme == "https", route)
        if key not in self._pools:
            await self.reach()
            self._pools[key] = await asyncio.to_thread(self._made, *key)
        return self._pools[key]

    async def _check(self, host: str, what: str) -> None:
        try:
            addresses = await resolve(host)
        except (OSError, UnicodeError) as problem:
            raise no_such_host(host) from problem
        reach = await self.reach()
        for address in addresses:
            check_address(address, host, what, reach)

    def look(self, peer: object, host: str) -> None:
        """Whether a connected socket's peer may be talked to; `peer` is what `getpeername` says.

        Whoever made the name of the MCP server resolve to something near, and answers from afar, gains nothing.

        Raises:
            AuthFailed: it may not, or nobody knows who it is.
        """
        if host == self._host and reach_of([_address(peer, host)]) == "public":
            self._reach = "public"
        check_address(_address(peer, host), host, "an authorization server", self._reach or "public")

    def _made(self, own: bool, secure: bool, route: http_client.Route | None) -> httpcore2.AsyncConnectionPool:
        import httpcore2

        return httpcore2.AsyncConnectionPool(
            ssl_context=self._context(self._config.tls if own else self._others) if secure else http_client.plain(),
            # A proxy is not the server: it is verified always, and is shown no certificate of ours.
            proxy=_proxy(route, lambda: self._context(self._others)) if route else None,
            max_connections=_CONNECTIONS,
            max_keepalive_connections=0,
            network_backend=None if route else guarded(self.look),
        )

    def _context(self, trust: Tls) -> ssl.SSLContext:
        return http_client.context(trust, server=self._config.name, file=self._config.source.file)

    async def close(self, seconds: float) -> None:
        """Close all connections, or drop them after so many seconds."""
        pools, self._pools = list(self._pools.values()), {}
        try:
            async with asyncio.timeout(seconds):
                for pool in pools:
                    await pool.aclose()
        except TimeoutError:
            pass  # Nothing waits for them.


def _proxy(route: http_client.Route, context: Callable[[], ssl.SSLContext]) -> httpcore2.Proxy:
    import httpcore2

    made = http_client.made(route, context)
    url = httpcore2.URL(
        scheme=made.url.raw_scheme, host=made.url.raw_host, port=made.url.port, target=made.url.raw_path
    )
    return httpcore2.Proxy(url, auth=made.raw_auth, headers=made.headers.raw, ssl_context=made.ssl_context)


def guarded(look: Callable[[object, str], None]) -> httpcore2.AsyncNetworkBackend:
    """A network that gives out no connection to a peer of a host that `look` refuses."""
    import httpcore2

    class Guarded(httpcore2.AsyncNetworkBackend):
        """Opens connections and looks where they lead."""

        def __init__(self) -> None:
            self._inner = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore2.AsyncNetworkStream:
            """Connect, and close again what is not allowed, before a byte is sent."""
            stream = await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
            peer: object = stream.get_extra_info("server_addr")
            try:
                look(peer, host)
            except AuthFailed:
                await stream.aclose()
                raise
            return stream

    return Guarded()


def _address(peer: object, host: str) -> str:
    if not (isinstance(peer, tuple) and peer and isinstance(peer[0], str)):
        raise AuthFailed(f"It cannot be seen where the connection to {host} leads; nothing was sent there.")
    return peer[0]


_SHOWN = 64 * 1024
"""Characters of a body that are kept for showing."""
_SECRET = frozenset(
    "access_token refresh_token id_token client_secret registration_access_token assertion client_assertion code"
    " device_code user_code subject_token actor_token code_verifier".split()
)
_NAMED = re.compile(
    r"(?:access|refresh|id|registration_access)_token|client_secret|(?:client_)?assertion|code_verifier", re.IGNORECASE
)
_WRITTEN = re.compile(r"""[\s\\"'=:>]{1,12}([^\s\\"'&,;<>{}\[\]]{8,})""")
"""What stands behind the name of a secret, however that is written: in quotes of any kind, in XML."""
_BEYOND = 4 * 1024
_LONGEST = 64 * 1024
"""Of a secret that is learned; tokens that are longer are not taken (`answers.LONGEST`)."""
_DEPTH = 4
_MANY = 16
"""Secrets that are learned of one answer: a flood of them would make the redactor slow and large."""
_ODD = 200
"""Characters of one that is none of a header: those are stored whole, in many forms."""
_FIELDS = re.compile(rb"\s*+[\w.~%+*\[\]-]{1,80}+=[^\s&=<>\"']*+(?:&[\w.~%+*\[\]-]{1,80}+=[^\s&=<>\"']*+)*+\s*+\Z")
"""A form; a value that is not quoted as it should be makes none of it."""
_BARE = re.compile(r"[\x21-\x7e]+\Z")
_WORD = re.compile(r"[A-Za-z_ -]{1,40}\Z")


def shown(headers: Headers, body: str, clean: Callable[[str], str] = str) -> str:
    """Headers and body as one text. `clean` takes out of the body what is secret, which takes its time."""
    lines = "\n".join(f"{name}: {value}" for name, value in headers)
    if len(body) > _SHOWN + _BEYOND:
        # What the cut leaves of a secret cannot be known for one: it goes with the end.
        begin = clean(body[: _SHOWN + _BEYOND])[:-_BEYOND]
        return f"{lines}\n\n{begin}\n… {len(body) - _SHOWN:,} characters more"
    return f"{lines}\n\n{clean(body)}" if body else lines


def readable(body: bytes) -> bytes:
    """An answer in UTF-8: one in UTF-16, which nobody takes, could be read by people, secrets and all."""
    marked = body[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)
    if not marked and b"\0" not in body[:2]:
        return body
    kind = "utf-16" if marked else "utf-16-be" if body[:1] == b"\0" else "utf-16-le"
    return body.decode(kind, "replace").replace("\0", "").encode("utf-8", "replace")  # UTF-32 has twice as many NULs


def tellable(method: str, media_type: str, body: bytes) -> bytes:
    """The body as it may be told on: one that was posted, or answers that, is masked whole unless it is understood.

    What is neither a JSON object nor a form (a page of HTML, half an answer) may repeat a secret in any shape.
    """
    if method == "GET" or not body.strip():
        return body
    try:
        if isinstance(body_of(body, most=64, values=10_000), dict):
            return body
    except (JsonProblem, LimitExceeded):
        if media_type.split(";", 1)[0].strip().lower() == "application/x-www-form-urlencoded" and _FIELDS.match(body):
            return body
    return f"{MARK} ({len(body):,} bytes that are neither a JSON object nor a form)".encode()


def secrets_in(body: bytes) -> list[str]:
    """The values in an answer that must not be shown: tokens, codes, client secrets, also where it is wrong."""
    if not body:
        return []
    try:
        value = body_of(body, most=64, values=10_000)
    except (JsonProblem, LimitExceeded):
        value = None
    found = list(_values(value, _DEPTH))
    if not isinstance(value, (dict, list)):
        text = body.removeprefix(BOM_UTF8)[: _SHOWN + _BEYOND].decode("utf-8", "replace")
        found += [value for name, value in _form(body) if name in _SECRET]
        found += [at[1] for name in _NAMED.finditer(text) if (at := _WRITTEN.match(text, name.end()))]
    return [one for one in dict.fromkeys(found) if len(one) <= (_LONGEST if _BARE.match(one) else _ODD)][:_MANY]


def learn(redactor: Redactor, body: bytes, server: str) -> None:
    """Have the redactor know what in an answer must not be shown; what is kept of it is learned once more then."""
    for secret in secrets_in(body):
        redactor.learn(secret, f"answers about {server}")


def _form(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8", "replace"), max_num_fields=100)
    except ValueError:
        return []


def _values(value: object, depth: int, *, secret: bool = False) -> Iterator[str]:
    """The texts that are called secret, or stand in what is: a token may come as a list, or an object."""
    if isinstance(value, str):
        if secret:
            yield value
    elif depth == 0:
        return
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            word = name == "code" and isinstance(inner, str) and _WORD.match(inner)  # an error has one, too
            yield from _values(inner, depth - 1, secret=secret or (name.lower() in _SECRET and not word))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _values(inner, depth - 1, secret=secret)


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
