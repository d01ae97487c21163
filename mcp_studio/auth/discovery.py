"""Where the metadata documents of a sign-in are looked up, and which addresses a sign-in may use.

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
"""The most characters of the header that are read."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# A parameter; or a scheme and its token, as in `Negotiate abc==`. The possessive quantifiers never backtrack, so that
# reading takes linear time whatever the server sends. An unquoted value may contain more than a token, and a quote may
# stay open: the meaning is clear in either case.
_PART = re.compile(
    rf'({_TOKEN})[ \t]*+=[ \t]*+(?:"((?:[^"\\]|\\.)*+)"?|([^\s,"]++))'
    rf"|({_TOKEN})(?:[ \t]++[0-9A-Za-z\-._~+/]++=*+[ \t]*+(?=,|$))?",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Challenge(NamedTuple):
    """One challenge of a `WWW-Authenticate` header. All its values are foreign."""

    scheme: str = ""
    """The scheme in lower case; empty for parameters without a scheme, and for the empty challenge."""
    params: Mapping[str, str] = {}
    """The parameters by name in lower case; the first of two with the same name counts."""

    @staticmethod
    def parse(text: str) -> tuple[Challenge, ...]:
        """Parse all challenges of a header, or of several headers joined by commas; never raises."""
        challenges: list[tuple[str, dict[str, str]]] = []
        for part in _PART.finditer(text[:LONGEST_CHALLENGE]):
            name, quoted_value, value, scheme = part.groups()
            if scheme:
                challenges.append((scheme.lower(), {}))
                continue
            challenges = challenges or [("", {})]
            value = _ESCAPED.sub(r"\1", quoted_value) if value is None else value
            challenges[-1][1].setdefault(name.lower(), value)
        return tuple(Challenge(*one) for one in challenges)

    @staticmethod
    def find(text: str) -> Challenge:
        """The challenge for OAuth: `Bearer` or `DPoP`, preferably one that names the resource metadata.

        Without either scheme it is the challenge with an empty scheme, which holds the parameters that came without
        one.
        """
        ours = [one for one in Challenge.parse(text) if one.scheme in ("bearer", "dpop", "")]
        ranked = sorted(ours, key=lambda one: (one.scheme == "", not one.get("resource_metadata")))
        return ranked[0] if ranked else Challenge()

    @staticmethod
    def dpop(text: str) -> Challenge:
        """The `DPoP` challenge (RFC 9449 7.1), or an empty one."""
        return next((one for one in Challenge.parse(text) if one.scheme == "dpop"), Challenge())

    def get(self, name: str) -> str:
        """The value of a parameter; empty where it is missing.

        `resource_metadata` is the address of the protected resource metadata (RFC 9728 5.1), `scope` what the request
        requires (RFC 6750 3), `error` and `error_description` say why the request was refused, `algs` lists the
        signature algorithms for DPoP proofs (RFC 9449).
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
    """The address with the scheme http or https; a WebSocket's handshake goes to that address."""
    return f"http{url[2:]}" if url.startswith(("ws://", "wss://")) else url


def origin(url: str) -> str:
    """The origin of an address (RFC 6454 4), written as an address; credentials go to the same origin only.

    A WebSocket has the origin of its HTTP handshake.

    Raises:
        AuthFailed: the text is no address with a host.
    """
    parts = _split(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    default = parts.port in (None, _PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" if default else f"{parts.scheme}://{host}:{parts.port}"


def _split(url: str) -> SplitResult:
    """The parts of an address with a host; a WebSocket's are those of its HTTP handshake."""
    with suppress(ValueError):
        parts = urlsplit(web_url(url))
        _ = parts.port  # raises if the port is no number
        if parts.hostname:
            return parts
    raise AuthFailed(f"{quoted(url)} is no address with a host.", hint=_SHOULD)


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses have the same scheme, host and port; a missing port is the scheme's default."""
    return origin(one) == origin(other)


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    return judge(url).local


def check_url(url: str, server: str, what: str) -> str:
    """Return an address unchanged if signing in to `server` may use it.

    It has to be https, or http on this machine if the server is on this machine too; with a host, without user name,
    password and fragment (RFC 6749 3.1, 3.2; specification 2026-07-28, basic/authorization, communication security).

    Args:
        what: the subject of the error's sentence: `token_endpoint in the metadata of …`.

    Raises:
        AuthFailed: a sign-in may not use the address.
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
        # The part before the host and the query may contain secrets.
        place = page.host if "@" in url else url.partition("?")[0]
        raise AuthFailed(f"{what} is {quoted(place)}. {problem}", hint=_SHOULD)
    return url


def canonical(url: str) -> str:
    """A server's address as a resource identifier (RFC 8707 2): host in lower case, without query and fragment."""
    parts = _split(url)
    path = "" if parts.path == "/" else parts.path
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{path}"


def resource_urls(named: str, url: str) -> tuple[str, ...]:
    """The addresses at which to look for a server's protected resource metadata, in order.

    First comes the address that the challenge names, then the well-known address with the server's path, then the one
    without path (RFC 9728 3.1).
    """
    base, path = f"{origin(url)}{_RESOURCE}", urlsplit(url).path
    # A slash at the end belongs to the path; many servers name themselves without it.
    places = (named, f"{base}{path}" if path.strip("/") else "", f"{base}{path.rstrip('/')}", base)
    return tuple(dict.fromkeys(place for place in places if place))


def issuer_urls(issuer: str) -> tuple[str, ...]:
    """The addresses at which to look for an authorization server's metadata, in the order of the specification.

    There are three for an issuer with a path and two for one without (specification 2026-07-28, basic/authorization,
    authorization server metadata discovery).
    """
    base, path = origin(issuer), urlsplit(issuer).path.rstrip("/")
    if not path:
        return f"{base}{_ISSUER}", f"{base}{_OPENID}"
    return f"{base}{_ISSUER}{path}", f"{base}{_OPENID}{path}", f"{base}{path}{_OPENID}"


def tidy(config: ServerConfig) -> ServerConfig:
    """The entry with its address as it goes over the wire: plain ASCII, without credentials and fragment."""
    url = config.url
    if url.isascii() and "@" not in url and "#" not in url and not any(one.isspace() for one in url):
        return config
    import httpx2

    try:
        address = httpx2.URL(url).copy_with(username=None, password=None, fragment=None)
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        return config
    return replace(config, url=str(address))


def resource_of(config: ServerConfig) -> str:
    """The key of a server's sign-in in the store: its address without query and fragment."""
    return canonical(tidy(config).url)


def resource_or_none(config: ServerConfig) -> str:
    """The same, but empty for an address that cannot be signed in to; connecting reports what is wrong with it."""
    try:
        return resource_of(config)
    except (AuthFailed, ValueError):
        return ""


MOST_SCOPES = 200
"""The most scopes that one request names."""
LONGEST_SCOPES = 4_000
"""The most characters of all these scopes."""
OFFLINE = "offline_access"
"""The scope by which some authorization servers allow a refresh token (OpenID Connect Core 11)."""
_BRIEF = 300
"""The most characters of scopes in a sentence."""
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")


def parse(text: str | Iterable[str]) -> tuple[str, ...]:
    """Parse the scopes that a server wrote, each once; invalid ones (RFC 6749 3.3) and too many are dropped."""
    words = text[: 2 * LONGEST_SCOPES].split(" ") if isinstance(text, str) else list(text)
    scopes: list[str] = []
    length = 0
    for word in dict.fromkeys(word for word in words if _SCOPE.match(word)):
        length += len(word) + 1
        if len(scopes) >= MOST_SCOPES or length > LONGEST_SCOPES:
            break
        scopes.append(word)
    return tuple(scopes)


def select(
    challenge: str,
    supported: Iterable[str] | None,
    *,
    configured: Iterable[str] = (),
    offered: Iterable[str] | None = None,
    renewable: bool = True,
) -> tuple[str, ...]:
    """The scopes to request: those of the challenge, else those that the resource supports, else none.

    Args:
        challenge: `scope` of the challenge.
        supported: `scopes_supported` of the protected resource metadata.
        configured: scopes that the person requests besides.
        offered: `scopes_supported` of the authorization server. `offline_access` is requested only if it is in this
            list, and never alone, because it would replace the default scopes.
        renewable: whether a refresh token is useful.
    """
    scopes = union(parse(challenge) or parse(supported or ()), configured)
    own = parse(configured)
    offers = offered is not None and OFFLINE in offered
    if offers and renewable and scopes:
        return union(scopes, (OFFLINE,))
    return tuple(scope for scope in scopes if scope != OFFLINE or offers or OFFLINE in own)


def union(old: Iterable[str], new: str | Iterable[str]) -> tuple[str, ...]:
    """The old and the new scopes, each once: a request for more scopes must not lose the granted ones."""
    return parse([*parse(old), *parse(new)])


def missing(granted: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    """The scopes of `wanted` that are not granted."""
    have = set(granted)
    return tuple(scope for scope in wanted if scope not in have)


def brief(scopes: Sequence[str]) -> str:
    """Scopes for a sentence, cut off where there are very many."""
    whole = " ".join(scopes)
    return whole if len(whole) <= _BRIEF else f"{whole[:_BRIEF]}… ({len(scopes):,} in all)"
