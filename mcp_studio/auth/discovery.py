"""Where the documents of signing in are looked for, and which addresses may be used for it at all.

Specification 2026-07-28, basic/authorization; RFC 9728 3.1, RFC 8414 3.1, OpenID Connect Discovery 4.1.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from mcp_studio.auth.challenge import Challenge
from mcp_studio.auth.failed import AuthFailed, said

LONGEST = 4_096
"""Characters of one address."""
_PORTS = {"https": 443, "http": 80, "wss": 443, "ws": 80}
_WEB = {"ws": "http", "wss": "https"}
_BARE = re.compile(r"[\x21-\x7e]+\Z")
_RESOURCE = "/.well-known/oauth-protected-resource"
_ISSUER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


class Origin(NamedTuple):
    """What two addresses have to have in common for credentials to go to both (RFC 6454 4)."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = _PORTS.get(self.scheme) == self.port
        return f"{self.scheme}://{host}" if usual else f"{self.scheme}://{host}:{self.port}"


def origin(url: str) -> Origin:
    """The origin of an address; WebSocket addresses have that of their HTTP handshake.

    Raises:
        AuthFailed: it is no address with a host.
    """
    parts = _split(url, "The address")
    scheme = _WEB.get(parts.scheme, parts.scheme)
    port = _PORTS.get(scheme, 0) if parts.port is None else parts.port
    return Origin(scheme, _host(parts, url, "The address"), port)


def same_origin(one: str, other: str) -> bool:
    """Whether scheme, host and port are the same; a default port counts as written."""
    return origin(one) == origin(other)


def address(host: str) -> IPv4Address | IPv6Address | None:
    """The IP address that a host name is, or None where it is a name."""
    try:
        found = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine: 127.0.0.0/8, ::1, `localhost` and names below it (RFC 6761 6.3)."""
    host = (_split(url, "The address").hostname or "").rstrip(".").lower()
    found = address(host)
    return found.is_loopback if found else host == "localhost" or host.endswith(".localhost")


def check_url(url: str, server: str, what: str) -> str:
    """An address as it came, if it may be used for signing in to `server`.

    https, or http on this machine where the server itself is there; with a host, without user name, password and
    fragment (RFC 6749 3.1, 3.2; specification 2026-07-28, basic/authorization, communication security).

    Args:
        what: names it, as the beginning of a sentence: `token_endpoint in the metadata of …`.

    Raises:
        AuthFailed: it may not.
    """
    parts = _bounded(url, what)
    if parts.scheme not in ("https", "http"):
        raise AuthFailed(f"{what} is {said(url)}: that is no web address.", hint="It has to begin with https://.")
    _host(parts, url, what)
    if parts.scheme == "http":
        if not is_loopback(url):
            raise AuthFailed(
                f"{what} is {said(url)}: without TLS anybody on the way can read and change what is sent.",
                hint="It has to begin with https://; http:// is for servers on this machine.",
            )
        if not is_loopback(server):
            raise AuthFailed(
                f"{what} is {said(url)}, an address on this machine, but the server at {origin(server)} is not.",
                hint="A server elsewhere has to name an https:// address that others can reach too.",
            )
    if parts.username is not None or parts.password is not None:
        raise AuthFailed(
            f"{what} has a user name or password before the host {said(parts.hostname)}.",
            hint="It has to be the plain address, without anything before an @.",
        )
    if parts.fragment or url.endswith("#"):
        raise AuthFailed(f"{what} is {said(url)}: it has a fragment (#…).", hint="It has to end before the #.")
    return url


def _bounded(url: str, what: str) -> SplitResult:
    """An address that is kept and shown."""
    if len(url) > LONGEST:
        raise AuthFailed(f"{what} has {len(url):,} characters.", hint=f"Addresses have {LONGEST:,} at most.")
    return _split(url, what)


def _split(url: str, what: str) -> SplitResult:
    if not _BARE.match(url) or "\\" in url:
        raise AuthFailed(
            f"{what} is {said(url)}: that is no address.",
            hint="It has to be an absolute https:// URL of ASCII characters without spaces.",
        )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as problem:
        raise AuthFailed(f"{what} is {said(url)}: {problem}.", hint="It has to be an absolute https:// URL.") from None
    return parts


def _host(parts: SplitResult, url: str, what: str) -> str:
    if not parts.hostname:
        raise AuthFailed(f"{what} is {said(url)}: it names no host.", hint="It has to be an absolute https:// URL.")
    return parts.hostname.lower()


def canonical(url: str) -> str:
    """A server's address as a resource is called (RFC 8707 2): without query and fragment, host in lower case."""
    parts = _bounded(url, "The address of the server")
    scheme = _WEB.get(parts.scheme, parts.scheme)
    path = "" if parts.path == "/" else parts.path
    return f"{scheme}://{parts.netloc.rpartition('@')[2].lower()}{path}"


def resource_urls(challenge: Challenge, url: str) -> tuple[str, ...]:
    """Where the protected resource metadata of the server at `url` is to be looked for, in this order.

    The place that the challenge names, if it may be used (`resource_place_problem` says why not); where nothing is
    there, the well-known place with the server's path, then the one without (RFC 9728 3.1).
    """
    named = "" if resource_place_problem(challenge, url) else challenge.resource_metadata
    base, path = f"{origin(url)}{_RESOURCE}", urlsplit(url).path
    # A slash at the end belongs to the path; many servers know themselves without it.
    places = (named, f"{base}{path}" if path.strip("/") else "", f"{base}{path.rstrip('/')}", base)
    return tuple(dict.fromkeys(place for place in places if place))


def resource_place_problem(challenge: Challenge, url: str) -> str:
    """Why the `resource_metadata` of a challenge is not used, in a sentence; empty where it is, or where none came."""
    if not challenge.resource_metadata:
        return ""
    try:
        check_url(challenge.resource_metadata, url, "resource_metadata in the header WWW-Authenticate")
    except AuthFailed as problem:
        return f"{problem.message} {problem.hint}".strip()
    return ""


def issuer_urls(issuer: str) -> tuple[str, ...]:
    """Where the metadata of an authorization server is to be looked for, in the order of the specification.

    Three places for an issuer with a path, two for one without (specification 2026-07-28, basic/authorization,
    authorization server metadata discovery).
    """
    base, path = str(origin(issuer)), urlsplit(issuer).path.rstrip("/")
    if not path:
        return f"{base}{_ISSUER}", f"{base}{_OPENID}"
    return f"{base}{_ISSUER}{path}", f"{base}{_OPENID}{path}", f"{base}{path}{_OPENID}"


def legacy_issuer(url: str) -> str:
    """What gives tokens for a server without protected resource metadata: its own origin (specification 2025-03-26)."""
    return str(origin(url))


def legacy_urls(url: str) -> tuple[str, ...]:
    """Where such a server's metadata is (specification 2025-03-26, basic/authorization 2.3.2)."""
    return (f"{legacy_issuer(url)}{_ISSUER}",)


def legacy_metadata(url: str) -> dict[str, str]:
    """The endpoints of a server that has no metadata at all (specification 2025-03-26, basic/authorization 2.3.3)."""
    base = legacy_issuer(url)
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "registration_endpoint": f"{base}/register",
    }
