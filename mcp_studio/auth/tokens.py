"""Requests to token and revocation endpoints, how the client shows itself there, and their answers.

RFC 6749 2.3.1, 4.1.3, 4.4.2, 5, 6; RFC 7009 2.1; RFC 7523 2; RFC 8693 2.1; RFC 8707 2.
"""

from __future__ import annotations

import base64
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple
from urllib.parse import quote_plus, urlencode

from mcp_studio.auth import discovery, model
from mcp_studio.auth.dpop import Dpop, Use, nonce_wanted
from mcp_studio.auth.fetch import Fetched, Fetcher
from mcp_studio.auth.metadata import body_of
from mcp_studio.auth.model import AuthFailed, Client, Grant, said, without
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, mapping
from mcp_studio.record import record

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


def form(grant_type: str, resource: str = "", scopes: Sequence[str] = (), **fields: str) -> Form:
    """What a token request says; `resource` is the server as its metadata calls it (RFC 8707)."""
    return [("grant_type", grant_type), *fields.items(), ("scope", discovery.text(scopes)), ("resource", resource)]


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
    dpop: Use = "no",
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
    hint = "It has to be a JSON object with access_token and token_type, or with error (RFC 6749 5)."
    if 300 <= status < 400:
        raise AuthFailed(
            f"{who} sends elsewhere (status {status}), which is not followed with secrets in the request.",
            hint="token_endpoint in the metadata has to be the address that answers.",
            status=status,
        )
    try:
        raw = body_of(body, most=64, values=10_000)
        if isinstance(raw, dict):
            return mapping(raw)
        came = "a string" if isinstance(raw, str) else said(raw)
    except LimitExceeded as problem:
        raise AuthFailed(f"{who} answered with status {status}. {problem.message}", hint=hint) from None
    except JsonProblem as problem:
        if plain := _by_status(status, who):
            raise plain from None
        came = f"no JSON ({without(problem.reason, secrets)})"
        if not body.strip():
            came = "nothing"
        elif body.lstrip()[:1] == b"<":
            came = "HTML instead of JSON"
    raise AuthFailed(f"{who} answered with status {status} and {came}.", hint=hint, status=status)


def _by_status(status: int, who: str) -> AuthFailed | None:
    """What a status says by itself, where nothing of OAuth came with it."""
    if status == 429 or status >= 500:
        busy = "wants fewer requests" if status == 429 else "failed"
        return AuthFailed(f"{who} {busy} (status {status}).", hint="Try again later.", status=status)
    if status in (404, 405):
        hint = "token_endpoint in the metadata has to be the address where tokens are given out, by POST."
        return AuthFailed(f"{who} is none (status {status}).", hint=hint, status=status)
    return None


def _refused(status: int, answer: dict[str, Json], who: str, secrets: Iterable[str]) -> AuthFailed:
    secrets = (*secrets, *(str(value) for name, value in answer.items() if name in SECRETS))
    error = answer.get("error")
    if not isinstance(error, str) or not error:
        if not isinstance(error, str) and (plain := _by_status(status, who)):
            return plain
        came = "no error" if error is None else f"the error {said(error)}"
        return AuthFailed(
            f"{who} answered with status {status} and {came}.",
            hint="With an error status it has to send error, as a string (RFC 6749 5.2).",
            status=status,
        )
    reason, page = answer.get("error_description"), str(answer.get("error_uri"))
    words = f": {said(without(reason, secrets))}" if isinstance(reason, str) and reason else ""
    code = without(error if len(error) <= 80 else f"{error[:80]}…", secrets)
    hint = _HINTS.get(code, "Try again later." if status == 429 or status >= 500 else _UNKNOWN)
    if page.startswith(("https://", "http://")):
        hint += f" It tells more at {said(without(page, secrets))}."
    if status < 400:
        hint += f" With an error the status has to be 400, and not {status}."
    return AuthFailed(f"{who} refused with {code} (status {status}){words}.", hint=hint, error=code, status=status)


def _kind(answer: dict[str, Json], who: str, dpop: Use, exchange: bool, notes: dict[str, str]) -> str:
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
    came, hint = f"a token of the type {said(value)}.", "token_type has to be Bearer or DPoP."
    if kind == "bearer":
        came = "a Bearer token, which anybody who gets hold of it can use; one bound to our key was asked for."
        hint = "token_type has to be DPoP (RFC 9449 5)."
    elif kind == "dpop":
        came = "a token that is bound to a key, though none was shown."
        hint = "token_type has to be Bearer; or set dpop = true in the [servers.NAME.auth] table."
    raise AuthFailed(f"{who} gave {came}", hint=hint)


def _token(answer: dict[str, Json], name: str, who: str, *, needed: bool = False) -> str:
    value = answer.get(name)
    if (value is None or value == "") and not needed:
        return ""
    if isinstance(value, str) and len(value) <= LONGEST_TOKEN and _TOKEN.match(value):
        return value
    # A token is never quoted, be it as wrong as it may.
    if value is None:
        came = "is missing"
    elif not isinstance(value, str):
        came = "is no string"
    elif len(value) > LONGEST_TOKEN:
        came = f"has {len(value):,} characters"
    else:
        came = "is empty, or has characters that no header can carry"
    raise AuthFailed(
        f"{name} {came} in the answer of {who[:1].lower()}{who[1:]}.",
        hint=f"It has to be a string of at most {LONGEST_TOKEN:,} ASCII characters without spaces.",
    )


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
    granted = discovery.parse(value)
    # Some give the refresh token that it stands for, and do not count it among the scopes.
    given = (discovery.OFFLINE,) if answer.get("refresh_token") else ()
    if less := discovery.missing((*granted, *given), asked):
        notes["scopes"] = f"Asked for and not granted: {discovery.brief(less)}."
    elif asked and (more := discovery.missing(asked, granted)):
        notes["scopes"] = f"Granted though nobody asked for it: {discovery.brief(more)}."
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


async def redeem(
    fetcher: Fetcher,
    url: str,
    client: Client,
    form: Form,
    purpose: str,
    *,
    prove: Callable[[], Awaitable[str]] | None = None,
    asked: Iterable[str] = (),
    dpop: Dpop | None = None,
    use: Use = "no",
    exchange: bool = False,
) -> Tokens:
    """Send a token request and read what comes; once more where only a nonce (RFC 9449 8) or the client's id is wanted.

    Args:
        purpose: what it is for: `token for the code`.
        prove: gives the client's assertion, where it has one: it is good for one request (RFC 7523 3).
        asked: the scopes that are asked for.
        dpop: the key to bind the token to; `use` says whether it has to be.
        exchange: an assertion is asked for (RFC 8693).

    Raises:
        ConfigError: the client cannot show itself.
        AuthFailed: no tokens, or none of use; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    key = dpop if use != "no" else None

    async def send(request: TokenRequest) -> Fetched:
        proof = [("DPoP", key.proof("POST", url))] if key else []
        return await _send(fetcher, request, purpose, proof)

    request = post(url, client, form, assertion=await prove() if prove else "")
    answer = await send(request)
    if key and key.seen(url, answer.headers) and _nonce_wanted(answer):
        request = post(url, client, form, assertion=await prove() if prove else "")
        answer = await send(request)
        key.seen(url, answer.headers)
    if request.named and _id_wanted(answer):
        answer = await send(request._replace(body=request.named))
    return read(
        answer.status,
        answer.body,
        who=f"The token endpoint {url.partition('?')[0]}",
        asked=asked,
        secrets=request.secrets,
        dpop=use if key else "no",
        exchange=exchange,
    )


async def revoke(fetcher: Fetcher, grant: Grant, kind: str, token: str, assertion: str) -> None:
    """Take one token back; `kind` is `access_token` or `refresh_token`.

    Raises:
        AuthFailed: it was not.
        StudioError: as `Fetcher.send`.
    """
    purpose = f"revocation of the {kind.replace('_', ' ')}"
    request = post(
        grant.revocation_endpoint, grant.client, [("token", token), ("token_type_hint", kind)], assertion=assertion
    )
    answer = await _send(fetcher, request, purpose, [])
    if request.named and _id_wanted(answer):
        answer = await _send(fetcher, request._replace(body=request.named), purpose, [])
    # 200 also for a token that was not known (RFC 7009 2.2).
    if not 200 <= answer.status < 300:
        raise AuthFailed(f"the revocation endpoint {request.url} answered with status {answer.status}.")


async def _send(fetcher: Fetcher, request: TokenRequest, purpose: str, more: list[tuple[str, str]]) -> Fetched:
    headers = [*request.headers, *more]
    return await fetcher.send(purpose, "POST", request.url, headers=headers, body=request.body, secrets=request.secrets)


def _problem(answer: Fetched) -> AuthFailed | None:
    if answer.status in (400, 401):
        try:
            read(answer.status, answer.body, who="It")
        except AuthFailed as problem:
            return problem
    return None


def _id_wanted(answer: Fetched) -> bool:
    """Whether a server overlooks who the header names (the Python SDK's does): its form has to name the client, too."""
    problem = _problem(answer)
    return bool(problem and problem.error in ("invalid_client", "invalid_request") and "client_id" in problem.message)


def _nonce_wanted(answer: Fetched) -> bool:
    challenge = ", ".join(value for name, value in answer.headers if name.lower() == "www-authenticate")
    problem = _problem(answer)
    return bool(problem and nonce_wanted(answer.status, problem.error, challenge))


def with_tokens(grant: Grant, got: Tokens) -> Grant:
    """The grant with new tokens. An answer without a refresh token leaves the old one in force (RFC 6749 6)."""
    now = time.time()
    expires = now + got.expires_in if got.expires_in else 0.0
    claim = model.payload(got.access_token).get("exp")
    if not expires and isinstance(claim, (int, float)) and now < claim < now + 1e9:
        expires = float(claim)
    return replace(
        grant,
        access_token=got.access_token,
        token_type=got.token_type,
        refresh_token=got.refresh_token or grant.refresh_token,
        id_token=got.id_token or grant.id_token,
        scopes=got.scopes,
        obtained=now,
        expires=expires,
    )


def about(got: Tokens, audience: str) -> str:
    """Tokens as a sentence, with what is odd about them; never themselves."""
    until = f"for {model.span(got.expires_in)}" if got.expires_in else "whose lifetime the answer does not say"
    words = [f"A {got.token_type} token {until}, {'with' if got.refresh_token else 'without'} a refresh token."]
    words += [f"Scopes: {discovery.brief(got.scopes)}."] if got.scopes else []
    if other := meant_for(got.access_token, audience):
        words.append(f"It is meant for {other}, and {said(audience)} was asked for.")
    return " ".join((*words, *got.notes.values()))


def meant_for(token: str, audience: str) -> str:
    """Whom a token is for, where it says so and that is somebody else than `audience`; else empty."""
    aud: Json = model.payload(token).get("aud")
    meant = [str(one) for one in (items_of(aud) or [aud]) if one]
    if not meant or not audience or audience.rstrip("/") in [one.rstrip("/") for one in meant]:
        return ""
    return said(", ".join(meant[:5]))
