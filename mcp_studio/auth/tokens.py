"""Requests to token and revocation endpoints, their answers, and the grants that need no person.

The latter: client credentials with a secret or a key, enterprise-managed, and of a workload (MCP extensions
oauth-client-credentials, enterprise-managed-authorization, SEP-990, and workload identity federation, SEP-1933).
None of them is tried again or replaced by another one when it fails.

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
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import UNKNOWN_ERROR, AuthFailed, Client, Grant, quoted, refusal, see_to
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
    """What a token request says; `resource` is the server as its metadata calls it (RFC 8707)."""
    return [("grant_type", grant_type), *fields.items(), ("scope", " ".join(scopes)), ("resource", resource)]


LONGEST_TOKEN = 65_536
"""Characters of one token."""
LATEST = 10 * 366 * 86_400
"""Seconds after which a token expires at the latest, whatever its answer says."""
_TOKEN = re.compile(r"[\x21-\x7e]+\Z")


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
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is wrong though it can be used, by field."""


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
        redactor: knows what was sent and came that must not be quoted.
        asked: the scopes that were asked for.
        dpop: the key that was shown.
        exchange: an assertion was asked for, which is no access token (RFC 8693).

    Raises:
        AuthFailed: there are no tokens, or none that can be used. `error` is the OAuth error code where one came.
    """
    who = f"The token endpoint {endpoint.partition('?')[0]}"
    raw = json_of(body)
    answer = mapping(raw)
    # Some write every field of theirs: `"error": null` beside a token says nothing.
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
    wanted = "one that is bound to our key (DPoP, RFC 9449 5)" if bound else "Bearer"
    raise AuthFailed(
        f"{who} gave a token of the type {quoted(value)}, and {wanted} was asked for.",
        hint="token_type has to be what was asked for; dpop = true in the [servers.NAME.auth] table asks for DPoP.",
    )


def _token(answer: dict[str, Json], name: str, who: str, *, needed: bool = False) -> str:
    value = answer.get(name)
    if (value is None or value == "") and not needed:
        return ""
    if isinstance(value, str) and len(value) <= LONGEST_TOKEN and _TOKEN.match(value):
        return value
    # A token is never quoted, be it as wrong as it may.
    came = "is missing" if value is None else "is nothing that a header can carry"
    raise AuthFailed(
        f"{name} {came} in the answer of {who[:1].lower()}{who[1:]}.",
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
    # Some give the refresh token that it stands for, and do not count it among the scopes.
    given = (discovery.OFFLINE,) if answer.get("refresh_token") else ()
    if less := discovery.missing((*granted, *given), asked):
        notes["scope"] = f"Asked for and not granted: {discovery.brief(less)}."
    return granted


def _expires(answer: dict[str, Json], notes: dict[str, str]) -> float:
    value = answer.get("expires_in")
    if value is None or value == "":
        return 0.0
    try:
        number = 0.0 if isinstance(value, bool) else float(value)  # some write it as a string
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
    """Send a token request and read what comes; once more where only a nonce (RFC 9449 8) or the client's id is wanted.

    Args:
        purpose: what it is for: `token for the code`.
        asked: the scopes that are asked for.
        dpop: the key to bind the token to.
        exchange: an assertion is asked for (RFC 8693).

    Raises:
        ConfigError: the client cannot show itself.
        AuthFailed: no tokens, or none of use; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    answer = await _send(fetcher, url, client, form, purpose, dpop)
    if dpop and dpop.seen(url, answer.headers) and _nonce_wanted(answer):
        answer = await _send(fetcher, url, client, form, purpose, dpop)
        dpop.seen(url, answer.headers)
    return read(answer.status, answer.body, fetcher.redactor, endpoint=url, asked=asked, dpop=dpop, exchange=exchange)


async def revoke(fetcher: Fetcher, grant: Grant) -> str:
    """Take the tokens back where that is offered; what came of it, as a sentence. Never raises a `StudioError`."""
    url = grant.revocation_endpoint
    if not url:
        return f"{grant.issuer} offers no revocation: the tokens stay valid there until they expire."
    words: list[str] = []
    for name, token in (("refresh token", grant.refresh_token), ("access token", grant.access_token)):
        if not token:
            continue
        form = [("token", token), ("token_type_hint", name.replace(" ", "_"))]
        lost = f"The {name} could not be revoked, and can be used until it expires:"
        try:
            answer = await _send(fetcher, url, grant.client, form, f"revocation of the {name}")
        except StudioError as problem:
            words.append(f"{lost} {problem.message}")
            break  # nobody answers: to wait once is enough
        # 200 also for a token that was not known (RFC 7009 2.2).
        done = 200 <= answer.status < 300
        failure = f"{lost} the revocation endpoint {url} answered with status {answer.status}."
        words.append(f"{grant.issuer} revoked the {name}." if done else failure)
    return " ".join(words)


async def _send(
    fetcher: Fetcher, url: str, client: Client, form: Form, purpose: str, dpop: Dpop | None = None
) -> Fetched:
    """Send a form; with Basic once more where the server overlooks whom the header names (the Python SDK's does)."""

    auth = fetcher.config.auth

    async def send(form: Form) -> Fetched:
        assertion = ""
        if client.method == "private_key_jwt":  # each is good for one request (RFC 7523 3)
            assertion = await asyncio.to_thread(client_assertion, client, auth.key, auth.algorithm)
        headers, body, secrets = sign(client, form, assertion)
        headers += [("DPoP", dpop.proof("POST", url))] if dpop else []
        return await fetcher.send(purpose, "POST", url, headers=headers, body=body, secrets=secrets)

    answer = await send(form)
    if client.method == "client_secret_basic" and answer.status in (400, 401):
        error, reason = _error(answer)
        # Not at once: others refuse a form that names the client besides the header.
        if error in ("invalid_client", "invalid_request") and "client_id" in reason:
            answer = await send([*form, ("client_id", client.client_id)])
    return answer


def _error(answer: Fetched) -> tuple[str, str]:
    """The OAuth error of an answer, and its description."""
    raw = mapping(json_of(answer.body))
    return str(raw.get("error", "")), str(raw.get("error_description", ""))


def _nonce_wanted(answer: Fetched) -> bool:
    return nonce_wanted(answer.status, _error(answer)[0], answer.header("www-authenticate"))


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
    until = f"for {got.expires_in:,.0f} seconds" if got.expires_in else "whose lifetime the answer does not say"
    words = [f"A {got.token_type} token {until}, {'with' if got.refresh_token else 'without'} a refresh token."]
    words += [f"Scopes: {discovery.brief(got.scopes)}."] if got.scopes else []
    if other := meant_for(got.access_token, audience):
        words.append(f"It is meant for {other}, and {quoted(audience)} was asked for.")
    return " ".join((*words, *got.notes.values()))


def meant_for(token: str, audience: str) -> str:
    """Whom a token is for, where it says so and that is somebody else than `audience`; else empty."""
    aud: Json = model.payload(token).get("aud")
    meant = [str(one) for one in (items_of(aud) or [aud]) if one]
    if not meant or not audience or audience.rstrip("/") in [one.rstrip("/") for one in meant]:
        return ""
    return quoted(", ".join(meant[:5]))


def assertion(value: str, name: str) -> str:
    """The JWT that the configuration gives under a name, read anew each time, as platforms renew its file.

    Raises:
        ConfigError: there is none, or it is no JWT.
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
    """A token by the grant that `config.auth.kind` names, which needs no person.

    Args:
        resource: what the server's metadata calls it, sent as `resource` (RFC 8707); empty for none.

    Raises:
        ConfigError: a key or a JWT that the configuration names cannot be used.
        AuthFailed: no token; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    auth, shown, purpose = config.auth, "", "token for the client"
    if auth.kind == "enterprise":
        shown = await _identity_grant(fetcher, config, issuer, resource, scopes)
        purpose = "token for the identity assertion"
    elif auth.kind == "workload":
        shown = await asyncio.to_thread(assertion, auth.assertion, "assertion")
        purpose = "token for the workload"
    form = token_form(JWT_BEARER if shown else "client_credentials", resource, scopes, assertion=shown)
    by_key = auth.kind == "private_key_jwt" or (auth.key and not auth.client_secret)
    method = method_for(issuer, auth.client_secret, "private_key_jwt" if by_key else auth.method)
    client = Client(issuer.issuer, auth.client_id, auth.client_secret, method)
    try:
        got = await redeem(fetcher, issuer.token_endpoint, client, form, purpose, asked=scopes, dpop=dpop)
    except AuthFailed as problem:
        if problem.error in ("invalid_grant", "invalid_client", "unauthorized_client"):
            problem.hint = f"{problem.hint} {see_to(config.name)}"
            if other := meant_for(shown, issuer.issuer):
                problem.hint += f" The JWT that was sent is meant for {other}, and not for {quoted(issuer.issuer)}."
        raise
    return client, got


async def _identity_grant(
    fetcher: Fetcher, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> str:
    """The person's id token exchanged at the identity provider, for an assertion to this authorization server."""
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
    got = await redeem(fetcher, endpoint, client, form, purpose, asked=scopes, exchange=True)
    if got.issued_token_type not in ("", ID_JAG):
        raise AuthFailed(
            f"The identity provider gave a token of the type {quoted(got.issued_token_type)}, not {ID_JAG}."
        )
    return got.access_token
