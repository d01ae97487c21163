"""What token endpoints gave, as what is kept of it; and how a client shows itself to them."""

from __future__ import annotations

import asyncio
import time

from mcp_studio.auth import assertions, claims, scopes
from mcp_studio.auth.answers import Tokens
from mcp_studio.auth.discovery import LONGEST, same_origin
from mcp_studio.auth.dpop import Dpop
from mcp_studio.auth.failed import said
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import Client, Grant
from mcp_studio.auth.person import Means
from mcp_studio.config.model import Auth
from mcp_studio.jsontext import Json, items_of
from mcp_studio.vault.base import VaultRefused

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
        lambda: assertions.client_assertion(client.client_id, issuer, auth.key, auth.algorithm, offered=offered)
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
    return value[:LONGEST] if isinstance(value, str) else value  # what is longer was not taken either


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
    told: Json = claims.payload(got.access_token).get("exp")
    if isinstance(told, bool) or not isinstance(told, (int, float)):
        return 0.0
    return float(told) if now < told < now + 1e9 else 0.0


def about(got: Tokens, audience: str) -> str:
    """Tokens in a sentence, with what is odd about them; never themselves."""
    until = f"for {claims.span(got.expires_in)}" if got.expires_in else "whose lifetime the answer does not say"
    words = [f"A {got.token_type} token {until}, {'with' if got.refresh_token else 'without'} a refresh token."]
    words += [f"Scopes: {scopes.brief(got.scopes)}."] if got.scopes else []
    if other := meant_for(got.access_token, audience):
        words.append(f"It is meant for {other}, and {said(audience)} was asked for.")
    return " ".join((*words, *got.notes.values()))


def meant_for(token: str, audience: str) -> str:
    """Whom a token is for, where it says so and that is somebody else than `audience`; else empty."""
    aud: Json = claims.payload(token).get("aud")
    meant = [str(one) for one in (items_of(aud) or [aud]) if one]
    if not meant or not audience or audience.rstrip("/") in [one.rstrip("/") for one in meant]:
        return ""
    return said(", ".join(meant[:5]))
