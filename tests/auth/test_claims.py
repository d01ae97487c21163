"""What a token says about itself is shown as it stands there, and whatever is no JWT says nothing."""

from __future__ import annotations

import base64
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import model
from mcp_studio.jsontext import Json

NOW = 1_795_320_000.0


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


@pytest.mark.parametrize(
    "gap, words",
    [
        (0, "in 0 seconds"),
        (1, "in 1 second"),
        (59, "in 59 seconds"),
        (60, "in 1 minute"),
        (-90, "1 minute ago"),
        (3540, "in 59 minutes"),
        (3600, "in 60 minutes"),
        (7200, "in 2 hours"),
        (-200_000, "2 days ago"),
        (900 * 86_400, "in 2 years"),
    ],
)
def test_times_are_said_in_words(gap: float, words: str) -> None:
    assert model.when(NOW + gap, NOW).endswith(f" UTC, {words}")


def test_moments_are_the_claims_that_are_times() -> None:
    found = model.moments({"exp": NOW + 60, "iat": NOW, "nbf": "soon", "auth_time": 1e30, "sub": 5}, NOW)
    assert [(one.claim, one.what) for one in found] == [("exp", "expires"), ("iat", "issued")]
    assert found[0].words == time.strftime("%Y-%m-%d %H:%M:%S UTC, in 1 minute", time.gmtime(NOW + 60))
