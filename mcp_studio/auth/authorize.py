"""The address that a person opens in a browser to permit access (RFC 6749 4.1.1, RFC 7636 4.3, RFC 8707 2)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from mcp_studio.auth import discovery
from mcp_studio.auth.model import AuthFailed, quoted, refusal
from mcp_studio.errors import SignInNeeded, UsageError


def chance() -> str:
    """A random text of 256 bits in 43 characters: a verifier (RFC 7636 4.1) or a state (RFC 6749 10.12)."""
    return secrets.token_urlsafe(32)


def challenge(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636 4.2)."""
    return unpadded(hashlib.sha256(verifier.encode("ascii")).digest())


def unpadded(data: bytes) -> str:
    """Base64 for addresses, without padding (RFC 7636 appendix A)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


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
    """The authorization endpoint with the request's parameters; its own query parameters stay (RFC 6749 3.1).

    Args:
        resource: the server, as its metadata names it; empty leaves it out (specification 2025-03-26).
        dpop_jkt: the thumbprint of the key that binds the code (RFC 9449 10).

    Raises:
        AuthFailed: the endpoint sets one of the parameters itself.
    """
    params = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",  # the only method that we use (RFC 7636 4.2)
        "scope": " ".join(scopes),
        "resource": resource,
        # Without it the authorization server gives no refresh token (OpenID Connect Core 11).
        "prompt": "consent" if discovery.OFFLINE in scopes else "",
        "dpop_jkt": dpop_jkt,
    }
    parts = urlsplit(endpoint)
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name in params:
            raise AuthFailed(
                f"authorization_endpoint is {quoted(endpoint)}: it sets {name} itself.",
                hint="Its query must not have what the client has to say (RFC 6749 3.1: no parameter twice).",
            )
    query = urlencode({name: value for name, value in params.items() if value}, quote_via=quote)
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))


LONGEST = 16_384
"""The most characters that a redirect's query may have."""
_ONCE = ("code", "state", "iss", "error", "error_description", "error_uri")


class NotOurs(SignInNeeded):
    """A redirect that belongs to no sign-in, or to another one: it is rejected, and the sign-in keeps waiting."""


class Expected(NamedTuple):
    """What the redirect of one sign-in must contain."""

    state: str
    issuer: str
    """The authorization server that received the request."""
    sends_issuer: bool = False
    """Whether the authorization server declares that its redirects name it (RFC 9207 3)."""


def judge(query: str, expected: Expected) -> str:
    """Return the code of a redirect. `query` is the text after the `?`.

    Raises:
        NotOurs: the redirect has no `state`, or that of another sign-in.
        AuthFailed: the redirect belongs to this sign-in and brings no usable code; the sign-in has failed.
    """
    pairs: list[tuple[str, str]] = []
    with suppress(ValueError):  # more than a hundred parameters
        if len(query) <= LONGEST:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100, errors="replace")
    states = [value for name, value in pairs if name == "state"]
    # Only the authorization server knows the state, so any further mistake in the redirect is a failure of that server.
    if not any(hmac.compare_digest(one.encode("utf-8", "replace"), expected.state.encode()) for one in states[:10]):
        raise NotOurs(
            "A redirect came with no state, or with another state than was sent: it does not belong to this sign-in.",
            hint="The authorization server has to send `state` back exactly as it got it (RFC 6749 4.1.2), after a ? "
            "and not after a #.",
        )
    for name in _ONCE:
        if sum(key == name for key, _ in pairs) > 1:
            raise AuthFailed(
                f"The redirect has {name} more than once.",
                hint="The authorization server has to send every parameter once (RFC 6749 3.1). The code was not used.",
            )
    values = dict(pairs)
    _check_issuer(values.get("iss"), expected)
    if "error" in values:
        raise refusal("The authorization server refused permission", values)
    if not values.get("code"):
        raise AuthFailed(
            "The redirect brought neither a code nor an error.",
            hint="The authorization server has to send `code` or `error` (RFC 6749 4.1.2).",
        )
    return values["code"]


def _check_issuer(iss: str | None, expected: Expected) -> None:
    """Check `iss` for the four cases of the specification 2026-07-28 (authorization response validation)."""
    if iss == expected.issuer or (iss is None and not expected.sends_issuer):
        return
    raise AuthFailed(
        f"The redirect comes from {quoted(iss or 'nobody it names')}; the authorization server that was asked is "
        f"{quoted(expected.issuer)}.",
        hint="iss has to be there, exactly the issuer of its metadata (RFC 9207 2.4). The code was not used: another "
        "server may be trying to get it.",
    )


def query_of(text: str, redirect_uri: str) -> str:
    """The query of a redirect that a person pasted as a whole address, or from the `?` on.

    Raises:
        UsageError: the text is neither.
    """
    text = "".join(text.split()).strip("\"'<>")  # mail programs and shells put these around addresses
    query = ""
    if "://" not in text.partition("?")[0]:
        query = text.rpartition("?")[2]
    else:
        with suppress(ValueError):
            address, ours = urlsplit(text), urlsplit(redirect_uri)
            if (address.scheme, address.netloc.lower(), address.path) == (ours.scheme, ours.netloc, ours.path):
                query = address.query or address.fragment
    if "state=" in query and len(query) <= LONGEST:
        return query
    raise UsageError(
        "That is not the address that the browser is sent back to.",
        hint=f"Sign in on the page, and paste the address that the browser ends at: {redirect_uri}?code=…&state=…",
    )
