"""JWTs that stand for clients and workloads: signed as the authorization server can check, read without being told."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from mcp_studio.auth import tokens
from mcp_studio.auth.clients import LIFE, client_assertion
from mcp_studio.auth.model import Client
from mcp_studio.errors import ConfigError, StudioError
from tests.auth.test_claims import jwt as made

ISSUER = "https://as.example"
ME = Client(ISSUER, "me", method="private_key_jwt")


@cache
def private(kind: str) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey:
    if kind == "RSA":
        return rsa.generate_private_key(65537, 2048)
    if kind == "Ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key({"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1()}[kind])


def pem(
    kind: str, encryption: KeySerializationEncryption | None = None, form: PrivateFormat = PrivateFormat.PKCS8
) -> str:
    return private(kind).private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


@pytest.mark.parametrize(
    "kind, algorithm",
    [("P-256", "ES256"), ("P-384", "ES384"), ("RSA", "RS256"), ("RSA", "PS512"), ("Ed25519", "EdDSA")],
)
def test_a_client_signs_who_it_is(kind: str, algorithm: str) -> None:
    signed = client_assertion(ME, pem(kind), algorithm)
    claims = jwt.decode(signed, private(kind).public_key(), algorithms=[algorithm], audience=ISSUER)
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", ISSUER)
    assert 0 < claims["exp"] - time.time() <= LIFE + 1 and claims["jti"]
    other = client_assertion(ME, pem(kind), algorithm)
    assert jwt.decode(other, options={"verify_signature": False})["jti"] != claims["jti"]


def test_a_key_may_be_in_a_file_or_on_one_line(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text(pem("P-256", form=PrivateFormat.TraditionalOpenSSL))
    for key in (str(file), pem("P-256").replace("\n", "\\n"), pem("P-256")):
        assert client_assertion(ME, key, "ES256").count(".") == 2


BAD_KEYS = {
    "nothing": ("", "ES256", "missing"),
    "no PEM": ("-----BEGIN PRIVATE KEY-----\nSECRETSECRET\n-----END PRIVATE KEY-----", "ES256", "none in PEM"),
    "no file": ("/nowhere/key.pem", "ES256", "cannot be read"),
    "a damaged secret": ("MIGHAgEAMBMGSECRETSECRETSECRETSECRETSECRETSECRET", "ES256", "cannot be read"),
    "a damaged secret, taken for a file": (f"/home/me/eyJhbGciOi{'SECRET' * 8}", "ES256", "cannot be read"),
    "an unknown algorithm": (pem("P-256"), "HS256", "HS256"),
    "an RSA key": (pem("RSA"), "ES256", "RS256"),
    "another curve": (pem("P-384"), "ES256", "another kind"),
    "a key for curves": (pem("P-256"), "RS256", "ES256"),
    "an Edwards key": (pem("Ed25519"), "RS256", "another kind"),
    "an encrypted key": (pem("P-256", BestAvailableEncryption(b"x")), "ES256", "encrypted"),
}


@pytest.mark.parametrize("key, algorithm, words", BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_key_that_is_of_no_use_is_said(key: str, algorithm: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        client_assertion(ME, key, algorithm)
    told = f"{caught.value.message} {caught.value.hint}"
    assert words in told and "SECRET" not in told and caught.value.key in ("key", "algorithm")


def test_the_jwt_of_a_workload_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "token"
    for number in range(2):
        token = made({"sub": f"w{number}", "exp": time.time() + 60})
        file.write_text(f"{token}\n")
        assert tokens.assertion(str(file), "assertion") == token == tokens.assertion(token, "assertion")
    assert tokens.assertion(made({"sub": "x"}), "idp_id_token")


@pytest.mark.parametrize(
    "value", ["", "/nowhere/token", f"eyJhbGciOiJub25lIn0.{'SECRET' * 4}", "SECRET" * 30, "~nobody-here/x\0"]
)
def test_what_is_no_jwt_is_said_without_it(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tokens.assertion(value, "assertion")
    assert caught.value.key == "assertion" and "SECRET" not in f"{caught.value.message}{caught.value.hint}"


def test_a_file_that_holds_something_else_is_said(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"SECRET \xff no jwt")
    with pytest.raises(ConfigError, match="no JWT") as caught:
        tokens.assertion(str(file), "idp_id_token")
    assert "SECRET" not in str(caught.value)
    with pytest.raises(StudioError, match="cannot be read"):
        tokens.assertion(str(tmp_path), "idp_id_token")
