"""The options and misbehaviours of the tests' authorization server and of the MCP server behind it."""

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
    """The options; the defaults are two well-behaved servers of the newest specification."""

    host: str = "127.0.0.1"
    """The name of this machine in all addresses: `127.0.0.1` or `localhost`."""
    issuer_host: str = ""
    """The host name of the authorization servers, if it is another one."""
    tls: ssl.SSLContext | None = None
    """The certificate of all servers, for https."""
    issuers: int = 1
    """The number of authorization servers; the metadata of the resource names all of them."""
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
    """The scopes that the authorization servers grant."""
    base_scope: str = "mcp:tools"
    """The scopes that each request needs; if empty, any token will do."""
    needs: Mapping[str, str] = field(
        default_factory=lambda: {"read_notes": "notes:read", "write_notes": "notes:write", "purge": "admin"}
    )
    """The further scopes that single tools need."""
    withheld: tuple[str, ...] = ()
    """Scopes that are supported but never granted."""
    offline: bool = False
    """Whether only the scope `offline_access` gives a refresh token."""
    open_handshake: bool = False
    """Whether initialize, server/discover and notifications need no token."""
    registration: bool = True
    """Dynamic client registration (RFC 7591)."""
    documents: bool = False
    """Client id metadata documents: any https address with a path is a client. None is fetched."""
    methods: tuple[str, ...] = METHODS
    """The methods by which clients may authenticate at the token endpoint."""
    registered_method: str = ""
    """The method that each registration gets, whatever the client asks for."""
    any_port: bool = True
    """Whether the port of a loopback redirect may differ from the registered one (RFC 8252 7.3)."""
    consent: str = "at once"
    """`at once` (a redirect), `page` (a page with buttons), `script` (a page that submits itself), `deny`."""
    code_lifetime: float = 60
    lifetime: float = 3600
    """Seconds for which access tokens are valid."""
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
    """Whether the metadata names S256; PKCE is required in any case."""
    revocation: bool = True
    dpop: str = ""
    """`offered`: a proof binds the tokens to its key; `required`: requests without a proof are refused (RFC 9449)."""
    nonces: bool = False
    """Whether each of both servers requires its own nonces in DPoP proofs."""
    wait: float = 0
    """Seconds before each answer of an authorization server."""


Hook = Callable[["World", Any], Any]
Takeover = Callable[["World", Request, Reply], Awaitable[bool]]


class Manner(NamedTuple):
    """A misbehaviour. Each hook gets what would be sent, and returns what to send instead."""

    says: str
    """A description."""
    options: Mapping[str, Any] = {}
    """The options that it needs."""
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
    """Answers all requests to a place: `prm`, `metadata`, `register`, `authorize`, `token`, `revoke`, `mcp`. If it
    returns False, the place answers as usual."""


class Seen(NamedTuple):
    """A request that was received."""

    server: str
    """`resource`, or `issuer1`, `issuer2`."""
    method: str
    path: str
    """The path without the query."""
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    form: dict[str, str]
    """The fields of a form; empty if the body is none."""
