"""Tokens anew without a person (RFC 6749 6), and taking them back (RFC 7009); by what was kept, nothing is guessed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial

from mcp_studio.auth import granting, tokens
from mcp_studio.auth.dpop import Dpop
from mcp_studio.auth.failed import AuthFailed
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.model import Grant
from mcp_studio.auth.redeem import id_wanted, redeem, signed
from mcp_studio.config.model import Auth
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import items_of, mapping

SKEW = 30.0
"""Seconds before its end from which on a token is renewed; less for one that does not live long."""
DEAD = ("invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_target")
"""Refusals after which a refresh token will not be taken later either."""


def expiring(grant: Grant, now: float | None = None) -> bool:
    """Whether a token has expired, or is about to."""
    if not grant.expires:
        return False
    life = grant.expires - grant.obtained
    return (time.time() if now is None else now) >= grant.expires - min(SKEW, max(0.0, life) / 4)


def expired(grant: Grant) -> bool:
    """Whether a token is of no use any more, by our clock."""
    return bool(grant.expires) and time.time() >= grant.expires


async def refresh(fetcher: Fetcher, auth: Auth, grant: Grant) -> Grant:
    """The grant with new tokens.

    Raises:
        AuthFailed: there are none; with an `error` of `DEAD` there never will be.
        StudioError: as `Fetcher.send`.
    """
    dpop = await asyncio.to_thread(Dpop.load, grant.dpop_key) if grant.dpop_key else None
    offered = items_of(mapping(grant.metadata).get("token_endpoint_auth_signing_alg_values_supported"))
    algorithms = tuple(one for one in offered if isinstance(one, str)) or None
    prove = partial(granting.client_proof, auth, grant.client, grant.issuer, algorithms)
    form = tokens.refresh_form(grant.refresh_token, grant.audience)
    make = signed(grant.token_endpoint, grant.client, form, prove)
    use = "must" if dpop else "no"
    got = await redeem(fetcher, make, "renewed token", asked=grant.scopes, dpop=dpop, use=use)
    now = time.time()
    return replace(
        grant,
        access_token=got.access_token,
        token_type=got.token_type,
        # An answer without one leaves the old one in force (RFC 6749 6).
        refresh_token=got.refresh_token or grant.refresh_token,
        id_token=got.id_token or grant.id_token,
        scopes=got.scopes,
        obtained=now,
        expires=granting.expiry(got, now),
    )


async def revoke(fetcher: Fetcher, auth: Auth, grant: Grant) -> str:
    """Take the tokens back where that is offered; what came of it, in a sentence. Never raises a `StudioError`."""
    if not grant.revocation_endpoint:
        return f"{grant.issuer} offers no revocation: the tokens stay valid there until they expire."
    tokens_held = (("refresh token", grant.refresh_token), ("access token", grant.access_token))
    names = [name for name, token in tokens_held if token]
    done: list[str] = []
    why = ""
    for name, token in tokens_held:
        if not token:
            continue
        try:
            await _revoke_one(fetcher, auth, grant, name.replace(" ", "_"), token)
        except AuthFailed as problem:
            why = why or problem.message  # Some revoke one kind alone.
        except StudioError as problem:
            why = why or problem.message
            break  # Nobody answers: to wait once is enough.
        else:
            done.append(name)
    told = [f"{grant.issuer} revoked the {' and the '.join(done)}."] if done else []
    if left := [name for name in names if name not in done]:
        told.append(f"The {' and the '.join(left)} could not be revoked, and can be used until expired: {why}")
    return " ".join(told)


async def _revoke_one(fetcher: Fetcher, auth: Auth, grant: Grant, kind: str, token: str) -> None:
    shown = await granting.client_proof(auth, grant.client, grant.issuer, None)
    form = tokens.revocation_form(token, kind)
    request = tokens.post(grant.revocation_endpoint, grant.client, form, assertion=shown)
    purpose, headers = f"revocation of the {kind.replace('_', ' ')}", list(request.headers)
    answer = await fetcher.send(
        purpose, "POST", request.url, headers=headers, body=request.body, secrets=request.secrets
    )
    if request.named and id_wanted(answer):
        body = request.named
        answer = await fetcher.send(purpose, "POST", request.url, headers=headers, body=body, secrets=request.secrets)
    # 200 also for a token that was not known (RFC 7009 2.2).
    if not 200 <= answer.status < 300:
        raise AuthFailed(f"the revocation endpoint {grant.revocation_endpoint} answered with status {answer.status}.")
