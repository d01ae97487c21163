"""Requests to token and revocation endpoints, their answers, and the grants that need no person.

Those grants are client credentials with a secret or a key, enterprise-managed, and of a workload (MCP extensions
oauth-client-credentials, enterprise-managed-authorization, SEP-990, and workload identity federation, SEP-1933). A
grant that fails is neither repeated nor replaced by another one.

RFC 6749 4.1.3, 4.4.2, 5, 6; RFC 7009 2.1; RFC 7523 2.1; RFC 8693 2.1; RFC 8707 2.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from mcp_studio.auth import discovery, model
from mcp_studio.auth.clients import JWT, Form, client_assertion, method_for, read_secret, sign
from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.dpop import Dpop, nonce_wanted
from mcp_studio.auth.fetch import Fetched, Fetcher, json_of
from mcp_studio.auth.hints import see_to
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import UNKNOWN_ERROR, AuthFailed, Client, Grant, quoted, refusal
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.record import record
from mcp_studio.redact import Redactor

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
"""An identity assertion authorization grant (draft-ietf-oauth-identity-assertion-authz-grant)."""


def token_form(grant_type: str, resource: str = "", scopes: Sequence[str] = (), **fields: str) -> Form:
    """The fields of a token request; `resource` is the server as its metadata names it (RFC 8707)."""
    return [("grant_type", grant_type), *fields.items(), ("scope", " ".join(scopes)), ("resource", resource)]


LONGEST_TOKEN = 65_536
"""The most characters of one token."""
LATEST = 10 * 366 * 86_400
"""The longest lifetime of a token in seconds, whatever the answer says."""
_TOKEN = re.compile(r"[\x21-\x7e]+\Z")


@record(frozen=True)
class Tokens:
    """The answer of a token endpoint."""

    access_token: str
    token_type: str
    """`Bearer` or `DPoP`; `N_A` for an assertion that is no access token (RFC 8693 2.2.1)."""
    refresh_token: str = ""
    id_token: str = ""
    scopes: tuple[str, ...] = ()
    """The granted scopes; the requested ones if the answer does not say."""
    expires_in: float = 0.0
    """Seconds; 0 if unknown."""
    issued_token_type: str = ""
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sentences about mistakes in the answer that do not matter, by field."""


def read(
    status: int,
    body: bytes,
    redactor: Redactor,
    *,
    endpoint: str,
    asked: Iterable[str] = (),
    dpop: Dpop | None = None,
    exchange: bool = False,
) -> Tokens:
    """Read the answer of a token endpoint.

    Args:
        redactor: knows the secrets of the request and the answer, which messages must not quote.
        asked: the scopes of the request.
        dpop: the key that the request proved.
        exchange: the request is for an assertion, which is no access token (RFC 8693).

    Raises:
        AuthFailed: the answer has no tokens, or none that can be used. `error` is its OAuth error code, if any.
    """
    who = f"The token endpoint {endpoint.partition('?')[0]}"
    raw = json_of(body)
    answer = mapping(raw)
    # Some servers send all their fields: `"error": null` beside a token means nothing.
    if answer.get("error") or not 200 <= status < 300:
        later = "Try again later." if status == 429 or status >= 500 else UNKNOWN_ERROR
        raise refusal(f"{who} refused (status {status})", answer, redactor.text, later)
    if not isinstance(raw, dict):
        raise AuthFailed(
            f"{who} answered with status {status} and no JSON object.",
            hint="It has to be a JSON object with access_token and token_type, or with error (RFC 6749 5).",
        )
    notes: dict[str, str] = {}
    try:
        return Tokens(
            access_token=_token(answer, "access_token", who, needed=True),
            token_type="N_A" if exchange else _type(answer, who, dpop, notes),
            refresh_token=_token(answer, "refresh_token", who),
            id_token=_token(answer, "id_token", who),
            scopes=_scopes(answer, tuple(asked), notes),
            expires_in=_expires(answer, notes),
            issued_token_type=str(answer.get("issued_token_type") or "")[:200],
            notes={name: redactor.text(note) for name, note in notes.items()},
        )
    except AuthFailed as problem:
        problem.message = redactor.text(problem.message)
        raise


def _type(answer: dict[str, Json], who: str, dpop: Dpop | None, notes: dict[str, str]) -> str:
    value = answer.get("token_type")
    kind = value.strip().lower() if isinstance(value, str) else ""
    if value is None or value == "":
        notes["token_type"] = "token_type is missing; it has to be Bearer (RFC 6749 5.1), and was taken for it."
        kind = "bearer"
    bound = dpop is not None and dpop.required
    if kind == "dpop" and dpop is not None:
        return "DPoP"
    if kind == "bearer" and not bound:
        return "Bearer"
    right = "one that is bound to our key (DPoP, RFC 9449 5)" if bound else "Bearer"
    raise AuthFailed(
        f"{who} gave a token of the type {quoted(value)}, and {right} was asked for.",
        hint="token_type has to be what was asked for; dpop = true in the [servers.NAME.auth] table asks for DPoP.",
    )


def _token(answer: dict[str, Json], name: str, who: str, *, needed: bool = False) -> str:
    value = answer.get(name)
    if (value is None or value == "") and not needed:
        return ""
    if isinstance(value, str) and len(value) <= LONGEST_TOKEN and _TOKEN.match(value):
        return value
    # A token is never quoted, not even a malformed one.
    fault = "is missing" if value is None else "is nothing that a header can carry"
    raise AuthFailed(
        f"{name} {fault} in the answer of {who[:1].lower()}{who[1:]}.",
        hint=f"It has to be a string of at most {LONGEST_TOKEN:,} ASCII characters without spaces.",
    )


def _scopes(answer: dict[str, Json], asked: tuple[str, ...], notes: dict[str, str]) -> tuple[str, ...]:
    value = answer.get("scope")
    if value is None:
        return asked
    if isinstance(value, list):
        value = " ".join(one for one in items_of(value) if isinstance(one, str))
    if not isinstance(value, str):
        notes["scope"] = f"scope is {quoted(value)}; it has to be a string (RFC 6749 3.3), and was left out."
        return asked
    granted = discovery.parse(value)
    # Some servers grant `offline_access` by giving a refresh token, and do not list it among the scopes.
    implied = (discovery.OFFLINE,) if answer.get("refresh_token") else ()
    if less := discovery.missing((*granted, *implied), asked):
        notes["scope"] = f"Asked for and not granted: {discovery.brief(less)}."
    return granted


def _expires(answer: dict[str, Json], notes: dict[str, str]) -> float:
    value = answer.get("expires_in")
    if value is None or value == "":
        return 0.0
    try:
        number = 0.0 if isinstance(value, bool) else float(value)  # some servers write a string
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if number > 0:
        return min(number, float(LATEST))
    notes["expires_in"] = f"expires_in is {quoted(value)}; it has to be a number of seconds (RFC 6749 5.1)."
    return 0.0


async def redeem(
    fetcher: Fetcher,
    url: str,
    client: Client,
    form: Form,
    purpose: str,
    *,
    asked: Iterable[str] = (),
    dpop: Dpop | None = None,
    exchange: bool = False,
) -> Tokens:
    """Send a token request and read the answer; again if the server only lacks a nonce (RFC 9449 8) or client id.

    Args:
        purpose: what the request is for: `token for the code`.
        asked: the scopes of the request.
        dpop: the key that the token is bound to.
        exchange: the request is for an assertion (RFC 8693).

    Raises:
        ConfigError: the client cannot authenticate itself.
        AuthFailed: there are no tokens, or none that can be used; `error` is the OAuth error code, if any.
        StudioError: as `Fetcher.send`.
    """
    answer = await _send(fetcher, url, client, form, purpose, dpop)
    if dpop and dpop.seen(url, answer.headers) and _nonce_wanted(answer):
        answer = await _send(fetcher, url, client, form, purpose, dpop)
        dpop.seen(url, answer.headers)
    return read(answer.status, answer.body, fetcher.redactor, endpoint=url, asked=asked, dpop=dpop, exchange=exchange)


async def revoke(fetcher: Fetcher, grant: Grant) -> str:
    """Revoke the tokens if the server offers that, and say what happened. Never raises a `StudioError`."""
    url = grant.revocation_endpoint
    if not url:
        return f"{grant.issuer} offers no revocation: the tokens stay valid there until they expire."
    words: list[str] = []
    for name, token in (("refresh token", grant.refresh_token), ("access token", grant.access_token)):
        if not token:
            continue
        form = [("token", token), ("token_type_hint", name.replace(" ", "_"))]
        regret = f"The {name} could not be revoked, and can be used until it expires:"
        try:
            answer = await _send(fetcher, url, grant.client, form, f"revocation of the {name}")
        except StudioError as problem:
            words.append(f"{regret} {problem.message}")
            break  # the server does not answer: one wait is enough
        # The status is 200 for an unknown token too (RFC 7009 2.2).
        success = 200 <= answer.status < 300
        failure = f"{regret} the revocation endpoint {url} answered with status {answer.status}."
        words.append(f"{grant.issuer} revoked the {name}." if success else failure)
    return " ".join(words)


async def _send(
    fetcher: Fetcher, url: str, client: Client, form: Form, purpose: str, dpop: Dpop | None = None
) -> Fetched:
    """Send a form; with Basic again if the server ignores the client in the header (as the Python SDK's does)."""

    auth = fetcher.config.auth

    async def send(form: Form) -> Fetched:
        assertion = ""
        if client.method == "private_key_jwt":  # each assertion is valid for one request (RFC 7523 3)
            assertion = await asyncio.to_thread(client_assertion, client, auth.key, auth.algorithm)
        headers, body, secrets = sign(client, form, assertion)
        headers += [("DPoP", dpop.proof("POST", url))] if dpop else []
        return await fetcher.send(purpose, "POST", url, headers=headers, body=body, secrets=secrets)

    answer = await send(form)
    if client.method == "client_secret_basic" and answer.status in (400, 401):
        error, reason = _error(answer)
        # The first request lacks the id: other servers refuse a form that names the client besides the header.
        if error in ("invalid_client", "invalid_request") and "client_id" in reason:
            answer = await send([*form, ("client_id", client.client_id)])
    return answer


def _error(answer: Fetched) -> tuple[str, str]:
    """The OAuth error of an answer, and its description."""
    raw = mapping(json_of(answer.body))
    return str(raw.get("error", "")), str(raw.get("error_description", ""))


def _nonce_wanted(answer: Fetched) -> bool:
    return nonce_wanted(answer.status, _error(answer)[0], answer.header("www-authenticate"))


def with_tokens(grant: Grant, tokens: Tokens) -> Grant:
    """The grant with new tokens. An answer without a refresh token leaves the old one valid (RFC 6749 6)."""
    now = time.time()
    expires = now + tokens.expires_in if tokens.expires_in else 0.0
    claim = model.payload(tokens.access_token).get("exp")
    if not expires and isinstance(claim, (int, float)) and now < claim < now + 1e9:
        expires = float(claim)
    return replace(
        grant,
        access_token=tokens.access_token,
        token_type=tokens.token_type,
        refresh_token=tokens.refresh_token or grant.refresh_token,
        id_token=tokens.id_token or grant.id_token,
        scopes=tokens.scopes,
        obtained=now,
        expires=expires,
    )


def about(tokens: Tokens, audience: str) -> str:
    """Describe tokens in a sentence, with the oddities of the answer; never the tokens themselves."""
    until = f"for {tokens.expires_in:,.0f} seconds" if tokens.expires_in else "whose lifetime the answer does not say"
    words = [f"A {tokens.token_type} token {until}, {'with' if tokens.refresh_token else 'without'} a refresh token."]
    words += [f"Scopes: {discovery.brief(tokens.scopes)}."] if tokens.scopes else []
    if other := meant_for(tokens.access_token, audience):
        words.append(f"It is meant for {other}, and {quoted(audience)} was asked for.")
    return " ".join((*words, *tokens.notes.values()))


def meant_for(token: str, audience: str) -> str:
    """Whom a token is for, if the token says so and that is not `audience`; else empty."""
    aud: Json = model.payload(token).get("aud")
    audiences = [str(one) for one in (items_of(aud) or [aud]) if one]
    if not audiences or not audience or audience.rstrip("/") in [one.rstrip("/") for one in audiences]:
        return ""
    return quoted(", ".join(audiences[:5]))


def assertion(value: str, name: str) -> str:
    """The JWT that the configuration gives under a name, read each time, because platforms renew its file.

    Raises:
        ConfigError: there is none, or the text is no JWT.
    """
    text = read_secret(value, name).strip()
    if not JWT.match(text):
        raise ConfigError(f"What `{name}` gives is no JWT.", key=name, hint="It has to be one, or the file it is in.")
    return text


async def obtain(
    fetcher: Fetcher,
    config: ServerConfig,
    issuer: IssuerMetadata,
    *,
    resource: str,
    scopes: Sequence[str] = (),
    dpop: Dpop | None = None,
) -> tuple[Client, Tokens]:
    """Get a token by the grant that `config.auth.kind` names, which needs no person.

    Args:
        resource: the server as its metadata names it, sent as `resource` (RFC 8707); empty for none.

    Raises:
        ConfigError: a configured key or JWT cannot be used.
        AuthFailed: there is no token; `error` is the OAuth error code, if any.
        StudioError: as `Fetcher.send`.
    """
    auth, proof, purpose = config.auth, "", "token for the client"
    if auth.kind == "enterprise":
        proof = await _identity_grant(fetcher, config, issuer, resource, scopes)
        purpose = "token for the identity assertion"
    elif auth.kind == "workload":
        proof = await asyncio.to_thread(assertion, auth.assertion, "assertion")
        purpose = "token for the workload"
    form = token_form(JWT_BEARER if proof else "client_credentials", resource, scopes, assertion=proof)
    by_key = auth.kind == "private_key_jwt" or (auth.key and not auth.client_secret)
    method = method_for(issuer, auth.client_secret, "private_key_jwt" if by_key else auth.method)
    client = Client(issuer.issuer, auth.client_id, auth.client_secret, method)
    try:
        tokens = await redeem(fetcher, issuer.token_endpoint, client, form, purpose, asked=scopes, dpop=dpop)
    except AuthFailed as problem:
        if problem.error in ("invalid_grant", "invalid_client", "unauthorized_client"):
            problem.hint = f"{problem.hint} {see_to(config.name)}"
            if other := meant_for(proof, issuer.issuer):
                problem.hint += f" The JWT that was sent is meant for {other}, and not for {quoted(issuer.issuer)}."
        raise
    return client, tokens


async def _identity_grant(
    fetcher: Fetcher, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> str:
    """Exchange the person's id token at the identity provider for an assertion to this authorization server."""
    auth = config.auth
    endpoint = check_url(auth.idp_token_endpoint, config.url, "idp_token_endpoint of the configuration")
    token = await asyncio.to_thread(assertion, auth.idp_id_token, "idp_id_token")
    method = "client_secret_basic" if auth.idp_client_secret else "none"
    client = Client("", auth.idp_client_id, auth.idp_client_secret, method)
    form = token_form(
        TOKEN_EXCHANGE,
        resource,
        scopes,
        requested_token_type=ID_JAG,
        subject_token=token,
        subject_token_type=ID_TOKEN,
        audience=issuer.issuer,
    )
    purpose = "identity assertion from the identity provider"
    tokens = await redeem(fetcher, endpoint, client, form, purpose, asked=scopes, exchange=True)
    if tokens.issued_token_type not in ("", ID_JAG):
        raise AuthFailed(
            f"The identity provider gave a token of the type {quoted(tokens.issued_token_type)}, not {ID_JAG}."
        )
    return tokens.access_token
