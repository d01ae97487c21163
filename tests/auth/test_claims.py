"""What a token says about itself is shown as it stands there, and whatever is no JWT says nothing."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import model
from mcp_studio.jsontext import Json


def jwt(payload: Json, header: Json = None) -> str:
    parts = (json.dumps(part).encode() for part in (header or {"alg": "ES256"}, payload))
    return ".".join([*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), "c2ln"])


def test_claims_are_read() -> None:
    token = jwt({"sub": "é", "scope": "a"})
    assert model.payload(token) == {"sub": "é", "scope": "a"}


@pytest.mark.parametrize(
    "token",
    ["", "opaque", "a.b", "a.b.c", "a.b.c.d", "....", jwt([1]), jwt("x"), "x" * 100_000, jwt({"a": "x" * 100_000}),
     f"e30.{base64.urlsafe_b64encode(b'[' * 20_000).decode()}.x", "e30.\u00e9.x"],
)  # fmt: skip
def test_what_is_no_jwt_says_nothing(token: str) -> None:
    assert model.payload(token) == {}


@given(st.text(max_size=100))
def test_any_text_can_be_looked_into(token: str) -> None:
    assert isinstance(model.payload(token), dict)
