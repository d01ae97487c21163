"""What signing in is made of and what it brings, as values."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Iterable
from dataclasses import asdict, field, fields
from typing import Any, Literal, NamedTuple, TypeVar

from mcp_studio.errors import LimitExceeded, SignInNeeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.record import record
from mcp_studio.redact import Redactor

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

    @staticmethod
    def of(grant: Grant, server: str, kept: str) -> Account:
        """What may be told of a grant that is stored in a place (`kept`)."""
        return Account(
            server=server,
            resource=grant.resource,
            account=grant.account,
            issuer=grant.issuer,
            scopes=grant.scopes,
            obtained=grant.obtained,
            expires=grant.expires,
            refreshable=bool(grant.refresh_token),
            kept=kept,
            client_id=grant.client.client_id,
            client_how=grant.client.how,
            token_type=grant.token_type,
            revocable=bool(grant.revocation_endpoint),
            claims={},
            id_claims={},
        )

    @staticmethod
    def read(raw: dict[str, Json]) -> Account:
        """What `as_json` made; fields that are wrong count as empty."""
        values: dict[str, Any] = {}
        for name, empty in _NOBODY._asdict().items():
            value: Any = raw.get(name)
            if name == "scopes":
                value = tuple(one for one in items_of(value) if isinstance(one, str))
            if isinstance(empty, float) and type(value) is int:
                value = float(value)
            values[name] = value if type(value) is type(empty) else empty
        return Account(**values)

    def as_json(self) -> dict[str, Json]:
        """All but the claims."""
        values = {**self._asdict(), "scopes": list(self.scopes)}
        del values["claims"], values["id_claims"]
        return values


_NOBODY = Account("", "", "", "", (), 0.0, 0.0, False, "", "", "", "", False, {}, {})


QUOTED = 160
"""Characters of a foreign value that are quoted in a sentence."""


class AuthFailed(SignInNeeded):
    """Signing in cannot go on: `message` says what came, `hint` what should have been sent or what to do.

    Attributes:
        error: the code of an OAuth error answer (RFC 6749 5.2), such as `invalid_grant`; empty where there was none.
        status: the HTTP status of the answer that it is about; 0 where it is about none.
    """

    def __init__(self, message: str, *, hint: str = "", error: str = "", status: int = 0) -> None:
        # A sentence that is quoted at the end has its full stop already.
        super().__init__(message[:-1] if message.endswith(('.".', '!".', '?".')) else message, hint=hint)
        self.error = error
        self.status = status


def said(value: object) -> str:
    """A foreign value as it is quoted in a sentence: text in quotes, cut; anything else by its kind."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if len(value) <= QUOTED else f'"{value[:QUOTED]}…" ({len(value):,} characters)'
        case int() | float():
            # CPython refuses to write more than 4,300 digits (int_max_str_digits).
            absurd = isinstance(value, int) and value.bit_length() > 3 * QUOTED
            return "a number of absurd length" if absurd else f"the number {value!r}"
        case list() | dict():
            count = f"{len(value):,}" if value else "nothing"  # pyright: ignore[reportUnknownArgumentType]
            return f"{'a list' if isinstance(value, list) else 'an object'} with {count} in it"
        case _:
            return f"a {type(value).__name__}"


def without(text: str, secrets: Iterable[str]) -> str:
    """Foreign text without these secrets, and without what looks like a token: servers echo what they were sent."""
    redactor = Redactor()
    for secret in secrets:
        redactor.learn(secret)
    return redactor.text(text)


VERSION = 1
PENDING = 15 * 60.0
"""Seconds that a sign-in that was set aside can be gone on with."""
_SECRETS = frozenset("access_token refresh_token id_token secret dpop_key verifier state".split())


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
    """Epoch seconds."""
    scopes: tuple[str, ...] = ()
    audience: str = ""
    metadata: Json = None
    place: str = ""
    """Where the metadata of the authorization server was."""
    dpop_key: str = ""
    dpop_use: str = ""

    @property
    def expired(self) -> bool:
        """Whether it is too late."""
        return not 0 <= self.until - time.time() <= PENDING


T = TypeVar("T", Grant, Client, Pending)


class Damaged(ValueError):
    """Something that was kept cannot be used; says why."""


def encode(value: Grant | Client | Pending) -> str:
    """As it is kept."""
    return dumps({"version": VERSION, "kind": type(value).__name__, **asdict(value)}).decode()


def decode(kind: type[T], text: str) -> T:
    """As it was.

    Raises:
        Damaged: it is something else.
    """
    try:
        raw = mapping(loads(text, most=64))
    except (JsonProblem, LimitExceeded):
        raise Damaged("it is not what was written") from None
    version = raw.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or raw.get("kind") != kind.__name__:
        raise Damaged("it is not what was written")
    if version != VERSION:
        raise Damaged("a newer mcp-studio has written it" if version > VERSION else f"it has the version {version}")
    return _made(kind, raw)


def secrets(value: Grant | Client | Pending) -> list[str]:
    """What in it must not be shown."""
    found = [getattr(value, one.name) for one in fields(value) if one.name in _SECRETS]
    inner = secrets(value.client) if isinstance(value, Grant | Pending) else []
    return [one for one in (*found, *inner) if one]


def _made(kind: type[T], raw: dict[str, Json]) -> T:
    given: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in raw:
            given[one.name] = _checked(str(one.type), raw[one.name], one.name)
    try:
        return kind(**given)
    except TypeError:
        raise Damaged("parts of it are missing") from None


def _checked(kind: str, value: Json, name: str) -> object:
    """A value as its field wants it; fields are annotated with a few kinds only."""
    match kind:
        case "str" if isinstance(value, str):
            return value
        case "float" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        case "tuple[str, ...]" if isinstance(value, list) and all(isinstance(one, str) for one in items_of(value)):
            return tuple(items_of(value))
        case "Client" if isinstance(value, dict):
            return _made(Client, mapping(value))
        case "Json":
            return value
        case _ if kind.startswith("Literal[") and isinstance(value, str) and repr(value) in kind:
            return value
        case _:
            raise Damaged(f"{name} in it is not what it should be")


LONGEST = 65_536
"""Characters of a token that is looked into."""
_TIMES = {"exp": "expires", "iat": "issued", "nbf": "valid from", "auth_time": "signed in"}


class Moment(NamedTuple):
    """One claim that is a time."""

    claim: str
    what: str
    when: float
    """Epoch seconds."""
    words: str
    """`2026-11-22 05:00:00 UTC, in 59 minutes`."""


def payload(token: str) -> dict[str, Json]:
    """The claims of a JWT as they stand there, unchecked; empty where the token is none. Never raises."""
    parts = token.split(".", 3) if len(token) <= LONGEST else []
    if len(parts) != 3:
        return {}
    text = parts[1]
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return mapping(loads(data, most=32, values=2_000))
    except (binascii.Error, ValueError, JsonProblem, LimitExceeded):
        return {}


def moments(claims: dict[str, Json], now: float | None = None) -> tuple[Moment, ...]:
    """The claims that are times, in words."""
    found: list[Moment] = []
    for claim, what in _TIMES.items():
        value = claims.get(claim)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e11:
            found.append(Moment(claim, what, float(value), when(float(value), now)))
    return tuple(found)


def when(moment: float, now: float | None = None) -> str:
    """A time in words: `2026-11-22 05:00:00 UTC, in 59 minutes`."""
    gap = moment - (time.time() if now is None else now)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))
    return f"{stamp}, {'in ' if gap >= 0 else ''}{span(abs(gap))}{'' if gap >= 0 else ' ago'}"


def span(seconds: float) -> str:
    """A length of time in its largest unit: `59 minutes`."""
    for size, name in ((86_400 * 365, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or (name == "minute" and seconds >= size):
            count = int(seconds // size)
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    count = int(seconds)
    return f"{count} second{'' if count == 1 else 's'}"
