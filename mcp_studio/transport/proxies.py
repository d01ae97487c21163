"""The proxy that the environment names: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.errors import ConfigError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    import httpx2

_PROXIED_AS = {"ws": "http", "wss": "https"}
_PORTS = {"http": 80, "https": 443}
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
        return f"{f'[{host}]' if ':' in host else host}:{parts.port or _PORTS.get(parts.scheme, 0)}"


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
