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
from functools import partial
from pathlib import Path
from typing import Any

from mcp_studio.auth import model, registration, tokens
from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.dpop import Dpop, Use
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client, quoted
from mcp_studio.auth.tokens import Tokens, redeem
from mcp_studio.config.expand import see_to
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import ConfigError

LARGEST = 65_536
"""Bytes of a key or an assertion."""
LIFE = 300
"""Seconds that an assertion of ours can be used."""
SKEW = 60
"""Seconds that clocks may differ."""
ALGORITHMS = (
    *("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("EdDSA", "ES256K"),
)
_JWT = re.compile(r"[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*\Z")


async def client_proof(auth: Auth, client: Client, issuer: str, offered: tuple[str, ...] | None = None) -> str:
    """The JWT by which a client shows itself, where that is its way (RFC 7523 2.2); else empty."""
    if client.method != "private_key_jwt":
        return ""
    return await asyncio.to_thread(
        client_assertion, client.client_id, issuer, auth.key, auth.algorithm, offered=offered
    )


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

    if algorithm not in ALGORITHMS:
        raise ConfigError(
            f"Nothing signs with {quoted(algorithm)}.", key="algorithm", hint=f"Known: {', '.join(ALGORITHMS)}."
        )
    if offered is not None and algorithm not in offered:
        raise AuthFailed(
            "token_endpoint_auth_signing_alg_values_supported in the authorization server metadata is "
            f"{quoted(', '.join(offered))}; the client signs with {algorithm}.",
            hint="It has to list it; or set `algorithm`, and a key for it, in the [servers.NAME.auth] table.",
        )
    now = int(time.time())
    payload: dict[str, Any] = {"iss": client_id, "sub": client_id, "aud": audience, "iat": now, "exp": now + LIFE}
    payload["jti"] = secrets.token_urlsafe(16)
    try:
        return jwt.encode(payload, _key(read(key, "key")), algorithm=algorithm)
    except (jwt.PyJWTError, TypeError, ValueError, NotImplementedError):
        raise ConfigError(
            f"The private key does not sign with {algorithm}.",
            key="algorithm",
            hint="Set `algorithm` to one that fits the key (RS256 for RSA, ES256 for P-256), or use another key.",
        ) from None


def _key(text: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(text.encode(), None)
    except (TypeError, ValueError, UnsupportedAlgorithm):  # a TypeError where it is encrypted
        raise ConfigError(
            "The private key cannot be read: it is no private key in PEM, or it is encrypted.",
            key="key",
            hint="It begins with -----BEGIN PRIVATE KEY-----. Decrypt it (openssl pkcs8 -topk8 -nocrypt -in FILE) and "
            "keep it in the keyring: ${keyring:NAME}.",
        ) from None


def assertion(value: str, name: str) -> str:
    """The JWT that the configuration gives under a name, read anew each time, as platforms renew its file.

    Raises:
        ConfigError: there is none, or it is no JWT.
        AuthFailed: it has expired.
    """
    text = read(value, name).strip()
    if not _JWT.match(text):
        raise ConfigError(f"What `{name}` gives is no JWT.", key=name, hint="It has to be one, or the file it is in.")
    expires = model.payload(text).get("exp")
    ago = time.time() - expires if isinstance(expires, (int, float)) else 0.0
    if ago > SKEW:
        raise AuthFailed(
            f"What `{name}` gives has expired {model.span(ago)} ago.",
            hint="It has to be a new one; whatever issues it should renew the file.",
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
    file = f"The file that `{name}` names"  # not quoted: it may be a damaged secret
    try:
        with Path(value).expanduser().open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or "there is no such file"
        raise ConfigError(f"{file} cannot be read: {reason}.", key=name) from None
    if len(data) > LARGEST:
        raise ConfigError(f"{file} is larger than {LARGEST // 1024} KB.", key=name)
    return data.decode("utf-8", "replace")


async def obtain(
    fetcher: Fetcher,
    config: ServerConfig,
    issuer: IssuerMetadata,
    *,
    resource: str,
    scopes: Sequence[str] = (),
    dpop: Dpop | None = None,
    use: Use = "no",
) -> tuple[Client, Tokens]:
    """A token by the grant that `config.auth.kind` names, which needs no person.

    Args:
        resource: what the server's metadata calls it, sent as `resource` (RFC 8707); empty for none.

    Raises:
        ConfigError: the configuration lacks something that the grant needs.
        AuthFailed: no token; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    client, form, purpose = await _request(fetcher, config, issuer, resource, scopes)
    prove = partial(client_proof, config.auth, client, issuer.issuer, issuer.signing_algs)
    try:
        got = await redeem(
            fetcher, issuer.token_endpoint, client, form, purpose, prove=prove, asked=scopes, dpop=dpop, use=use
        )
    except AuthFailed as problem:
        if problem.error in ("invalid_grant", "invalid_client", "unauthorized_client"):
            problem.hint = f"{problem.hint} {see_to(config)}"
        raise
    return client, got


async def _request(
    fetcher: Fetcher, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> tuple[Client, tokens.Form, str]:
    """Who asks for a token, with what, and what it is for."""
    auth = config.auth
    match auth.kind:
        case "client_credentials" | "private_key_jwt":
            client = _client(auth, issuer, secret_needed=auth.kind == "client_credentials")
            return client, tokens.form("client_credentials", resource, scopes), "token for the client"
        case "enterprise":
            client = _client(auth, issuer)
            granted = await _identity_grant(fetcher, config, issuer, resource, scopes)
            form = tokens.form(tokens.JWT_BEARER, resource, scopes, assertion=granted)
            return client, form, "token for the identity assertion"
        case "workload":
            # A workload is known by its JWT; a client id is sent along only where it is configured.
            known = auth.client_id and (auth.client_secret or auth.key)
            client = _client(auth, issuer) if known else Client(issuer.issuer, auth.client_id, "", "none")
            shown = await asyncio.to_thread(assertion, auth.assertion, "assertion")
            return client, tokens.form(tokens.JWT_BEARER, resource, scopes, assertion=shown), "token for the workload"
        case _:
            raise ConfigError(f"`kind` is {quoted(auth.kind)}: that needs a person.", key="kind")


def _client(auth: Auth, issuer: IssuerMetadata, *, secret_needed: bool = False) -> Client:
    if not auth.client_id:
        raise _missing("client_id", auth)
    if auth.kind == "private_key_jwt" or auth.method == "private_key_jwt" or (auth.key and not auth.client_secret):
        return Client(issuer.issuer, auth.client_id, "", "private_key_jwt")
    if secret_needed and not auth.client_secret:
        raise _missing("client_secret", auth)
    method = registration.method_for(issuer, auth.client_secret, auth.method)
    return Client(issuer.issuer, auth.client_id, auth.client_secret, method)


def _missing(name: str, auth: Auth) -> ConfigError:
    return ConfigError(
        f"`{name}` is missing, which the grant {auth.kind} needs.",
        key=name,
        hint="Set it in the [servers.NAME.auth] table; a secret rather as ${keyring:NAME}.",
    )


async def _identity_grant(
    fetcher: Fetcher, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> str:
    """The person's id token exchanged at the identity provider, for an assertion to this authorization server."""
    auth = config.auth
    if not auth.idp_token_endpoint:
        raise _missing("idp_token_endpoint", auth)
    endpoint = check_url(auth.idp_token_endpoint, config.url, "idp_token_endpoint of the configuration")
    token = await asyncio.to_thread(assertion, auth.idp_id_token, "idp_id_token")
    method = "client_secret_basic" if auth.idp_client_secret else "none"
    client = Client("", auth.idp_client_id, auth.idp_client_secret, method)
    form = tokens.form(
        tokens.TOKEN_EXCHANGE,
        resource,
        scopes,
        requested_token_type=tokens.ID_JAG,
        subject_token=token,
        subject_token_type=tokens.ID_TOKEN,
        audience=issuer.issuer,
    )
    purpose = "identity assertion from the identity provider"
    got = await redeem(fetcher, endpoint, client, form, purpose, asked=scopes, exchange=True)
    if got.issued_token_type not in ("", tokens.ID_JAG):
        raise AuthFailed(
            f"The identity provider gave a token of the type {quoted(got.issued_token_type)}, not {tokens.ID_JAG}."
        )
    return got.access_token
