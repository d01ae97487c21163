"""Where the documents of signing in are looked for, and which addresses may be used for it at all.

Specification 2026-07-28, basic/authorization; RFC 9728 3.1, RFC 8414 3.1, OpenID Connect Discovery 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from mcp_studio.auth.model import AuthFailed, quoted
from mcp_studio.config.model import ServerConfig
from mcp_studio.urls import judge

LONGEST_CHALLENGE = 16_384
"""Characters of the header that are read."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# A parameter; or a scheme, with what follows it as in `Negotiate abc==`. Nothing is tried twice (possessive
# quantifiers), so that reading is linear whatever is sent. A value without quotes may be more than a token, and a quote
# may never be closed: what was meant is clear in either case.
_PART = re.compile(
    rf'({_TOKEN})[ \t]*+=[ \t]*+(?:"((?:[^"\\]|\\.)*+)"?|([^\s,"]++))'
    rf"|({_TOKEN})(?:[ \t]++[0-9A-Za-z\-._~+/]++=*+[ \t]*+(?=,|$))?",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Challenge(NamedTuple):
    """One challenge. Everything in it is foreign."""

    scheme: str = ""
    """In lower case; empty where parameters came without one, or where there is no challenge at all."""
    params: Mapping[str, str] = {}
    """By their names in lower case; of two with one name the first."""

    @staticmethod
    def parse(text: str) -> tuple[Challenge, ...]:
        """All challenges of a header, or of several whose values are joined by commas; never raises."""
        found: list[tuple[str, dict[str, str]]] = []
        for part in _PART.finditer(text[:LONGEST_CHALLENGE]):
            name, quoted_value, value, scheme = part.groups()
            if scheme:
                found.append((scheme.lower(), {}))
                continue
            found = found or [("", {})]
            value = _ESCAPED.sub(r"\1", quoted_value) if value is None else value
            found[-1][1].setdefault(name.lower(), value)
        return tuple(Challenge(*one) for one in found)

    @staticmethod
    def find(text: str) -> Challenge:
        """The challenge that OAuth is about: `Bearer` or `DPoP`, rather one that names the resource metadata.

        Where neither came, one whose scheme is empty: with the parameters that came without a scheme.
        """
        ours = [one for one in Challenge.parse(text) if one.scheme in ("bearer", "dpop", "")]
        ranked = sorted(ours, key=lambda one: (one.scheme == "", not one.get("resource_metadata")))
        return ranked[0] if ranked else Challenge()

    @staticmethod
    def dpop(text: str) -> Challenge:
        """The `DPoP` challenge (RFC 9449 7.1), or an empty one."""
        return next((one for one in Challenge.parse(text) if one.scheme == "dpop"), Challenge())

    def get(self, name: str) -> str:
        """A parameter; empty where there is none.

        `resource_metadata` says where the protected resource metadata is (RFC 9728 5.1), `scope` what the request needs
        (RFC 6750 3), `error` and `error_description` why it was refused, `algs` how DPoP proofs are signed (RFC 9449).
        """
        return self.params.get(name, "")


_SHOULD = (
    "It has to be an https:// URL of ASCII characters, without spaces, a user name and a fragment; http:// is for "
    "servers on this machine."
)
_PORTS = {"https": 443, "http": 80}
_RESOURCE = "/.well-known/oauth-protected-resource"
_ISSUER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


def web_url(url: str) -> str:
    """An address with the scheme of HTTP: that of a WebSocket is where its handshake goes."""
    return f"http{url[2:]}" if url.startswith(("ws://", "wss://")) else url


def origin(url: str) -> str:
    """What two addresses have to have in common for credentials to go to both (RFC 6454 4), as an address.

    Addresses of WebSockets have that of their HTTP handshake.

    Raises:
        AuthFailed: it is no address with a host.
    """
    parts = _split(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    default = parts.port in (None, _PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" if default else f"{parts.scheme}://{host}:{parts.port}"


def _split(url: str) -> SplitResult:
    """The parts of an address with a host; that of a WebSocket is where its handshake goes."""
    with suppress(ValueError):
        parts = urlsplit(web_url(url))
        _ = parts.port  # raises where it is no number
        if parts.hostname:
            return parts
    raise AuthFailed(f"{quoted(url)} is no address with a host.", hint=_SHOULD)


def same_origin(one: str, other: str) -> bool:
    """Whether scheme, host and port are the same; a default port counts as written."""
    return origin(one) == origin(other)


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    return judge(url).local


def check_url(url: str, server: str, what: str) -> str:
    """An address as it came, if it may be used for signing in to `server`.

    https, or http on this machine where the server itself is there; with a host, without user name, password and
    fragment (RFC 6749 3.1, 3.2; specification 2026-07-28, basic/authorization, communication security).

    Args:
        what: names it, as the beginning of a sentence: `token_endpoint in the metadata of …`.

    Raises:
        AuthFailed: it may not.
    """
    page = judge(url)
    problem = page.refusal
    if not problem and not url.isascii():
        problem = "It has characters that are not ASCII."
    elif not problem and "#" in url:
        problem = "It has a fragment."
    elif not problem and not url.lower().startswith("https:") and not is_loopback(server):
        problem = f"It is on this machine, and the server at {origin(server)} is not."
    if problem:
        # Before the host and in the query may be secrets.
        shown = page.host if "@" in url else url.partition("?")[0]
        raise AuthFailed(f"{what} is {quoted(shown)}. {problem}", hint=_SHOULD)
    return url


def canonical(url: str) -> str:
    """A server's address as a resource is called (RFC 8707 2): without query and fragment, host in lower case."""
    parts = _split(url)
    path = "" if parts.path == "/" else parts.path
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{path}"


def resource_urls(named: str, url: str) -> tuple[str, ...]:
    """Where the protected resource metadata of the server at `url` is to be looked for, in this order.

    The place that a challenge names, if it may be used; where nothing is there, the well-known place with the server's
    path, then the one without (RFC 9728 3.1).
    """
    base, path = f"{origin(url)}{_RESOURCE}", urlsplit(url).path
    # A slash at the end belongs to the path; many servers know themselves without it.
    places = (named, f"{base}{path}" if path.strip("/") else "", f"{base}{path.rstrip('/')}", base)
    return tuple(dict.fromkeys(place for place in places if place))


def issuer_urls(issuer: str) -> tuple[str, ...]:
    """Where the metadata of an authorization server is to be looked for, in the order of the specification.

    Three places for an issuer with a path, two for one without (specification 2026-07-28, basic/authorization,
    authorization server metadata discovery).
    """
    base, path = origin(issuer), urlsplit(issuer).path.rstrip("/")
    if not path:
        return f"{base}{_ISSUER}", f"{base}{_OPENID}"
    return f"{base}{_ISSUER}{path}", f"{base}{_OPENID}{path}", f"{base}{path}{_OPENID}"


def tidy(config: ServerConfig) -> ServerConfig:
    """The entry with an address of plain ASCII, without credentials and fragment: what goes over the wire."""
    url = config.url
    if url.isascii() and "@" not in url and "#" not in url and not any(one.isspace() for one in url):
        return config
    import httpx2

    try:
        found = httpx2.URL(url).copy_with(username=None, password=None, fragment=None)
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        return config
    return replace(config, url=str(found))


def resource_of(config: ServerConfig) -> str:
    """Under what a server's sign-in is kept: its address without query and fragment."""
    return canonical(tidy(config).url)


def resource_or_none(config: ServerConfig) -> str:
    """The same, but empty where no address can be signed in to; whoever connects says what is wrong with it."""
    try:
        return resource_of(config)
    except (AuthFailed, ValueError):
        return ""


MOST_SCOPES = 200
"""Scopes that are asked for at once."""
LONGEST_SCOPES = 4_000
"""Characters of all of them."""
OFFLINE = "offline_access"
"""What some authorization servers want to be asked for a refresh token (OpenID Connect Core 11)."""
_TOLD = 300
"""Characters of scopes in a sentence."""
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")


def parse(text: str | Iterable[str]) -> tuple[str, ...]:
    """Scopes out of what a server wrote, each once; what can be none (RFC 6749 3.3) is left out, as is too much."""
    words = text[: 2 * LONGEST_SCOPES].split(" ") if isinstance(text, str) else list(text)
    kept: list[str] = []
    length = 0
    for word in dict.fromkeys(word for word in words if _SCOPE.match(word)):
        length += len(word) + 1
        if len(kept) >= MOST_SCOPES or length > LONGEST_SCOPES:
            break
        kept.append(word)
    return tuple(kept)


def select(
    challenge: str,
    supported: Iterable[str] | None,
    *,
    configured: Iterable[str] = (),
    offered: Iterable[str] | None = None,
    renewable: bool = True,
) -> tuple[str, ...]:
    """What to ask for: what the challenge names; else what the resource supports; else nothing.

    Args:
        challenge: `scope` of the challenge.
        supported: `scopes_supported` of the protected resource metadata.
        configured: what the person wants besides.
        offered: `scopes_supported` of the authorization server: `offline_access` is asked for only where it is listed
            there, and not by itself, as it would stand in for what is given by default.
        renewable: a refresh token is of use.
    """
    found = union(parse(challenge) or parse(supported or ()), configured)
    own = parse(configured)
    offers = offered is not None and OFFLINE in offered
    if offers and renewable and found:
        return union(found, (OFFLINE,))
    return tuple(scope for scope in found if scope != OFFLINE or offers or OFFLINE in own)


def union(old: Iterable[str], new: str | Iterable[str]) -> tuple[str, ...]:
    """What was there and what is wanted besides, each once: asking for more must not lose what was granted."""
    return parse([*parse(old), *parse(new)])


def missing(granted: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    """What of `wanted` is not granted."""
    have = set(granted)
    return tuple(scope for scope in wanted if scope not in have)


def brief(scopes: Sequence[str]) -> str:
    """As they are told in a sentence: not for pages, however many there are."""
    whole = " ".join(scopes)
    return whole if len(whole) <= _TOLD else f"{whole[:_TOLD]}… ({len(scopes):,} in all)"
