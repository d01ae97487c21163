"""Requests to token and revocation endpoints: their form, and how the client shows itself there.

RFC 6749 2.3.1, 4.1.3, 4.4.2, 6; RFC 7009 2.1; RFC 7523 2; RFC 8693 2.1; RFC 8707 2. The answers are read in `answers`.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal, NamedTuple, Protocol
from urllib.parse import quote_plus, urlencode

from mcp_studio.auth import discovery as scope_words
from mcp_studio.auth.dpop import Dpop, Use, nonce_wanted
from mcp_studio.auth.metadata import body_of
from mcp_studio.auth.model import AuthFailed, Client, said, without
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, mapping
from mcp_studio.record import record
from mcp_studio.transport.base import HeaderList, Headers

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
"""An identity assertion authorization grant (draft-ietf-oauth-identity-assertion-authz-grant)."""

Form = list[tuple[str, str]]
_SECRET = frozenset(
    {"code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "assertion", "subject_token"}
    | {"token"}
)


class TokenRequest(NamedTuple):
    """One POST that is ready to be sent."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    secrets: tuple[str, ...]
    """What of it must not be seen anywhere, also when the other side quotes it."""
    named: bytes = b""
    """With Basic: the body with client_id in it besides, which some servers want and others refuse."""


def post(url: str, client: Client, form: Form, *, assertion: str = "") -> TokenRequest:
    """A form that the client signs in its way (`Client.method`).

    Args:
        assertion: the client's JWT, for `private_key_jwt` (RFC 7523 2.2).

    Raises:
        AuthFailed: the client has nothing to show itself with in that way.
    """
    form = [(name, value) for name, value in form if value]
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    secrets = [value for name, value in form if name in _SECRET]
    named = b""
    match client.method:
        case "none":
            # A workload has none: its assertion says who it is.
            form += [("client_id", client.client_id)] if client.client_id else []
        case "client_secret_basic":
            pair = f"{quote_plus(client.client_id)}:{quote_plus(_secret(client))}"
            basic = base64.b64encode(pair.encode()).decode()
            headers.append(("Authorization", f"Basic {basic}"))
            secrets += [client.secret, basic]
            named = urlencode([*form, ("client_id", client.client_id)]).encode("ascii")
        case "client_secret_post":
            form += [("client_id", client.client_id), ("client_secret", _secret(client))]
            secrets.append(client.secret)
        case "private_key_jwt" if assertion:
            # The assertion says who it is (MCP client credentials extension; RFC 7523 3).
            form += [("client_assertion_type", CLIENT_ASSERTION), ("client_assertion", assertion)]
            secrets.append(assertion)
        case method:
            raise AuthFailed(
                f"The client {said(client.client_id)} cannot show itself by {said(method)}.",
                hint="Set `method` to none, client_secret_basic or client_secret_post; private_key_jwt needs `key`.",
            )
    return TokenRequest(url, tuple(headers), urlencode(form).encode("ascii"), tuple(secrets), named)


def _secret(client: Client) -> str:
    if not client.secret:
        raise AuthFailed(
            f"The client {said(client.client_id)} has no secret, which {client.method} needs.",
            hint="Set client_secret in the [servers.NAME.auth] table, or method = none for a public client.",
        )
    return client.secret


def code_form(code: str, verifier: str, redirect_uri: str, resource: str) -> Form:
    """Redeem a code (RFC 6749 4.1.3, RFC 7636 4.5)."""
    return [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri),
        ("code_verifier", verifier),
        ("resource", resource),
    ]


def refresh_form(refresh_token: str, resource: str, scopes: Sequence[str] = ()) -> Form:
    """A new access token for a refresh token (RFC 6749 6); without scopes it is for what was granted."""
    return [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token),
        ("scope", scope_words.text(scopes)),
        ("resource", resource),
    ]


def credentials_form(resource: str, scopes: Sequence[str] = ()) -> Form:
    """A token for the client itself (RFC 6749 4.4.2)."""
    return [("grant_type", "client_credentials"), ("scope", scope_words.text(scopes)), ("resource", resource)]


def bearer_form(assertion: str, resource: str, scopes: Sequence[str] = ()) -> Form:
    """A token for a JWT that somebody else gave (RFC 7523 2.1)."""
    return [
        ("grant_type", JWT_BEARER),
        ("assertion", assertion),
        ("scope", scope_words.text(scopes)),
        ("resource", resource),
    ]


def exchange_form(id_token: str, audience: str, resource: str, scopes: Sequence[str] = ()) -> Form:
    """An identity assertion grant for an id token (RFC 8693 2.1; MCP enterprise-managed authorization)."""
    return [
        ("grant_type", TOKEN_EXCHANGE),
        ("requested_token_type", ID_JAG),
        ("subject_token", id_token),
        ("subject_token_type", ID_TOKEN),
        ("audience", audience),
        ("resource", resource),
        ("scope", scope_words.text(scopes)),
    ]


def revocation_form(token: str, kind: str) -> Form:
    """Take a token back (RFC 7009 2.1). `kind` is `access_token` or `refresh_token`."""
    return [("token", token), ("token_type_hint", kind)]


LONGEST_TOKEN = 65_536
"""Characters of one token."""
LATEST = 10 * 366 * 86_400
"""Seconds after which a token expires at the latest, whatever its answer says."""
SECRETS = frozenset(
    "access_token refresh_token id_token client_secret registration_access_token assertion device_secret".split()
)
"""Fields of answers whose values are secret."""
_TOKEN = re.compile(r"[\x21-\x7e]+\Z")
_HINTS: Mapping[str, str] = {
    "invalid_request": "It finds the request wrong; the exchange shows what was sent.",
    "invalid_client": "It does not know the client, or its secret is wrong.",
    "invalid_grant": "What was shown to it is wrong, used, revoked or expired: sign in again.",
    "unauthorized_client": "It does not let this client have tokens in this way.",
    "unsupported_grant_type": "It does not give tokens in this way.",
    "invalid_scope": "It does not know one of the scopes, or does not give it to this client.",
    "invalid_target": "It does not give tokens for this server: its `resource` has to be known there (RFC 8707).",
    "invalid_dpop_proof": "It does not accept the proof for the key (RFC 9449); a clock may be wrong.",
    "use_dpop_nonce": "It wants a nonce in the proof (RFC 9449 8), and gave none, or did not accept the one it gave.",
    "temporarily_unavailable": "Try again later.",
    "server_error": "It failed; try again later.",
}

_UNKNOWN = "What that means only it can say; the exchange shows what was sent."


@record(frozen=True)
class Tokens:
    """What a token endpoint gave."""

    access_token: str
    token_type: str
    """`Bearer` or `DPoP`; `N_A` for an assertion that is no access token (RFC 8693 2.2.1)."""
    refresh_token: str = ""
    id_token: str = ""
    scopes: tuple[str, ...] = ()
    """What was granted; what was asked for where the answer does not say."""
    expires_in: float = 0.0
    """Seconds; 0 where it is not known."""
    issued_token_type: str = ""
    raw: dict[str, Json] = field(default_factory=dict[str, Json])
    """The answer without its secrets."""
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is wrong though it can be used, by field."""


def read(
    status: int,
    body: bytes,
    *,
    who: str,
    asked: Iterable[str] = (),
    secrets: Iterable[str] = (),
    dpop: Literal["no", "may", "must"] = "no",
    exchange: bool = False,
) -> Tokens:
    """Read the answer of a token endpoint.

    Args:
        who: names it, as the beginning of a sentence: `The token endpoint https://…`.
        asked: the scopes that were asked for.
        secrets: what was sent that must not be quoted (`TokenRequest.secrets`).
        dpop: whether a proof was sent, and whether a token that is bound to no key is of use.
        exchange: an assertion was asked for, which is no access token (RFC 8693).

    Raises:
        AuthFailed: there are no tokens, or none that can be used. `error` is the OAuth error code where one came.
    """
    answer = _object(status, body, who, secrets)
    # Some write every field of theirs: `"error": null` beside a token says nothing.
    if answer.get("error") or not 200 <= status < 300:
        raise _refused(status, answer, who, secrets)
    notes: dict[str, str] = {}
    kind = _kind(answer, who, dpop, exchange, notes)
    return Tokens(
        access_token=_token(answer, "access_token", who, needed=True),
        token_type=kind,
        refresh_token=_token(answer, "refresh_token", who),
        id_token=_token(answer, "id_token", who),
        scopes=_scopes(answer, tuple(asked), notes),
        expires_in=_expires(answer, notes),
        issued_token_type=str(answer.get("issued_token_type") or "")[:200],
        raw={name: value for name, value in answer.items() if name not in SECRETS},
        notes=notes,
    )


def _object(status: int, body: bytes, who: str, secrets: Iterable[str]) -> dict[str, Json]:
    should = "It has to be a JSON object with access_token and token_type, or with error (RFC 6749 5)."
    if 300 <= status < 400:
        raise AuthFailed(
            f"{who} sends elsewhere (status {status}), which is not followed with secrets in the request.",
            hint="token_endpoint in the metadata has to be the address that answers.",
            status=status,
        )
    try:
        raw = body_of(body, most=64, values=10_000)
    except JsonProblem as problem:
        raise _no_json(status, body, who, f"no JSON ({without(problem.reason, secrets)})", should) from None
    except LimitExceeded as problem:
        raise AuthFailed(f"{who} answered with status {status}. {problem.message}", hint=should) from None
    if not isinstance(raw, dict):
        came = said(raw) if not isinstance(raw, str) else "a string"
        raise AuthFailed(f"{who} answered with status {status} and {came}.", hint=should, status=status)
    return mapping(raw)


def _no_json(status: int, body: bytes, who: str, came: str, should: str) -> AuthFailed:
    if plain := _by_status(status, who):
        return plain
    if not body.strip():
        came = "nothing"
    elif body.lstrip()[:1] == b"<":
        came = "HTML instead of JSON"
    return AuthFailed(f"{who} answered with status {status} and {came}.", hint=should, status=status)


def _by_status(status: int, who: str) -> AuthFailed | None:
    """What a status says by itself, where nothing of OAuth came with it."""
    if status == 429 or status >= 500:
        busy = "wants fewer requests" if status == 429 else "failed"
        return AuthFailed(f"{who} {busy} (status {status}).", hint="Try again later.", status=status)
    if status in (404, 405):
        place = "token_endpoint in the metadata has to be the address where tokens are given out, by POST."
        return AuthFailed(f"{who} is none (status {status}).", hint=place, status=status)
    return None


def _refused(status: int, answer: dict[str, Json], who: str, secrets: Iterable[str]) -> AuthFailed:
    secrets = (*secrets, *(str(value) for name, value in answer.items() if name in SECRETS))
    error = answer.get("error")
    if not isinstance(error, str) and (plain := _by_status(status, who)):
        return plain
    if not isinstance(error, str) or not error:
        came = "no error" if error is None else f"the error {said(error)}"
        return AuthFailed(
            f"{who} answered with status {status} and {came}.",
            hint="With an error status it has to send error, as a string (RFC 6749 5.2).",
            status=status,
        )
    told = answer.get("error_description")
    words = f": {said(without(told, secrets))}" if isinstance(told, str) and told else ""
    code = without(error if len(error) <= 80 else f"{error[:80]}…", secrets)
    page = str(answer.get("error_uri"))
    more = f" It tells more at {said(without(page, secrets))}." if page.startswith(("https://", "http://")) else ""
    odd = "" if status >= 400 else f" With an error the status has to be 400, and not {status}."
    return AuthFailed(
        f"{who} refused with {code} (status {status}){words}.",
        hint=_HINTS.get(code, "Try again later." if status == 429 or status >= 500 else _UNKNOWN) + more + odd,
        error=code,
        status=status,
    )


def _kind(answer: dict[str, Json], who: str, dpop: str, exchange: bool, notes: dict[str, str]) -> str:
    value = answer.get("token_type")
    kind = value.strip().lower() if isinstance(value, str) else ""
    if exchange:
        return "N_A"
    if value is None or value == "":
        notes["token_type"] = "token_type is missing; it has to be Bearer (RFC 6749 5.1), and was taken for it."
        kind = "bearer"
    if kind == "dpop" and dpop != "no":
        return "DPoP"
    if kind == "bearer" and dpop != "must":
        return "Bearer"
    if kind == "bearer":
        raise AuthFailed(
            f"{who} gave a Bearer token, which anybody who gets hold of it can use; one that is bound to our key was "
            "asked for.",
            hint="token_type has to be DPoP (RFC 9449 5).",
        )
    if kind == "dpop":
        raise AuthFailed(
            f"{who} gave a token that is bound to a key, though none was shown.",
            hint="token_type has to be Bearer; or set dpop = true in the [servers.NAME.auth] table.",
        )
    raise AuthFailed(f"{who} gave a token of the type {said(value)}.", hint="token_type has to be Bearer or DPoP.")


def _token(answer: dict[str, Json], name: str, who: str, *, needed: bool = False) -> str:
    value = answer.get(name)
    if (value is None or value == "") and not needed:
        return ""
    if isinstance(value, str) and len(value) <= LONGEST_TOKEN and _TOKEN.match(value):
        return value
    # A token is never quoted, be it as wrong as it may.
    if value is None:
        came = f"is missing in the answer of {_lower(who)}"
    elif not isinstance(value, str):
        came = f"in the answer of {_lower(who)} is no string"
    elif len(value) > LONGEST_TOKEN:
        came = f"in the answer of {_lower(who)} has {len(value):,} characters"
    else:
        came = f"in the answer of {_lower(who)} is empty, or has characters that no header can carry"
    raise AuthFailed(
        f"{name} {came}.", hint=f"It has to be a string of at most {LONGEST_TOKEN:,} ASCII characters without spaces."
    )


def _lower(who: str) -> str:
    return who[:1].lower() + who[1:]


def _scopes(answer: dict[str, Json], asked: tuple[str, ...], notes: dict[str, str]) -> tuple[str, ...]:
    value = answer.get("scope")
    if value is None:
        return asked
    if isinstance(value, list):
        notes["scope"] = "scope is a list; it has to be one string with spaces between scopes (RFC 6749 3.3)."
        value = " ".join(one for one in items_of(value) if isinstance(one, str))
    if not isinstance(value, str):
        notes["scope"] = f"scope is {said(value)}; it has to be a string (RFC 6749 3.3), and was left out."
        return asked
    granted = scope_words.parse(value)
    # Some give the refresh token that it stands for, and do not count it among the scopes.
    given = (scope_words.OFFLINE,) if answer.get("refresh_token") else ()
    if less := scope_words.missing((*granted, *given), asked):
        notes["scopes"] = f"Asked for and not granted: {scope_words.brief(less)}."
    elif asked and (more := scope_words.missing(asked, granted)):
        notes["scopes"] = f"Granted though nobody asked for it: {scope_words.brief(more)}."
    return granted


def _expires(answer: dict[str, Json], notes: dict[str, str]) -> float:
    value = answer.get("expires_in")
    if value is None or value == "":
        return 0.0
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(min(value, LATEST))
    elif isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,15}(\.[0-9]{1,9})?\s*", value):
        number = float(value)
        notes["expires_in"] = "expires_in is a string; it has to be a number of seconds (RFC 6749 5.1)."
    if not number > 0:
        notes["expires_in"] = (
            f"expires_in is {said(value)}; it has to be a number of seconds above 0 (RFC 6749 5.1), and was left out."
        )
        return 0.0
    if number >= LATEST:
        notes["expires_in"] = f"expires_in is {said(value)}: more than ten years, which nobody waits for."
    return min(number, float(LATEST))


Make = Callable[[], Awaitable[TokenRequest]]
"""Makes a request anew for each time that it is sent: a client's assertion is good for one (RFC 7523 3)."""


def signed(url: str, client: Client, form: Form, prove: Callable[[], Awaitable[str]]) -> Make:
    """Makes the requests of a client. `prove` gives its assertion, or nothing where it has other ways."""

    async def make() -> TokenRequest:
        return post(url, client, form, assertion=await prove())

    return make


class Answer(Protocol):
    """What `Sender.send` brings."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def body(self) -> bytes: ...


class Sender(Protocol):
    """What is used of `auth.fetch.Fetcher`."""

    async def send(
        self,
        purpose: str,
        method: str,
        url: str,
        *,
        headers: HeaderList | None = None,
        body: bytes = b"",
        secrets: Iterable[str] = (),
    ) -> Answer:
        """Send one request and read its whole answer."""
        ...


async def redeem(
    sender: Sender,
    make: Make,
    purpose: str,
    *,
    asked: Iterable[str] = (),
    dpop: Dpop | None = None,
    use: Use = "no",
    exchange: bool = False,
) -> Tokens:
    """Send a token request and read what comes; once more where only a nonce (RFC 9449 8) or the client's id is wanted.

    Args:
        purpose: what it is for, in words: `token for the code`.
        asked: the scopes that are asked for.
        dpop: the key to bind the token to; `use` says whether it has to be.
        exchange: an assertion is asked for (RFC 8693).

    Raises:
        ConfigError: the client cannot show itself.
        AuthFailed: no tokens, or none of use; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    proven = dpop if use != "no" else None
    request = await make()
    answer = await _send(sender, request, purpose, proven)
    if proven and proven.seen(request.url, answer.headers) and _nonce(answer):
        request = await make()
        answer = await _send(sender, request, purpose, proven)
        proven.seen(request.url, answer.headers)
    if request.named and id_wanted(answer):
        answer = await _send(sender, request._replace(body=request.named), purpose, proven)
    return read(
        answer.status,
        answer.body,
        who=f"The token endpoint {request.url.partition('?')[0]}",
        asked=asked,
        secrets=request.secrets,
        dpop=use if proven else "no",
        exchange=exchange,
    )


async def _send(sender: Sender, request: TokenRequest, purpose: str, dpop: Dpop | None) -> Answer:
    headers = list(request.headers)
    if dpop:
        headers.append(("DPoP", dpop.proof("POST", request.url)))
    return await sender.send(purpose, "POST", request.url, headers=headers, body=request.body, secrets=request.secrets)


def id_wanted(answer: Answer) -> bool:
    """Whether a server overlooks who the header names (the Python SDK's does): its form has to name the client, too."""
    if answer.status not in (400, 401):
        return False
    try:
        read(answer.status, answer.body, who="It")
    except AuthFailed as problem:
        return problem.error in ("invalid_client", "invalid_request") and "client_id" in problem.message
    return False


def _nonce(answer: Answer) -> bool:
    if answer.status not in (400, 401):
        return False
    try:
        read(answer.status, answer.body, who="It")
    except AuthFailed as problem:
        challenge = ", ".join(value for name, value in answer.headers if name.lower() == "www-authenticate")
        return nonce_wanted(answer.status, problem.error, challenge)
    return False
