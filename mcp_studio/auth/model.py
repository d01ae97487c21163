"""The values of a sign-in: its steps and exchanges, the client, the grant, and how they are stored."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import Field, asdict, field, fields
from typing import Any, Literal, NamedTuple, TypeVar

from mcp_studio.errors import LimitExceeded, SignInNeeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping, printable
from mcp_studio.record import record

StepName = Literal["resource", "issuer", "client", "permission", "token", "stored"]
"""The steps: the server's metadata; the authorization server; our client; a person's permission; the token; storing
it."""
StepState = Literal["waiting", "running", "asking", "done", "failed", "skipped"]
"""`asking`: a person has to do something."""
SignInState = Literal["running", "paused", "browser", "choosing", "client", "done", "failed", "cancelled"]
"""`paused`: stopped before a request, step by step; `browser`: waits for the redirect; `choosing`: a person chooses one
of several authorization servers; `client`: a person has to name a client id; the last three are final."""


ClientKind = Literal["configured", "document", "registered", "typed"]
"""The origin of a client: the configuration, our metadata document, dynamic registration, or a person's entry."""


class AuthExchange(NamedTuple):
    """One HTTP exchange of a sign-in, for display: its secrets are already redacted, its text is still foreign."""

    number: int
    """The exchange's number in the trace of the server."""
    purpose: str
    """What the request is for, in words."""
    method: str
    url: str
    request: str
    """Headers and body, as text."""
    status: int
    """0 without an answer."""
    response: str
    """Headers and body, as text; without an answer the reason."""
    ms: float


@record()
class AuthStep:
    """One step as a person sees it; the object changes in place while the step runs."""

    name: StepName
    title: str
    """The subject of the step, in a few words."""
    state: StepState = "waiting"
    detail: str = ""
    """The outcome, as a sentence; foreign parts are not sanitized."""
    hint: str = ""
    """For a failed step: what the server should have sent, or what the person can do."""
    exchanges: list[AuthExchange] = field(default_factory=list[AuthExchange])


@record(frozen=True)
class Client:
    """Our client at one authorization server."""

    issuer: str
    client_id: str
    secret: str = ""
    method: str = "none"
    """How the client authenticates itself at the token endpoint."""
    how: ClientKind = "configured"
    redirect_uri: str = ""
    """The redirect URI that the client was registered with."""
    secret_expires: float = 0.0
    """Epoch seconds; 0 means never."""
    registration: Json = None
    """The parts of the registration's answer that are needed later."""
    asked: tuple[str, ...] = ()
    """The scopes that the registration requested."""


@record(frozen=True)
class Grant:
    """The tokens of one server, with all that is needed to renew them after a restart without a person."""

    resource: str
    """The server's address without query and fragment."""
    account: str
    issuer: str
    client: Client
    access_token: str
    token_type: str = "Bearer"
    """`Bearer` or `DPoP`."""
    refresh_token: str = ""
    id_token: str = ""
    scopes: tuple[str, ...] = ()
    """The granted scopes; the requested ones if the authorization server does not say."""
    obtained: float = 0.0
    """Epoch seconds."""
    expires: float = 0.0
    """Epoch seconds; 0 if unknown."""
    audience: str = ""
    """The `resource` of the token request (RFC 8707); empty if the request had none."""
    token_endpoint: str = ""
    revocation_endpoint: str = ""
    dpop_key: str = ""
    """The private key that the token is bound to, as PEM."""


@record(frozen=True)
class Account:
    """A sign-in without its secrets: for lists and the token view."""

    server: str
    resource: str
    account: str
    issuer: str
    scopes: tuple[str, ...]
    obtained: float
    expires: float
    refreshable: bool
    place: str
    """The place where the grant is stored, for people: `the Secret Service keyring`."""
    client_id: str
    client_how: str
    token_type: str
    revocable: bool
    claims: dict[str, Json] = field(default_factory=dict[str, Json])
    """The payload of the access token if it is a JWT; we do not check its signature."""
    id_claims: dict[str, Json] = field(default_factory=dict[str, Json])

    @staticmethod
    def of(grant: Grant, server: str, place: str) -> Account:
        """What may be shown of a grant; `place` says where it is stored."""
        return Account(
            server=server,
            resource=grant.resource,
            account=grant.account,
            issuer=grant.issuer,
            scopes=grant.scopes,
            obtained=grant.obtained,
            expires=grant.expires,
            refreshable=bool(grant.refresh_token),
            place=place,
            client_id=grant.client.client_id,
            client_how=grant.client.how,
            token_type=grant.token_type,
            revocable=bool(grant.revocation_endpoint),
        )


QUOTED = 160
"""The most characters of a foreign value that a sentence quotes."""


class AuthFailed(SignInNeeded):
    """A sign-in failed: `message` says what came, `hint` what the server should have sent or what the person can do.

    Attributes:
        error: the code of an OAuth error answer (RFC 6749 5.2), such as `invalid_grant`; empty if there was none.
    """

    def __init__(self, message: str, *, hint: str = "", error: str = "") -> None:
        super().__init__(message, hint=hint)
        self.error = error


ERRORS: Mapping[str, str] = {
    "access_denied": "The person or the authorization server refused the permission.",
    "invalid_request": "It considers the request invalid; the exchange shows what was sent.",
    "invalid_client": "It does not know the client, or its secret is wrong.",
    "invalid_grant": "The code or token that it got is wrong, used, revoked or expired: sign in again.",
    "unauthorized_client": "It does not give this client codes or tokens in this way.",
    "unsupported_grant_type": "It does not give tokens in this way.",
    "invalid_scope": "It does not know one of the scopes, or does not give it to this client.",
    "invalid_target": "It does not give tokens for this server, whose `resource` it has to know (RFC 8707).",
    "invalid_dpop_proof": "It does not accept the proof for the key (RFC 9449); a clock may be wrong.",
    "use_dpop_nonce": "It requires a nonce in the proof (RFC 9449 8), and gave none, or rejected the one it gave.",
    "temporarily_unavailable": "Try again later.",
}
"""What an authorization server means by an error code."""
UNKNOWN_ERROR = "Only the authorization server knows what that means; the exchange shows what was sent."


def refusal(
    message: str, answer: Mapping[str, Json], clean: Callable[[str], str] = str, otherwise: str = UNKNOWN_ERROR
) -> AuthFailed:
    """The error for an authorization server's refusal, with the code and reason of its answer (RFC 6749 4.1.2.1, 5.2).

    Args:
        clean: removes secrets from the quoted text.
        otherwise: the hint for an unknown code.
    """
    error, reason = answer.get("error"), answer.get("error_description")
    code = clean(error[:80]) if isinstance(error, str) else ""
    words = f" with {code}" if code else ""
    because = f": {quoted(clean(reason))}" if isinstance(reason, str) and reason else ""
    return AuthFailed(f"{message}{words}{because}.", hint=ERRORS.get(code, otherwise), error=code)


def quoted(value: object) -> str:
    """A foreign value, quoted for a sentence."""
    text = f'"{value}"' if isinstance(value, str) else printable(value, indent=None)
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}… ({len(text):,} characters)"


PENDING = 15 * 60.0
"""Seconds within which a sign-in that was set aside can be continued."""


@record(frozen=True)
class Pending:
    """A sign-in that waits for its redirect while no process of ours runs."""

    resource: str
    account: str
    client: Client
    state: str
    verifier: str
    redirect_uri: str
    authorization_url: str
    until: float
    """When the sign-in can no longer be continued, in epoch seconds."""
    scopes: tuple[str, ...] = ()
    audience: str = ""
    issuer: str = ""
    """The authorization server; empty if no document names one and the server is its own."""
    dpop_key: str = ""
    dpop_use: str = ""

    @property
    def expired(self) -> bool:
        """Whether the sign-in can no longer be continued."""
        return not 0 <= self.until - time.time() <= PENDING


VERSION = 1
_SECRETS = frozenset("access_token refresh_token id_token secret dpop_key verifier state".split())
Stored = TypeVar("Stored", Grant, Client, Pending)
T = TypeVar("T", Account, Grant, Client, Pending)


class Damaged(ValueError):
    """A stored value that cannot be used."""


def encode(value: Grant | Client | Pending) -> str:
    """Encode a value as the text that the vault stores."""
    return dumps({"version": VERSION, "kind": type(value).__name__, **asdict(value)}).decode()


def decode(kind: type[Stored], text: str) -> Stored:
    """Decode a stored value.

    Raises:
        Damaged: the text is something else.
    """
    try:
        raw = mapping(loads(text, most=64))
    except (JsonProblem, LimitExceeded):
        raw = {}
    if (raw.get("version"), raw.get("kind")) != (VERSION, kind.__name__):
        raise Damaged("it is not what was written, or a newer mcp-studio has written it")
    return from_json(kind, raw)


def from_json(kind: type[T], raw: dict[str, Json]) -> T:
    """Build a value from its fields; unknown fields are ignored.

    Raises:
        Damaged: a field is missing or has another type.
    """
    values: dict[str, Any] = {one.name: _checked(one, raw[one.name]) for one in fields(kind) if one.name in raw}
    try:
        return kind(**values)
    except TypeError:
        raise Damaged("parts of it are missing") from None


def _checked(field: Field[Any], value: Json) -> object:
    """Check a value against the type of its field; the fields use only these few types."""
    match str(field.type):
        case "str" | "ClientKind" if isinstance(value, str):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "float" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        case "tuple[str, ...]" if isinstance(value, list) and all(isinstance(one, str) for one in items_of(value)):
            return tuple(items_of(value))
        case "Client":
            return from_json(Client, mapping(value))
        case "Json" | "dict[str, Json]":
            return value
        case _:
            raise Damaged(f"{field.name} in it is not what it should be")


def secrets(value: Grant | Client | Pending) -> list[str]:
    """The values in it that must not be shown."""
    values = [getattr(value, one.name) for one in fields(value) if one.name in _SECRETS]
    inner = secrets(value.client) if isinstance(value, Grant | Pending) else []
    return [one for one in (*values, *inner) if one]


LONGEST = 65_536
"""The most characters of a token that is parsed."""


def payload(token: str) -> dict[str, Json]:
    """The claims of a JWT, unchecked; empty if the token is no JWT. Never raises."""
    parts = token.split(".", 3) if len(token) <= LONGEST else []
    if len(parts) != 3:
        return {}
    text = parts[1]
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return mapping(loads(data, most=32, values=2_000))
    except (ValueError, LimitExceeded):  # damaged base64 and JSON are ValueErrors
        return {}
