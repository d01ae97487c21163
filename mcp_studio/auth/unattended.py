"""The grants that need no person: client credentials with a secret or a key, enterprise-managed, and of a workload.

RFC 6749 4.4, RFC 7523 2.1 and 2.2; MCP extensions oauth-client-credentials, enterprise-managed-authorization (SEP-990)
and workload identity federation (SEP-1933). None of them is tried again or replaced by another one when it fails.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.auth import discovery, model, registration, tokens, unattended
from mcp_studio.auth.discovery import LONGEST_ADDRESS, check_url, same_origin
from mcp_studio.auth.dpop import Dpop, Use
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client, Grant, said
from mcp_studio.auth.person import Means
from mcp_studio.auth.tokens import Sender, Tokens, redeem, signed
from mcp_studio.config.expand import see_to
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, items_of
from mcp_studio.vault.base import VaultRefused

LARGEST = 65_536
"""Bytes of a key or an assertion."""
LIFE = 300
"""Seconds that an assertion of ours can be used."""
LATE = 60
"""Seconds that clocks may differ."""
ALGORITHMS = (
    *("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("EdDSA", "ES256K"),
)
_JWT = re.compile(r"[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*\Z")


def client_assertion(
    client_id: str, audience: str, key: str, algorithm: str, *, offered: tuple[str, ...] | None = None
) -> str:
    """A JWT by which a client shows itself at a token endpoint (`private_key_jwt`, RFC 7523 2.2, 3).

    Args:
        audience: the issuer of the authorization server (draft-ietf-oauth-rfc7523bis: exactly this, no endpoint).
        key: the private key as PEM, or the file it is in.
        offered: `token_endpoint_auth_signing_alg_values_supported`.

    Raises:
        ConfigError: there is no such key, or it does not sign that way.
        AuthFailed: the authorization server does not take this algorithm.
    """
    import jwt

    _check_algorithm(algorithm, offered)
    now = int(time.time())
    payload: dict[str, Any] = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        "exp": now + LIFE,
        "jti": secrets.token_urlsafe(16),
    }
    loaded = _key(read(key, "key"))
    try:
        return jwt.encode(payload, loaded, algorithm=algorithm)
    except (jwt.PyJWTError, TypeError, ValueError, NotImplementedError):
        raise ConfigError(
            f"The private key, {_kind(loaded)}, does not sign with {algorithm}.",
            key="algorithm",
            hint=f"Set `algorithm` to {_fitting(loaded)}, or use another key.",
        ) from None


def _check_algorithm(algorithm: str, offered: tuple[str, ...] | None) -> None:
    if algorithm not in ALGORITHMS:
        raise ConfigError(
            f"Nothing signs with {said(algorithm)}.", key="algorithm", hint=f"Known: {', '.join(ALGORITHMS)}."
        )
    if offered is not None and algorithm not in offered:
        raise AuthFailed(
            "token_endpoint_auth_signing_alg_values_supported in the authorization server metadata is "
            f"{said(', '.join(offered))}; the client signs with {algorithm}.",
            hint="It has to list it; or set `algorithm`, and a key for it, in the [servers.NAME.auth] table.",
        )


def _key(text: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(text.encode(), None)
    except TypeError:
        raise ConfigError(
            "The private key is encrypted, and there is nobody to ask for its password.",
            key="key",
            hint="Decrypt it: openssl pkcs8 -topk8 -nocrypt -in FILE; and keep it in the keyring: ${keyring:NAME}.",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise ConfigError(
            "The private key cannot be read: it is no private key in PEM.",
            key="key",
            hint="It begins with -----BEGIN PRIVATE KEY----- (PKCS #8) or -----BEGIN EC PRIVATE KEY-----.",
        ) from None


def _kind(key: Any) -> str:
    name = type(key).__name__.lower()
    for part, words in (("rsa", "an RSA key"), ("elliptic", "an elliptic curve key"), ("ed", "an Edwards curve key")):
        if part in name:
            curve = getattr(getattr(key, "curve", None), "name", "")
            return f"{words} ({curve})" if curve else words
    return "of another kind"


def _fitting(key: Any) -> str:
    curve = getattr(getattr(key, "curve", None), "name", "")
    by_curve = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512", "secp256k1": "ES256K"}
    if curve:
        return by_curve.get(curve, "one that fits it")
    return "RS256" if "rsa" in type(key).__name__.lower() else "EdDSA"


def workload_assertion(value: str) -> str:
    """The JWT that the platform gave this workload (SEP-1933), read anew each time, as platforms renew it.

    Raises:
        ConfigError: there is none, or it is no JWT.
        AuthFailed: it has expired.
    """
    return _jwt(value, "assertion", "the JWT of the workload")


def identity_token(value: str) -> str:
    """The id token of the person at the identity provider (MCP enterprise-managed authorization).

    Raises:
        ConfigError: there is none, or it is no JWT.
        AuthFailed: it has expired.
    """
    return _jwt(value, "idp_id_token", "the id token of the identity provider")


def _jwt(value: str, name: str, what: str) -> str:
    text = read(value, name).strip()
    if not _JWT.match(text):
        raise ConfigError(
            f"What `{name}` gives is no JWT.", key=name, hint=f"It has to be {what}, or the file it is in."
        )
    expires = model.payload(text).get("exp")
    if isinstance(expires, (int, float)) and expires + LATE < time.time():
        raise AuthFailed(
            f"What `{name}` gives has expired: {model.when(float(expires))}.",
            hint=f"It has to be {what}, and a new one; whatever issues it should renew the file.",
        )
    return text


def read(value: str, name: str) -> str:
    """What is written itself (PEM, a JWT), or what is in the file that is named; at most 64 KB.

    Args:
        name: the key of the configuration that it stands at.

    Raises:
        ConfigError: it is empty, or a file that cannot be read.
    """
    if not value:
        raise ConfigError(f"`{name}` is missing.", key=name, hint="Set it in the [servers.NAME.auth] table.")
    if "-----BEGIN" in value or _JWT.match(value.strip()):
        return value.replace("\\n", "\n") if "\n" not in value else value
    path = f" {value}" if _is_path(value) else ""
    try:
        with Path(value).expanduser().open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or "there is no such file"
        raise ConfigError(f"The file{path} that `{name}` names cannot be read: {reason}.", key=name) from None
    if len(data) > LARGEST:
        raise ConfigError(f"The file{path} that `{name}` names is larger than {LARGEST // 1024} KB.", key=name)
    return data.decode("utf-8", "replace")


def _is_path(value: str) -> bool:
    """Whether a value that cannot be read may be quoted: a damaged secret may not, and has longer parts than paths."""
    return len(value) <= 200 and " " not in value and all(len(part) <= 40 for part in Path(value).parts)


class Obtained(NamedTuple):
    """What a grant without a person brought."""

    client: Client
    tokens: Tokens


async def obtain(
    sender: Sender,
    config: ServerConfig,
    issuer: IssuerMetadata,
    *,
    resource: str,
    scopes: Sequence[str] = (),
    dpop: Dpop | None = None,
    use: Use = "no",
) -> Obtained:
    """A token by the grant that `config.auth.kind` names, which needs no person.

    Args:
        resource: what the server's metadata calls it, sent as `resource` (RFC 8707); empty for none.

    Raises:
        ConfigError: the configuration lacks something that the grant needs.
        AuthFailed: no token; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    client, form, purpose = await _request(sender, config, issuer, resource, scopes)
    shown = [dict(form).get("assertion", "")]

    async def prove() -> str:
        shown.append(await client_proof(config.auth, client, issuer.issuer, issuer.signing_algs))
        return shown[-1]

    try:
        make = signed(issuer.token_endpoint, client, form, prove)
        got = await redeem(sender, make, purpose, asked=scopes, dpop=dpop, use=use)
    except AuthFailed as problem:
        raise _explained(problem, dict(form)["grant_type"], shown[0] or shown[-1], issuer, config) from None
    return Obtained(client, got)


async def _request(
    sender: Sender, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> tuple[Client, tokens.Form, str]:
    """Who asks for a token, for what, and that in words."""
    auth = config.auth
    match auth.kind:
        case "client_credentials" | "private_key_jwt":
            client = _client(auth, issuer, secret_needed=auth.kind == "client_credentials")
            return client, tokens.credentials_form(resource, scopes), "token for the client"
        case "enterprise":
            client = _client(auth, issuer)
            granted = await _identity_grant(sender, config, issuer, resource, scopes)
            return client, tokens.bearer_form(granted, resource, scopes), "token for the identity assertion"
        case "workload":
            client = _workload_client(auth, issuer)
            assertion = await asyncio.to_thread(workload_assertion, auth.assertion)
            return client, tokens.bearer_form(assertion, resource, scopes), "token for the workload"
        case _:
            raise ConfigError(f"`kind` is {said(auth.kind)}: that needs a person.", key="kind")


def _client(auth: Auth, issuer: IssuerMetadata, *, secret_needed: bool = False) -> Client:
    if not auth.client_id:
        raise _missing("client_id", auth)
    if auth.kind == "private_key_jwt" or auth.method == "private_key_jwt" or (auth.key and not auth.client_secret):
        return Client(issuer.issuer, auth.client_id, "", "private_key_jwt")
    if secret_needed and not auth.client_secret:
        raise _missing("client_secret", auth)
    method = registration.method_for(issuer, auth.client_secret, auth.method)
    return Client(issuer.issuer, auth.client_id, auth.client_secret, method)


def _workload_client(auth: Auth, issuer: IssuerMetadata) -> Client:
    """A workload is known by its JWT; a client id, and more, is sent along only where it is configured."""
    if auth.client_id and (auth.client_secret or auth.key):
        return _client(auth, issuer)
    return Client(issuer.issuer, auth.client_id, "", "none")


def _missing(name: str, auth: Auth) -> ConfigError:
    return ConfigError(
        f"`{name}` is missing, which the grant {auth.kind} needs.",
        key=name,
        hint="Set it in the [servers.NAME.auth] table; a secret rather as ${keyring:NAME}.",
    )


async def _identity_grant(
    sender: Sender, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> str:
    """The person's id token exchanged at the identity provider, for an assertion to this authorization server."""
    auth = config.auth
    if not auth.idp_token_endpoint:
        raise _missing("idp_token_endpoint", auth)
    endpoint = check_url(auth.idp_token_endpoint, config.url, "idp_token_endpoint of the configuration")
    token = await asyncio.to_thread(identity_token, auth.idp_id_token)
    method = "client_secret_basic" if auth.idp_client_secret else "none"
    client = Client("", auth.idp_client_id, auth.idp_client_secret, method)
    form = tokens.exchange_form(token, issuer.issuer, resource, scopes)

    async def make() -> tokens.TokenRequest:
        return tokens.post(endpoint, client, form)

    got = await redeem(sender, make, "identity assertion from the identity provider", asked=scopes, exchange=True)
    if got.issued_token_type not in ("", tokens.ID_JAG):
        raise AuthFailed(
            f"The identity provider gave a token of the type {said(got.issued_token_type)}.",
            hint=f"issued_token_type has to be {tokens.ID_JAG}.",
        )
    return got.access_token


def _explained(
    problem: AuthFailed, grant: str, assertion: str, issuer: IssuerMetadata, config: ServerConfig
) -> AuthFailed:
    """A refusal, and beside it what it most often comes from: a JWT for somebody else or too old, no such grant."""
    words = [problem.hint.replace(": sign in again.", ".")]
    if problem.error and issuer.grants is not None and grant not in issuer.grants:
        words.append(
            f"grant_types_supported in its metadata is {said(', '.join(issuer.grants))}; it has to list {grant}."
        )
    told = model.payload(assertion)
    if problem.error in ("invalid_grant", "invalid_client") and told:
        facts = [f"{name} {said(told[name])}" for name in ("iss", "sub", "aud") if name in told]
        facts += [f"{moment.what} {moment.words}" for moment in model.moments(told) if moment.claim == "exp"]
        words.append(
            f"The JWT that was sent says: {', '.join(facts)}; the authorization server is {said(issuer.issuer)}."
        )
    if problem.error in ("invalid_grant", "invalid_client", "unauthorized_client"):
        words.append(see_to(config))
    problem.hint = " ".join(word for word in words if word)
    return problem


_KEPT = (
    "issuer token_endpoint authorization_endpoint registration_endpoint revocation_endpoint "
    "code_challenge_methods_supported token_endpoint_auth_methods_supported grant_types_supported "
    "token_endpoint_auth_signing_alg_values_supported dpop_signing_alg_values_supported "
    "authorization_response_iss_parameter_supported client_id_metadata_document_supported"
).split()


_FEW, _SHORT = 50, 100
"""Entries of a list, and characters of one, that are kept."""


async def client_proof(auth: Auth, client: Client, issuer: str, offered: tuple[str, ...] | None) -> str:
    """The JWT by which a client shows itself, where that is its way (RFC 7523 2.2); else empty."""
    if client.method != "private_key_jwt":
        return ""
    return await asyncio.to_thread(
        lambda: unattended.client_assertion(client.client_id, issuer, auth.key, auth.algorithm, offered=offered)
    )


async def keep(means: Means, grant: Grant) -> str:
    """Keep a grant; where it is now, in a sentence.

    Raises:
        StudioError, OSError: it is not kept, and of no use without.
    """
    try:
        await means.store.save(grant, means.config.name)
    except VaultRefused as problem:
        if not means.stays:
            problem.message = f"The token that was given is lost, as it cannot be kept: {problem.message}"
            raise
        return f"Not kept, it holds until the studio ends: {problem.message} {problem.hint}".strip()
    return f"In {await means.store.place()}."


def essence(issuer: IssuerMetadata) -> dict[str, Json]:
    """What of its metadata is needed later: keyrings hold little, and a document may have a megabyte."""
    raw = issuer.raw
    return {name: _few(raw[name]) for name in _KEPT if isinstance(raw.get(name), (str, bool, list))}


def _few(value: Json) -> Json:
    if isinstance(value, list):
        return [one for one in items_of(value)[:_FEW] if isinstance(one, str) and len(one) <= _SHORT]
    return value[:LONGEST_ADDRESS] if isinstance(value, str) else value  # what is longer was not taken either


def granted(
    resource: str,
    account: str,
    issuer: IssuerMetadata,
    client: Client,
    got: Tokens,
    *,
    audience: str,
    dpop: Dpop | None,
) -> Grant:
    """What is kept of the first tokens of a sign-in."""
    now = time.time()
    return Grant(
        resource=resource,
        account=account,
        issuer=issuer.issuer,
        client=client,
        access_token=got.access_token,
        token_type=got.token_type,
        refresh_token=got.refresh_token,
        id_token=got.id_token,
        scopes=got.scopes,
        obtained=now,
        expires=expiry(got, now),
        audience=audience,
        token_endpoint=issuer.token_endpoint,
        revocation_endpoint=issuer.revocation_endpoint,
        dpop_key=dpop.pem if dpop and got.token_type == "DPoP" else "",
        metadata=essence(issuer),
    )


def elsewhere(issuer: IssuerMetadata) -> str:
    """Which endpoints are not at the origin of the authorization server that vouches for them, in a sentence."""
    named = {
        "authorization_endpoint": issuer.authorization_endpoint,
        "token_endpoint": issuer.token_endpoint,
        "registration_endpoint": issuer.registration_endpoint,
        "revocation_endpoint": issuer.revocation_endpoint,
    }
    far = [f"{name} {url}" for name, url in named.items() if url and not same_origin(url, issuer.issuer)]
    return f"On another origin than the authorization server, which its metadata vouches for: {', '.join(far)}." * bool(
        far
    )


def expiry(got: Tokens, now: float) -> float:
    """When a token expires, in epoch seconds; 0 where nobody says."""
    if got.expires_in:
        return now + got.expires_in
    told: Json = model.payload(got.access_token).get("exp")
    if isinstance(told, bool) or not isinstance(told, (int, float)):
        return 0.0
    return float(told) if now < told < now + 1e9 else 0.0


def about(got: Tokens, audience: str) -> str:
    """Tokens in a sentence, with what is odd about them; never themselves."""
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
