"""Tokens that are bound to a key of ours (DPoP: RFC 9449; SEP-1932): the key, its proofs and nonces.

Each sign-in makes a new key, which is stored with its tokens. Proofs are signed with ES256.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from mcp_studio.auth.authorize import unpadded
from mcp_studio.auth.discovery import Challenge, origin, web_url
from mcp_studio.auth.metadata import IssuerMetadata, ResourceMetadata
from mcp_studio.auth.model import AuthFailed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ALGORITHM = "ES256"
"""The signature algorithm of proofs (RFC 7518 3.4)."""
Use = Literal["no", "may", "must"]
"""Whether to bind a token: no; if the authorization server supports it; or always, because the server requires it."""
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,2048}\Z")


class Dpop:
    """One key, and the nonces that servers require in its proofs. Only one event loop may use it."""

    def __init__(self, key: EllipticCurvePrivateKey, *, required: bool) -> None:
        """`required`: the server accepts no token that is not bound to a key."""
        from jwt.algorithms import ECAlgorithm

        self.required = required
        self._key = key
        self._public: dict[str, Any] = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        self._nonces: dict[str, str] = {}

    @staticmethod
    def make(*, required: bool) -> Dpop:
        """Make a new key; the first one in a process takes tens of milliseconds, for loading the library."""
        from cryptography.hazmat.primitives.asymmetric import ec

        return Dpop(ec.generate_private_key(ec.SECP256R1()), required=required)

    @staticmethod
    def load(pem: str, *, required: bool = True) -> Dpop:
        """Load a stored key from its PEM.

        Raises:
            AuthFailed: the text is no such key.
        """
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(pem.encode(), None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise AuthFailed("The key that the token is bound to cannot be read any more.", hint="Sign in again.")
        return Dpop(key, required=required)

    @property
    def pem(self) -> str:
        """The private key as PEM, to be stored like a token."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")

    @property
    def thumbprint(self) -> str:
        """The identifier of the key (RFC 7638 3; `dpop_jkt` and `cnf.jkt` of RFC 9449)."""
        members = {name: self._public[name] for name in ("crv", "kty", "x", "y")}
        return unpadded(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())

    def proof(self, method: str, url: str, token: str = "") -> str:
        """A new proof for one request (RFC 9449 4.2), with the nonce that the origin requires.

        Args:
            token: the access token of the request (RFC 9449 7); empty at a token endpoint.
        """
        import jwt

        bare = urlsplit(web_url(url))._replace(query="", fragment="")
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method.upper(),
            "htu": urlunsplit(bare),
            "iat": int(time.time()),
        }
        if token:
            claims["ath"] = unpadded(hashlib.sha256(token.encode()).digest())
        if nonce := self._nonces.get(origin(url)):
            claims["nonce"] = nonce
        headers = {"typ": "dpop+jwt", "jwk": self._public}
        return jwt.encode(claims, self._key, algorithm=ALGORITHM, headers=headers)

    def seen(self, url: str, headers: Iterable[tuple[str, str]]) -> bool:
        """Remember the nonce of a response (RFC 9449 8.2); return whether it is a new one."""
        for name, value in headers:
            if name.lower() == "dpop-nonce" and _NONCE.match(value.strip()):
                place, nonce = origin(url), value.strip()
                new = self._nonces.get(place) != nonce
                self._nonces[place] = nonce
                return new
        return False


def use(configured: bool, challenge: str, resource: ResourceMetadata | None, issuer: IssuerMetadata) -> Use:
    """Whether to bind a token to a key.

    Support by the authorization server does not mean that the MCP server understands bound tokens: the MCP server has
    to say so, by its metadata (RFC 9728 2) or by a DPoP challenge (RFC 9449 7.1).

    Args:
        challenge: the header `WWW-Authenticate`.

    Raises:
        AuthFailed: the token has to be bound, and one of the two servers does not accept our algorithm.
    """
    challenges = Challenge.parse(challenge)
    schemes = {one.scheme for one in challenges}
    useful = "dpop" in schemes or bool(resource and resource.dpop_algs)
    must = configured or bool(resource and resource.dpop_required) or ("dpop" in schemes and "bearer" not in schemes)
    if not must and not (useful and issuer.dpop_algs):
        return "no"
    listed = (
        tuple(Challenge.dpop(challenge).get("algs").split()) or None,
        resource.dpop_algs if resource else None,
        issuer.dpop_algs,
    )
    if any(algs is not None and ALGORITHM not in algs for algs in listed):
        if not must:
            return "no"
        raise AuthFailed(
            f"Tokens have to be bound to a key (DPoP), and {ALGORITHM} is not among the algorithms for that.",
            hint=f"Challenge and metadata have to list {ALGORITHM} where they list any (RFC 9449 5.1).",
        )
    return "must" if must else "may"


def nonce_wanted(status: int, error: str, challenge: str) -> bool:
    """Whether an answer only requests a nonce: by its error (RFC 9449 8) or its challenge (RFC 9449 9)."""
    return status in (400, 401) and "use_dpop_nonce" in (error, Challenge.dpop(challenge).get("error"))
