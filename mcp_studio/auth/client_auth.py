"""How a client shows itself at a token endpoint: by nothing, a secret, or a JWT that it signs.

RFC 6749 2.3.1, RFC 7523 2.2, OpenID Connect Core 9.
"""

from __future__ import annotations

import base64
import re
import secrets
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthFailed, Client, quoted
from mcp_studio.errors import ConfigError

METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
"""How we can show ourselves at a token endpoint."""
CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFE = 300
"""Seconds that an assertion of ours can be used."""
JWT = re.compile(r"[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*\Z")
Form = list[tuple[str, str]]


def method_for(metadata: IssuerMetadata, secret: str, wanted: str = "") -> str:
    """How a client shows itself at the token endpoint.

    Args:
        secret: the client's; empty for a public one.
        wanted: as configured or registered; empty for the first one that both know.

    Raises:
        AuthFailed: in no way that the authorization server takes.
    """
    if wanted:
        if wanted not in METHODS or (wanted.startswith("client_secret") and not secret):
            raise AuthFailed(
                f"A client {'with' if secret else 'without'} a secret cannot show itself by {quoted(wanted)}.",
                hint=f"`method` can be {', '.join(METHODS)}; the second and third need client_secret.",
            )
        return wanted
    if not secret:
        return "none"
    # Without a list it is Basic (RFC 8414 2). `none` alone means that secrets are not looked at.
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
    """One POST that is ready to be sent."""

    headers: list[tuple[str, str]]
    body: bytes
    secrets: list[str]
    """What of the headers must not be shown, also when the other side quotes it; those of the body have names."""


def sign(client: Client, form: Form, assertion: str = "") -> TokenRequest:
    """A form that the client signs in its way (`Client.method`).

    Args:
        assertion: the client's JWT, for `private_key_jwt` (RFC 7523 2.2).

    Raises:
        AuthFailed: the client has nothing to show itself with in that way.
    """
    form = [(name, value) for name, value in form if value]
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    secrets: list[str] = []
    match client.method:
        case "none":
            # A workload has none: its assertion says who it is.
            form += [("client_id", client.client_id)] if client.client_id else []
        case "client_secret_basic" if client.secret:
            pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret)}"
            basic = base64.b64encode(pair.encode()).decode()
            headers.append(("Authorization", f"Basic {basic}"))
            secrets += [client.secret, basic]
        case "client_secret_post" if client.secret:
            form += [("client_id", client.client_id), ("client_secret", client.secret)]
        case "private_key_jwt" if assertion:
            # The assertion says who it is (MCP client credentials extension; RFC 7523 3).
            form += [("client_assertion_type", CLIENT_ASSERTION), ("client_assertion", assertion)]
        case method:
            raise AuthFailed(
                f"The client {quoted(client.client_id)} cannot show itself by {quoted(method)}.",
                hint="In the [servers.NAME.auth] table client_secret_basic and client_secret_post need client_secret, "
                "private_key_jwt needs key; a public client has method = none.",
            )
    return TokenRequest(headers, urlencode(form).encode("ascii"), secrets)


def client_assertion(client: Client, key: str, algorithm: str) -> str:
    """A JWT by which a client shows itself at a token endpoint (`private_key_jwt`, RFC 7523 2.2, 3).

    Its audience is the issuer of the authorization server (draft-ietf-oauth-rfc7523bis: exactly this, no endpoint).

    Args:
        key: the private key as PEM, or the file it is in.

    Raises:
        ConfigError: there is no such key, or it does not sign that way.
    """
    import jwt

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
        return jwt.encode(payload, _key(read_secret(key, "key")), algorithm=algorithm)
    except (jwt.PyJWTError, TypeError, ValueError, NotImplementedError):
        raise ConfigError(
            f"The private key does not sign with {algorithm}.",
            key="algorithm",
            hint="Set `algorithm` to one that fits the key (RS256 for RSA, ES256 for P-256), or use another key.",
        ) from None


def _key(text: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(text.encode(), None)
    except (TypeError, ValueError, UnsupportedAlgorithm):  # a TypeError where it is encrypted
        raise ConfigError(
            "The private key cannot be read: it is no private key in PEM, or it is encrypted.",
            key="key",
            hint="It begins with -----BEGIN PRIVATE KEY-----. Decrypt it (openssl pkcs8 -topk8 -nocrypt -in FILE) and "
            "keep it in the keyring: ${keyring:NAME}.",
        ) from None


def read_secret(value: str, name: str) -> str:
    """What is written itself (PEM, a JWT), or what is in the file that is named.

    Args:
        name: the key of the configuration that it stands at.

    Raises:
        ConfigError: it is empty, or a file that cannot be read.
    """
    if not value:
        raise ConfigError(f"`{name}` is missing.", key=name, hint="Set it in the [servers.NAME.auth] table.")
    if "-----BEGIN" in value or JWT.match(value.strip()):
        return value.replace("\\n", "\n") if "\n" not in value else value
    try:
        return Path(value).expanduser().read_text("utf-8", "replace")
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or "there is no such file"
        # Its name is not quoted: it may be a damaged secret.
        raise ConfigError(f"The file that `{name}` names cannot be read: {reason}.", key=name) from None
