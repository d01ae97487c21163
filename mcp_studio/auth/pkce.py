"""Proof that whoever redeems a code is who asked for it (RFC 7636), and the state that binds a redirect to its flow."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import NamedTuple

METHOD = "S256"
"""The only method that is used (RFC 7636 4.2)."""


class Pkce(NamedTuple):
    """One verifier, for one code. It is a secret until the code is redeemed."""

    verifier: str
    challenge: str


def challenge(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636 4.2)."""
    return unpadded(hashlib.sha256(verifier.encode("ascii")).digest())


def make() -> Pkce:
    """A new one: 256 bits of chance, 43 characters (RFC 7636 4.1)."""
    verifier = secrets.token_urlsafe(32)
    return Pkce(verifier, challenge(verifier))


def state() -> str:
    """A new state: 256 bits of chance (RFC 6749 10.12)."""
    return secrets.token_urlsafe(32)


def unpadded(data: bytes) -> str:
    """Base64 for addresses, without padding (RFC 7636 appendix A)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
