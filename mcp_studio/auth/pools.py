"""Connections for signing in: each socket's peer is looked at before anything is sent over it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from mcp_studio.auth.failed import AuthFailed
from mcp_studio.auth.network import Reach, check_address, on_this_machine, reach_of, resolve
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.transport import proxies, tls
from mcp_studio.transport.network_errors import no_such_host

if TYPE_CHECKING:
    import httpcore2

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
        self._pools: dict[tuple[bool, bool, proxies.Route | None], httpcore2.AsyncConnectionPool] = {}

    async def reach(self) -> Reach:
        """Where the MCP server is."""
        if self._reach is None:
            self._reach = "loopback" if self.plain else await self._far()
        return self._reach

    async def _far(self) -> Reach:
        if proxies.route_to(self._config.url):
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
        host, route = parts.hostname or "", proxies.route_to(url)
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

    def _made(self, own: bool, secure: bool, route: proxies.Route | None) -> httpcore2.AsyncConnectionPool:
        import httpcore2

        return httpcore2.AsyncConnectionPool(
            ssl_context=self._context(self._config.tls if own else self._others) if secure else tls.plain(),
            # A proxy is not the server: it is verified always, and is shown no certificate of ours.
            proxy=_proxy(route, lambda: self._context(self._others)) if route else None,
            max_connections=_CONNECTIONS,
            max_keepalive_connections=0,
            network_backend=None if route else guarded(self.look),
        )

    def _context(self, trust: Tls) -> ssl.SSLContext:
        return tls.context(trust, server=self._config.name, file=self._config.source.file)

    async def close(self, seconds: float) -> None:
        """Close all connections, or drop them after so many seconds."""
        pools, self._pools = list(self._pools.values()), {}
        try:
            async with asyncio.timeout(seconds):
                for pool in pools:
                    await pool.aclose()
        except TimeoutError:
            pass  # Nothing waits for them.


def _proxy(route: proxies.Route, context: Callable[[], ssl.SSLContext]) -> httpcore2.Proxy:
    import httpcore2

    made = proxies.made(route, context)
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
