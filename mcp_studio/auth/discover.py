"""Finding out what protects a server and who gives tokens for it: the requests of discovery, in their order.

Specification 2026-07-28, basic/authorization; what older servers do instead is tried where nothing newer is there.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_studio.auth import discovery
from mcp_studio.auth.challenge import Challenge
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.metadata import Document, IssuerMetadata, ResourceMetadata, document
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.transport.http_headers import ACCEPT, configured

_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_SHOWN = 300


class Resource(NamedTuple):
    """What protects a server."""

    metadata: ResourceMetadata | None
    """None for a server of before protected resource metadata (2025-03-26)."""
    detail: str
    """In a sentence."""
    challenge: str
    """The `WWW-Authenticate` header."""

    @property
    def audience(self) -> str:
        """What is sent as `resource`; empty for none (RFC 8707)."""
        return self.metadata.resource if self.metadata else ""


class Asked(NamedTuple):
    """What a server answered to a request without credentials."""

    status: int
    """0 where that could not be read."""
    challenge: str = ""
    """The `WWW-Authenticate` header of a 401."""


async def ask_server(fetcher: Fetcher, config: ServerConfig) -> Asked:
    """What a server wants, where nothing is known of it yet.

    Raises:
        StudioError: there is no server.
    """
    url = _http(config.url)
    headers = [line for line in configured(config) if line[0].lower() != "authorization"]
    headers += [("Content-Type", "application/json"), ("Accept", ACCEPT)]
    try:
        answer = await fetcher.send("challenge of the server", "POST", url, headers=headers, body=_PROBE, follow=False)
    except Unreachable:
        raise
    except StudioError:
        return Asked(0)  # It is there, and what it says is not about signing in.
    return Asked(answer.status, answer.header("www-authenticate") if answer.status == 401 else "")


async def find_resource(fetcher: Fetcher, config: ServerConfig, header: str) -> Resource:
    """The protected resource metadata (RFC 9728), by the challenge or at the well-known places.

    Raises:
        AuthFailed: there is some that cannot be used, or the server failed.
        StudioError: as `Fetcher.send`.
    """
    challenge, url = Challenge.find(header), _http(config.url)
    named = bool(challenge.resource_metadata)
    notes = [discovery.resource_place_problem(challenge, url)]
    if challenge.resource_metadata and not notes[0] and not discovery.same_origin(challenge.resource_metadata, url):
        notes = [
            f"The server says that its metadata is at {challenge.resource_metadata[:_SHOWN]}, on another origin: "
            "that was not asked."
        ]
        challenge = Challenge(challenge.scheme, {**challenge.params, "resource_metadata": ""})
    for place in discovery.resource_urls(challenge, url):
        found = await _document(fetcher, place, "metadata of the server")
        if found.raw is not None:
            metadata = ResourceMetadata.read(found.raw, server=url, place=place)
            notes += list(metadata.notes.values())
            servers = ", ".join(metadata.servers[:5])
            said_so = f"{metadata.resource} takes tokens of {servers}."
            return Resource(metadata, " ".join(filter(None, (said_so, *notes))), header)
        notes.append(found.why)
    told = " ".join(filter(None, notes))
    if named:
        raise AuthFailed(
            f"The server names its metadata, and there is none. {told}",
            hint="Protected resource metadata (RFC 9728) has to be at the address that WWW-Authenticate names, on the "
            "server's own origin.",
        )
    old = "It says nothing about authorization servers, as servers before 2025-06-18; it is taken for its own."
    return Resource(None, f"{old} {told}".strip(), header)


async def find_issuer(fetcher: Fetcher, config: ServerConfig, issuer: str) -> IssuerMetadata:
    """The metadata of an authorization server that was named, at the first of its places (RFC 8414, OpenID).

    Raises:
        AuthFailed: there is none, or none that can be used.
        StudioError: as `Fetcher.send`.
    """
    url, why = _http(config.url), list[str]()
    for place in discovery.issuer_urls(issuer):
        found = await _document(fetcher, place, "metadata of the authorization server")
        if found.raw is not None:
            return IssuerMetadata.read(found.raw, issuer=issuer, server=url, place=place)
        why.append(found.why)
    raise AuthFailed(
        f"The authorization server {said(issuer)} has no metadata. {' '.join(why)}",
        hint="It has to publish RFC 8414 or OpenID Connect metadata at one of these places.",
    )


async def find_own(fetcher: Fetcher, config: ServerConfig) -> IssuerMetadata:
    """The endpoints of a server that is its own authorization server (specification 2025-03-26, 2.3).

    Raises:
        AuthFailed: its metadata cannot be used.
        StudioError: as `Fetcher.send`.
    """
    url = _http(config.url)
    for place in discovery.legacy_urls(url):
        found = await _document(fetcher, place, "metadata of the authorization server")
        if found.raw is not None:
            return IssuerMetadata.read(
                found.raw, issuer=discovery.legacy_issuer(url), server=url, place=place, legacy=True
            )
    return IssuerMetadata.assumed(url)


def unasked(config: ServerConfig, status: int) -> AuthFailed:
    """A server that wants no credentials, and says nothing about where there are any."""
    return AuthFailed(
        f"{urlsplit(config.url).netloc.rpartition('@')[2]} answered a request without credentials with status {status} "
        "instead of 401, and says nothing about signing in.",
        hint="Nothing was sent to anybody else. Is its address right? It may want nothing, or a header with a key.",
    )


async def _document(fetcher: Fetcher, place: str, purpose: str) -> Document:
    answer = await fetcher.send(purpose, "GET", place)
    found = document(answer.status, answer.body, place)
    if found.broken:
        raise AuthFailed(found.why, hint="Try again later: whether there is metadata is not known.")
    return found


def _http(url: str) -> str:
    """The address of a WebSocket server's handshake."""
    return "http" + url[2:] if url.startswith(("ws://", "wss://")) else url
