"""The page that a person opens says what is asked for, once, and binds what comes back to this sign-in."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import authorize as pkce
from mcp_studio.auth.authorize import authorization_url
from mcp_studio.auth.model import AuthFailed

RFC_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
RFC_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
REDIRECT = "http://127.0.0.1:7338/callback"


def url(endpoint: str = "https://as.example/authorize", **changes: object) -> str:
    given: dict[str, object] = {
        "client_id": "c&d=e",
        "redirect_uri": REDIRECT,
        "state": "st",
        "challenge": RFC_CHALLENGE,
        **changes,
    }
    return authorization_url(endpoint, **given)  # type: ignore[arg-type]


def asked(address: str) -> dict[str, str]:
    pairs = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs), "each parameter once"
    return dict(pairs)


def test_the_example_of_rfc_7636_holds() -> None:
    assert pkce.challenge(RFC_VERIFIER) == RFC_CHALLENGE


def test_verifiers_and_states_are_long_and_new() -> None:
    made = {pkce.chance() for _ in range(50)}
    assert len(made) == 50 and all(43 <= len(one) <= 128 for one in made)


def test_everything_is_said_once() -> None:
    assert asked(url(scopes=("a", "b:c"), resource="https://mcp.example/mcp")) == {
        "response_type": "code",
        "client_id": "c&d=e",
        "redirect_uri": REDIRECT,
        "state": "st",
        "code_challenge": RFC_CHALLENGE,
        "code_challenge_method": "S256",
        "scope": "a b:c",
        "resource": "https://mcp.example/mcp",
    }


def test_what_is_not_wanted_is_not_sent() -> None:
    assert not {"scope", "resource", "prompt", "dpop_jkt"} & asked(url()).keys()
    assert asked(url(scopes=("a", "offline_access")))["prompt"] == "consent"
    assert asked(url(dpop_jkt="jkt"))["dpop_jkt"] == "jkt"


def test_what_the_endpoint_has_already_stays() -> None:
    address = url("https://as.example/authorize?tenant=1%202&flag")
    assert address.startswith("https://as.example/authorize?tenant=1%202&flag&response_type=code")


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "code_challenge_method", "scope", "resource"])
def test_an_endpoint_that_answers_for_us_is_refused(name: str) -> None:
    with pytest.raises(AuthFailed, match=f"sets {name} itself"):
        url(f"https://as.example/authorize?x=1&{name}=evil")


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_value_can_break_out(client: str, resource: str) -> None:
    try:
        found = asked(url(client_id=client, resource=resource, scopes=("a",)))
    except UnicodeEncodeError:
        return
    assert found.get("client_id", "") == client and found.get("resource", "") == resource
    assert found["redirect_uri"] == REDIRECT
