"""The part of httpx2 that the edge uses: its transport, without the client's redirects, cookies and credentials."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from mcp_studio import __version__
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import ConfigError
from mcp_studio.limits import Limits
from mcp_studio.record import record
from mcp_studio.threads import beside

if TYPE_CHECKING:
    import httpx2


async def look_up(host: str) -> list[str]:
    """Resolve the addresses of a host.

    The event loop resolves names in threads that it joins when it ends, so that a look-up that hangs would delay
    quitting. This uses a thread that nothing waits for.

    Raises:
        OSError: the name does not resolve.
        UnicodeError: the name cannot be a host name.
    """
    rows = await beside(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in rows))


# ---------------------------------------------------------------------------------------------------- proxies

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class Route(NamedTuple):
    """A proxy, and the variable that names it."""

    url: str
    """The URL with its credentials: never shown."""
    variable: str
    """The variable's name in upper case."""

    @property
    def place(self) -> str:
        """Host and port, for sentences."""
        parts = urlsplit(self.url)
        return _place(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0))


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def route_to(url: str) -> Route | None:
    """The proxy that the environment names for a URL; None for a direct connection, as loopback always has.

    Raises:
        ConfigError: the proxy cannot be used; the error does not quote its address, which may contain a password.
    """
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies, scheme = getproxies(), {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    for name in (scheme, "all"):
        if found := proxies.get(name):
            route = Route(found if "://" in found else f"http://{found}", f"{name.upper()}_PROXY")
            if problem := _problem(route, parts.scheme):
                raise _unusable(route, problem)
            return route
    return None


def _problem(route: Route, scheme: str) -> str:
    """Why a proxy cannot be used; empty if it can."""
    try:
        parts = urlsplit(route.url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        return "it has to be http://HOST:PORT or https://HOST:PORT (SOCKS is not supported)"
    return "through it only wss:// works, not ws://" if scheme == "ws" else ""


def _unusable(route: Route, why: str) -> ConfigError:
    text = f"The proxy that {route.variable} names cannot be used for this address: {why}."
    return ConfigError(text, hint="Put the host into NO_PROXY to go there directly.")


def proxy_of(route: Route, context: Callable[[], ssl.SSLContext]) -> httpx2.Proxy:
    """The proxy in httpx2's form; `context` is for a proxy whose own address is https.

    Raises:
        ConfigError: the proxy's address cannot be used.
    """
    import httpx2

    try:
        return httpx2.Proxy(route.url, ssl_context=context() if route.url.startswith("https:") else None)
    except (ValueError, UnicodeError, httpx2.InvalidURL):
        raise _unusable(route, "its address is not a URL") from None


# ---------------------------------------------------------------------------------------------------- TLS

_LARGEST = 8 * 1024 * 1024
_SUFFIXES = (".pem", ".crt", ".cer", ".cert")
_PEM = "It should be PEM, which begins with -----BEGIN; of a .p12 or .pfx file: openssl pkcs12 -in F -out F.pem"


def context(tls: Tls, *, server: str = "", file: str = "") -> ssl.SSLContext:
    """The TLS context for connections to one server: the system's authorities, and what its table adds.

    Args:
        server, file: the server and its file, for errors.

    Raises:
        ConfigError: a file is missing or invalid, a key does not fit, or a password is wrong.
    """

    def failed(field: str, message: str, hint: str = _PEM) -> ConfigError:
        key = f"servers.{server}.tls.{field}" if server else f"tls.{field}"
        return ConfigError(message, file=file, key=key, hint=hint)

    tls_context = plain() if tls.insecure else _verified()
    if tls.insecure:
        tls_context.check_hostname = False
        tls_context.verify_mode = ssl.CERT_NONE
    elif tls.ca:
        path = Path(tls.ca).expanduser()
        try:
            _trust(tls_context, path)
        except (OSError, ValueError) as problem:
            text = f"{path}, which should hold certificate authorities, cannot be used: {_why(problem)}."
            raise failed("ca", text) from None
    if tls.cert:
        _load_certificate(tls_context, tls, failed)
    elif tls.key:
        raise failed("key", "There is a key for a client certificate, but no certificate.", "Set tls.cert too.")
    return tls_context


def plain() -> ssl.SSLContext:
    """A cheap context for connections without TLS: it trusts no authority."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _verified() -> ssl.SSLContext:
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as problem:  # ssl.SSLError is an OSError
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        raise ConfigError(
            f"The certificate authorities that {name} names cannot be read: {_why(problem)}.",
            hint=f"{name} is {os.environ.get(name, '')!r}: put it right, or unset it for those of the system.",
        ) from None


def _trust(tls_context: ssl.SSLContext, path: Path) -> None:
    """Add the authorities of a file, in PEM or DER, or of every certificate file in a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(found for found in path.iterdir() if found.suffix.lower() in _SUFFIXES)
        if not files:
            raise ValueError(f"the folder has no certificates (files that end in {', '.join(_SUFFIXES)})")
    for found in files:
        with found.open("rb") as file:
            data = file.read(_LARGEST)
        tls_context.load_verify_locations(cadata=data if data[:1] == b"\x30" else data.decode("ascii", "ignore"))


def _load_certificate(tls_context: ssl.SSLContext, tls: Tls, failed: Callable[..., ConfigError]) -> None:
    """Load the client certificate and its key."""
    cert = Path(tls.cert).expanduser()
    key = Path(tls.key).expanduser() if tls.key else cert
    for field, path in (("cert", cert), ("key", key)):
        if not os.path.isfile(path):
            raise failed(field, f"{path}, which tls.{field} names, is no file.")
    try:
        tls_context.load_cert_chain(cert, key, password=lambda: tls.password)
    except (OSError, ValueError) as problem:
        text = f"The client certificate {cert} with the key in {key} cannot be used: {_why(problem)}."
        hint = f"The key has to belong to it, and tls.password has to open the key where it is encrypted. {_PEM}"
        raise failed("cert", text, hint) from None


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return (str(problem.reason or "") or str(problem)).replace("_", " ").lower()
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror[:1].lower() + problem.strerror[1:]
    return str(problem)


# ---------------------------------------------------------------------------------------------------- the pool

CONNECTIONS = 128
"""The most requests to one server that can be open at a time."""
_KEEP_ALIVE = 4.0
"""Common servers close idle connections after 5 s; ours go before, so that no request meets a closing connection."""
_WRITE = 256 * 1024
_SCHEMES = {"http": ("http", "https"), "sse": ("http", "https"), "websocket": ("ws", "wss")}


@record(frozen=True)
class HttpClient:
    """A connection pool for one origin, and the other objects of httpx2 that the edge needs."""

    url: httpx2.URL
    """Where requests go, without credentials and fragment."""
    userinfo: bytes
    """`user:password` of the configured URL, or nothing."""
    transport: httpx2.AsyncHTTPTransport
    problems: tuple[type[Exception], ...]
    """The exceptions that the transport raises if the network or the server fails."""
    timeout: dict[str, float | None]
    peer: str
    """The host that connections go to: the proxy's if there is one."""
    proxy: str = ""
    """Host and port of the proxy; empty without one."""
    proxy_named: str = ""
    """The environment variable that names the proxy."""

    @property
    def tunnels(self) -> bool:
        """Whether the proxy only opens a tunnel to the server (CONNECT), and does not see the messages."""
        return bool(self.proxy) and self.url.scheme in ("https", "wss")

    @property
    def place(self) -> str:
        """Host and port of the server."""
        return _place(self.url.host, _port(self.url))

    def request(self, method: str, url: httpx2.URL, headers: list[tuple[str, str]], body: bytes) -> httpx2.Request:
        """A request with exactly these headers, and those that HTTP itself requires."""
        import httpx2

        own = [("Host", url.netloc.decode("ascii")), ("User-Agent", f"mcp-studio/{__version__}")]
        own += [("Accept-Encoding", "identity"), ("Connection", "keep-alive")]
        names = {name.lower() for name, _ in headers}
        lines = [line for line in own if line[0].lower() not in names] + headers
        if body or method == "POST":
            lines.append(("Content-Length", str(len(body))))
        raw = [(name.encode("ascii"), value.encode()) for name, value in lines]
        stream = _body(body) if body else httpx2.ByteStream(b"")
        return httpx2.Request(method, url, headers=raw, stream=stream, extensions={"timeout": self.timeout})

    def join(self, base: httpx2.URL, location: str) -> httpx2.URL | None:
        """The address that a `Location` leads to, without credentials; None if it is invalid."""
        import httpx2

        try:
            return base.join(location).copy_with(username=None, password=None, fragment=None)
        except (httpx2.InvalidURL, UnicodeError, ValueError):
            return None

    def same_origin(self, other: httpx2.URL) -> bool:
        """Whether an address has the scheme, host and port of this one."""
        mine = (self.url.scheme, self.url.host, _port(self.url))
        return mine == (other.scheme, other.host, _port(other))


def _port(url: httpx2.URL) -> int:
    return url.port or _PORTS.get(url.scheme, 0)


def _body(data: bytes) -> httpx2.AsyncByteStream:
    """A body in pieces, so that the write deadline applies to each piece and not to the whole."""
    import httpx2

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for start in range(0, len(data), _WRITE):
                yield data[start : start + _WRITE]

    return Body()


def load(config: ServerConfig, limits: Limits, connect: float) -> HttpClient:
    """Import httpx2 and make the pool; slow, so call it in a thread.

    Raises:
        ConfigError: the URL or the environment's proxy cannot be used.
    """
    import httpcore2
    import httpx2

    url = _address(config)
    route = route_to(str(url))
    name, file = config.name, config.source.file
    # Authorities are loaded only if TLS can be used; without any, verification refuses everything.
    verify = plain() if url.scheme in ("http", "ws") else context(config.tls, server=name, file=file)
    # A proxy is not the server: it is always verified, and never sees our client certificate.
    proxy = proxy_of(route, lambda: context(Tls(ca=config.tls.ca), server=name, file=file)) if route else None
    bounds = httpx2.Limits(
        max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS // 8, keepalive_expiry=_KEEP_ALIVE
    )
    return HttpClient(
        url=url.copy_with(username=None, password=None, fragment=None),
        userinfo=unquote_to_bytes(url.userinfo),
        transport=httpx2.AsyncHTTPTransport(verify=verify, limits=bounds, proxy=proxy),
        problems=(
            *(httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError, UnicodeError),
            # A connection that was switched to WebSocket is read and written below httpx2.
            *(httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError),
        ),
        timeout={"connect": connect, "read": None, "write": limits.write, "pool": None},
        peer=urlsplit(route.url if route else str(url)).hostname or "",
        proxy=route.place if route else "",
        proxy_named=route.variable if route else "",
    )


def _address(config: ServerConfig) -> httpx2.URL:
    import httpx2

    schemes = _SCHEMES.get(config.kind, ())
    why = f"it has to begin with {' or '.join(f'{scheme}://' for scheme in schemes)} and to name a host"
    try:
        url = httpx2.URL(config.url)
        if url.scheme in schemes and url.host:
            return url
    except (httpx2.InvalidURL, UnicodeError) as problem:
        why = str(problem)
    raise ConfigError(
        f"The URL of server {config.name} cannot be used: {why}.",
        file=config.source.file,
        key=f"servers.{config.name}.url",
    )
