"""Requests to token endpoints say what their grant needs, and show the client in its way."""

from __future__ import annotations

import base64
from urllib.parse import parse_qsl, unquote_plus

import pytest

from mcp_studio.auth import tokens
from mcp_studio.auth.clients import TokenRequest, sign
from mcp_studio.auth.model import AuthFailed, Client

ODD = "se cret:+%&=é"


def client(method: str, secret: str = ODD, client_id: str = "my id:1") -> Client:
    return Client("https://as.example", client_id, secret, method)


def form(request: TokenRequest) -> dict[str, str]:
    pairs = parse_qsl(request.body.decode("ascii"), keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


CODE = tokens.token_form("authorization_code", "", code="the-code", code_verifier="the-verifier", redirect_uri="x")
CREDENTIALS = tokens.token_form("client_credentials")


def test_a_grant_says_what_it_needs() -> None:
    assert dict(tokens.token_form("x", "https://mcp", ("a", "b"), code="c")) == {
        "grant_type": "x",
        "code": "c",
        "scope": "a b",
        "resource": "https://mcp",
    }


def test_what_is_empty_is_not_sent() -> None:
    assert form(sign(client("none"), tokens.token_form("refresh_token", refresh_token="r"))) == {
        "grant_type": "refresh_token",
        "refresh_token": "r",
        "client_id": "my id:1",
    }


def test_a_public_client_names_itself() -> None:
    request = sign(client("none"), CODE)
    assert form(request)["client_id"] == "my id:1" and "client_secret" not in form(request)
    assert "Authorization" not in dict(request.headers)


def test_basic_encodes_id_and_secret_first() -> None:
    request = sign(client("client_secret_basic"), CREDENTIALS)
    kind, _, value = dict(request.headers)["Authorization"].partition(" ")
    name, _, secret = base64.b64decode(value).decode("ascii").partition(":")
    assert kind == "Basic" and (unquote_plus(name), unquote_plus(secret)) == ("my id:1", ODD)
    assert not {"client_id", "client_secret"} & form(request).keys()
    assert ODD in request.secrets and value in request.secrets


def test_post_puts_both_into_the_form() -> None:
    request = sign(client("client_secret_post"), CREDENTIALS)
    assert form(request) == {"grant_type": "client_credentials", "client_id": "my id:1", "client_secret": ODD}
    assert "Authorization" not in dict(request.headers)


def test_a_jwt_says_who_the_client_is() -> None:
    request = sign(client("private_key_jwt"), CREDENTIALS, assertion="a.b.c")
    assert form(request) == {
        "grant_type": "client_credentials",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": "a.b.c",
    }


@pytest.mark.parametrize(
    "method, secret", [("client_secret_basic", ""), ("client_secret_post", ""), ("private_key_jwt", "x"), ("tls", "x")]
)
def test_a_client_with_nothing_to_show_is_refused(method: str, secret: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        sign(client(method, secret), CREDENTIALS)
    assert method in caught.value.message and caught.value.hint


def test_a_workload_may_have_no_id() -> None:
    assert "client_id" not in form(sign(client("none", "", ""), tokens.token_form(tokens.JWT_BEARER, assertion="j")))
