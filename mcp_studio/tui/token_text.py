"""What is known of a token, in words: when it was got, how long it is valid, what its claims say. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping

from mcp_studio.auth.model import Account
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import glyphs

Part = str | tuple[str, str]

_HOW = {
    "configured": "configured beforehand",
    "document": "by its metadata document",
    "registered": "registered dynamically",
    "typed": "typed by you",
}
_TIMES: Mapping[str, str] = {
    "iat": "issued", "nbf": "valid from", "exp": "expires", "auth_time": "person signed in", "updated_at": "updated",
}  # fmt: skip
_NAMES: Mapping[str, str] = {
    "iss": "issuer", "sub": "subject", "aud": "audience", "azp": "for client", "client_id": "for client",
    "scope": "scopes", "email": "email", "name": "name", "preferred_username": "user",
}  # fmt: skip
_LABEL = 12


def span(seconds: float) -> str:
    """A time that is left, or ago: `14:05`, `3 h 20 min`, `12 days`; never below zero."""
    left = max(0, int(seconds))
    if left < 3_600:
        return f"{left // 60}:{left % 60:02}"
    if left < 86_400:
        return f"{left // 3_600} h {left % 3_600 // 60} min"
    days = left // 86_400
    return f"{days:,} day{'' if days == 1 else 's'}"


def moment(epoch: float, now: float | None = None) -> str:
    """A time as date and clock of this machine, and how far it is from now."""
    now = time.time() if now is None else now
    try:
        written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch))
    except (OverflowError, ValueError, OSError):
        return "no time that can be read"
    return f"{written}, in {span(epoch - now)}" if epoch > now else f"{written}, {span(now - epoch)} ago"


def _row(label: str, text: str, look: str = "") -> list[Part]:
    return [(f"{label:<{_LABEL}}", "$quiet"), (text, look), "\n"]


def facts(account: Account, now: float | None = None) -> list[Part]:
    """Everything but the claims and the token itself."""
    now = time.time() if now is None else now
    parts: list[Part] = _row("issuer", safe(account.issuer, 600) or "not known", "b")
    parts += _row("scopes", safe(" ".join(account.scopes), 1_000) or "none are named")
    parts += _row("obtained", moment(account.obtained, now) if account.obtained else "not known")
    if not account.expires:
        parts += _row("expires", "the authorization server does not say")
    elif account.expires > now:
        parts += _row("expires", moment(account.expires, now), "$state-busy" if account.expires - now < 60 else "")
    else:
        then, look = ("; the next call renews it", "$state-busy") if account.refreshable else ("", "$state-failed")
        parts += _row("expires", f"{moment(account.expires, now)}: it has expired{then}", look)
    parts += _row("renewal", "by itself, with a refresh token" if account.refreshable else "none: sign in anew then")
    parts += _row("revocation", "offered" if account.revocable else "not offered: signing out only forgets it")
    parts += _row("kept in", safe(account.kept, 300))
    client = f"{safe(account.client_id, 300)}, {_HOW.get(account.client_how, safe(account.client_how, 40))}"
    parts += _row("client", client)
    parts += _row("type", safe(account.token_type, 40))
    parts += _row("for", safe(account.resource, 600))
    if account.account:
        parts += _row("account", safe(account.account, 80))
    return parts


def claims(account: Account, now: float | None = None) -> list[Part]:
    """What the registered claims say, in words; all of them are in the viewer below."""
    parts: list[Part] = []
    for title, found in (("Access token", account.claims), ("Identity token", account.id_claims)):
        if found:
            parts += [(f"\n{title}, as it stands there: its signature is not checked by the studio\n", "b $accent")]
            parts += _said(found, now)
    if not account.claims:
        parts += [(f"\n{glyphs().dot} The access token is no JWT, or an opaque one: it says nothing here.\n", "$quiet")]
    return parts


def _said(found: Mapping[str, Json], now: float | None) -> list[Part]:
    parts: list[Part] = []
    for name, label in (*_NAMES.items(), *_TIMES.items()):
        value = found.get(name)
        if name in _TIMES and isinstance(value, (int, float)) and not isinstance(value, bool):
            parts += _row(label, moment(float(value), now))
        elif isinstance(value, str):
            parts += _row(label, safe(value, 400))
        elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            parts += _row(label, safe(" ".join(str(one) for one in value), 400))
    return parts


def all_claims(account: Account) -> dict[str, Json]:
    """The claims of both tokens as one value, for the viewer."""
    both: dict[str, Json] = {"access_token": account.claims, "id_token": account.id_claims}
    return {name: value for name, value in both.items() if value}
