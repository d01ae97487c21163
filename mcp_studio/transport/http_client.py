"""httpx2 as the edge uses it: its transport alone, without its client's redirects, cookies and implicit credentials."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from mcp_studio import __version__
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import ConfigError
from mcp_studio.limits import Limits
from mcp_studio.record import record
from mcp_studio.transport import proxies, tls

if TYPE_CHECKING:
    import httpx2

CONNECTIONS = 128
"""Requests to one server that can be open at a time."""
_KEEP_ALIVE = 4.0
"""Below the 5 s after which common servers close idle connections: a request must not meet the closing."""
_WRITE = 256 * 1024
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_SCHEMES = {"http": ("http", "https"), "sse": ("http", "https"), "websocket": ("ws", "wss")}


@record(frozen=True)
class Client:
    """A connection pool for one origin, and what else is needed of httpx2."""

    url: httpx2.URL
    """Where requests go, without credentials and fragment."""
    userinfo: bytes
    """`user:password` of the configured URL, or nothing."""
    transport: httpx2.AsyncHTTPTransport
    problems: tuple[type[Exception], ...]
    """What the transport raises when the network or the peer fails."""
    timeout: dict[str, float | None]
    peer: str
    """The host that connections go to, the proxy's if there is one; empty when nothing has to be looked up."""
    proxy: str = ""
    """Host and port of the proxy in between; empty where there is none."""
    proxy_named: str = ""
    """The variable of the environment that names it."""
    notes: tuple[str, ...] = ()
    """What is good to know about how connections are made."""

    @property
    def tunnels(self) -> bool:
        """Whether the proxy leads to the server by CONNECT, and does not see what is said."""
        return bool(self.proxy) and self.url.scheme in ("https", "wss")

    @property
    def connections(self) -> int:
        """Requests that can be open at a time."""
        return CONNECTIONS

    @property
    def place(self) -> str:
        """Host and port."""
        return (
            f"{self.url.host}:{_port(self.url)}" if ":" not in self.url.host else f"[{self.url.host}]:{_port(self.url)}"
        )

    def request(self, method: str, url: httpx2.URL, headers: list[tuple[str, str]], body: bytes) -> httpx2.Request:
        """A request with exactly these headers, and those that HTTP itself needs."""
        import httpx2

        own = [("Host", url.netloc.decode("ascii")), ("User-Agent", f"mcp-studio/{__version__}")]
        own += [("Accept-Encoding", "identity"), ("Connection", "keep-alive")]
        given = {name.lower() for name, _ in headers}
        lines = [line for line in own if line[0].lower() not in given] + headers
        if body or method == "POST":
            lines.append(("Content-Length", str(len(body))))
        raw = [(name.encode("ascii"), value.encode()) for name, value in lines]
        stream = _body(body) if body else httpx2.ByteStream(b"")
        return httpx2.Request(method, url, headers=raw, stream=stream, extensions={"timeout": self.timeout})

    def join(self, base: httpx2.URL, location: str) -> httpx2.URL | None:
        """Where a `Location` leads, without credentials; None if it is no address."""
        import httpx2

        try:
            return base.join(location).copy_with(username=None, password=None, fragment=None)
        except (httpx2.InvalidURL, UnicodeError, ValueError):
            return None

    def same_origin(self, other: httpx2.URL) -> bool:
        """Whether an address has the scheme, host and port of this one."""
        mine = (self.url.scheme, self.url.host, _port(self.url))
        return mine == (other.scheme, other.host, _port(other))

    def upgrade(self, other: httpx2.URL) -> bool:
        """Whether an address is this host over TLS, where this one is without."""
        return (self.url.scheme, other.scheme) in (("http", "https"), ("ws", "wss")) and self.url.host == other.host


def _port(url: httpx2.URL) -> int:
    return url.port or _PORTS.get(url.scheme, 0)


def _body(data: bytes) -> httpx2.AsyncByteStream:
    """A body in pieces, so that the write deadline holds for each piece and not for the whole."""
    import httpx2

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for start in range(0, len(data), _WRITE):
                yield data[start : start + _WRITE]

    return Body()


def load(config: ServerConfig, limits: Limits, connect: float) -> Client:
    """Import httpx2 and make the pool; slow, meant for a thread.

    Raises:
        ConfigError: the URL or the environment's proxy cannot be used.
    """
    import httpcore2
    import httpx2

    url = _address(config)
    route = proxies.route_to(str(url))
    notes: list[str] = []
    if config.tls.insecure and url.scheme in ("https", "wss"):
        notes.append("the certificate of this server is not checked: insecure is set")
    name, file = config.name, config.source.file
    # Authorities are loaded only where TLS can come into play; without any, verification refuses everything.
    verify = (
        tls.plain()
        if url.scheme in ("http", "ws")
        else tls.context(config.tls, server=name, file=file, note=notes.append)
    )
    # A proxy is not the server: it is verified always, and is shown no certificate of ours.
    proxy = proxies.made(route, lambda: tls.context(Tls(ca=config.tls.ca), server=name, file=file)) if route else None
    transport = httpx2.AsyncHTTPTransport(verify=verify, limits=_bounds(), proxy=proxy)
    return Client(
        url=url.copy_with(username=None, password=None, fragment=None),
        userinfo=unquote_to_bytes(url.userinfo),
        transport=transport,
        problems=(
            *(httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError, UnicodeError),
            # A connection that was switched to WebSocket is read and written below httpx2.
            *(httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError),
        ),
        timeout={"connect": connect, "read": None, "write": limits.write, "pool": None},
        peer=_name(route.url if route else str(url)),
        proxy=route.place if route else "",
        proxy_named=route.variable if route else "",
        notes=tuple(notes),
    )


def _bounds() -> httpx2.Limits:
    import httpx2

    kept = CONNECTIONS // 8
    return httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=kept, keepalive_expiry=_KEEP_ALIVE)


def _address(config: ServerConfig) -> httpx2.URL:
    import httpx2

    try:
        url = httpx2.URL(config.url)
    except (httpx2.InvalidURL, UnicodeError) as problem:
        raise _no_address(config, str(problem)) from None
    schemes = _SCHEMES.get(config.kind, ())
    if url.scheme not in schemes or not url.host:
        begin = " or ".join(f"{scheme}://" for scheme in schemes)
        raise _no_address(config, f"it has to begin with {begin} and to name a host")
    return url


def _no_address(config: ServerConfig, why: str) -> ConfigError:
    return ConfigError(
        f"The URL of server {config.name} cannot be used: {why}.",
        file=config.source.file,
        key=f"servers.{config.name}.url",
    )


def _name(url: str) -> str:
    """The host of a URL if it is a name, an empty string for an IP address."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return host
    return ""
