"""What is known of sign-ins, in words and as JSON; no secret is among it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from mcp_studio.auth.claims import span
from mcp_studio.auth.model import Account
from mcp_studio.jsontext import Json, printable

HOW = {
    "configured": "registered beforehand",
    "document": "known by its metadata document",
    "registered": "registered by itself",
    "typed": "typed by you",
}
"""How we came to be a client of an authorization server."""


def validity(account: Account, now: float | None = None) -> str:
    """Until when its access token is good, and what happens then."""
    if not account.expires:
        return "no end is known" + (", renewed when refused" if account.refreshable else "")
    left = account.expires - (time.time() if now is None else now)
    if left >= 1:
        return f"for {span(left)}" + (", then renewed" if account.refreshable else "")
    ended = f"expired {span(-left)} ago" if left <= -1 else "just expired"
    return ended + (", is renewed when used" if account.refreshable else "")


def phrase(valid: str) -> str:
    """What `validity` says where no heading stands before it: `valid for 5 minutes`, `expired 5 minutes ago`."""
    return f"valid {valid}" if valid.startswith("for ") else valid


def usable(account: Account, now: float | None = None) -> bool:
    """Whether something can be sent to the server without a person."""
    return account.refreshable or not account.expires or account.expires > (time.time() if now is None else now)


def when(moment: float) -> str | None:
    """A moment for scripts, in UTC; None where it is not known."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) if moment else None


def facts(account: Account) -> dict[str, Json]:
    """Everything that may be shown, as JSON."""
    return {
        "server": account.server, "resource": account.resource, "account": account.account or None,
        "signedIn": usable(account), "issuer": account.issuer, "scopes": list(account.scopes),
        "obtained": when(account.obtained), "expires": when(account.expires), "refreshable": account.refreshable,
        "kept": account.kept, "clientId": account.client_id, "client": account.client_how,
        "tokenType": account.token_type, "revocable": account.revocable,
    }  # fmt: skip


def with_claims(account: Account) -> dict[str, Json]:
    """The same with what the tokens say."""
    return facts(account) | {"claims": account.claims or None, "idClaims": account.id_claims or None}


def lines(account: Account) -> Iterator[tuple[str, str]]:
    """Everything that may be shown, as rows of a table; foreign parts are not sanitized."""
    yield "server", account.server
    yield "address", account.resource
    if account.account:
        yield "account", account.account
    yield "authorization server", account.issuer
    yield "scopes", " ".join(account.scopes) or "none named"
    yield "signed in", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(account.obtained))
    yield "valid", validity(account)
    yield "kept in", account.kept
    yield "client", f"{account.client_id} ({HOW.get(account.client_how, account.client_how)})"
    yield "kind of token", account.token_type
    yield "can be revoked", "yes" if account.revocable else "not offered"
    for title, claims in (("claims", account.claims), ("id token", account.id_claims)):
        for name, value in claims.items():
            yield f"{title} {name}", _claim(name, value)


def _claim(name: str, value: Json) -> str:
    text = value if isinstance(value, str) else printable(value, indent=None)
    if name in ("exp", "iat", "nbf", "auth_time") and isinstance(value, int) and 0 < value < 1 << 33:
        return f"{text}  ({when(float(value))})"
    return text
