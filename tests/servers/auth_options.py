"""How the authorization server of the tests and the MCP server behind it are set up, and how they may misbehave."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.servers.http_raw import Reply, Request

if TYPE_CHECKING:
    from tests.servers.auth_server import World

METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
CODE, REFRESH, CREDENTIALS = "authorization_code", "refresh_token", "client_credentials"
ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass
class Options:
    """What can be set; the defaults are a well-behaved pair of servers of the newest specification."""

    host: str = "127.0.0.1"
    """The name of this machine in all addresses: `127.0.0.1` or `localhost`."""
    issuer_host: str = ""
    """Another name for those of the authorization servers."""
    tls: ssl.SSLContext | None = None
    """For https, of all the servers."""
    issuers: int = 1
    """How many authorization servers there are; the metadata of the resource names them all."""
    issuer_path: str = ""
    """The path of the issuer's address, such as `/tenant1`."""
    same_origin: bool = False
    """Whether the MCP server's own origin is the authorization server, as before 2025-06-18."""
    metadata: tuple[str, ...] = ("oauth",)
    """Where the issuer's metadata is: `oauth` (RFC 8414), `oidc` (path at the end of the well-known address),
    `oidc-appended` (well-known address at the end of the path)."""
    prm: str = "header"
    """How the resource's metadata is found: `header` and the place with the path, `path`, `root`, `custom` (a place
    that the header names alone), `none`."""
    challenge: bool = True
    """Whether 401 has a WWW-Authenticate header."""
    challenge_scope: str = "mcp:tools"
    """The `scope` of the challenge of a 401; empty for none."""
    prm_scopes: tuple[str, ...] = ("mcp:tools",)
    scopes: tuple[str, ...] = ("mcp:tools", "notes:read", "notes:write", "admin")
    """What the authorization servers know, and give."""
    base_scope: str = "mcp:tools"
    """What any request needs; empty for nothing but a token."""
    needs: Mapping[str, str] = field(
        default_factory=lambda: {"read_notes": "notes:read", "write_notes": "notes:write", "purge": "admin"}
    )
    """Scopes of tools besides."""
    withheld: tuple[str, ...] = ()
    """Scopes that are known, asked for, and not given."""
    offline: bool = False
    """Whether `offline_access` is a scope, without which there is no refresh token."""
    open_handshake: bool = False
    """Whether initialize, server/discover and notifications need no token."""
    registration: bool = True
    """Dynamic client registration (RFC 7591)."""
    documents: bool = False
    """Client id metadata documents: any https address with a path is a client. None is fetched."""
    methods: tuple[str, ...] = METHODS
    """How clients may show themselves at the token endpoint."""
    registered_method: str = ""
    """The method that a registration answers, whatever was asked for."""
    any_port: bool = True
    """Whether the port of a loopback redirect may differ from the registered one (RFC 8252 7.3)."""
    consent: str = "at once"
    """`at once` (a redirect), `page` (a page with buttons), `script` (a page that submits itself), `deny`."""
    code_lifetime: float = 60
    lifetime: float = 3600
    """Seconds for which access tokens hold."""
    refresh: bool = True
    rotate: bool = True
    """Whether every refresh gives a new refresh token; a used one then ends the whole family."""
    opaque: bool = False
    """Whether access tokens are random instead of JWTs."""
    resource_needed: bool = True
    """Whether `resource` (RFC 8707) must be sent, and be the MCP server's address."""
    iss: bool = True
    """Whether authorization responses carry `iss`, and the metadata says so (RFC 9207)."""
    pkce: bool = True
    """Whether the metadata tells of S256. PKCE is required in any case."""
    revocation: bool = True
    dpop: str = ""
    """`offered`: tokens are bound where a proof comes; `required`: nothing goes without (RFC 9449)."""
    nonces: bool = False
    """Whether both servers want nonces of their own in DPoP proofs."""
    wait: float = 0
    """Seconds before each answer of an authorization server."""


Hook = Callable[["World", Any], Any]
Takeover = Callable[["World", Request, Reply], Awaitable[bool]]


class Manner(NamedTuple):
    """One way to misbehave. Every hook gets what would be sent, and returns what is sent instead."""

    says: str
    """What it does, for people."""
    options: Mapping[str, Any] = {}
    """Options that it needs."""
    prm: Hook | None = None
    """The metadata of the resource."""
    metadata: Hook | None = None
    """The metadata of the authorization server."""
    registered: Hook | None = None
    """The answer to a registration."""
    token: Hook | None = None
    """The answer to any successful token request."""
    refreshed: Hook | None = None
    """The answer to a successful refresh."""
    redirect: Hook | None = None
    """The parameters of the redirect back, as a list of pairs."""
    challenge: Hook | None = None
    """The WWW-Authenticate header of a 401 or 403."""
    reply: Mapping[str, Takeover] = {}
    """Takes over a whole place: `prm`, `metadata`, `register`, `authorize`, `token`, `revoke`, `mcp`; returns False
    to have it answered as usual."""


class Seen(NamedTuple):
    """One request as it came."""

    server: str
    """`resource`, or `issuer1`, `issuer2`."""
    method: str
    path: str
    """Without the query."""
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    form: dict[str, str]
    """The body where it is a form."""
