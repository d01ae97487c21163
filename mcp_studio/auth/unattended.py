"""The grants that need no person: client credentials with a secret or a key, enterprise-managed, and of a workload.

RFC 6749 4.4, RFC 7523 2.1 and 2.2; MCP extensions oauth-client-credentials, enterprise-managed-authorization (SEP-990)
and workload identity federation (SEP-1933). None of them is tried again or replaced by another one when it fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from mcp_studio.auth import assertions, claims, registration, tokens
from mcp_studio.auth.answers import Tokens
from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.dpop import Dpop, Use
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.auth.granting import client_proof
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import Client
from mcp_studio.auth.redeem import Sender, redeem, signed
from mcp_studio.config.alone import see_to
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import ConfigError


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
            assertion = await asyncio.to_thread(assertions.workload_assertion, auth.assertion)
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
    token = await asyncio.to_thread(assertions.identity_token, auth.idp_id_token)
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
    told = claims.payload(assertion)
    if problem.error in ("invalid_grant", "invalid_client") and told:
        facts = [f"{name} {said(told[name])}" for name in ("iss", "sub", "aud") if name in told]
        facts += [f"{moment.what} {moment.words}" for moment in claims.moments(told) if moment.claim == "exp"]
        words.append(
            f"The JWT that was sent says: {', '.join(facts)}; the authorization server is {said(issuer.issuer)}."
        )
    if problem.error in ("invalid_grant", "invalid_client", "unauthorized_client"):
        words.append(see_to(config))
    problem.hint = " ".join(word for word in words if word)
    return problem
