"""JWTs that stand for a client or a workload (RFC 7523): signed here with a key, or read from where they are kept.

Everything here reads files and signs: to be called in a thread.
"""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path
from typing import Any

from mcp_studio.auth import claims
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.errors import ConfigError

LARGEST = 65_536
"""Bytes of a key or an assertion."""
LIFE = 300
"""Seconds that an assertion of ours can be used."""
LATE = 60
"""Seconds that clocks may differ."""
ALGORITHMS = (
    *("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("EdDSA", "ES256K"),
)
_JWT = re.compile(r"[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*\Z")


def client_assertion(
    client_id: str, audience: str, key: str, algorithm: str, *, offered: tuple[str, ...] | None = None
) -> str:
    """A JWT by which a client shows itself at a token endpoint (`private_key_jwt`, RFC 7523 2.2, 3).

    Args:
        audience: the issuer of the authorization server (draft-ietf-oauth-rfc7523bis: exactly this, no endpoint).
        key: the private key as PEM, or the file it is in.
        offered: `token_endpoint_auth_signing_alg_values_supported`.

    Raises:
        ConfigError: there is no such key, or it does not sign that way.
        AuthFailed: the authorization server does not take this algorithm.
    """
    import jwt

    _check_algorithm(algorithm, offered)
    now = int(time.time())
    payload: dict[str, Any] = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        "exp": now + LIFE,
        "jti": secrets.token_urlsafe(16),
    }
    loaded = _key(read(key, "key"))
    try:
        return jwt.encode(payload, loaded, algorithm=algorithm)
    except (jwt.PyJWTError, TypeError, ValueError, NotImplementedError):
        raise ConfigError(
            f"The private key, {_kind(loaded)}, does not sign with {algorithm}.",
            key="algorithm",
            hint=f"Set `algorithm` to {_fitting(loaded)}, or use another key.",
        ) from None


def _check_algorithm(algorithm: str, offered: tuple[str, ...] | None) -> None:
    if algorithm not in ALGORITHMS:
        raise ConfigError(
            f"Nothing signs with {said(algorithm)}.", key="algorithm", hint=f"Known: {', '.join(ALGORITHMS)}."
        )
    if offered is not None and algorithm not in offered:
        raise AuthFailed(
            "token_endpoint_auth_signing_alg_values_supported in the authorization server metadata is "
            f"{said(', '.join(offered))}; the client signs with {algorithm}.",
            hint="It has to list it; or set `algorithm`, and a key for it, in the [servers.NAME.auth] table.",
        )


def _key(text: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(text.encode(), None)
    except TypeError:
        raise ConfigError(
            "The private key is encrypted, and there is nobody to ask for its password.",
            key="key",
            hint="Decrypt it: openssl pkcs8 -topk8 -nocrypt -in FILE; and keep it in the keyring: ${keyring:NAME}.",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise ConfigError(
            "The private key cannot be read: it is no private key in PEM.",
            key="key",
            hint="It begins with -----BEGIN PRIVATE KEY----- (PKCS #8) or -----BEGIN EC PRIVATE KEY-----.",
        ) from None


def _kind(key: Any) -> str:
    name = type(key).__name__.lower()
    for part, words in (("rsa", "an RSA key"), ("elliptic", "an elliptic curve key"), ("ed", "an Edwards curve key")):
        if part in name:
            curve = getattr(getattr(key, "curve", None), "name", "")
            return f"{words} ({curve})" if curve else words
    return "of another kind"


def _fitting(key: Any) -> str:
    curve = getattr(getattr(key, "curve", None), "name", "")
    by_curve = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512", "secp256k1": "ES256K"}
    if curve:
        return by_curve.get(curve, "one that fits it")
    return "RS256" if "rsa" in type(key).__name__.lower() else "EdDSA"


def workload_assertion(value: str) -> str:
    """The JWT that the platform gave this workload (SEP-1933), read anew each time, as platforms renew it.

    Raises:
        ConfigError: there is none, or it is no JWT.
        AuthFailed: it has expired.
    """
    return _jwt(value, "assertion", "the JWT of the workload")


def identity_token(value: str) -> str:
    """The id token of the person at the identity provider (MCP enterprise-managed authorization).

    Raises:
        ConfigError: there is none, or it is no JWT.
        AuthFailed: it has expired.
    """
    return _jwt(value, "idp_id_token", "the id token of the identity provider")


def _jwt(value: str, name: str, what: str) -> str:
    text = read(value, name).strip()
    if not _JWT.match(text):
        raise ConfigError(
            f"What `{name}` gives is no JWT.", key=name, hint=f"It has to be {what}, or the file it is in."
        )
    expires = claims.payload(text).get("exp")
    if isinstance(expires, (int, float)) and expires + LATE < time.time():
        raise AuthFailed(
            f"What `{name}` gives has expired: {claims.when(float(expires))}.",
            hint=f"It has to be {what}, and a new one; whatever issues it should renew the file.",
        )
    return text


def read(value: str, name: str) -> str:
    """What is written itself (PEM, a JWT), or what is in the file that is named; at most 64 KB.

    Args:
        name: the key of the configuration that it stands at.

    Raises:
        ConfigError: it is empty, or a file that cannot be read.
    """
    if not value:
        raise ConfigError(f"`{name}` is missing.", key=name, hint="Set it in the [servers.NAME.auth] table.")
    if "-----BEGIN" in value or _JWT.match(value.strip()):
        return value.replace("\\n", "\n") if "\n" not in value else value
    path = f" {value}" if _is_path(value) else ""
    try:
        with Path(value).expanduser().open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or "there is no such file"
        raise ConfigError(f"The file{path} that `{name}` names cannot be read: {reason}.", key=name) from None
    if len(data) > LARGEST:
        raise ConfigError(f"The file{path} that `{name}` names is larger than {LARGEST // 1024} KB.", key=name)
    return data.decode("utf-8", "replace")


def _is_path(value: str) -> bool:
    """Whether a value that cannot be read may be quoted: a damaged secret may not, and has longer parts than paths."""
    return len(value) <= 200 and " " not in value and all(len(part) <= 40 for part in Path(value).parts)
