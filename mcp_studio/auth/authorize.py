"""The address that a person opens in a browser to permit access (RFC 6749 4.1.1, RFC 7636 4.3, RFC 8707 2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from mcp_studio.auth import scopes as scope_words
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.auth.pkce import METHOD


def authorization_url(
    endpoint: str,
    *,
    client_id: str,
    redirect_uri: str,
    state: str,
    challenge: str,
    scopes: Sequence[str] = (),
    resource: str = "",
    dpop_jkt: str = "",
) -> str:
    """The endpoint with everything that is asked for; query parameters that it has stay (RFC 6749 3.1).

    Args:
        resource: the server, as its metadata calls it; empty leaves it out (specification 2025-03-26).
        dpop_jkt: the thumbprint of the key that the code is to be bound to (RFC 9449 10).

    Raises:
        AuthFailed: the endpoint sets one of the parameters itself.
    """
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": METHOD,
        "scope": scope_words.text(scopes),
        "resource": resource,
        # Without it a refresh token is not given out (OpenID Connect Core 11).
        "prompt": "consent" if scope_words.OFFLINE in scopes else "",
        "dpop_jkt": dpop_jkt,
    }
    parts = urlsplit(endpoint)
    _check_query(endpoint, parts.query, asked)
    query = urlencode({name: value for name, value in asked.items() if value}, quote_via=quote)
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))


def _check_query(endpoint: str, query: str, asked: Collection[str]) -> None:
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if name in asked:
            raise AuthFailed(
                f"authorization_endpoint is {said(endpoint)}: it sets {name} itself.",
                hint="Its query must not have what the client has to say (RFC 6749 3.1: no parameter twice).",
            )
