"""Proofs are what RFC 9449 wants, each is new, and tokens are bound only where that is of use."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth.authorize import unpadded
from mcp_studio.auth.dpop import Dpop, nonce_wanted, use
from mcp_studio.auth.metadata import IssuerMetadata, ResourceMetadata
from mcp_studio.auth.model import AuthFailed
from mcp_studio.jsontext import Json

URL = "https://as.example/token"


@cache
def key() -> Dpop:
    return Dpop.make(required=True)


def checked(proof: str) -> tuple[dict[str, Any], dict[str, Any]]:
    header = jwt.get_unverified_header(proof)
    public = jwt.PyJWK(header["jwk"])
    return header, jwt.decode(proof, public, algorithms=["ES256"])


def test_a_proof_is_signed_with_the_key_that_it_shows() -> None:
    header, claims = checked(key().proof("post", f"{URL}?x=1#y"))
    assert (header["typ"], header["alg"], header["jwk"]["kty"]) == ("dpop+jwt", "ES256", "EC")
    assert "d" not in header["jwk"]
    assert (claims["htm"], claims["htu"]) == ("POST", URL)
    assert {"jti", "iat"} < claims.keys() and not {"ath", "nonce"} & claims.keys()


def test_the_token_is_in_the_proof_as_in_rfc_9449() -> None:
    token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    assert checked(key().proof("GET", "https://h/x", token))[1]["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"


def test_the_address_of_a_web_socket_is_that_of_its_handshake() -> None:
    assert checked(key().proof("GET", "wss://h/mcp"))[1]["htu"] == "https://h/mcp"


def test_every_proof_is_new() -> None:
    proofs = {checked(key().proof("POST", URL))[1]["jti"] for _ in range(20)}
    assert len(proofs) == 20


def test_a_key_that_was_kept_is_the_same_key() -> None:
    again = Dpop.load(key().pem)
    assert again.thumbprint == key().thumbprint and len(again.thumbprint) == 43
    assert Dpop.make(required=True).thumbprint != key().thumbprint


def test_the_thumbprint_is_that_of_rfc_7638() -> None:
    header, _ = checked(key().proof("POST", URL))
    import hashlib

    members = json.dumps({name: header["jwk"][name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
    assert key().thumbprint == unpadded(hashlib.sha256(members.encode()).digest())


@pytest.mark.parametrize("pem", ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
def test_a_damaged_key_is_said(pem: str) -> None:
    with pytest.raises(AuthFailed, match="cannot be read"):
        Dpop.load(pem)


def test_nonces_are_remembered_by_origin() -> None:
    dpop = Dpop.load(key().pem)
    assert dpop.seen(f"{URL}?x", [("Content-Type", "a"), ("DPoP-Nonce", " n1 ")])
    assert not dpop.seen(URL, [("dpop-nonce", "n1")])
    assert dpop.seen("https://mcp.example/mcp", [("dpop-nonce", "n2")])
    assert checked(dpop.proof("POST", "https://as.example:443/other"))[1]["nonce"] == "n1"
    assert checked(dpop.proof("POST", "https://mcp.example/mcp"))[1]["nonce"] == "n2"
    assert "nonce" not in checked(dpop.proof("POST", "https://third.example/"))[1]
    assert dpop.seen(URL, [("dpop-nonce", "n3")]) and checked(dpop.proof("POST", URL))[1]["nonce"] == "n3"


@pytest.mark.parametrize("nonce", ["", "a b", "a\r\nX: y", "é", "a" * 3000, '"x"', "a\\b"])
def test_what_can_be_no_nonce_is_none(nonce: str) -> None:
    dpop = Dpop.load(key().pem)
    assert not dpop.seen(URL, [("DPoP-Nonce", nonce)]) and "nonce" not in checked(dpop.proof("POST", URL))[1]


@given(st.text(max_size=30))
def test_any_nonce_is_looked_at(nonce: str) -> None:
    key().seen("https://any.example/", [("DPoP-Nonce", nonce)])


def issuer(algs: Json = None) -> IssuerMetadata:
    raw = {"issuer": "https://as", "token_endpoint": "https://as/t", "dpop_signing_alg_values_supported": algs}
    return IssuerMetadata(raw, issuer="https://as", server="https://h/mcp", place="p")


def resource(**changes: Json) -> ResourceMetadata:
    raw = {"resource": "https://h/mcp", "authorization_servers": ["https://as"], **changes}
    return ResourceMetadata(raw, server="https://h/mcp", place="p")


BOTH = 'Bearer realm="x", DPoP algs="ES256"'
REQUIRED = resource(dpop_bound_access_tokens_required=True)


@pytest.mark.parametrize(
    "configured, challenge, about, algs, found",
    [
        (False, "Bearer", None, None, "no"),
        # That the authorization server can does not mean that the server understands it.
        (False, "Bearer", resource(), ["ES256"], "no"),
        (False, "", None, ["ES256"], "no"),
        (True, "Bearer", None, None, "must"),
        (True, "Bearer", None, ["RS256", "ES256"], "must"),
        (False, "Bearer", REQUIRED, ["ES256"], "must"),
        (False, "DPoP resource_metadata=x", None, ["ES256"], "must"),
        (False, "DPoP resource_metadata=x", None, None, "must"),
        (False, BOTH, None, ["ES256"], "may"),
        (False, BOTH, None, None, "no"),
        (False, BOTH, None, ["RS256"], "no"),
        (False, 'Bearer, DPoP algs="RS256"', None, ["ES256"], "no"),
        (False, "Bearer", resource(dpop_signing_alg_values_supported=["ES256"]), ["ES256"], "may"),
        (False, "Bearer", resource(dpop_signing_alg_values_supported=["RS256"]), ["ES256"], "no"),
    ],
)
def test_whether_a_token_is_bound(
    configured: bool, challenge: str, about: ResourceMetadata | None, algs: Json, found: str
) -> None:
    assert use(configured, challenge, about, issuer(algs)) == found


@pytest.mark.parametrize(
    "challenge, about, algs",
    [
        ("DPoP", None, ["RS256"]),
        ("DPoP", None, []),
        ('DPoP algs="EdDSA"', None, ["ES256"]),
        ("", resource(dpop_bound_access_tokens_required=True, dpop_signing_alg_values_supported=["PS256"]), None),
    ],
)
def test_what_cannot_be_bound_and_has_to_be_is_said(challenge: str, about: ResourceMetadata | None, algs: Json) -> None:
    with pytest.raises(AuthFailed, match="bound to a key") as caught:
        use(False, challenge, about, issuer(algs))
    assert "ES256" in caught.value.hint


def test_a_wish_for_a_nonce_is_known() -> None:
    assert nonce_wanted(400, "use_dpop_nonce", "")
    assert nonce_wanted(401, "", 'Bearer, DPoP error="use_dpop_nonce"')
    assert not nonce_wanted(401, "", 'DPoP error="invalid_token"')
    assert not nonce_wanted(200, "use_dpop_nonce", "") and not nonce_wanted(400, "invalid_grant", "")
