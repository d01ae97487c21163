"""The grants that need no person: client credentials with a secret or a key, enterprise-managed, and of a workload.

RFC 6749 4.4, RFC 7523 2.1 and 2.2; MCP extensions oauth-client-credentials, enterprise-managed-authorization (SEP-990)
and workload identity federation (SEP-1933). None of them is tried again or replaced by another one when it fails.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from mcp_studio.auth import model, tokens
from mcp_studio.auth.client_auth import JWT, Form, method_for, read_secret
from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.dpop import Dpop
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client, quoted
from mcp_studio.auth.tokens import Tokens, meant_for, redeem
from mcp_studio.config.expand import see_to
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import ConfigError

_NEEDED = {
    "client_credentials": ("client_id", "client_secret"),
    "private_key_jwt": ("client_id", "key"),
    "enterprise": ("client_id", "idp_token_endpoint", "idp_id_token"),
    "workload": ("assertion",),
}
"""What of the configuration each grant needs."""
SKEW = 60
"""Seconds that clocks may differ."""


def assertion(value: str, name: str) -> str:
    """The JWT that the configuration gives under a name, read anew each time, as platforms renew its file.

    Raises:
        ConfigError: there is none, or it is no JWT.
        AuthFailed: it has expired.
    """
    text = read_secret(value, name).strip()
    if not JWT.match(text):
        raise ConfigError(f"What `{name}` gives is no JWT.", key=name, hint="It has to be one, or the file it is in.")
    expires = model.payload(text).get("exp")
    ago = time.time() - expires if isinstance(expires, (int, float)) else 0.0
    if ago > SKEW:
        raise AuthFailed(
            f"What `{name}` gives has expired {model.span(ago)} ago.",
            hint="It has to be a new one; whatever issues it should renew the file.",
        )
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
        ConfigError: the configuration lacks something that the grant needs.
        AuthFailed: no token; `error` is the OAuth error code where one came.
        StudioError: as `Fetcher.send`.
    """
    for name in _NEEDED.get(config.auth.kind, ()):
        if not getattr(config.auth, name):
            raise ConfigError(
                f"`{name}` is missing, which the grant {config.auth.kind} needs.",
                key=name,
                hint="Set it in the [servers.NAME.auth] table; a secret rather as ${keyring:NAME}.",
            )
    client, form, purpose = await _request(fetcher, config, issuer, resource, scopes)
    try:
        got = await redeem(fetcher, issuer.token_endpoint, client, form, purpose, asked=scopes, dpop=dpop)
    except AuthFailed as problem:
        if problem.error in ("invalid_grant", "invalid_client", "unauthorized_client"):
            problem.hint = f"{problem.hint} {see_to(config)}"
            if other := meant_for(dict(form).get("assertion", ""), issuer.issuer):
                problem.hint += f" The JWT that was sent is meant for {other}, and not for {quoted(issuer.issuer)}."
        raise
    return client, got


async def _request(
    fetcher: Fetcher, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> tuple[Client, Form, str]:
    """Who asks for a token, with what, and what it is for."""
    auth = config.auth
    if auth.kind == "enterprise":
        granted = await _identity_grant(fetcher, config, issuer, resource, scopes)
        form = tokens.form(tokens.JWT_BEARER, resource, scopes, assertion=granted)
        return _client(auth, issuer), form, "token for the identity assertion"
    if auth.kind == "workload":
        # A workload is known by its JWT; a client id is sent along only where it is configured.
        shown = await asyncio.to_thread(assertion, auth.assertion, "assertion")
        form = tokens.form(tokens.JWT_BEARER, resource, scopes, assertion=shown)
        return _client(auth, issuer), form, "token for the workload"
    return _client(auth, issuer), tokens.form("client_credentials", resource, scopes), "token for the client"


def _client(auth: Auth, issuer: IssuerMetadata) -> Client:
    method = auth.method
    if auth.kind == "private_key_jwt" or (auth.key and not auth.client_secret):
        method = "private_key_jwt"
    shown = method_for(issuer, auth.client_secret, method)
    return Client(issuer.issuer, auth.client_id, auth.client_secret, shown)


async def _identity_grant(
    fetcher: Fetcher, config: ServerConfig, issuer: IssuerMetadata, resource: str, scopes: Sequence[str]
) -> str:
    """The person's id token exchanged at the identity provider, for an assertion to this authorization server."""
    auth = config.auth
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
