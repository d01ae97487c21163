"""Checks of the tests' authorization server (PKCE, JWTs, DPoP proofs), and how it signs tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

CLOCK = 300
"""The most seconds by which a proof's clock may differ."""


class Wrong(Exception):
    """A request is refused: an OAuth error code, a description, and the status."""

    def __init__(self, code: str, why: str = "", status: int = 400) -> None:
        super().__init__(f"{code}: {why}")
        self.code, self.why, self.status = code, why, status


def encoded(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def challenge_of(verifier: str) -> str:
    """The challenge of a code verifier (RFC 7636 4.2)."""
    return encoded(hashlib.sha256(verifier.encode()).digest())


def signed(claims: dict[str, Any], key: bytes, kind: str = "at+jwt") -> str:
    """A JWT, signed with HMAC."""
    parts = [encoded(json.dumps(part).encode()) for part in ({"typ": kind, "alg": "HS256"}, claims)]
    return ".".join((*parts, encoded(hmac.digest(key, ".".join(parts).encode(), "sha256"))))


def assertion(token: str, key: str, audience: tuple[str, ...], **needed: str) -> dict[str, Any]:
    """The claims of a JWT that a public key (PEM) verifies; raises Wrong."""
    import jwt

    try:
        claims = jwt.decode(
            token, key, algorithms=["ES256", "RS256"], audience=list(audience), options={"require": ["exp"]}
        )
    except jwt.InvalidTokenError as error:
        raise Wrong("invalid_grant", f"The assertion is refused: {error}") from None
    for name, value in needed.items():
        if claims.get(name) != value:
            raise Wrong("invalid_grant", f"The assertion's {name} is not {value}.")
    return claims


def thumbprint(jwk: dict[str, Any]) -> str:
    """The thumbprint of an EC key (RFC 7638)."""
    return encoded(hashlib.sha256(json.dumps({name: jwk[name] for name in ("crv", "kty", "x", "y")},
                                             separators=(",", ":")).encode()).digest())  # fmt: skip


class Proofs:
    """Checks the DPoP proofs of one server (RFC 9449 4.3), and remembers which were used."""

    def __init__(self, nonce: str = "") -> None:
        self.nonce = nonce
        """The nonce that proofs need, or an empty text."""
        self.used: set[str] = set()

    def check(self, proof: str, method: str, url: str, token: str = "") -> str:
        """The thumbprint of the proof's key; raises Wrong, with `use_dpop_nonce` if only the nonce is missing."""
        import jwt

        try:
            head = jwt.get_unverified_header(proof)
            jwk = head["jwk"]
            claims = jwt.decode(proof, jwt.PyJWK(jwk, "ES256").key, algorithms=["ES256"])
        except (jwt.InvalidTokenError, jwt.PyJWKError, KeyError) as error:
            raise Wrong("invalid_dpop_proof", f"No proof: {error}") from None
        wrong = [
            name
            for name, right in {
                "typ": head.get("typ") == "dpop+jwt",
                "jwk": "d" not in jwk,
                "htm": claims.get("htm") == method,
                "htu": claims.get("htu") == url,
                "iat": abs(time.time() - float(claims.get("iat", 0))) < CLOCK,
                "jti": isinstance(claims.get("jti"), str) and claims["jti"] not in self.used,
                "ath": not token or claims.get("ath") == challenge_of(token),
            }.items()
            if not right
        ]
        if wrong:
            raise Wrong("invalid_dpop_proof", f"The proof's {', '.join(wrong)} is wrong.")
        self.used.add(claims["jti"])
        if self.nonce and claims.get("nonce") != self.nonce:
            raise Wrong("use_dpop_nonce", "A nonce is needed.")
        return thumbprint(jwk)
