"""Which client we are at an authorization server, and how that client authenticates itself.

The ways to get a client are tried in the order of the specification 2026-07-28 (basic/authorization, client
registration): registered beforehand, a client id metadata document, dynamic registration (RFC 7591), the person. At the
token endpoint a client sends no secret, a secret, or a JWT that it signs (RFC 6749 2.3.1, RFC 7523 2.2, OpenID Connect
Core 9).
"""

from __future__ import annotations

import base64
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode, urlsplit

from mcp_studio.auth import discovery
from mcp_studio.auth.discovery import is_loopback
from mcp_studio.auth.fetch import Fetcher, json_of
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client, quoted, refusal
from mcp_studio.config.model import Auth
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, dumps, items_of, mapping

CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFE = 300
"""Seconds for which a client assertion is valid."""
JWT = re.compile(r"[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*\Z")
Form = list[tuple[str, str]]


def method_for(metadata: IssuerMetadata, secret: str, wanted: str = "") -> str:
    """How a client authenticates itself at the token endpoint.

    Args:
        secret: the client's secret; empty for a public client.
        wanted: the configured or registered method; empty for the first one that both sides support.

    Raises:
        AuthFailed: the authorization server accepts none of our methods.
    """
    if wanted:
        return wanted
    if not secret:
        return "none"
    # Without a list the method is Basic (RFC 8414 2). A list of `none` alone means that the server ignores secrets.
    offered = metadata.methods if metadata.methods is not None else ("client_secret_basic",)
    for one in ("client_secret_basic", "client_secret_post", "none"):
        if one in offered:
            return one
    raise no_method(metadata)


def no_method(metadata: IssuerMetadata) -> AuthFailed:
    return AuthFailed(
        f"token_endpoint_auth_methods_supported in the authorization server metadata at {metadata.place} is "
        f"{quoted(', '.join(metadata.methods or ()))}.",
        hint="It has to list none, client_secret_basic or client_secret_post.",
    )


class TokenRequest(NamedTuple):
    """A POST that is ready to be sent."""

    headers: list[tuple[str, str]]
    body: bytes
    secrets: list[str]
    """Secret parts of the headers, which are never shown, even if the server quotes them; fields of the body have
    names."""


def sign(client: Client, form: Form, assertion: str = "") -> TokenRequest:
    """Add a client's credentials to a form, by its method (`Client.method`).

    Args:
        assertion: the client's JWT, for `private_key_jwt` (RFC 7523 2.2).

    Raises:
        AuthFailed: the client lacks the credentials for its method.
    """
    form = [(name, value) for name, value in form if value]
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    secrets: list[str] = []
    match client.method:
        case "none":
            # A workload has no client id: its assertion identifies it.
            form += [("client_id", client.client_id)] if client.client_id else []
        case "client_secret_basic" if client.secret:
            pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret)}"
            basic = base64.b64encode(pair.encode()).decode()
            headers.append(("Authorization", f"Basic {basic}"))
            secrets += [client.secret, basic]
        case "client_secret_post" if client.secret:
            form += [("client_id", client.client_id), ("client_secret", client.secret)]
        case "private_key_jwt" if assertion:
            # The assertion identifies the client (MCP client credentials extension; RFC 7523 3).
            form += [("client_assertion_type", CLIENT_ASSERTION), ("client_assertion", assertion)]
        case method:
            raise AuthFailed(
                f"The client {quoted(client.client_id)} cannot show itself by {quoted(method)}.",
                hint="In the [servers.NAME.auth] table client_secret_basic and client_secret_post need client_secret, "
                "private_key_jwt needs key; a public client has method = none.",
            )
    return TokenRequest(headers, urlencode(form).encode("ascii"), secrets)


def client_assertion(client: Client, key: str, algorithm: str) -> str:
    """A JWT that authenticates a client at a token endpoint (`private_key_jwt`, RFC 7523 2.2, 3).

    Its audience is the issuer of the authorization server, and no endpoint (draft-ietf-oauth-rfc7523bis).

    Args:
        key: the private key as PEM, or the name of its file.

    Raises:
        ConfigError: the key does not exist, or does not sign with `algorithm`.
    """
    import jwt
    from cryptography.exceptions import UnsupportedAlgorithm

    now = int(time.time())
    payload: dict[str, Any] = {
        "iss": client.client_id,
        "sub": client.client_id,
        "aud": client.issuer,
        "iat": now,
        "exp": now + LIFE,
        "jti": secrets.token_urlsafe(16),
    }
    try:
        return jwt.encode(payload, read_secret(key, "key"), algorithm=algorithm)
    except (jwt.PyJWTError, UnsupportedAlgorithm, TypeError, ValueError, NotImplementedError):
        raise ConfigError(
            f"The private key does not sign with {algorithm}: it is none in PEM, encrypted, or of another kind.",
            key="key",
            hint="It begins with -----BEGIN PRIVATE KEY-----, and `algorithm` has to fit it: RS256 for RSA, ES256 for "
            "P-256. Decrypt it (openssl pkcs8 -topk8 -nocrypt -in FILE) and keep it in the keyring: ${keyring:NAME}.",
        ) from None


def read_secret(value: str, name: str) -> str:
    """The secret itself if `value` is one (PEM, a JWT), else the content of the file that `value` names.

    Args:
        name: the key in the configuration that has this value.

    Raises:
        ConfigError: the value is empty, or names a file that cannot be read.
    """
    if not value:
        raise ConfigError(f"`{name}` is missing.", key=name, hint="Set it in the [servers.NAME.auth] table.")
    if "-----BEGIN" in value or JWT.match(value.strip()):
        return value.replace("\\n", "\n") if "\n" not in value else value
    try:
        return Path(value).expanduser().read_text("utf-8", "replace")
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or "there is no such file"
        # The message does not quote the name: it may be a damaged secret.
        raise ConfigError(f"The file that `{name}` names cannot be read: {reason}.", key=name) from None


LONGEST = 4_096
"""The most characters that a client id or secret may have."""
_REGISTERED = ("none", "client_secret_post", "client_secret_basic")
"""The methods that a registration requests, in this order: `none` is the one that every server has to support (OAuth
2.1, 2.5.1), and servers disagree on whether a form has to name the client besides Basic."""
_HARMLESS = "none"
"""A response type that returns nothing; some authorization servers register every client with it."""


def choose(
    metadata: IssuerMetadata,
    auth: Auth,
    *,
    document: str = "",
    known: Client | None = None,
    redirect_uri: str = "",
    asked: Sequence[str] = (),
) -> Client | None:
    """Choose the first client that needs no registration; None where there is none.

    Args:
        auth: the entry's table, which may name a client that was registered beforehand.
        document: the URL of our client id metadata document.
        known: the client that was registered or typed before at this issuer.
        redirect_uri: where the browser is sent back to; a client registered with another redirect URI is not used.
        asked: the scopes of the request.

    Raises:
        AuthFailed: the configured client supports no method that the authorization server accepts.
    """
    if auth.client_id:
        method = method_for(metadata, auth.client_secret, auth.method)
        return Client(metadata.issuer, auth.client_id, auth.client_secret, method, "configured", redirect_uri)
    if metadata.reads_documents and document:
        return Client(metadata.issuer, document, "", "none", "document", redirect_uri)
    if known and known.issuer == metadata.issuer and usable(known, redirect_uri, asked):
        return known
    return None


def usable(client: Client, redirect_uri: str, asked: Sequence[str]) -> bool:
    """Whether a client that was registered or typed before may be used for this redirect and these scopes."""
    if client.secret_expires and client.secret_expires <= time.time() + 30:
        return False
    if client.how != "registered":
        return True
    # Whether the server accepts another port (RFC 8252 7.3) would only show in the browser.
    if client.redirect_uri != redirect_uri:
        return False
    scope = mapping(client.registration).get("scope")
    if not scope or not isinstance(scope, str):
        return True
    # The client may request only these scopes (RFC 7591 2). Scopes that its registration asked for and did not get
    # would not be granted now either.
    return not discovery.missing((*discovery.parse(scope), *client.asked, discovery.OFFLINE), asked)


def registration_request(metadata: IssuerMetadata, redirect_uri: str, scopes: Sequence[str] = ()) -> dict[str, Json]:
    """The body of a registration request (RFC 7591 2; OpenID Connect Registration 2 for `application_type`).

    Raises:
        AuthFailed: the authorization server requires a method that a program on a person's machine cannot use.
    """
    # Without metadata the methods are unknown; with metadata that has no list the method is Basic (RFC 8414 2).
    offered = metadata.methods if metadata.methods is not None else (("client_secret_basic",) if metadata.place else ())
    method = next((one for one in _REGISTERED if not offered or one in offered), "")
    if not method:
        raise no_method(metadata)
    request: dict[str, Json] = {
        "client_name": "MCP Studio",
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    }
    if scopes:
        request["scope"] = " ".join(scopes)
    return request


def client_from(raw: Json, *, asked: dict[str, Json], metadata: IssuerMetadata) -> Client:
    """The client in the answer to a registration (RFC 7591 3.2.1). Null and "" are placeholders and count as missing.

    Raises:
        AuthFailed: the answer is no registration, or changes what was requested.
    """
    answer = {name: value for name, value in mapping(raw).items() if value is not None and value != ""}
    client_id, secret = _text(answer, "client_id"), _text(answer, "client_secret")
    if not client_id:
        raise AuthFailed("client_id in the answer to the registration is missing.", hint=_HINT)
    redirect_uri = str(items_of(asked["redirect_uris"])[0])
    redirects = answer.get("redirect_uris", [redirect_uri])
    if not items_of(redirects) or not all(same_redirect(redirect_uri, one) for one in items_of(redirects)):
        raise _wrong("redirect_uris", redirects, asked)
    for name in ("grant_types", "response_types"):
        wishes = items_of(asked[name])
        reply = answer.get(name, wishes)
        if wishes[0] not in items_of(reply) or any(one not in (*wishes, _HARMLESS) for one in items_of(reply)):
            raise _wrong(name, reply, asked)
    scope = answer.get("scope")
    return Client(
        issuer=metadata.issuer,
        client_id=client_id,
        secret=secret,
        method=_method(answer, asked, metadata, secret),
        how="registered",
        redirect_uri=redirect_uri,
        secret_expires=_expires(answer) if secret else 0.0,
        # The rest of the answer may have a megabyte, and keyrings store only little.
        registration={"scope": scope[: 2 * discovery.LONGEST_SCOPES]} if isinstance(scope, str) else {},
    )


def _wrong(name: str, came: object, asked: dict[str, Json]) -> AuthFailed:
    return AuthFailed(
        f"{name} in the answer to the registration is {quoted(came)}.",
        hint=f"{quoted(asked[name])} was asked for; a registration must not change what it is used for.",
    )


def _text(answer: dict[str, Json], name: str) -> str:
    value = answer.get(name, "")
    if isinstance(value, str) and len(value) <= LONGEST and value.isascii() and value.isprintable():
        return value
    raise AuthFailed(
        f"{name} in the answer to the registration is no plain text.",  # not quoted: the value may be the secret
        hint=f"It has to be a string of at most {LONGEST:,} printable ASCII characters (RFC 6749 appendix A).",
    )


def same_redirect(one: str, other: Json) -> bool:
    """Whether two redirect URIs are the same; the port of a loopback address does not count (RFC 8252 7.3)."""
    if one == other or not isinstance(other, str):
        return one == other
    try:
        ours, theirs = urlsplit(one), urlsplit(other)
        loopback = is_loopback(one) and ours.hostname == theirs.hostname
    except ValueError:
        return False
    return loopback and (ours.scheme, ours.path, ours.query) == (theirs.scheme, theirs.path, theirs.query)


def _method(answer: dict[str, Json], asked: dict[str, Json], metadata: IssuerMetadata, secret: str) -> str:
    name = "token_endpoint_auth_method"
    usual = "none"
    if secret:
        usual = method_for(metadata, secret) if asked[name] == "none" else str(asked[name])
    method = answer.get(name, usual)
    if method not in _REGISTERED or (method != "none" and not secret):
        problem = _wrong(name, method, asked)
        problem.hint += " For a client with a secret client_secret has to be in the answer."
        raise problem
    return str(method)


def _expires(answer: dict[str, Json]) -> float:
    """When the secret expires; 0 means never, or an answer that makes no sense."""
    value = answer.get("client_secret_expires_at", 0)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and time.time() < value < 1e12 else 0.0


_HINT = (
    "It has to register clients like this one (RFC 7591); or a client that somebody registered by hand can be named: "
    "client_id in the [servers.NAME.auth] table."
)
WAYS = {
    "configured": "The configuration names a client that was registered beforehand.",
    "document": "The authorization server reads client id metadata documents.",
    "registered": "A client was registered there before.",
    "typed": "A person named the client.",
}


async def register(fetcher: Fetcher, issuer: IssuerMetadata, redirect_uri: str, wanted: Sequence[str]) -> Client:
    """Register a new client at an authorization server.

    Raises:
        AuthFailed: the server does not register us, or changes what was requested.
        StudioError: as `Fetcher.send`.
    """
    request = registration_request(issuer, redirect_uri, wanted)
    headers, url = [("Content-Type", "application/json")], issuer.registration_endpoint
    answer = await fetcher.send("registration", "POST", url, headers=headers, body=dumps(request))
    raw = json_of(answer.body)
    if "scope" in request and answer.status == 400 and "scope" in f"{mapping(raw).get('error_description')}":
        # The MCP server's scopes may be unknown to the authorization server, which registers clients for its own.
        del request["scope"]
        answer = await fetcher.send("registration", "POST", url, headers=headers, body=dumps(request))
        raw = json_of(answer.body)
    if 200 <= answer.status < 300 and isinstance(raw, dict):
        return replace(client_from(raw, asked=request, metadata=issuer), asked=tuple(wanted))
    problem = refusal(
        f"The registration endpoint {url} did not register a client (status {answer.status})",
        mapping(raw),
        fetcher.redactor.text,
    )
    problem.hint = _HINT
    if not issuer.place:
        problem.message += " Nothing says that this server signs people in by OAuth: it may want a key."
    raise problem
