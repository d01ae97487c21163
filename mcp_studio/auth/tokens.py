"""Requests to token and revocation endpoints: their form, and how the client shows itself there.

RFC 6749 2.3.1, 4.1.3, 4.4.2, 6; RFC 7009 2.1; RFC 7523 2; RFC 8693 2.1; RFC 8707 2. The answers are read in `answers`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote_plus, urlencode

from mcp_studio.auth import scopes as scope_words
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.auth.model import Client

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
"""An identity assertion authorization grant (draft-ietf-oauth-identity-assertion-authz-grant)."""

Form = list[tuple[str, str]]
_SECRET = frozenset(
    {"code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "assertion", "subject_token"}
    | {"token"}
)


class TokenRequest(NamedTuple):
    """One POST that is ready to be sent."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    secrets: tuple[str, ...]
    """What of it must not be seen anywhere, also when the other side quotes it."""
    named: bytes = b""
    """With Basic: the body with client_id in it besides, which some servers want and others refuse."""


def post(url: str, client: Client, form: Form, *, assertion: str = "") -> TokenRequest:
    """A form that the client signs in its way (`Client.method`).

    Args:
        assertion: the client's JWT, for `private_key_jwt` (RFC 7523 2.2).

    Raises:
        AuthFailed: the client has nothing to show itself with in that way.
    """
    form = [(name, value) for name, value in form if value]
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    secrets = [value for name, value in form if name in _SECRET]
    named = b""
    match client.method:
        case "none":
            # A workload has none: its assertion says who it is.
            form += [("client_id", client.client_id)] if client.client_id else []
        case "client_secret_basic":
            pair = f"{quote_plus(client.client_id)}:{quote_plus(_secret(client))}"
            basic = base64.b64encode(pair.encode()).decode()
            headers.append(("Authorization", f"Basic {basic}"))
            secrets += [client.secret, basic]
            named = urlencode([*form, ("client_id", client.client_id)]).encode("ascii")
        case "client_secret_post":
            form += [("client_id", client.client_id), ("client_secret", _secret(client))]
            secrets.append(client.secret)
        case "private_key_jwt" if assertion:
            # The assertion says who it is (MCP client credentials extension; RFC 7523 3).
            form += [("client_assertion_type", CLIENT_ASSERTION), ("client_assertion", assertion)]
            secrets.append(assertion)
        case method:
            raise AuthFailed(
                f"The client {said(client.client_id)} cannot show itself by {said(method)}.",
                hint="Set `method` to none, client_secret_basic or client_secret_post; private_key_jwt needs `key`.",
            )
    return TokenRequest(url, tuple(headers), urlencode(form).encode("ascii"), tuple(secrets), named)


def _secret(client: Client) -> str:
    if not client.secret:
        raise AuthFailed(
            f"The client {said(client.client_id)} has no secret, which {client.method} needs.",
            hint="Set client_secret in the [servers.NAME.auth] table, or method = none for a public client.",
        )
    return client.secret


def code_form(code: str, verifier: str, redirect_uri: str, resource: str) -> Form:
    """Redeem a code (RFC 6749 4.1.3, RFC 7636 4.5)."""
    return [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri),
        ("code_verifier", verifier),
        ("resource", resource),
    ]


def refresh_form(refresh_token: str, resource: str, scopes: Sequence[str] = ()) -> Form:
    """A new access token for a refresh token (RFC 6749 6); without scopes it is for what was granted."""
    return [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token),
        ("scope", scope_words.text(scopes)),
        ("resource", resource),
    ]


def credentials_form(resource: str, scopes: Sequence[str] = ()) -> Form:
    """A token for the client itself (RFC 6749 4.4.2)."""
    return [("grant_type", "client_credentials"), ("scope", scope_words.text(scopes)), ("resource", resource)]


def bearer_form(assertion: str, resource: str, scopes: Sequence[str] = ()) -> Form:
    """A token for a JWT that somebody else gave (RFC 7523 2.1)."""
    return [
        ("grant_type", JWT_BEARER),
        ("assertion", assertion),
        ("scope", scope_words.text(scopes)),
        ("resource", resource),
    ]


def exchange_form(id_token: str, audience: str, resource: str, scopes: Sequence[str] = ()) -> Form:
    """An identity assertion grant for an id token (RFC 8693 2.1; MCP enterprise-managed authorization)."""
    return [
        ("grant_type", TOKEN_EXCHANGE),
        ("requested_token_type", ID_JAG),
        ("subject_token", id_token),
        ("subject_token_type", ID_TOKEN),
        ("audience", audience),
        ("resource", resource),
        ("scope", scope_words.text(scopes)),
    ]


def revocation_form(token: str, kind: str) -> Form:
    """Take a token back (RFC 7009 2.1). `kind` is `access_token` or `refresh_token`."""
    return [("token", token), ("token_type_hint", kind)]
