"""A sign-in and its tokens in words: when it happened, how long the tokens are valid, what their claims say."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from mcp_studio.auth.model import Account, AuthStep
from mcp_studio.jsontext import Json
from mcp_studio.present import units
from mcp_studio.safetext import safe

_HOW = {
    "configured": "configured beforehand",
    "document": "by its metadata document",
    "registered": "registered dynamically",
    "typed": "typed by you",
}
"""How we became a client of an authorization server."""
_TIMES: Mapping[str, str] = {
    "iat": "issued", "nbf": "valid from", "exp": "expires", "auth_time": "person signed in", "updated_at": "updated",
}  # fmt: skip
_NAMES: Mapping[str, str] = {
    "iss": "issuer", "sub": "subject", "aud": "audience", "azp": "for client", "client_id": "for client",
    "scope": "scopes", "email": "email", "name": "name", "preferred_username": "user",
}  # fmt: skip


def validity(account: Account, now: float | None = None) -> str:
    """How long the access token is valid, and what happens then."""
    if not account.expires:
        return "no expiry is known" + (", renewed when refused" if account.refreshable else "")
    seconds = account.expires - (time.time() if now is None else now)
    if seconds >= 1:
        return f"valid for {units.seconds(seconds)}" + (", then renewed" if account.refreshable else "")
    ended = f"expired {units.seconds(-seconds)} ago" if seconds <= -1 else "just expired"
    return ended + (", is renewed when used" if account.refreshable else "")


def usable(account: Account, now: float | None = None) -> bool:
    """Whether requests can be sent to the server without a person."""
    return account.refreshable or not account.expires or account.expires > (time.time() if now is None else now)


def moment(epoch: float, now: float) -> str:
    """A time as date and clock of this machine, and its distance from now."""
    if not (text := units.date_time(epoch)):
        return "an invalid time"
    return f"{text}, in {units.seconds(epoch - now)}" if epoch > now else f"{text}, {units.seconds(now - epoch)} ago"


def account_rows(account: Account, now: float) -> list[tuple[str, str]]:
    """The facts about a sign-in with their names, without the claims and the token itself."""
    expires = moment(account.expires, now) if account.expires else "the authorization server does not say"
    if 0 < account.expires <= now:
        expires += ": it has expired" + ("; the next call renews it" if account.refreshable else "")
    rows = [
        ("issuer", safe(account.issuer, 600) or "not known"),
        ("scopes", safe(" ".join(account.scopes), 1_000) or "none"),
        ("obtained", moment(account.obtained, now) if account.obtained else "not known"),
        ("expires", expires),
        ("renewal", "automatic, with a refresh token" if account.refreshable else "none: sign in again"),
        ("revocation", "supported" if account.revocable else "not supported: signing out only forgets the token"),
        ("stored in", safe(account.place, 300)),
        ("client", f"{safe(account.client_id, 300)}, {_HOW.get(account.client_how, safe(account.client_how, 40))}"),
        ("type", safe(account.token_type, 40)),
        ("for", safe(account.resource, 600)),
    ]
    return [*rows, ("account", safe(account.account, 80))] if account.account else rows


def as_json(account: Account) -> dict[str, Json]:
    """The facts about a sign-in for programs, without the claims and the token itself."""
    return {
        "server": account.server, "resource": account.resource, "account": account.account or None,
        "signedIn": usable(account), "issuer": account.issuer, "scopes": list(account.scopes),
        "obtained": utc(account.obtained), "expires": utc(account.expires), "refreshable": account.refreshable,
        "kept": account.place, "clientId": account.client_id, "client": account.client_how,
        "tokenType": account.token_type, "revocable": account.revocable,
    }  # fmt: skip


def steps_json(steps: Sequence[AuthStep]) -> list[Json]:
    """The steps of a sign-in with their exchanges, for programs."""
    return [
        {
            "step": step.name, "title": step.title, "state": step.state, "detail": step.detail or None,
            "hint": step.hint or None,
            "exchanges": [
                {"number": one.number, "purpose": one.purpose, "method": one.method, "url": one.url,
                 "status": one.status or None, "ms": round(one.ms, 1)}
                for one in step.exchanges
            ],
        }
        for step in steps
    ]  # fmt: skip


def utc(epoch: float) -> str | None:
    """A time for programs; None if unknown."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)) if epoch else None


def claim_rows(claims: Mapping[str, Json], now: float) -> list[tuple[str, str]]:
    """The registered claims of a token, with their names."""
    rows: list[tuple[str, str]] = []
    for name, label in (*_NAMES.items(), *_TIMES.items()):
        value = claims.get(name)
        if name in _TIMES and isinstance(value, (int, float)) and not isinstance(value, bool):
            rows.append((label, moment(float(value), now)))
        elif isinstance(value, str):
            rows.append((label, safe(value, 400)))
        elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            rows.append((label, safe(" ".join(str(one) for one in value), 400)))
    return rows
