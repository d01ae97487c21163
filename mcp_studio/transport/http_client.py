"""httpx2 as the edge uses it: its transport alone, without its client's redirects, cookies and implicit credentials."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from mcp_studio import __version__
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import ConfigError
from mcp_studio.limits import Limits
from mcp_studio.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2


async def look_up(host: str) -> None:
    """Wait until a host name resolves.

    The event loop looks names up in threads that are joined when the loop ends, and a look-up that hangs would hold
    up quitting for as long. So it is tried first in a thread that nobody waits for; only what resolves goes further.

    Raises:
        OSError: the name does not resolve.
        UnicodeError: it cannot be a host name.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Exception | None] = loop.create_future()

    def tell(problem: Exception | None) -> None:
        if not found.done():
            found.set_result(problem)

    def look() -> None:
        problem: Exception | None = None
        try:
            socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problem = error
        with suppress(RuntimeError):  # The loop may have ended meanwhile.
            loop.call_soon_threadsafe(tell, problem)

    threading.Thread(target=look, name=f"look up {host}", daemon=True).start()
    problem = await found
    if problem is not None:
        raise problem


_PROXIED_AS = {"ws": "http", "wss": "https"}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HINT = "Put the host into NO_PROXY to go there directly."


class Route(NamedTuple):
    """A proxy, and which variable named it."""

    url: str
    """With its credentials: never shown."""
    variable: str
    """Its name in upper case."""

    @property
    def place(self) -> str:
        """Host and port, for sentences."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        host = parts.hostname or ""
        return f"{f'[{host}]' if ':' in host else host}:{parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)}"


def route_to(url: str) -> Route | None:
    """The proxy that the environment names for a URL, None for the direct way; loopback never has one.

    Raises:
        ConfigError: it cannot be used; the proxy's address is not quoted, it may hold a password.
    """
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies, scheme = getproxies(), _PROXIED_AS.get(parts.scheme, parts.scheme)
    found, variable = proxies.get(scheme), f"{scheme.upper()}_PROXY"
    if not found:
        found, variable = proxies.get("all"), "ALL_PROXY"
    if not found:
        return None
    route = Route(found if "://" in found else f"http://{found}", variable)
    _check(route, parts.scheme)
    return route


def _check(route: Route, scheme: str) -> None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(route.url)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise _unusable(route, "its address is none") from None
    if parts.scheme.startswith("socks"):
        raise _unusable(route, "SOCKS is not supported, only HTTP proxies are")
    if parts.scheme not in ("http", "https"):
        raise _unusable(route, f"{parts.scheme}:// is no scheme of an HTTP proxy")
    if not usable:
        raise _unusable(route, "it names no host")
    if scheme == "ws":
        raise _unusable(route, "through it only wss:// works, not ws://")


def _unusable(route: Route, why: str) -> ConfigError:
    return ConfigError(f"The proxy that {route.variable} names cannot be used for this address: {why}.", hint=_HINT)


def made(route: Route, context: Callable[[], ssl.SSLContext]) -> httpx2.Proxy:
    """The same as httpx2 wants it; `context` is for a proxy that is spoken to over TLS itself.

    Raises:
        ConfigError: its address cannot be used.
    """
    import httpx2

    try:
        return httpx2.Proxy(route.url, ssl_context=context() if route.url.startswith("https:") else None)
    except (ValueError, UnicodeError, httpx2.InvalidURL):
        raise _unusable(route, "its address is none") from None


_LARGEST = 8 * 1024 * 1024
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
_SUFFIXES = (".pem", ".crt", ".cer", ".cert")
_CERTIFICATE = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----")
_KEY = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----")
_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED")
_DAY = 86_400.0
_SOON = 7 * _DAY


class _Place:
    """Where a value stands, for errors."""

    def __init__(self, server: str, file: str) -> None:
        self._server = server
        self._file = file

    def error(self, field: str, message: str, hint: str = "") -> ConfigError:
        """An error about one key of the table."""
        key = f"servers.{self._server}.tls.{field}" if self._server else f"tls.{field}"
        return ConfigError(message, file=self._file, key=key, hint=hint)


def context(
    tls: Tls, *, server: str = "", file: str = "", note: Callable[[str], None] = lambda text: None
) -> ssl.SSLContext:
    """The context for connections to one server: the system's authorities, and what its table adds.

    Args:
        server, file: whose table it is and where it stands, for errors.
        note: told what is good to know, such as a client certificate that has expired.

    Raises:
        ConfigError: a file that is missing or not what it should be, a key that does not fit, a wrong password.
    """
    place = _Place(server, file)
    made = _unverified() if tls.insecure else _verified()
    if tls.ca and not tls.insecure:
        _trust(made, Path(tls.ca).expanduser(), place)
    if tls.cert:
        _show(made, tls, place, note)
    elif tls.key:
        raise place.error("key", "There is a key for a client certificate, but no certificate.", "Set tls.cert too.")
    return made


def plain() -> ssl.SSLContext:
    """For connections that never come to TLS: it trusts nobody, and costs nothing to make."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _unverified() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def _verified() -> ssl.SSLContext:
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as problem:  # ssl.SSLError is one
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        raise ConfigError(
            f"The certificate authorities that {name} names cannot be read: {_why(problem)}.",
            hint=f"{name} is {os.environ.get(name, '')!r}: put it right, or unset it for those of the system.",
        ) from None


# ---------------------------------------------------------------------------------------------------- authorities


def _trust(made: ssl.SSLContext, path: Path, place: _Place) -> None:
    """Add the authorities of a file, or of every certificate file in a folder."""
    if not path.is_dir():
        _add(made, _read(path, "ca", "certificate authorities", place), path, place)
        return
    try:
        names = sorted(os.listdir(path))
    except OSError as problem:
        raise place.error("ca", f"The folder {path} cannot be read: {_why(problem)}.") from None
    files = [path / name for name in names if name.lower().endswith(_SUFFIXES)]
    hashed = any(_HASHED.fullmatch(name) for name in names)
    if not files and not hashed:
        known = ", ".join(_SUFFIXES)
        raise place.error("ca", f"The folder {path} has no certificates (files that end in {known}).")
    for found in files:
        _add(made, _read(found, "ca", "certificate authorities", place), found, place)
    if hashed:
        made.load_verify_locations(capath=path)


def _add(made: ssl.SSLContext, data: bytes, path: Path, place: _Place) -> None:
    try:
        if _CERTIFICATE.search(data):
            made.load_verify_locations(cadata=data.decode("ascii", "ignore"))
        elif data[:1] == b"\x30":
            made.load_verify_locations(cadata=data)  # DER
        else:
            raise place.error("ca", f"{path} has no certificate in it.", _no_pem(data))
    except ssl.SSLError as problem:
        raise place.error("ca", f"{path} cannot be read as certificates: {_why(problem)}.") from None


# ---------------------------------------------------------------------------------------------------- ourselves


def _show(made: ssl.SSLContext, tls: Tls, place: _Place, note: Callable[[str], None]) -> None:
    """Load the client certificate and its key."""
    cert = Path(tls.cert).expanduser()
    key = Path(tls.key).expanduser() if tls.key else cert
    data = _read(cert, "cert", "the client certificate", place)
    if not _CERTIFICATE.search(data):
        raise place.error("cert", f"{cert} has no certificate in it.", _no_pem(data))
    keys = _read(key, "key", "the key of the client certificate", place) if tls.key else data
    if not _KEY.search(keys):
        hint = _no_pem(keys) if tls.key else "If the key is in a file of its own, name that in tls.key."
        raise place.error("key" if tls.key else "cert", f"{key} has no private key in it.", hint)
    if _ENCRYPTED.search(keys) and not tls.password:
        raise place.error("password", f"The key in {key} is encrypted, and there is no password.", "Set tls.password.")
    try:
        made.load_cert_chain(cert, key, password=lambda: tls.password)
    except (ssl.SSLError, ValueError) as problem:
        raise _unusable_file(problem, cert, key, tls, place, encrypted=bool(_ENCRYPTED.search(keys))) from None
    _note_expiry(data, cert, note)


def _unusable_file(
    problem: Exception, cert: Path, key: Path, tls: Tls, place: _Place, *, encrypted: bool
) -> ConfigError:
    reason = str(getattr(problem, "reason", None) or "")
    if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        return place.error(
            "key" if tls.key else "cert", f"The key in {key} does not belong to the certificate in {cert}."
        )
    if encrypted:
        return place.error("password", f"The password does not open the key in {key}.")
    return place.error("cert", f"{cert} and its key cannot be read: {_why(problem)}.")


def _note_expiry(data: bytes, cert: Path, note: Callable[[str], None]) -> None:
    """Say when the certificate is out of its time: servers often refuse such without a word."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(data)
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
    except ValueError:
        return  # OpenSSL could read it, and that is who uses it.
    now = time.time()
    if ends.timestamp() < now:
        note(f"the client certificate in {cert} expired on {ends:%Y-%m-%d}: the server may refuse it")
    elif ends.timestamp() < now + _SOON:
        note(f"the client certificate in {cert} expires on {ends:%Y-%m-%d}")
    if begins.timestamp() > now:
        note(f"the client certificate in {cert} is valid only from {begins:%Y-%m-%d %H:%M} UTC on")


# ---------------------------------------------------------------------------------------------------- files


def _read(path: Path, field: str, what: str, place: _Place) -> bytes:
    try:
        if not path.is_file():
            why = "it is a folder" if path.is_dir() else "it is no file" if path.exists() else "there is no such file"
            raise place.error(field, f"{path}, which should hold {what}, cannot be used: {why}.")
        if path.stat().st_size > _LARGEST:
            raise place.error(field, f"{path}, which should hold {what}, is larger than 8 MB.")
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise place.error(field, f"{path}, which should hold {what}, cannot be read: {_why(problem)}.") from None


def _no_pem(data: bytes) -> str:
    """What to do about a file that is of another kind."""
    if data[:1] == b"\x30":
        return "It is not PEM, which begins with -----BEGIN; of a .p12 or .pfx file: openssl pkcs12 -in F -out F.pem"
    return "It should be PEM, which begins with -----BEGIN."


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        said = str(problem.reason or "") or str(problem)
        return said.replace("_", " ").lower()
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror[:1].lower() + problem.strerror[1:]
    return str(problem)


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
    route = route_to(str(url))
    notes: list[str] = []
    if config.tls.insecure and url.scheme in ("https", "wss"):
        notes.append("the certificate of this server is not checked: insecure is set")
    name, file = config.name, config.source.file
    # Authorities are loaded only where TLS can come into play; without any, verification refuses everything.
    verify = plain() if url.scheme in ("http", "ws") else context(config.tls, server=name, file=file, note=notes.append)
    # A proxy is not the server: it is verified always, and is shown no certificate of ours.
    proxy = made(route, lambda: context(Tls(ca=config.tls.ca), server=name, file=file)) if route else None
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
