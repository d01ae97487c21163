"""What signing in is made of and what it brings, as values."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json
from mcp_studio.record import record

StepName = Literal["resource", "issuer", "client", "permission", "token", "stored"]
"""What protects the server; who gives tokens; who we are there; a person's permission; the token; where it is kept."""
StepState = Literal["waiting", "running", "asking", "done", "failed", "skipped"]
"""`asking`: a person has to do something."""
SignInState = Literal["running", "paused", "browser", "choosing", "client", "done", "failed", "cancelled"]
"""`paused`: before a request, step by step; `browser`: waits for the redirect; `choosing`: several authorization
servers; `client`: a client id is needed; the last three are final."""


class AuthExchange(NamedTuple):
    """One HTTP exchange of signing in, as it may be shown: secrets are redacted already; foreign all the same."""

    number: int
    """Its number in the trace of the server."""
    purpose: str
    """What it was for, in words."""
    method: str
    url: str
    request: str
    """Headers and body, as text."""
    status: int
    """0 while there is no answer, or when none came."""
    response: str
    """Headers and body, as text; or why there is none."""
    ms: float


@record()
class AuthStep:
    """One step as a person sees it; the same object while it runs."""

    name: StepName
    title: str
    """What it is about, in a few words."""
    state: StepState = "waiting"
    detail: str = ""
    """What came out, in a sentence; foreign parts are not sanitized."""
    hint: str = ""
    """Of a failed step: what the server should have sent, or what to do."""
    exchanges: list[AuthExchange] = field(default_factory=list[AuthExchange])


class NextRequest(NamedTuple):
    """What is about to be sent, where a person wants to see each request before."""

    purpose: str
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: str
    """Redacted."""


@record(frozen=True)
class Client:
    """Who we are at one authorization server."""

    issuer: str
    client_id: str
    secret: str = ""
    method: str = "none"
    """How it shows itself at the token endpoint."""
    how: Literal["configured", "document", "registered", "typed"] = "configured"
    redirect_uri: str = ""
    """The redirect that it was registered with."""
    secret_expires: float = 0.0
    """Epoch seconds; 0 is never."""
    registration: Json = None
    """What of the authorization server's answer is needed later."""
    asked: tuple[str, ...] = ()
    """The scopes that it was registered for."""


@record(frozen=True)
class Grant:
    """What signing in to one server brought, with all that is needed to renew it after a restart without a person."""

    resource: str
    """The server, as its address without query and fragment."""
    account: str
    issuer: str
    client: Client
    access_token: str
    token_type: str = "Bearer"
    """`Bearer` or `DPoP`."""
    refresh_token: str = ""
    id_token: str = ""
    scopes: tuple[str, ...] = ()
    """What was granted; what was asked for where the authorization server does not say."""
    obtained: float = 0.0
    """Epoch seconds."""
    expires: float = 0.0
    """Epoch seconds; 0 where it is not known."""
    audience: str = ""
    """The `resource` that was sent (RFC 8707), empty where none was."""
    token_endpoint: str = ""
    revocation_endpoint: str = ""
    dpop_key: str = ""
    """The private key that the token is bound to, as PEM."""
    metadata: Json = None
    """What of the authorization server's metadata is needed later."""


class Account(NamedTuple):
    """What is known of a sign-in without any of its secrets: for lists and the token view."""

    server: str
    resource: str
    account: str
    issuer: str
    scopes: tuple[str, ...]
    obtained: float
    expires: float
    refreshable: bool
    kept: str
    """Where, in words: `the Secret Service keyring`."""
    client_id: str
    client_how: str
    token_type: str
    revocable: bool
    claims: dict[str, Json]
    """The payload of the access token where it is a JWT, as it stands there: its signature is not checked by us."""
    id_claims: dict[str, Json]
